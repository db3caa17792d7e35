from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdrank.convert import as_pairs, as_rankings, unshown_order, wins
from crowdrank.study import LEFT, RIGHT, JudgmentError, Pairs, Vocabulary, ids

TASKS, ANNOTATORS, ITEMS = ["t1", "t2"], ["ann", "bob", "cid"], ["a", "b", "c", "d", "e"]
GRADES = st.lists(
    st.tuples(st.sampled_from(TASKS), st.sampled_from(ANNOTATORS), st.sampled_from(ITEMS), st.integers(0, 3)), max_size=25
)
SIDES = st.permutations(ITEMS).map(lambda items: items[:2])
VOTES = st.lists(
    st.tuples(st.sampled_from(TASKS), st.sampled_from(ANNOTATORS), SIDES, st.integers(0, 2)).map(
        lambda row: (row[0], row[1], *row[2], [*row[2], "tie"][row[3]])
    ),
    max_size=40,
)


def places(items, cuts):
    """Items in order, cut into groups that share a place."""
    edges = [0, *sorted(cuts), len(items)]
    groups = [items[start:end] for start, end in pairwise(edges)]
    return [group for group in groups if group]


LISTS = st.lists(
    st.tuples(
        st.sampled_from(TASKS),
        st.sampled_from(ANNOTATORS),
        st.builds(
            places,
            st.permutations(ITEMS).flatmap(lambda items: st.integers(1, 5).map(lambda k: items[:k])),
            st.sets(st.integers(1, 4)).map(list),
        ),
        st.booleans(),
    ),
    max_size=6,
)


def named(study, pairs):
    """Pairs as a count of (task, annotator, better, worse), or (…, {the two}) for a tie."""
    words = study.vocabulary
    item, task = words.items[words.entry_item], words.tasks[words.entry_task]
    return Counter(
        preference(task[left], words.annotators[who], item[left], item[right], outcome)
        for who, left, right, outcome in zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
    )


def preference(task, annotator, left, right, outcome):
    if outcome == LEFT:
        return task, annotator, left, right
    return (task, annotator, right, left) if outcome == RIGHT else (task, annotator, frozenset((left, right)))


@given(grades=GRADES)
def test_grades_become_a_list_per_annotator_and_task(build, grades):
    study = build.judgments(grades=grades)
    lists, words = as_rankings(study), study.vocabulary
    assert len(lists) == len(grades)
    found = {}
    for number, (start, end) in enumerate(zip(lists.list_starts[:-1], lists.list_starts[1:], strict=True)):
        key = words.tasks[lists.list_task[number]], words.annotators[lists.list_annotator[number]]
        assert key not in found
        assert not lists.unlisted_below[number]
        assert (np.diff(lists.position[start:end]) >= 0).all()
        items = words.items[words.entry_item[lists.entry[start:end]]]
        found[key] = Counter(zip(items, -lists.position[start:end], strict=True))
    expected = {}
    for task, annotator, item, grade in grades:
        expected.setdefault((task, annotator), Counter())[item, float(grade)] += 1
    assert found == expected


@given(grades=GRADES)
def test_grades_become_every_preference_they_hold(build, grades):
    study = build.judgments(grades=grades)
    expected = Counter()
    for (task, who, item, grade), (other_task, other_who, other, other_grade) in combinations(grades, 2):
        if (task, who) == (other_task, other_who) and item != other:
            expected[preference(task, who, item, other, np.sign(grade - other_grade))] += 1
    assert named(study, as_pairs(study)) == expected


@given(lists=LISTS)
def test_rankings_become_every_preference_they_hold(build, lists):
    study = build.judgments(lists=lists, entries=[(task, item) for task in TASKS for item in ITEMS])
    expected = Counter()
    for task, who, groups, below in lists:
        rows = [(place, item) for place, group in enumerate(groups) for item in group]
        for (place, item), (other_place, other) in combinations(rows, 2):
            expected[preference(task, who, item, other, np.sign(other_place - place))] += 1
        unlisted = set(ITEMS) - {item for _, item in rows}
        expected.update((task, who, item, other) for _, item in rows for other in unlisted if below)
    assert named(study, as_pairs(study)) == expected


def test_an_item_graded_twice_is_not_compared_with_itself(build):
    study = build.judgments(grades=[("t", "ann", "x", 2), ("t", "ann", "x", 1), ("t", "ann", "y", 1)])
    assert named(study, as_pairs(study)) == {("t", "ann", "x", "y"): 1, ("t", "ann", frozenset("xy")): 1}


def test_all_kinds_come_together(build):
    study = build.judgments(
        pairs=[("t", "ann", "x", "y", "y")],
        grades=[("t", "bob", "x", 1), ("t", "bob", "y", 0)],
        lists=[("t", "cid", [["y"]], True)],
    )
    assert named(study, as_pairs(study)) == {("t", "ann", "y", "x"): 1, ("t", "bob", "x", "y"): 1, ("t", "cid", "y", "x"): 1}
    lists = as_rankings(study)
    assert lists.list_starts.tolist() == [0, 1, 3]
    assert lists.unlisted_below.tolist() == [True, False]


def test_pairs_as_shown_are_left_as_they_are(build):
    study = build.judgments(pairs=[("t", "ann", "y", "x", "x"), ("t", "ann", "x", "y", "tie")])
    assert as_pairs(study) is study.pairs


def test_sides_of_pairs_never_shown_are_balanced_and_tell_nothing_of_the_winner():
    first, second = (codes.astype(np.int32) for codes in np.nonzero(~np.eye(50, dtype=bool)))
    turned = unshown_order(first, second)
    assert np.array_equal(turned, ~unshown_order(second, first))  # whoever comes first, the same side
    left = np.where(turned, second, first)
    assert 0.45 < (left < 25).mean() < 0.55
    assert 0.45 < (left == np.minimum(first, second)).mean() < 0.55


@given(pairs=VOTES, pooled=st.booleans())
def test_wins_are_counted(build, pairs, pooled):
    study = build.judgments(pairs=pairs)
    words = study.vocabulary
    counted = wins(study.pairs, words, pooled=pooled)
    expected = Counter()
    for task, who, left, right, winner in pairs:
        who = "all" if pooled else who
        if winner == "tie":
            expected[task, who, left, right] += 0.5
            expected[task, who, right, left] += 0.5
        else:
            expected[task, who, winner, right if winner == left else left] += 1
    item, task = words.items[words.entry_item], words.tasks[words.entry_task]
    who = ["all"] if pooled else words.annotators
    found = {
        (task[w], who[k], item[w], item[other]): weight
        for k, w, other, weight in zip(counted.annotator, counted.winner, counted.loser, counted.weight, strict=True)
    }
    assert len(found) == len(counted)
    assert found == expected
    assert np.array_equal(words.entry_task[counted.winner], words.entry_task[counted.loser])


@given(pairs=VOTES, random=st.randoms(use_true_random=False))
def test_wins_do_not_depend_on_the_order_of_rows_or_sides(build, pairs, random):
    turned = [(t, k, right, left, w) if random.random() < 0.5 else (t, k, left, right, w) for t, k, left, right, w in pairs]
    random.shuffle(turned)
    one, other = (wins(study.pairs, study.vocabulary) for study in (build.judgments(pairs=pairs), build.judgments(pairs=turned)))
    for column in ("annotator", "winner", "loser", "weight"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()


def test_too_many_pairs_are_refused_before_they_are_made(build):
    grades = [("t", "ann", number, 1) for number in range(200)]
    study = build.judgments(grades=grades)
    assert len(as_pairs(study)) == 200 * 199 / 2
    long = build.with_long_grades(40_000)  # 800 million pairs
    with pytest.raises(JudgmentError, match="799,980,000 pairs"):
        as_pairs(long)


def test_codes_that_do_not_fit_are_refused():
    many = 1 << 21
    names, zero = np.empty(many, dtype=object), np.zeros(1, np.int32)
    words = Vocabulary(ids(["t"]), names, names, np.zeros(many, np.int32), np.arange(many, dtype=np.int32))
    with pytest.raises(JudgmentError, match="too many"):
        wins(Pairs(zero, zero, zero + 1, np.ones(1, np.int8)), words)
