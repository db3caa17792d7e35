"""The likelihood of pairs of grades: the formula written out, its gradient by finite differences, its sampling."""

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

import crowdrank as cr
from crowdrank.methods.grades.curves.curves import gaussians
from crowdrank.methods.grades.curves.pair_likelihood import DIFFICULTY_SPREAD, PairLikelihood
from crowdrank.methods.grades.curves.relevance import prepare
from crowdrank.methods.grades.gda_pw import GDAPW


def study(build, items=6, annotators=4, tasks=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (f"t{t}", f"a{a}", f"i{i}", float(np.clip(3 * i // items + rng.integers(-1, 2), 0, 2)))
        for t in range(tasks) for a in range(annotators) for i in range(items) if rng.uniform() < 0.8
    ]  # fmt: skip
    return build.judgments(grades=rows)


def model_of(judgments, *, partners=1000, difficulty=False, seed=0):
    ready = prepare(judgments, "study")
    rng = np.random.default_rng(1)
    n = ready.rows.n_profiles
    curves = gaussians(np.sort(rng.normal(size=(n, 3)), axis=1), rng.normal(size=(n, 3)), np.full(n, 3))
    task = judgments.vocabulary.entry_task
    return ready, curves, PairLikelihood(ready.rows, task, curves, partners=partners, difficulty=difficulty, seed=seed)


def written_out(judgments, ready, curves, relevance, log_hard):
    """Eq. 7 and 8, pair by pair."""
    rows, task = ready.rows, judgments.vocabulary.entry_task
    everybody = list(zip(rows.entry, rows.profile, rows.level, strict=True))
    total = 0.0
    for d, a, g in everybody:
        others = [(e, b, h) for e, b, h in everybody if e != d and task[e] == task[d]]
        for e, b, h in others:
            variance = np.sqrt(curves.variance[a] * curves.variance[b] * np.exp(log_hard[d] + log_hard[e]))
            means = curves.mean[a] - curves.mean[b, h]
            density = curves.weight[a] * norm.pdf(relevance[d] - relevance[e], means, np.sqrt(variance))
            total += np.log(density[g] / density.sum()) / len(others)
    return total - (relevance**2).sum() / 2 - (log_hard**2).sum() / (2 * DIFFICULTY_SPREAD**2)


@pytest.mark.parametrize("difficulty", [False, True])
def test_the_formula(build, difficulty):
    judgments = study(build)
    ready, curves, model = model_of(judgments, difficulty=difficulty)
    rng = np.random.default_rng(2)
    n = model.n
    x = rng.normal(size=model.layout.size)
    expected = written_out(judgments, ready, curves, x[:n], x[n:] if difficulty else np.zeros(n))
    assert model.evaluate(x)[0] == pytest.approx(-expected, rel=1e-10)


@pytest.mark.parametrize("partners", [3, 1000])
@pytest.mark.parametrize("difficulty", [False, True])
def test_gradient(build, partners, difficulty):
    _, _, model = model_of(study(build), partners=partners, difficulty=difficulty)
    x = np.random.default_rng(3).normal(size=model.layout.size)
    expected = build.slope(lambda at: model.evaluate(at)[0], x)
    np.testing.assert_allclose(model.evaluate(x)[1], expected, rtol=1e-5, atol=1e-7)


def test_a_common_shift_meets_only_the_prior(build):
    """The Hessian as it is taken to be, and as it is, agree on what all entries of a task have in common."""
    judgments = study(build)
    _, _, model = model_of(judgments)
    x = np.random.default_rng(4).normal(size=model.n)
    model.evaluate(x)
    shift = (judgments.vocabulary.entry_task == 0).astype(float)
    np.testing.assert_allclose(model.hessian_product(shift), shift, atol=1e-12)
    hessian = build.slope(lambda at: model.evaluate(at)[1], x)
    np.testing.assert_allclose(hessian @ shift, shift, atol=1e-6)


def test_the_diagonal_of_the_hessian(build):
    """Pairs of one entry with itself there are none: the diagonal is exact."""
    _, _, model = model_of(study(build))
    x = np.random.default_rng(5).normal(size=model.n)
    model.evaluate(x)
    diagonal = model.diagonal()
    expected = np.diag(build.slope(lambda at: model.evaluate(at)[1], x))
    np.testing.assert_allclose(diagonal, expected, rtol=1e-5)


def test_a_sample_of_partners_is_nearly_all_pairs(build):
    """The ranks of a sample of one in ten agree with those of all pairs; another seed, another sample."""
    judgments = study(build, items=60, annotators=12, tasks=1)
    whole, part, other = (GDAPW(partners=p, seed=s).fit(judgments) for p, s in ((1000, 0), (60, 0), (60, 1)))
    assert spearmanr(whole.score, part.score)[0] > 0.98
    assert not np.array_equal(part.score, other.score)


def test_seeds_do_not_matter_where_all_pairs_are_used(build):
    judgments = study(build)
    one, other = (GDAPW(seed=seed).fit(judgments) for seed in (0, 1))
    np.testing.assert_allclose(one.score, other.score, atol=1e-9)


def test_scores_of_different_tasks_are_on_one_scale(build):
    """A task of bad items stays below a task of good ones, though pairs show only differences within each."""
    rng = np.random.default_rng(6)
    rows = [
        (task, f"a{a}", f"i{i}", float(np.clip(level + rng.integers(-1, 2), 0, 4)))
        for task, level in (("bad", 1), ("good", 3)) for a in range(5) for i in range(20)
    ]  # fmt: skip
    consensus = GDAPW().fit(build.judgments(grades=rows))
    bad, good = (consensus.score[consensus.vocabulary.entry_task == task] for task in (0, 1))
    assert bad.mean() < good.mean() - 1


def test_names_do_not_matter_where_partners_are_sampled():
    """60 items of one task, many with the same grades from the same annotators; the same study with other names."""
    rng = np.random.default_rng(0)
    who, item = np.divmod(np.arange(6 * 60), 60)
    grade = np.where(item < 30, (who + item // 10) % 3, rng.integers(0, 3, len(item)))
    place, name = rng.permutation(60), rng.permutation(6)
    one = cr.fit("gda-pw", cr.judgments({"annotator": who, "item": item + 100, "grade": grade}))
    rows = rng.permutation(len(item))
    renamed = {"annotator": name[who][rows], "item": place[item][rows] + 100, "grade": grade[rows]}
    other = cr.fit("gda-pw", cr.judgments(renamed))
    np.testing.assert_allclose(other.score[place], one.score, atol=1e-9)
    assert len(set(one.rank[:10].tolist())) == 1  # the same grades: the same score
