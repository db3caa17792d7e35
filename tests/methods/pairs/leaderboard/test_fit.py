"""Votes with covariates, categories, biases and trusted annotators, fitted by their methods."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.pairs.leaderboard import fit, scale
from crowdrank.methods.pairs.leaderboard.solver import arrow_of, posterior_at
from crowdrank.study import JudgmentError
from leaderboard_votes import simulated


def inside(low, value, high):
    return np.mean((low <= value) & (value <= high))


@pytest.mark.parametrize("method", ["bradley-terry", "thurstone"])
def test_style_control_removes_the_effect_of_length(method):
    """Items of equal score, one of which writes more: without the covariate it wins, with it nothing is left."""
    rng = np.random.default_rng(0)
    left, right = rng.permuted(np.tile(np.arange(4), (3000, 1)), axis=1)[:, :2].T
    long = rng.normal(size=3000) + 1.0 * ((left == 0).astype(float) - (right == 0))
    winner = np.where(rng.logistic(size=3000) < long, left, right)
    votes = {"left": left, "right": right, "winner": winner, "long": long}
    judgments = cr.judgments(votes, covariates=["long"])
    plain, fair = cr.fit(method, cr.judgments(votes)), cr.fit(method, judgments)
    assert plain.low[0] > 0.3
    assert fair.low[0] < 0 < fair.high[0]
    assert fair.rank_without[0] == 1
    found = fair.covariates.row(0, named=True)
    if method == "bradley-terry":
        assert found["per_unit_low"] < 1.0 < found["per_unit_high"]
        assert found["coefficient"] == pytest.approx(found["per_unit"] * np.sqrt((long**2).mean()))


def test_intervals_contain_the_truth():
    """Over simulated studies, 95 % intervals of all effects contain them; 24 coefficients may all be inside."""
    hits = {"coefficient": [], "deviation": [], "category": [], "score": []}
    for seed in range(12):
        truth = simulated(seed=seed, votes=1000, items=8, categories=4)
        found = cr.fit("bradley-terry", truth.judgments)
        effects, parts = found.covariate_columns, found.category_columns
        hits["coefficient"].append(inside(effects["low"], truth.coefficient, effects["high"]))
        hits["score"].append(inside(found.low, truth.score - truth.score.mean(), found.high))
        own = truth.deviation - truth.deviation.mean(axis=1, keepdims=True)
        hits["deviation"].append(inside(parts["deviation_low"], own.ravel(), parts["deviation_high"]))
        both = truth.score + truth.deviation
        both -= both.mean(axis=1, keepdims=True)
        hits["category"].append(inside(parts["low"], both.ravel(), parts["high"]))
    shares = {name: np.mean(values) for name, values in hits.items()}
    assert min(shares.values()) >= 0.88, shares
    assert max(shares["deviation"], shares["category"]) <= 0.99, shares


def test_sparse_categories_borrow_from_the_whole():
    """Few votes in each category: closer to the truth than separate fits, and than one fit for all."""
    errors = {"pooled": 0.0, "separate": 0.0, "one": 0.0}
    for seed in range(3):
        truth = simulated(seed=20 + seed, items=8, categories=6, votes=900, covariates=0, deviation=0.5)
        study = replace(truth.judgments, pairs=replace(truth.judgments.pairs, covariates=None))
        both = truth.score + truth.deviation
        both -= both.mean(axis=1, keepdims=True)
        pooled = cr.fit("bradley-terry", study).category_columns["score"].reshape(both.shape)
        bare = replace(study, pairs=replace(study.pairs, category=None), categories=None)
        one = cr.fit("bradley-terry", bare, intervals=False).score
        for level in range(6):
            rows = study.pairs.category == level
            columns = {name: getattr(study.pairs, name)[rows] for name in ("annotator", "left", "right", "outcome")}
            alone = cr.fit("bradley-terry", replace(bare, pairs=type(bare.pairs)(**columns)), intervals=False).score
            for name, found in (("pooled", pooled[level]), ("separate", alone), ("one", one)):
                errors[name] += ((found - both[level]) ** 2).sum()
    assert errors["pooled"] < 0.95 * min(errors["separate"], errors["one"]), errors


def test_biases_of_annotators_are_found():
    """Slopes and biases of single annotators, in a crowd with qualities below 1."""
    quality = np.random.default_rng(1).beta(8, 2, size=10)
    truth = simulated(seed=3, annotators=10, votes=3500, slope=0.6, bias=0.8, quality=quality, ties=0.4)
    found = cr.fit("crowd-bt", truth.judgments, order_bias=True).annotator_columns
    assert np.corrcoef(found["left_bias"], truth.bias)[0, 1] > 0.9
    assert np.corrcoef(found["bias_x0"], truth.slope[:, 0])[0, 1] > 0.8
    assert inside(found["left_bias_low"], truth.bias, found["left_bias_high"]) >= 0.8
    assert inside(found["tie_threshold_low"], 0.4, found["tie_threshold_high"]) >= 0.7


def test_rows_in_any_order_give_the_same():
    truth = simulated(seed=4, votes=400, ties=0.3)
    order = np.random.default_rng(0).permutation(len(truth.judgments.pairs))
    pairs = truth.judgments.pairs
    columns = {name: getattr(pairs, name) for name in type(pairs).__slots__}
    mixed = type(pairs)(**{name: None if column is None else column[order] for name, column in columns.items()})
    one = cr.fit("crowd-bt", truth.judgments)
    other = cr.fit("crowd-bt", replace(truth.judgments, pairs=mixed))
    assert other.score == pytest.approx(one.score, abs=1e-7)
    assert other.covariate_columns["low"] == pytest.approx(one.covariate_columns["low"], abs=1e-7)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0] * 4, "'x' is the same in every vote"),
        ([1.0, 2.0, None, 3.0], "x is missing"),
        ([1.0, 2.0, float("inf"), 3.0], "not a finite number"),
    ],
)
def test_covariates_that_cannot_be_used_are_named(column, said):
    votes = {"left": list("abca"), "right": list("bcab"), "winner": list("abaa"), "x": column}
    with pytest.raises(JudgmentError, match=said):
        cr.fit("bradley-terry", cr.judgments(votes, covariates=["x"]))


def test_collinear_covariates_are_named():
    votes = {"left": list("abca"), "right": list("bcab"), "winner": list("abaa"), "x": [1, 2, 3, 5], "y": [2, 4, 6, 10]}
    with pytest.raises(JudgmentError, match="'y' is collinear: 'x' already says"):
        cr.fit("bradley-terry", cr.judgments(votes, covariates=["x", "y"]))


def test_nearly_collinear_covariates_are_noted():
    """Tokens are nearly a fixed share of the characters, and have nothing to do with the number of headings."""
    truth = simulated(votes=300, covariates=1)
    pairs, rng = truth.judgments.pairs, np.random.default_rng(0)
    characters, headings = rng.normal(size=(2, len(pairs)))
    tokens = characters / 4 + 0.01 * rng.normal(size=len(pairs))
    columns = {"characters": characters, "headings": headings, "tokens": tokens}
    votes = replace(
        truth.judgments,
        covariates=tuple(columns),
        pairs=replace(pairs, covariates=np.column_stack([*columns.values()])),
    )
    notes = cr.fit("bradley-terry", votes).notes
    assert any(note.startswith("covariate 'tokens' is nearly collinear with 'characters': ") for note in notes)
    few = replace(
        votes, covariates=("characters", "headings"), pairs=replace(pairs, covariates=votes.pairs.covariates[:, :2])
    )
    assert not any("collinear" in note for note in cr.fit("bradley-terry", few).notes)


def test_a_covariate_that_items_decide_is_noted():
    truth = simulated(votes=300, covariates=1)
    pairs = truth.judgments.pairs
    size = np.arange(truth.judgments.vocabulary.n_entries) ** 2.0
    x = (size[pairs.left] - size[pairs.right])[:, None]
    found = cr.fit("bradley-terry", replace(truth.judgments, pairs=replace(pairs, covariates=x)))
    assert any("cannot tell its effect from the items' scores" in note for note in found.notes)


def test_trusted_annotators_decide_what_is_right():
    """Most votes are by annotators with a taste of their own: the ranking follows the few trusted ones."""
    rng = np.random.default_rng(5)
    score, other = rng.normal(size=8), rng.normal(size=8)
    who = np.r_[rng.integers(3, size=900), rng.integers(3, 9, size=9000)]
    left, right = rng.permuted(np.tile(np.arange(8), (len(who), 1)), axis=1)[:, :2].T
    true = np.where((who < 3)[:, None], score, other)
    gap = true[np.arange(len(who)), left] - true[np.arange(len(who)), right]
    votes = pl.DataFrame({"annotator": who, "left": left, "right": right}).with_columns(
        winner=np.where(rng.logistic(size=len(who)) < gap, left, right)
    )
    study = cr.judgments(votes, trusted=[0, 1, 2])
    found = cr.fit("crowd-bt", study)
    assert (
        np.corrcoef(found.score, score)[0, 1]
        > 0.9
        > np.corrcoef(cr.fit("crowd-bt", cr.judgments(votes)).score, score)[0, 1]
    )
    (note,) = [note for note in found.notes if "are worth about" in note]
    worth = float(note.split("worth about ")[1].split()[0].replace(",", ""))
    assert worth < 900
    wanted = cr.statistics.settled(found).drop_nulls()  # people alone need fewer votes than the mixture does
    assert (wanted["more_trusted_votes"] <= wanted["more_votes"]).all()
    assert wanted["more_votes"].max() > 0
    assert found.annotators["trusted"].to_list() == [True] * 3 + [False] * 6
    assert (
        found.annotators.filter(trusted=True)["agreement"].mean()
        > found.annotators.filter(trusted=False)["agreement"].mean()
    )


def test_what_votes_are_worth_does_not_depend_on_the_scale_of_scores(monkeypatch):
    """People alone were compared at another scale than all: machines that agree with them seemed worth nothing."""
    truth = simulated(seed=6, annotators=6, votes=3000, covariates=0, deviation=0.0, quality=np.full(6, 0.9))
    pairs = replace(truth.judgments.pairs, covariates=None, category=None)
    study = replace(truth.judgments, pairs=pairs, categories=None, trusted=np.arange(6) < 4)
    search, worth = scale.learn_crowd, []
    for factor in (1.0, 1.8):

        def further_apart(model, *given, factor=factor, **settings):
            found = search(model, *given, **settings)
            values = scale._times(model, found.values, factor)
            return replace(found, values=values, arrow=arrow_of(posterior_at(model, values, found.spreads)[1]))

        monkeypatch.setattr(fit, "learn_crowd", further_apart)
        found = cr.fit("crowd-bt", study, intervals=False)
        worth.append(found.settings["untrusted_worth"])
    assert worth[1] == pytest.approx(worth[0], rel=0.5)
    assert min(worth) > 100


def test_votes_that_agree_with_trusted_ones_are_worth_as_much():
    """A vote of an annotator with the same quality is worth about one; that of a spammer nothing."""
    quality = np.array([0.95] * 4 + [0.95, 0.5])
    truth = simulated(seed=6, annotators=6, votes=9000, covariates=0, deviation=0.0, quality=quality)
    pairs = replace(truth.judgments.pairs, covariates=None, category=None)
    study = replace(truth.judgments, pairs=pairs, categories=None, trusted=np.arange(6) < 4)
    found = cr.fit("crowd-bt", study).annotator_columns
    assert found["worth"][4] == pytest.approx(1.0, abs=0.25)
    assert found["worth"][5] < 0.1


def test_self_consistency_by_hand():
    """ann: the same question three times, with one other answer; then swapped. Her answers to it agree 1 of 3 times."""
    votes = {
        "annotator": ["ann"] * 5,
        "left": ["x", "x", "x", "y", "x"],
        "right": ["y", "y", "y", "x", "z"],
        "winner": ["x", "x", "y", "x", "x"],
    }
    columns = cr.fit("bradley-terry", cr.judgments(votes, trusted=["ann"])).annotators.row(0, named=True)
    assert columns["repeat_consistency"] == pytest.approx(1 / 3)
    assert columns["repeat_consistency_count"] == 3
    assert columns["swap_consistency"] == pytest.approx(2 / 3)
    assert columns["swap_consistency_count"] == 3
    assert 0 < columns["swap_consistency_low"] < 2 / 3 < columns["swap_consistency_high"] < 1


def test_own_family_and_differences_of_columns(tmp_path):
    """`key=a-b` is 1 where the left item has the annotator's family, -1 where the right one has."""
    pl.DataFrame(
        {
            "judge": ["p", "q", "q"], "model_a": ["a", "b", "c"], "model_b": ["b", "c", "a"],
            "winner": ["a", "b", "tie"],
            "family": ["u", "v", "w"], "family_a": ["u", "w", "u"], "family_b": ["v", "v", "u"],
            "length-a": [5, 2, 7], "length-b": [3, 3, 3], "kind": ["code", "", "chat"],
        }
    ).write_csv(tmp_path / "votes.csv")  # fmt: skip
    study = cr.read(
        tmp_path / "votes.csv", covariates=["family=family_a-family_b", "length-a-length-b"], by="kind", trusted=["p"]
    )
    assert study.pairs.covariates.tolist() == [[1, 2], [-1, -1], [0, 4]]
    assert study.categories.tolist() == ["chat", "code"]
    assert study.pairs.category.tolist() == [1, -1, 0]
    assert study.trusted.tolist() == [True, False]


def test_covariates_of_winners_and_losers_keep_their_sides():
    """Without sides a file lists the winner first; where the pair is turned round, so is the covariate."""
    votes = {"winner": ["a", "b", "c", "a"], "loser": ["b", "a", "a", "c"], "x": [1.0, 2.0, 3.0, 4.0]}
    pairs = cr.judgments(votes, covariates=["x"]).pairs
    assert (pairs.covariates[:, 0] * pairs.outcome).tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"covariates": ["lenght"]}, "no column.*did you mean 'length'"),
        ({"covariates": ["famly=left-right"]}, "there is no column 'famly'"),
        ({"covariates": "length"}, "a list of names"),
        ({"covariates": ["length", "length"]}, "given twice"),
        ({"by": "kind"}, "there is no column 'kind'"),
        ({"trusted": ["zoe"]}, "none of the trusted annotators"),
    ],
)
def test_wrong_names_are_refused(given, said):
    votes = {"annotator": ["ann"], "left": ["a"], "right": ["b"], "winner": ["a"], "length": [1.0]}
    with pytest.raises(JudgmentError, match=said):
        cr.judgments(votes, **given)


def test_settings_that_do_not_go_together_are_refused():
    truth = simulated(votes=100)
    with pytest.raises(cr.SettingError, match="remove prior"):
        cr.fit("bradley-terry", truth.judgments, prior=0.1)


def test_other_methods_say_that_they_do_not_use_covariates():
    assert any("does not use covariates" in note for note in cr.fit("elo", simulated(votes=100).judgments).notes)


def test_machines_that_agree_with_each_other_do_not_outvote_people():
    """Two machines have firm opinions of their own; the ranking is that of the people, who are trusted and err."""
    rng = np.random.default_rng(4)
    truth, opinion = rng.normal(size=(2, 12)) * [[1.0], [5.0]]
    who = np.r_[rng.integers(40, size=900), 40 + rng.integers(2, size=1800)]
    left, right = rng.permuted(np.tile(np.arange(12), (len(who), 1)), axis=1)[:, :2].T
    gap = np.where(who < 40, truth[left] - truth[right], opinion[left] - opinion[right])
    wrong = (who < 40) & (rng.random(len(who)) < 0.25)
    won = (rng.logistic(size=len(who)) < gap) != wrong
    table = {"annotator": who, "left": left, "right": right, "winner": np.where(won, left, right)}
    study = cr.judgments(table, trusted=[str(name) for name in range(40)])
    found = cr.fit("crowd-bt", study, intervals=False)
    order = np.array([int(item) for item in study.vocabulary.items])
    assert np.corrcoef(found.score, truth[order])[0, 1] > 0.85
    assert np.corrcoef(found.score, opinion[order])[0, 1] < np.corrcoef(truth, opinion)[0, 1] + 0.25
    assert found.settings["untrusted_spread"] > 2
