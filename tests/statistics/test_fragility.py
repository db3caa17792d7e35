"""The sets that `fragility` finds change the result, and are no larger than what slow, greedy removal finds."""

import time

import numpy as np
import pytest

import build
import crowdrank as cr
from crowdrank.statistics import fragility
from crowdrank.statistics.removal import kept_of

METHODS = [cr.BradleyTerry(intervals=False), cr.CrowdBT(intervals=False)]


def gap(method, study, mask, winner):
    """By how much the winner is ahead of the best other entry."""
    score = method.fit(kept_of(study, mask)).score
    return score[winner] - np.nanmax(np.delete(score, winner))


def greedy(method, study, most):
    """Remove one judgment after the other, each time the one whose removal brings the next entry closest."""
    mask = np.ones(sum(study.counts.values()), bool)
    winner = int(np.nanargmax(method.fit(study).score))
    for count in range(1, most + 1):
        best = None
        for row in np.flatnonzero(mask):
            mask[row] = False
            found = gap(method, study, mask, winner)
            mask[row] = True
            if best is None or found < best[0]:
                best = found, row
        mask[best[1]] = False
        if best[0] < 0:
            return count
    return most + 1


def first(method, study, mask, k=1):
    return set(np.argsort(-method.fit(kept_of(study, mask)).score, kind="stable")[:k].tolist())


@pytest.mark.parametrize(("method", "seed"), [(METHODS[0], 0), (METHODS[0], 1), (METHODS[0], 2), (METHODS[1], 2)])
def test_never_more_than_greedy_removal(method, seed):
    study = cr.simulate.pairs(items=5, annotators=4, votes=40, spread=1.0, seed=seed).judgments
    found = fragility(method, study)
    assert found.found
    mask = np.ones(40, bool)
    mask[found.removed] = False
    assert first(method, study, mask) != first(method, study, ~mask | mask)
    assert len(found.removed) <= greedy(method, study, len(found.removed))


@pytest.mark.parametrize("kind", ["grades", "rankings", "pairs"])
@pytest.mark.parametrize("of", ["judgments", "annotators"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_set_changes_the_first_k(kind, of, k):
    studies = {
        "grades": (cr.Mean(), cr.simulate.grades(items=12, annotators=9, labels=4, seed=4)),
        "rankings": (cr.Borda(), cr.simulate.rankings(8, 12, tasks=1, seed=2)),
        "pairs": (METHODS[1], cr.simulate.pairs(items=10, annotators=9, votes=400, spread=1.0, seed=4)),
    }
    method, simulated = studies[kind]
    study = simulated.judgments
    found = fragility(method, study, of=of, k=k)
    if not found.found:
        assert found.before == found.after
        return
    whose = np.concatenate([study.grades.annotator, study.pairs.annotator, study.rankings.list_annotator])
    gone = np.isin(whose, found.removed) if of == "annotators" else np.isin(np.arange(len(whose)), found.removed)
    assert first(method, study, ~gone, k) != first(method, study, np.ones(len(whose), bool), k)
    assert set(found.before) != set(found.after)


def test_a_study_too_large_to_fit_the_method_in_the_search():
    """The search fits a quicker variant; what it finds must hold for the method itself."""
    method = cr.CrowdBT()
    study = cr.simulate.pairs(items=8, annotators=10, votes=500, spread=1.0, seed=1).judgments
    found = fragility(method, study)
    assert found.found
    gone = np.isin(np.arange(500), found.removed)
    assert first(method, study, ~gone) != first(method, study, gone | ~gone)


def test_five_votes_by_hand():
    """x beats y three times to two: two votes for x must go."""
    votes = [("t", f"a{n}", "x", "y", "x" if n < 3 else "y") for n in range(5)]
    found = fragility(cr.BradleyTerry(), build.judgments(pairs=votes))
    assert len(found.removed) == 2
    assert set(found.removed) < {0, 1, 2}
    assert (found.before, found.after) == (("x",), ("y",))


def test_tied_items_need_no_removal():
    votes = [("t", "a", "x", "y", "x"), ("t", "b", "x", "y", "y")]
    assert not fragility(cr.BradleyTerry(), build.judgments(pairs=votes)).found


def test_one_item_cannot_lose():
    assert not fragility(cr.Mean(), build.judgments(grades=[("t", "a", "x", 1)])).found


def test_fifty_thousand_votes_take_seconds():
    study = cr.simulate.pairs(items=50, annotators=200, votes=50_000, seed=0).judgments
    start = time.process_time()
    found = fragility(cr.BradleyTerry(), study)
    assert found.found
    assert time.process_time() - start < 30
