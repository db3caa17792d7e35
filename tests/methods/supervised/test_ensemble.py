"""The sum of crf and boosted."""

import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.cells import standardised


def test_it_adds_what_is_standardised_in_each_task():
    crowd = cr.simulate.rankings(10, 4, tasks=30, theta=(-1.0, 0.5), seed=1)
    both = cr.Ensemble(max_iter=6, rounds=10).train(crowd.judgments, crowd.gold)
    parts = [
        standardised(member.fit(crowd.judgments).score[:, None], crowd.judgments.vocabulary)[:, 0]
        for member in (both.crf, both.boosted)
    ]
    found = both.fit(crowd.judgments)
    assert found.score == pytest.approx(parts[0] + parts[1])
    assert {"use", "missing", "preferred", "beaten", "importance"} <= set(found.annotators.columns)
