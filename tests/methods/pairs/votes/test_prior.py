"""How strong a prior is chosen, and whether what it is chosen by comes near leaving votes out for real."""

import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.convert import votes
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.crowd_bt import CrowdBT
from crowdrank.methods.pairs.votes.model import Priors, VoteModel
from crowdrank.methods.pairs.votes.prior import STRENGTHS
from crowdrank.numerics.newton import minimise

LIKE_READABILITY = {"items": 490, "annotators": 600, "votes": 12_700, "quality": (4.0, 1.0), "spread": 1.0}
NEIGHBOURS = {"items": 200, "annotators": 50, "votes": 40_000, "neighbours": 2, "spread": 5.0}


def chosen(consensus):
    """The strength a result says was chosen."""
    (note,) = (note for note in consensus.notes if note.startswith("prior "))
    assert note.endswith(", chosen by leave-one-out prediction")
    return float(note.split()[1].rstrip(","))


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
@pytest.mark.parametrize("seed", [0, 1])
def test_where_anybody_meets_anybody_a_strong_prior_is_chosen(method, seed):
    found = chosen(method(intervals=False).fit(simulate.pairs(**LIKE_READABILITY, seed=seed).judgments))
    assert 0.3 <= found <= 10


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
@pytest.mark.parametrize("seed", [0, 1])
def test_where_only_neighbours_meet_a_weak_prior_is_chosen(method, seed):
    found = chosen(method(intervals=False).fit(simulate.pairs(**NEIGHBOURS, seed=seed).judgments))
    assert found <= 0.03


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
def test_what_is_chosen_is_what_is_fitted(method):
    study = simulate.pairs(items=30, annotators=20, votes=1500, ties=0.1, seed=3).judgments
    by_default = method().fit(study)
    fixed = method(prior=chosen(by_default), **({} if method is BradleyTerry else {"quality_prior": (2.0, 2.0)})).fit(
        study
    )
    assert by_default.score == pytest.approx(fixed.score, abs=1e-6)
    assert not any(note.startswith("prior ") for note in fixed.notes)


@pytest.mark.parametrize("method", [BradleyTerry, CrowdBT])
def test_names_and_the_order_of_rows_do_not_matter(build, method):
    study = simulate.pairs(items=30, annotators=20, votes=1500, ties=0.1, seed=4).judgments
    rng, n = np.random.default_rng(0), len(study.pairs)
    one, shuffled = method().fit(study), method().fit(build.rows_of(study, rng.permutation(n)))
    assert chosen(one) == chosen(shuffled)
    assert one.score.tobytes() == shuffled.score.tobytes()
    item, who = (
        rng.permutation(30).astype(np.int32),
        rng.permutation(20).astype(np.int32),
    )  # other codes are other names
    pairs = study.pairs
    renamed = method().fit(
        build.with_pairs(study, annotator=who[pairs.annotator], left=item[pairs.left], right=item[pairs.right])
    )
    assert chosen(one) == chosen(renamed)
    assert one.score == pytest.approx(renamed.score[item], abs=1e-6)


def test_the_chosen_prior_predicts_new_votes_about_as_well_as_any(build):
    """On votes of the same crowd that no fit has seen."""
    lost = []
    for seed in range(5):
        study = simulate.pairs(items=40, annotators=30, votes=6000, spread=1.0, seed=seed).judgments
        seen, new = build.rows_of(study, np.arange(500)), build.rows_of(study, np.arange(500, 6000))
        value = {
            strength: build.log_posterior(new, BradleyTerry(prior=strength, intervals=False).fit(seen).score, 0.0)
            / 5500
            for strength in STRENGTHS
        }
        lost.append(max(value.values()) - value[chosen(BradleyTerry(intervals=False).fit(seen))])
    assert np.mean(lost) < 0.005


@pytest.mark.parametrize("prior", [1.0, 0.3])
@pytest.mark.parametrize("free", [(), ("quality",)])
def test_a_vote_left_out_is_predicted_about_as_by_a_fit_without_it(prior, free):
    study = simulate.pairs(items=12, annotators=4, votes=150, seed=2).judgments
    table = votes(study.pairs, study.vocabulary, pooled=not free)

    def model(weight):
        kept = type(table)(table.annotator, table.winner, table.loser, table.kind, weight)
        return VoteModel(kept, table.annotator, 12, 4 if free else 1, "logistic", free, Priors(prior, (2.0, 2.0)))

    whole = model(table.weight)
    start = np.r_[np.zeros(12), np.full(whole.layout.size - 12, 2.0)]
    found = minimise(whole, start, max_iter=100, tol=1e-8).x
    near = whole.leave_one_out(found)
    exact = []
    for row in range(len(table)):
        without = minimise(model(table.weight - (np.arange(len(table)) == row)), found, max_iter=100, tol=1e-8).x
        one = type(table)(*(getattr(table, name)[[row]] for name in table.__slots__))
        one = type(table)(one.annotator, one.winner, one.loser, one.kind, np.ones(1))
        alone = VoteModel(one, one.annotator, 12, whole.n_profiles, "logistic", free, Priors(0.0, (1.0, 1.0)))
        exact.append(-alone.evaluate(without)[0])
    weight = table.weight / table.weight.sum()
    # With qualities the gap and the quality change together, which one step of each does not include.
    assert near @ weight == pytest.approx(np.array(exact) @ weight, abs=0.04 if free else 0.01)
    assert np.corrcoef(near, exact)[0, 1] > 0.9


@pytest.mark.parametrize("seed", [0, 1])
def test_along_a_chain_annotators_do_not_lead_astray(seed):
    """With the usual prior its scores are all but equal, and tell nothing of annotators."""
    study = simulate.pairs(items=100, annotators=100, votes=10_000, neighbours=2, spread=5.0, seed=seed)
    consensus = CrowdBT(intervals=False).fit(study.judgments)
    assert np.corrcoef(consensus.score, study.gold.value)[0, 1] > 0.95


@pytest.mark.parametrize("seed", [5, 21])
def test_in_a_weak_crowd_scores_do_not_run_off(seed):
    study = simulate.pairs(items=100, annotators=50, votes=5000, quality=(4.0, 2.0), seed=seed)
    consensus = CrowdBT(intervals=False).fit(study.judgments)
    assert chosen(consensus) >= 0.1
    assert consensus.score.std() < 3 * study.gold.value.std()


def test_no_votes_choose_something_all_the_same(build):
    assert chosen(BradleyTerry().fit(build.judgments(entries=[("t", "a"), ("t", "b")]))) in STRENGTHS
