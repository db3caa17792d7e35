"""GDA on crowds drawn from its own model, written out as in the paper: P(g | r) ∝ α_g N(r; μ_g, w ε)."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import norm, spearmanr

import crowdrank as cr
from crowdrank.methods.grades.curves import kernels
from crowdrank.methods.grades.curves.curves import gaussians
from crowdrank.methods.grades.curves.information import informativeness
from crowdrank.methods.grades.gda import GDA
from crowdrank.study import Grades


def chances(relevance, mean, variance, weight):
    """One row per relevance, one column per grade."""
    density = weight * norm.pdf(
        np.asarray(relevance)[:, None], mean, np.sqrt(np.broadcast_to(variance, len(relevance)))[:, None]
    )
    return density / density.sum(axis=1, keepdims=True)


def crowd(*, entries=300, annotators=30, per_entry=8, tasks=3, levels=4, difficulty=0.0, seed=0):
    """Grades of a crowd, as rows; the relevance and the difficulty of each (task, item)."""
    rng = np.random.default_rng(seed)
    relevance, hard = rng.normal(size=entries), np.exp(rng.normal(0, difficulty, entries))
    means = np.linspace(-1.2, 1.2, levels) + rng.normal(0, 0.3, (annotators, levels))
    weights, variance = np.exp(rng.normal(0, 0.5, (annotators, levels))), rng.uniform(0.4, 1.0, annotators)
    entry = np.repeat(np.arange(entries), per_entry)
    annotator = np.argsort(rng.random((entries, annotators)), axis=1)[:, :per_entry].ravel()
    far = relevance[entry, None] - means[annotator]
    log_chance = np.log(weights[annotator]) - far**2 / (2 * variance[annotator] * hard[entry])[:, None]
    grade = np.argmax(log_chance + rng.gumbel(size=far.shape), axis=1)
    rows = [
        (f"t{e % tasks}", f"a{a:03}", f"i{e:04}", float(g)) for e, a, g in zip(entry, annotator, grade, strict=True)
    ]
    return rows, relevance, hard


def entry_of(consensus):
    """The number of the simulated entry behind each entry of the result."""
    vocabulary = consensus.vocabulary
    return np.array([int(name[1:]) for name in vocabulary.items[vocabulary.entry_item]])


def as_column(consensus, name):
    return dict(consensus.annotators.select("annotator", name).iter_rows())


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
@pytest.mark.parametrize("per_entry", [3, 15])
def test_intervals_cover(build, method, per_entry):
    """95 % intervals hold the truth in 93 to 97 % of the entries; four crowds of 400."""
    covered = []
    for seed in range(4):
        rows, relevance, _ = crowd(entries=400, per_entry=per_entry, seed=seed)
        consensus = cr.fit(method, build.judgments(grades=rows))
        truth = relevance[entry_of(consensus)]
        covered.append((consensus.low < truth) & (truth < consensus.high))
    assert 0.93 <= np.mean(covered) <= 0.97


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
def test_better_than_the_mean(build, method):
    """Where annotators differ, knowing how pays."""
    rows, relevance, _ = crowd(per_entry=6, seed=3)
    rng = np.random.default_rng(0)
    rows += [(t, f"random{k}", i, float(rng.integers(4))) for k in range(4) for t, _, i, _ in rows[::6]]
    study = build.judgments(grades=rows)
    found, mean = cr.fit(method, study), cr.fit("mean", study)
    truth = relevance[entry_of(found)]
    assert spearmanr(found.score, truth)[0] > spearmanr(mean.score, truth)[0] + 0.02


def test_curves_are_found(build):
    """With many judgments, the chance of each grade at each relevance is the one that made them."""
    rng = np.random.default_rng(5)
    mean, variance, weight = np.array([-1.0, 0.2, 0.9]), 0.5, np.array([0.5, 0.3, 0.2])
    relevance = rng.normal(size=1500)
    p = chances(relevance, mean, variance, weight)
    rows = [("t", f"a{a}", f"i{e:04}", float(rng.choice(3, p=p[e]))) for e in range(1500) for a in range(8)]
    consensus = GDA(shrinkage=0.1).fit(build.judgments(grades=rows))
    curve = consensus.curves.filter(pl.col("annotator") == "a0").sort("grade")
    at = np.linspace(-1.5, 1.5, 7)
    found = chances(at, curve["mean"].to_numpy(), curve["spread"][0] ** 2, curve["weight"].to_numpy())
    np.testing.assert_allclose(found, chances(at, mean, variance, weight), atol=0.06)


def test_scales_come_together(build):
    """Two grades here, five there, 0 to 100 elsewhere: all speak of one relevance."""
    rng = np.random.default_rng(1)
    relevance = rng.normal(size=200)
    rows = []
    for a in range(9):
        seen = relevance + rng.normal(0, 0.7, 200)
        grade = [(seen > 0.5), np.clip(np.rint(seen + 2), 0, 4), np.clip(50 + 20 * seen, 0, 100)][a % 3]
        rows += [("t", f"a{a}", f"i{e:04}", float(g)) for e, g in enumerate(grade)]
    consensus = GDA().fit(build.judgments(grades=rows))
    assert spearmanr(consensus.score, relevance)[0] > 0.94
    informative = as_column(consensus, "informativeness")
    binary, five, hundred = (np.mean([informative[f"a{a}"] for a in range(kind, 9, 3)]) for kind in range(3))
    assert hundred > five > binary > 0.1  # finer grades are more informative
    assert consensus.curves.filter(pl.col("annotator") == "a2").height == 20


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
def test_expert_random_and_reversed(build, method):
    """The expert is the most informative, the random one not at all, the reversed one as much as its mirror image."""
    rows, relevance, _ = crowd(seed=7, per_entry=6)
    rng, levels = np.random.default_rng(7), 4
    sharp = {f"i{e:04}": float(np.digitize(r, [-0.8, 0.0, 0.8])) for e, r in enumerate(relevance)}
    entries = [(t, i) for t, _, i, _ in rows[::6]]
    rows += [(t, "expert", i, sharp[i]) for t, i in entries]
    rows += [(t, "random", i, float(rng.integers(levels))) for t, i in entries]
    rows += [(t, "reversed", i, 3.0 - np.clip(sharp[i] + rng.integers(-1, 2), 0, 3)) for t, i in entries]
    consensus = cr.fit(method, build.judgments(grades=rows))
    informative, verdict = as_column(consensus, "informativeness"), as_column(consensus, "verdict")
    assert max(informative, key=informative.get) == "expert"
    assert informative["random"] < 0.02
    assert informative["reversed"] > 0.2
    assert [verdict[name] for name in ("expert", "random", "reversed")] == ["informative", "random", "reversed"]
    ordered = cr.fit(method, build.judgments(grades=rows), means="ordered")
    assert as_column(ordered, "informativeness")["reversed"] < 0.01
    slopes = (
        ordered.curves.sort("annotator", "grade")
        .group_by("annotator", maintain_order=True)
        .agg(pl.col("mean").diff().min())
    )
    assert slopes["mean"].min() > -1e-9


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
def test_difficulty_from_two_halves(build, method):
    """What one half of the annotators finds hard, the other does too, and it is what was made hard."""
    rows, _, hard = crowd(entries=300, annotators=40, per_entry=24, difficulty=1.0, seed=2)
    found = []
    for half in (0, 1):
        consensus = cr.fit(
            method, build.judgments(grades=[row for row in rows if int(row[1][1:]) % 2 == half]), difficulty=True
        )
        found.append(dict(zip(entry_of(consensus), consensus.difficulty, strict=True)))
    one, other = (np.array([part[e] for e in range(300)]) for part in found)
    assert spearmanr(one, other)[0] > 0.1
    assert spearmanr(one, hard)[0] > 0.2


def test_few_judgments_follow_the_crowd(build):
    """An annotator of one item is taken to be like the crowd; without shrinkage, two grades would be trusted fully."""
    rows, _, _ = crowd(seed=4)
    consensus = GDA().fit(build.judgments(grades=[*rows, ("t0", "newcomer", "i0000", 3.0)]))
    informative = as_column(consensus, "informativeness")
    assert informative["newcomer"] == pytest.approx(np.median(list(informative.values())), rel=0.5)
    assert as_column(consensus, "verdict")["newcomer"] == "unclear"


def test_one_set_of_curves_per_task(build):
    """An annotator who is random in one task and good in another gets two verdicts."""
    rng = np.random.default_rng(3)
    rows, relevance, _ = crowd(entries=200, tasks=2, per_entry=8, seed=8)
    sharp = np.digitize(relevance, [-0.8, 0.0, 0.8]).astype(float)
    rows += [("t0", "moody", f"i{e:04}", sharp[e]) for e in range(0, 200, 2)]
    rows += [("t1", "moody", f"i{e:04}", float(rng.integers(4))) for e in range(1, 200, 2)]
    rows_of_moody = (
        GDA(quality_per="task").fit(build.judgments(grades=rows)).annotators.filter(pl.col("annotator") == "moody")
    )
    assert rows_of_moody["task"].to_list() == ["t0", "t1"]
    assert rows_of_moody["informativeness"][0] > 0.2 > 0.05 > rows_of_moody["informativeness"][1]


@pytest.mark.parametrize("method", ["gda", "gda-pw"])
@pytest.mark.parametrize(
    "grades",
    [[-2, 0, 1, 2], [0.5, 1.5, 2.5, 3.5], [-1e6, 0, 3, 1e6], [0.0, 0.1, 0.35, 0.9], [7, 7, 7, 7]],
    ids=["negative", "halves", "huge", "fractions", "one grade"],
)
def test_odd_grades(build, method, grades):
    """Any numbers are grades; the same order comes out, or everything ties."""
    rows = [("t", a, item, float(grade)) for a in "abc" for item, grade in zip("wxyz", grades, strict=True)]
    consensus = cr.fit(method, build.judgments(grades=rows))
    assert consensus.ranking["item"].to_list() == (list("zyxw") if grades[0] < grades[-1] else list("wxyz"))
    assert set(consensus.rank) == ({1, 2, 3, 4} if grades[0] < grades[-1] else {1})


def test_a_million_items(build):
    """One judgment each."""
    study = build.with_long_grades(1_000_000)
    study.grades.grade[::2] = 0.0
    consensus = GDA().fit(study)
    assert consensus.fit.converged
    assert consensus.score[1] > consensus.score[0]


def test_unsure_entries_come_in_order_of_need(build):
    rows, _, _ = crowd(seed=9)
    study = build.judgments(grades=[*rows, ("t0", "a000", "seen once", 1.0)], entries=[("t0", "never seen")])
    unsure = GDA().fit(study).unsure(width=2.0)
    assert unsure["item"][0] == "never seen"
    width = (unsure["high"] - unsure["low"]).drop_nulls()
    assert width.to_list() == sorted(width, reverse=True)
    assert width.min() > 2.0
    assert "seen once" in unsure["item"][:10]


# The kernels, against slow and obvious references.


def random_curves(n=5, levels=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, levels)), rng.normal(size=(n, levels)), np.full(n, levels)


def test_normal_densities_give_the_same_curves():
    """Slopes and intercepts of the log-odds, and means, variances and weights, are two ways to say the same."""
    slope, intercept, n_levels = random_curves()
    found = gaussians(slope, intercept, n_levels)
    at = np.linspace(-2, 2, 9)
    for a in range(5):
        odds = np.exp(intercept[a] + slope[a] * at[:, None])
        expected = odds / odds.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(chances(at, found.mean[a], found.variance[a], found.weight[a]), expected, rtol=1e-9)


def test_log_curves_with_difficulty():
    """The paper's densities, their variance times the difficulty."""
    slope, intercept, n_levels = random_curves()
    found = gaussians(slope, intercept, n_levels)
    x, hard = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 1.0, 3.0])
    table = np.empty((5, 3, 3))
    curves = kernels.CurveParameters(slope, intercept, found.variance / 2, found.shift, n_levels)
    kernels.log_curves(0, 5, curves, kernels.Nodes(x, 1 / hard, np.zeros(3)), table)
    for a in range(5):
        expected = chances(x, found.mean[a], found.variance[a] * hard, found.weight[a])
        np.testing.assert_allclose(np.exp(table[a]).T, expected, rtol=1e-9)


def test_gradient_and_information(build):
    """The gradient by finite differences; the information is the mean of squared slopes of the log-probabilities."""
    rng = np.random.default_rng(1)
    count, x = rng.uniform(size=(3, 7)), np.linspace(-2, 2, 7)
    theta = rng.normal(size=6)

    def log_chance(theta):
        value = theta[3:, None] + theta[:3, None] * x
        return value - np.log(np.exp(value).sum(axis=0))

    gradient, matrix = np.empty(6), np.empty((6, 6))
    kernels._gradient_and_information(3, count, log_chance(theta), np.tile(x, (3, 1)), gradient, matrix)
    np.testing.assert_allclose(
        gradient, build.slope(lambda t: (count * log_chance(t)).sum(), theta), rtol=1e-6, atol=1e-8
    )
    slopes = build.slope(lambda t: log_chance(t).ravel(), theta).reshape(6, 3, 7)
    expected = np.einsum("gq,igq,jgq->ij", np.exp(log_chance(theta)) * count.sum(axis=0), slopes, slopes)
    np.testing.assert_allclose(np.tril(matrix), np.tril(expected), rtol=1e-6, atol=1e-8)


def test_invert():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(6, 6))
    matrix = factor @ factor.T + np.eye(6)
    found = np.tril(matrix)
    kernels.invert(found, 6)
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)


def test_ascending():
    """Isotonic regression, as SciPy's."""
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(size=(20, 6)), rng.uniform(0.1, 3, (20, 6))
    found = rows.copy()
    kernels.make_ascending(found, weight, np.full(20, 6))
    for a in range(20):
        np.testing.assert_allclose(found[a], isotonic_regression(rows[a], weights=weight[a]).x, atol=1e-12)


def test_informativeness_is_a_difference_of_entropies():
    """Prior entropy minus expected posterior entropy (eq. 5 and 11), by plain quadrature on a fine grid."""
    slope, intercept, n_levels = random_curves(seed=2)
    curves = gaussians(slope, intercept, n_levels)
    alone, paired = informativeness(curves)
    fine = np.linspace(-6, 6, 2001)

    def gained(chance, prior):  # one row per outcome
        prior = prior / prior.sum()
        outcome = chance @ prior
        posterior = chance * prior / outcome[:, None]
        return -(prior * np.log(prior)).sum() + (outcome * (posterior * np.log(posterior)).sum(axis=1)).sum()

    for a in range(5):
        mean, variance, weight = curves.mean[a], curves.variance[a], curves.weight[a]
        assert alone[a] == pytest.approx(gained(chances(fine, mean, variance, weight).T, norm.pdf(fine)), abs=1e-4)
        gap = fine * np.sqrt(2)
        given = np.stack([chances(gap, mean - mean[h], variance, weight).T for h in range(3)])  # [h, g]: g given h
        back = np.stack([chances(-gap, mean - mean[g], variance, weight).T for g in range(3)])  # [g, h]: h given g
        joint = np.sqrt(given.transpose(1, 0, 2) * back).reshape(9, -1)
        assert paired[a] == pytest.approx(gained(joint / joint.sum(axis=0), norm.pdf(fine)) / 2, abs=1e-4)


def test_who_always_says_the_same_tells_nothing():
    curves = gaussians(np.zeros((1, 3)), np.array([[0.0, 1.0, -1.0]]), np.array([3]))
    assert np.max(informativeness(curves)) < 1e-12


def test_constant_annotators_tell_nothing_apart():
    """Three annotators with one grade each, on a random half of 300 items: all items are equal."""
    rng = np.random.default_rng(0)
    who, item = np.divmod(np.flatnonzero(rng.random(900) < 0.5), 300)
    found = cr.fit("gda", cr.judgments({"annotator": who, "item": item, "grade": who}))
    assert set(found.rank.tolist()) == {1}
    assert any("cannot be told apart" in note for note in found.notes)


@pytest.mark.parametrize("step", [1.0, 0.001, 17.3])
def test_fine_and_real_valued_grades_rank_as_well_as_their_mean(step):
    """Five annotators with normal errors: the mean is the best there is."""
    taus = {"gda": [], "mean": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=200)
        grade = (50 + 20 * truth + rng.normal(0, 8, (5, 200))) * step
        who, item = np.divmod(np.arange(1000), 200)
        study = cr.judgments({"annotator": who, "item": item, "grade": grade.ravel()})
        gold = cr.gold({"item": np.arange(200), "score": truth})
        for name, found in taus.items():
            consensus = cr.fit(name, study)
            found.append(cr.evaluate(consensus, gold, ["tau"]).mean["tau"])
            assert set(consensus.annotators["verdict"]) == {"informative"}
    assert np.mean(taus["gda"]) > np.mean(taus["mean"]) - 0.01


@pytest.mark.parametrize("levels", [2, 5])
def test_halves_of_people_with_opinions_differ_as_their_intervals_say(build, levels):
    """12 items, 150 people: items whose scores by two halves of the people are further apart than both errors allow."""
    near = []
    for seed in range(3):
        study = build.opinions(seed, annotators=150, levels=levels)
        rows, found = study.grades, []
        for half in (rows.annotator % 2 == 0, rows.annotator % 2 == 1):
            part = replace(study, grades=Grades(rows.annotator[half], rows.entry[half], rows.grade[half]))
            found.append(cr.fit("gda", part))
        error = np.hypot(*((each.high - each.low) / (2 * 1.96) for each in found))
        near.append(np.abs(found[0].score - found[1].score) <= 1.96 * error)
    assert np.mean(near) >= 0.88


def small_crowd(items, annotators, repeats, signal, seed, *, levels):
    """Honest, similar annotators of a small study: true scores, and grades with as much noise as a standard normal."""
    rng = np.random.default_rng(seed)
    item, annotator = (part.ravel() for part in np.indices((items, annotators, repeats))[:2])
    truth, strictness = signal * rng.normal(size=items), rng.normal(0, 0.5, annotators)
    grade = truth[item] + strictness[annotator] + rng.normal(size=len(item))
    if levels:
        grade = np.clip(np.round(1.2 * grade + (levels - 1) / 2), 0, levels - 1)
    return truth, cr.judgments({"annotator": annotator, "item": item, "grade": grade})


@pytest.mark.parametrize(("items", "annotators", "repeats", "levels"), [(7, 3, 5, 0), (30, 5, 1, 0), (7, 3, 5, 5)])
def test_few_grades_of_pure_noise_are_not_called_certain(items, annotators, repeats, levels):
    fits = [GDA().fit(small_crowd(items, annotators, repeats, 0.0, seed, levels=levels)[1]) for seed in range(8)]
    assert np.mean([np.mean((fit.low > 0) | (fit.high < 0)) for fit in fits]) < 0.12


@pytest.mark.parametrize(("items", "annotators", "levels"), [(7, 10, 0), (7, 10, 5), (30, 5, 0), (30, 5, 5)])
def test_few_grades_of_similar_annotators_are_used_as_well_as_their_mean(items, annotators, levels):
    """The mean is the best estimate where annotators differ in strictness alone and everybody grades everything."""
    ours, means = [], []
    for seed in range(16):
        truth, study = small_crowd(items, annotators, 1, 0.7, seed, levels=levels)
        ours.append(spearmanr(GDA().fit(study).score, truth).statistic)
        means.append(spearmanr(cr.fit("mean", study).score, truth).statistic)
    assert np.mean(ours) > np.mean(means) - 0.04
