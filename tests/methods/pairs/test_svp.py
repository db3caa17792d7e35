import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.methods.pairs.svp import SVP, Differences
from crowdrank.methods.pairs.votes.contests import contests


def matrix(study):
    """Mean preferences, 0 where there are none, and where they are known."""
    counted, n = contests(study), study.vocabulary.n_entries
    entry = np.repeat(np.arange(n), np.diff(counted.starts))
    y, known = np.zeros((n, n)), np.zeros((n, n))
    y[entry, counted.other], known[entry, counted.other] = counted.preference, 1
    return y, known


def written_out(y, known, penalty, steps):
    """Steps of length 1, each projected to rank two by a full singular value decomposition."""
    n = len(y)
    laplacian = np.diag(known.sum(axis=1)) - known
    s = np.linalg.lstsq(laplacian, y.sum(axis=1), rcond=None)[0]
    first = x = np.subtract.outer(s, s)
    for _ in range(steps):
        u, sigma, v = np.linalg.svd(x + known * (y - x) + penalty / n * (first - x))
        x = (u[:, :2] * sigma[:2]) @ v[:2]
    return x.mean(axis=1), 0.5 * (known * (y - x) ** 2).sum() + penalty / n / 2 * ((x - first) ** 2).sum()


@pytest.mark.parametrize(("votes", "penalty"), [(400, 2.0), (150, 2.0), (400, 0.5)])
def test_equals_full_decompositions(votes, penalty):
    study = simulate.pairs(items=15, votes=votes, ties=0.2, seed=1).judgments
    score, objective = written_out(*matrix(study), penalty, 3000)
    found = SVP(penalty=penalty, tol=1e-9).fit(study)
    assert found.fit.converged
    assert -found.fit.objective == pytest.approx(objective, rel=1e-6)
    assert found.score == pytest.approx(score, abs=1e-5)


def test_complete_preferences_need_one_decomposition():
    study = simulate.pairs(items=10, votes=4000, seed=1).judgments
    y, known = matrix(study)
    assert known.sum() == 90
    u, sigma, v = np.linalg.svd(y)
    expected = ((u[:, :2] * sigma[:2]) @ v[:2]).mean(axis=1)
    # The diagonal counts as unknown, so that it is filled in; that is all that differs.
    assert np.corrcoef(SVP(penalty=0.0).fit(study).score, expected)[0, 1] > 0.999


@pytest.mark.parametrize("penalty", [0.0, 2.0, 20.0])
def test_gaps_in_the_differences_of_scores_are_filled_exactly(build, penalty):
    # Shares of wins that are differences of the scores 1, 0.5, 0, -0.5: a chain of known contests.
    rows = []
    for left, right, wins in (("a", "b", 3), ("b", "c", 3), ("c", "d", 3)):
        rows += [("t", "k", left, right, left)] * wins + [("t", "k", left, right, right)]
    found = SVP(penalty=penalty).fit(build.judgments(pairs=rows))
    assert found.score == pytest.approx([0.75, 0.25, -0.25, -0.75], abs=1e-5)


def test_neighbours_alone_give_the_whole_order(build):
    study = simulate.pairs(items=100, annotators=50, votes=40_000, neighbours=2, spread=5.0, seed=1)
    found = SVP().fit(study.judgments)
    assert found.fit.converged
    assert build.pair_accuracy(found.score, study.gold.value) > 0.98


def test_derivatives_agree_with_finite_differences(build):
    study = simulate.pairs(items=7, votes=60, ties=0.3, seed=1).judgments
    counted = contests(study)
    objective = Differences(counted, counted.preference, 7)
    rng = np.random.default_rng(0)
    score, v = rng.normal(size=7), rng.normal(size=7)
    assert objective.evaluate(score)[1] == pytest.approx(
        build.slope(lambda x: objective.evaluate(x)[0], score), abs=1e-6
    )
    hessian = build.slope(lambda x: objective.evaluate(x)[1], score)
    assert objective.hessian_product(v) == pytest.approx(hessian @ v, abs=1e-6)
    assert objective.diagonal() == pytest.approx(np.diag(hessian), abs=1e-6)


def test_parts_are_completed_on_their_own(build):
    part = [("t", "k", "a", "b", "a"), ("t", "k", "b", "c", "b"), ("t", "k", "a", "c", "a")]
    alone = SVP().fit(build.judgments(pairs=part))
    both = SVP().fit(build.judgments(pairs=[*part, ("t", "k", "d", "e", "e")], entries=[("t", "f")]))
    assert both.disconnected == {"t": 3}
    assert both.score[:3] == pytest.approx(alone.score, abs=1e-9)
    assert both.score[3:] == pytest.approx([-0.5, 0.5, 0.0])


def test_a_circle_is_a_tie(build):
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "b", "c", "b"), ("t", "k", "c", "a", "c")]
    assert SVP().fit(build.judgments(pairs=rows)).rank.tolist() == [1, 1, 1]
