import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.methods.grades.mean import Mean
from crowdrank.study import JudgmentError

GRADES = st.lists(
    st.tuples(st.sampled_from("tu"), st.sampled_from(["ann", "bob"]), st.sampled_from("abcd"), st.floats(-5, 5)),
    min_size=1,
    max_size=30,
)


@given(grades=GRADES)
def test_the_score_is_the_mean_of_the_grades(build, grades):
    study = build.judgments(grades=grades)
    vocabulary, score = study.vocabulary, Mean().fit(study).score
    for entry in range(vocabulary.n_entries):
        key = vocabulary.tasks[vocabulary.entry_task[entry]], vocabulary.items[vocabulary.entry_item[entry]]
        assert score[entry] == pytest.approx(np.mean([g for t, _, i, g in grades if (t, i) == key]), abs=1e-12)


def test_quality_is_how_often_two_items_are_ordered_as_the_means_order_them(build):
    rows = {"ann": (3, 2, 1), "bob": (3, 2, 1), "cid": (3, 3, 1), "dan": (1, 2, 3)}
    study = build.judgments(
        grades=[("t", who, item, g) for who, given in rows.items() for item, g in zip("xyz", given, strict=True)]
    )
    annotators = Mean().fit(study).annotators
    # Means 2.5, 2.25, 1.5. A tie cid gave is no preference.
    assert annotators["quality"].to_list() == [1.0, 1.0, 1.0, 0.0]
    assert annotators["judgments"].to_list() == [3, 3, 3, 3]


def test_what_was_not_graded_is_not_ranked_and_tells_nothing_of_annotators(build):
    study = build.judgments(
        grades=[("t", "ann", "a", 2), ("t", "ann", "b", 1)],
        pairs=[("t", "bob", "c", "d", "c"), ("t", "bob", "a", "b", "a")],
        lists=[("t", "cid", [["c"], ["d"]], False), ("t", "dan", [["b"], ["c"], ["a"]], False)],
    )
    consensus = Mean().fit(study)
    assert consensus.rank.tolist() == [1, 2, 0, 0]
    assert consensus.annotators["quality"].to_list() == [1.0, 1.0, None, 0.0]
    text = " ".join(consensus.notes)
    assert "2 entries have no judgments" in text
    assert "2 pairs not used" in text
    assert "2 rankings not used" in text


def test_a_study_without_grades_is_refused(build):
    with pytest.raises(JudgmentError, match="mean needs grades; this study has only pairs"):
        Mean().fit(build.judgments(pairs=[("t", "k", "a", "b", "a")]))


def test_nothing_at_all_gives_nothing(build):
    assert len(Mean().fit(build.judgments()).ranking) == 0


def test_one_annotator_who_always_gives_the_same_grade_is_named(build):
    rows = [("t", "same", item, 1) for item in "abcdefgh"] + [("t", "ann", item, ord(item) % 3) for item in "abcdefgh"]
    consensus = Mean().fit(build.judgments(grades=rows))
    assert consensus.annotators["verdict"][1] == "one-sided"
    assert any("same (always grade 1, 8 items)" in note for note in consensus.notes)
