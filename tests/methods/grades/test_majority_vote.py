from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.methods.grades.majority_vote import MajorityVote
from crowdrank.methods.grades.mean import Mean

ROWS = st.lists(
    st.tuples(
        st.sampled_from("tu"),
        st.sampled_from(["ann", "bob"]),
        st.sampled_from("abcd"),
        st.sampled_from([-2, 0, 0.5, 3]),
    ),
    min_size=1,
    max_size=40,
)


@given(rows=ROWS)
def test_the_winner_is_the_most_frequent_grade_and_ties_are_their_mean(build, rows):
    study = build.judgments(grades=rows)
    vocabulary, score = study.vocabulary, MajorityVote(by_mean=False).fit(study).score
    for entry in range(vocabulary.n_entries):
        key = vocabulary.tasks[vocabulary.entry_task[entry]], vocabulary.items[vocabulary.entry_item[entry]]
        count = Counter(g for t, _, i, g in rows if (t, i) == key)
        assert score[entry] == pytest.approx(np.mean([g for g, n in count.items() if n == max(count.values())]))


@given(rows=ROWS)
def test_the_mean_orders_only_what_has_the_same_winner(build, rows):
    study = build.judgments(grades=rows)
    plain, mean, score = (method.fit(study).score for method in (MajorityVote(by_mean=False), Mean(), MajorityVote()))
    for i in range(len(score)):
        for j in range(i):
            if abs(plain[i] - plain[j]) > 1e-9:
                assert (score[i] > score[j]) == (plain[i] > plain[j])
            elif abs(mean[i] - mean[j]) > 1e-9:
                assert (score[i] > score[j]) == (mean[i] > mean[j])
            else:
                assert score[i] == pytest.approx(score[j])
    assert np.abs(score - plain).max() <= 1.001e-3 * (max(plain) - min(plain) or 5)


def test_continuous_grades_are_taken_together(build):
    rng = np.random.default_rng(0)
    rows = [("t", f"k{k}", f"i{i:03}", i + rng.normal(0, 3)) for i in range(300) for k in range(5)]
    consensus = MajorityVote().fit(build.judgments(grades=rows))
    assert any("1,500 different grades are merged into 32 levels" in note for note in consensus.notes)
    assert build.pair_accuracy(consensus.score, np.arange(300)) > 0.97
