import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from crowdrank import simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.settings import SettingError
from crowdrank.study import LEFT

CROWDS = {
    "sparse": {"items": 30, "votes": 40},
    "dense": {"items": 8, "votes": 400},
    "neighbours": {"items": 20, "votes": 300, "neighbours": 1},
    "unanimous": {"items": 6, "votes": 60, "spread": 50.0, "quality": (1e9, 1)},
}


def virtual_votes(study, copies, prior):
    """The votes `copies` times, and every item `prior` times above and below a virtual item, which comes last."""
    votes, n = study.judgments.pairs, study.judgments.vocabulary.n_entries
    won = votes.outcome == LEFT
    data = list(zip(np.where(won, votes.left, votes.right), np.where(won, votes.right, votes.left), strict=True))
    return data * copies + [pair for item in range(n) for pair in ((item, n), (n, item))] * prior


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize(("copies", "prior"), [(1, 1), (1, 3), (2, 1)])
def test_equals_choix_with_the_virtual_item_as_data(crowd, copies, prior):
    study = simulate.pairs(**CROWDS[crowd], seed=5)
    n = CROWDS[crowd]["items"]
    found = BradleyTerry(prior=prior / copies).fit(study.judgments)
    assert found.fit.converged
    data = virtual_votes(study, copies, prior)
    theirs = choix.opt_pairwise(n + 1, data, alpha=0.0, method="Newton-CG", tol=1e-12)
    assert found.score == pytest.approx(theirs[:n] - theirs[n], abs=1e-6)


def test_equals_spectral_ranking_of_choix():
    study = simulate.pairs(**CROWDS["dense"], seed=2)
    theirs = choix.ilsr_pairwise(9, virtual_votes(study, 1, 1), alpha=0.0, max_iter=1000, tol=1e-12)
    assert BradleyTerry(prior=1.0).fit(study.judgments).score == pytest.approx(theirs[:8] - theirs[8], abs=1e-6)


def test_without_prior_equals_choix_up_to_a_shift():
    study = simulate.pairs(**CROWDS["dense"], seed=3)  # everybody won and lost: the maximum is finite
    theirs = choix.opt_pairwise(8, virtual_votes(study, 1, 0), alpha=0.0, method="Newton-CG", tol=1e-12)
    score = BradleyTerry(prior=0.0).fit(study.judgments).score
    assert score - score.mean() == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_many_tasks_in_one_fit_are_many_fits(build):
    together, method = simulate.pairs(items=9, votes=300, tasks=3, seed=6).judgments, BradleyTerry(prior=1.0, tol=1e-10)
    found, task = method.fit(together), together.vocabulary.entry_task
    for number in range(3):
        alone = method.fit(build.rows_of(together, task[together.pairs.left] == number))
        there = task == number
        for column in ("score", "low", "high"):
            assert getattr(found, column)[there] == pytest.approx(getattr(alone, column)[there], abs=1e-7)
        assert np.array_equal(found.rank_low[there], alone.rank_low[there])
        assert np.array_equal(found.rank_high[there], alone.rank_high[there])


def cost(build, study, prior):
    """Minus the log-posterior written out, of scores and the logarithm of the readiness to tie."""
    usual = build.usual_ties(study)
    return lambda x: -build.log_posterior(study, x[:-1], prior, threshold=np.exp(x[-1])) + (x[-1] - usual) ** 2 / 2


def by_scipy(build, study, prior):
    """Where that is least."""
    function, start = cost(build, study, prior), np.r_[np.zeros(study.vocabulary.n_entries), build.usual_ties(study)]
    return minimize(
        function, start, jac=lambda x: build.slope(function, x, 1e-5), method="BFGS", options={"gtol": 1e-6}
    )


@pytest.mark.parametrize("ties", [0.05, 0.4, 0.8])
@pytest.mark.parametrize("prior", [0.2, 3.0])
def test_with_ties_it_is_the_maximum_of_davidsons_posterior(build, ties, prior):
    study = simulate.pairs(items=6, votes=150, ties=ties, seed=8).judgments
    slow, found = by_scipy(build, study, prior), BradleyTerry(prior=prior).fit(study)
    assert found.score == pytest.approx(slow.x[:6], abs=1e-5)
    assert found.fit.objective == pytest.approx(-slow.fun, abs=1e-8)


def test_ties_pull_two_items_together(build):
    wins, ties = [("t", "k", "a", "b", "a")] * 10, [("t", "k", "a", "b", "tie")] * 10
    rest = [("t", "k", left, "c", left) for left in "ab" for _ in range(5)] + [("t", "k", "c", "a", "c")]
    without, with_ties = (
        BradleyTerry(prior=1.0).fit(build.judgments(pairs=[*wins, *more, *rest])) for more in ((), ties)
    )
    assert 0 < with_ties.score[0] - with_ties.score[1] < without.score[0] - without.score[1]


def test_a_study_of_nothing_but_ties_is_one_tie(build):
    rows = [("t", "k", left, right, "tie") for left, right in ("ab", "bc", "ca")]
    consensus = BradleyTerry().fit(build.judgments(pairs=rows * 3))
    assert consensus.rank.tolist() == [1, 1, 1]
    assert consensus.fit.converged


def test_a_weight_of_2_is_the_vote_twice(build):
    study = simulate.pairs(items=10, votes=200, ties=0.2, seed=3).judgments
    weight = np.random.default_rng(0).integers(1, 4, 200)
    weighted = BradleyTerry().fit(build.with_pairs(study, weight=weight.astype(float)))
    repeated = BradleyTerry().fit(build.rows_of(study, np.repeat(np.arange(200), weight)))
    for column in ("score", "low", "high"):
        assert getattr(weighted, column) == pytest.approx(getattr(repeated, column), abs=1e-7)
    assert weighted.notes == repeated.notes


@pytest.mark.parametrize("prior", [1.0, None])
def test_a_weight_of_0_is_no_vote(build, prior):
    study = simulate.pairs(items=10, votes=200, ties=0.2, seed=3).judgments
    none = np.arange(200) % 4 == 0
    weighted = BradleyTerry(prior=prior).fit(build.with_pairs(study, weight=np.where(none, 0.0, 1.0)))
    without = BradleyTerry(prior=prior).fit(build.rows_of(study, ~none))
    assert weighted.score == pytest.approx(without.score, abs=1e-7)


def test_an_item_that_wins_everything_stays_finite(build):
    rows = [("t", "k", "a", other, "a") for other in "bcd"] * 5 + [("t", "k", x, y, x) for x, y in ("bc", "cd", "db")]
    consensus = BradleyTerry().fit(build.judgments(pairs=rows))
    assert consensus.fit.converged
    assert np.isfinite([consensus.score, consensus.low, consensus.high]).all()
    assert consensus.rank.tolist() == [1, 2, 2, 2]
    assert consensus.rank_high[0] <= 2


def test_intervals_lie_around_the_scores_and_narrow_with_more_votes():
    wide, narrow = (
        BradleyTerry(prior=1.0).fit(simulate.pairs(items=30, votes=votes, seed=2).judgments) for votes in (500, 8000)
    )
    for found in (wide, narrow):
        assert (found.low < found.score).all()
        assert (found.score < found.high).all()
        assert (found.rank_low <= found.rank).all()
        assert (found.rank <= found.rank_high).all()
    # Sixteen times the votes, a quarter of the error; the prior, which counts more among few votes, takes some of it.
    assert 0.2 < np.median(narrow.high - narrow.low) / np.median(wide.high - wide.low) < 0.4
    assert (narrow.rank_high - narrow.rank_low).mean() < (wide.rank_high - wide.rank_low).mean() / 2


def test_intervals_are_those_of_the_curvature_written_out(build):
    study = simulate.pairs(items=5, votes=200, ties=0.3, seed=4).judgments
    found = BradleyTerry(prior=0.5, tol=1e-10).fit(study)
    function, x = cost(build, study, 0.5), by_scipy(build, study, 0.5).x
    hessian = build.slope(lambda at: build.slope(function, at, 1e-4), x, 1e-4)
    centre = np.eye(6)
    known = np.diag(hessian)[:5]
    centre[:5, :5] -= known / known.sum()
    error = np.sqrt(np.diag(centre @ np.linalg.inv(hessian) @ centre.T))[:5]
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=1e-3)


def test_the_error_of_a_gap_is_that_of_two_items(build):
    rows = [("t", "k", "a", "b", "a")] * 30 + [("t", "k", "a", "b", "b")] * 10
    found = BradleyTerry(prior=0.0).fit(build.judgments(pairs=rows))
    assert found.score[0] - found.score[1] == pytest.approx(np.log(3), abs=1e-6)
    assert found.gap_error[0] == pytest.approx(1 / np.sqrt(40 * 0.75 * 0.25), rel=1e-4)  # the error of a log-odds
    assert np.isnan(found.gap_error[1])


def test_intervals_may_be_left_out():
    study = simulate.pairs(seed=2).judgments
    without = BradleyTerry(intervals=False).fit(study)
    assert without.low is without.high is without.rank_low is without.rank_high is without.gap_error is None
    assert without.score.tobytes() == BradleyTerry().fit(study).score.tobytes()


def test_turning_every_vote_around_turns_the_scores_around(build):
    study = simulate.pairs(items=10, votes=200, ties=0.2, seed=9).judgments
    one, other = BradleyTerry().fit(study), BradleyTerry().fit(build.with_pairs(study, outcome=-study.pairs.outcome))
    assert one.score == pytest.approx(-other.score, abs=1e-8)
    assert one.low == pytest.approx(-other.high, abs=0.3)  # of random draws
    assert np.abs(one.rank_low - (11 - other.rank_high)).max() <= 1


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_change_a_bit(build, seed):
    study = simulate.pairs(items=10, votes=200, ties=0.2, seed=1).judgments
    shuffled = build.rows_of(study, np.random.default_rng(seed).permutation(200))
    one, other = BradleyTerry().fit(study), BradleyTerry().fit(shuffled)
    for column in ("score", "low", "high", "gap_error"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()


def test_a_circle_of_wins_is_a_tie(build):
    study = build.judgments(pairs=[("t", "k", "a", "b", "a"), ("t", "k", "b", "c", "b"), ("t", "k", "c", "a", "c")])
    assert BradleyTerry().fit(study).rank.tolist() == [1, 1, 1]


def test_grades_and_rankings_are_taken_as_pairs(build):
    votes = build.judgments(
        pairs=[("t", "ann", "a", "b", "a"), ("t", "ann", "b", "c", "b"), ("t", "ann", "a", "c", "a")]
    )
    grades = build.judgments(grades=[("t", "ann", "a", 3), ("t", "ann", "b", 2), ("t", "ann", "c", 1)])
    lists = build.judgments(lists=[("t", "ann", [["a"], ["b"], ["c"]], False)])
    method = BradleyTerry(prior=1.0)
    expected = method.fit(votes).score
    assert method.fit(grades).score == pytest.approx(expected, abs=1e-9)
    assert method.fit(lists).score == pytest.approx(expected, abs=1e-9)


def test_parts_never_compared_are_reported(build):
    rows = [("t", "k", "a", "b", "a"), ("t", "k", "c", "d", "c"), ("u", "k", "a", "b", "b")]
    method = BradleyTerry(prior=1.0)
    consensus = method.fit(build.judgments(pairs=rows, entries=[("t", "e")]))
    assert consensus.disconnected == {"t": 3}
    assert any("1 of 2 tasks: t (3 parts)" in note for note in consensus.notes)
    connected = method.fit(build.judgments(pairs=[*rows, ("t", "k", "b", "c", "b"), ("t", "k", "e", "a", "e")]))
    assert connected.disconnected == {}
    assert connected.notes == ()


@pytest.mark.parametrize("seed", [1, 2])
def test_neighbours_alone_give_the_whole_order(build, seed):
    study = simulate.pairs(items=200, annotators=50, votes=40_000, neighbours=2, spread=5.0, seed=seed)
    consensus = BradleyTerry().fit(study.judgments)
    assert consensus.fit.converged
    assert consensus.fit.steps < 20
    assert build.pair_accuracy(consensus.score, study.gold.value) >= 0.98


def test_quality_is_the_agreement_with_the_scores(build):
    rows = [("t", who, "a", "b", "a") for who in ("p", "q", "r")] + [
        ("t", "r", "a", "b", "b"),
        ("t", "s", "a", "b", "tie"),
    ]
    annotators = BradleyTerry().fit(build.judgments(pairs=rows)).annotators
    assert annotators["quality"].to_list() == [1.0, 1.0, 0.5, None]
    assert annotators["judgments"].to_list() == [1, 1, 2, 1]


def test_an_end_before_the_minimum_is_said():
    consensus = BradleyTerry(max_iter=1).fit(simulate.pairs(seed=0).judgments)
    assert not consensus.fit.converged
    assert any("not converged after 1 steps" in note for note in consensus.notes)


def test_no_judgments_give_no_order(build):
    consensus = BradleyTerry().fit(build.judgments(entries=[("t", "a"), ("t", "b")]))
    assert consensus.score.tolist() == [0, 0]
    assert consensus.disconnected == {"t": 2}


def test_bad_settings():
    with pytest.raises(SettingError, match="prior is -1"):
        BradleyTerry(prior=-1)
