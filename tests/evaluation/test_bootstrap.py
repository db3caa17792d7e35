"""Intervals by resampling: as wide as they should be, for every method, whatever the order of the judgments."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.evaluation.resample import canonical, drawn

ROUNDS = 40


@pytest.fixture(scope="module")
def sampled():
    """A crowd that answers as Bradley and Terry have it, often enough."""
    return cr.simulate.pairs(items=15, annotators=10, votes=4000, quality=(1e6, 1), spread=1.0, seed=2).judgments


def width(consensus) -> float:
    return float((consensus.high - consensus.low).mean())


def mixed(seed=0, order=None):
    """Grades, pairs and lists of five annotators on two tasks; rows in any order."""
    rng = np.random.default_rng(seed)
    who, task, item = (part.ravel() for part in np.meshgrid(list("abcde"), ["t", "u"], list("vwxyz")))
    worth = np.array(["vwxyz".index(name) for name in item]) + rng.normal(0, 1.5, len(item))
    grades = pl.DataFrame({"annotator": who, "task": task, "item": item, "grade": np.clip(np.rint(worth), 0, 4)})
    lists = pl.DataFrame(
        {"annotator": who, "task": task, "item": item, "rank": 20 - worth, "list": np.tile(["1", "2"], 25)}
    )
    left, right = rng.permuted(np.tile(np.arange(5), (120, 1)), axis=1)[:, :2].T
    won = np.where(left - right + rng.normal(0, 2, 120) > 0, left, right)
    names = np.array(list("vwxyz"))
    pairs = {"annotator": rng.choice(list("abcde"), 120), "task": "t", "left": names[left], "right": names[right]}
    frames = {"grades": grades, "rankings": lists, "pairs": pl.DataFrame({**pairs, "winner": names[won]})}
    if order is not None:
        shuffle = np.random.default_rng(order)
        frames = {kind: frame[shuffle.permutation(len(frame))] for kind, frame in frames.items()}
    return frames


def test_as_wide_as_laplace_has_it(sampled):
    """Of a well-sampled study with the right model, two ways to say the same."""
    method = cr.BradleyTerry(prior=1.0)
    one, other = method.fit(sampled), cr.bootstrap(method, sampled, rounds=300)
    assert 0.8 < width(other) / width(one) < 1.25
    assert 0.8 < np.nanmean(other.gap_error) / np.nanmean(one.gap_error) < 1.25
    assert 0.8 < (other.rank_high - other.rank_low + 1).mean() / (one.rank_high - one.rank_low + 1).mean() < 1.25
    np.testing.assert_array_equal(other.score, one.score)
    assert np.isnan(other.gap_error).sum() == 1  # of the last, that has no next


def test_a_mean_has_the_error_of_a_mean():
    """The bootstrap of a mean of n grades has the standard error √(Σ(x − x̄)² / n²), and nearly normal percentiles."""
    grade = np.random.default_rng(3).integers(0, 5, 200)
    grades = {"annotator": np.arange(200) % 7, "item": ["x"] * 200, "grade": grade}
    consensus = cr.bootstrap("mean", cr.judgments(grades), rounds=1000)
    assert width(consensus) == pytest.approx(2 * 1.96 * grade.std() / np.sqrt(200), rel=0.1)


def test_higher_levels_are_wider(sampled):
    low, high = (cr.bootstrap("elo", sampled, rounds=ROUNDS, level=level) for level in (0.5, 0.95))
    assert (low.high - low.low < high.high - high.low).all()
    np.testing.assert_array_equal(low.gap_error, high.gap_error)


def test_wider_over_annotators_when_they_differ():
    """Annotators have preferences of their own: judgments by one agree, and another crowd would judge differently."""
    rng = np.random.default_rng(4)
    taste = rng.normal(0, 2, (12, 6))
    who = np.repeat(np.arange(12), 100)
    left, right = rng.permuted(np.tile(np.arange(6), (1200, 1)), axis=1)[:, :2].T
    left_wins = rng.random(1200) < 1 / (1 + np.exp(taste[who, right] - taste[who, left]))
    study = cr.judgments({"annotator": who, "left": left, "right": right, "winner": np.where(left_wins, left, right)})
    method = cr.BradleyTerry(prior=1.0)
    crowds, samples = (cr.bootstrap(method, study, rounds=100, over=over) for over in ("annotators", "judgments"))
    assert width(crowds) > 1.5 * width(samples)


@pytest.mark.parametrize("over", ["judgments", "annotators"])
@pytest.mark.parametrize("name", cr.METHODS)
def test_every_method(name, over):
    """All kinds of judgment at once; intervals hold what they are intervals of."""
    study = cr.judgments(*mixed().values())
    method = cr.METHODS[name]()
    own = (replace(method, intervals=False) if hasattr(method, "intervals") else method).fit(study)
    consensus = cr.bootstrap(name, study, rounds=8, over=over)
    np.testing.assert_allclose(consensus.score, own.score)
    assert (consensus.low <= consensus.score).all()
    assert (consensus.score <= consensus.high).all()
    assert (consensus.low < consensus.high).any()
    assert (consensus.rank_low <= consensus.rank).all()
    assert (consensus.rank <= consensus.rank_high).all()
    assert consensus.rank_low.min() >= 1
    assert consensus.rank_high.max() <= 5
    assert np.isnan(consensus.gap_error).sum() == 2  # the last of each task
    table = consensus.annotators
    assert table.columns[:4] == ["annotator", "judgments", "quality", "verdict"]
    assert table.filter(
        (pl.col("quality_low") > pl.col("quality")) | (pl.col("quality") > pl.col("quality_high"))
    ).is_empty()
    assert f"intervals contain 95% of 8 fits to resampled {over}" in consensus.notes
    assert {"low", "high", "rank_low", "rank_high"} <= set(consensus.ranking.columns)


@pytest.mark.parametrize("over", ["judgments", "annotators"])
@pytest.mark.parametrize("name", ["mean", "borda", "bradley-terry", "crowd-bt", "condorcet"])
def test_the_order_of_the_judgments_does_not_matter(name, over):
    one, two = (
        cr.bootstrap(name, cr.judgments(*mixed(order=order).values()), rounds=8, over=over, seed=5)
        for order in (None, 6)
    )
    assert not np.array_equal(mixed()["pairs"], mixed(order=6)["pairs"])
    np.testing.assert_allclose(one.low, two.low, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.high, two.high, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.rank_high, two.rank_high)
    np.testing.assert_allclose(one.annotators["quality_low"], two.annotators["quality_low"], rtol=1e-12)


@pytest.mark.parametrize("name", ["elo", "crowd-bt"])
def test_the_seed_decides(sampled, name):
    one, same, other = (cr.bootstrap(name, sampled, rounds=6, seed=seed) for seed in (1, 1, 2))
    assert one.low.tobytes() == same.low.tobytes()
    assert one.annotators.equals(same.annotators)
    assert one.low.tobytes() != other.low.tobytes()


def test_rounds_are_fitted_without_intervals_and_only_as_exactly_as_needed(monkeypatch):
    study = cr.simulate.pairs(items=8, annotators=6, votes=600, seed=1).judgments
    fitted, original = [], cr.CrowdBT.fit

    def spy(self, judgments, gold=None):
        fitted.append(self)
        return original(self, judgments, gold)

    monkeypatch.setattr(cr.CrowdBT, "fit", spy)
    cr.bootstrap(cr.CrowdBT(max_iter=150), study, rounds=3)
    first, *others = fitted
    assert (first.prior, first.quality_prior, first.intervals, first.max_iter) == (None, None, False, 150)
    assert {(m.prior, m.intervals, m.max_iter) for m in others} == {(None, False, 150)}
    assert all(m.tol > first.tol for m in others)


def test_annotators_who_were_never_drawn_have_no_interval():
    """In two rounds of one draw each from fifty annotators with one vote, most never take part."""
    votes = {"annotator": np.arange(50), "left": ["x"] * 50, "right": ["y"] * 50, "winner": ["x"] * 50}
    table = cr.bootstrap(cr.CrowdBT(prior=1.0), cr.judgments(votes), rounds=2, over="annotators").annotators
    assert 0 < table["quality_low"].null_count() < 25  # about 50 · e⁻²
    assert table["quality_low"].is_null().to_list() == table["quality_high"].is_null().to_list()


def test_one_row_per_annotator_and_task():
    study = cr.judgments(mixed()["pairs"], mixed()["grades"])
    table = cr.bootstrap(cr.CrowdBT(prior=1.0, quality_per="task"), study, rounds=10, over="annotators").annotators
    assert len(table) == 10
    assert table["quality_low"].null_count() == 0
    assert ((table["quality_low"] <= table["quality"]) & (table["quality"] <= table["quality_high"])).all()


def test_who_is_drawn_twice_says_everything_twice():
    """With two annotators, some rounds hold one of them twice: their scores are those of the grades given twice."""
    grades = {"annotator": ["a"] * 3 + ["b"] * 3, "item": list("xyzxyz"), "grade": [1, 2, 3, 3, 2, 1]}
    consensus = cr.bootstrap(cr.BradleyTerry(prior=1.0), cr.judgments(grades), rounds=60, over="annotators", level=0.99)
    twice = pl.concat([pl.DataFrame(grades)[:3], pl.DataFrame(grades)[:3].with_columns(annotator=pl.lit("a again"))])
    expected = cr.BradleyTerry(prior=1.0).fit(cr.judgments(twice)).score
    np.testing.assert_allclose(consensus.high[2], expected.max(), atol=2e-3)


def test_drawn_studies_are_made_of_the_study():
    """Rows stay whole, in number and content; lists stay lists."""
    study = canonical(cr.judgments(*mixed().values()))
    again = drawn(study, np.random.default_rng(0))
    assert again.vocabulary is study.vocabulary
    for kind, names in (
        ("pairs", ("annotator", "left", "right", "outcome")),
        ("grades", ("annotator", "entry", "grade")),
    ):
        old, new = (
            list(zip(*(getattr(getattr(each, kind), name).tolist() for name in names), strict=True))
            for each in (study, again)
        )
        assert len(new) == len(old)
        assert set(new) < set(old)
    old, new = (
        {_list(each.rankings, number) for number in range(len(each.rankings.list_annotator))} for each in (study, again)
    )
    assert len(again.rankings.list_annotator) == len(study.rankings.list_annotator)
    assert new < old


def _list(lists, number):
    rows = slice(*lists.list_starts[number : number + 2])
    return int(lists.list_annotator[number]), tuple(lists.entry[rows].tolist()), tuple(lists.position[rows].tolist())


def test_gold_goes_to_every_fit():
    study = cr.simulate.pairs(items=10, annotators=10, votes=2000, malicious=0.7, seed=1)
    consensus = cr.bootstrap(cr.CrowdBT(prior=1.0), study.judgments, rounds=6, gold=study.gold)
    assert cr.evaluate(consensus, study.gold, "acc").mean["acc"] > 0.9
    assert np.median(consensus.high - consensus.low) < 2  # no round was reversed
    with pytest.raises(cr.SettingError, match="elo does not use gold"):
        cr.bootstrap("elo", study.judgments, gold=study.gold)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"over": "items"}, "over"), ({"rounds": 1}, "rounds"), ({"rounds": 2.5}, "rounds"), ({"level": 1}, "level")],
)
def test_wrong_words_are_refused(sampled, given, name):
    with pytest.raises(cr.SettingError, match=name):
        cr.bootstrap("elo", sampled, **given)


def test_no_judgments():
    consensus = cr.bootstrap(
        cr.BradleyTerry(prior=1.0), cr.judgments({"left": [], "right": [], "winner": []}), rounds=3
    )
    assert len(consensus.low) == 0


def test_what_few_rounds_have_is_said():
    """z is on one ballot of five: a third of the rounds do not draw it, and all others put it first."""
    lists = {"annotator": list("aabbccddee"), "item": list("xyxyxyxyzx"), "rank": [1, 2] * 5}
    consensus = cr.bootstrap("borda", cr.judgments(lists), rounds=50)
    assert any("1 entries have so few judgments" in note for note in consensus.notes)
