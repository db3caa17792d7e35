from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdrank as cr
from crowdrank.convert import (
    TIED,
    WON_LEFT,
    WON_RIGHT,
    as_lists,
    as_pairs,
    as_rankings,
    links,
    unshown_order,
    votes,
)
from crowdrank.numerics.graph import components
from crowdrank.study import LEFT, RIGHT, JudgmentError, Pairs, Vocabulary, ids

COLUMNS = "annotator", "winner", "loser", "kind", "weight"
TASKS, ANNOTATORS, ITEMS = ["t1", "t2"], ["ann", "bob", "cid"], ["a", "b", "c", "d", "e"]
GRADES = st.lists(
    st.tuples(st.sampled_from(TASKS), st.sampled_from(ANNOTATORS), st.sampled_from(ITEMS), st.integers(0, 3)),
    max_size=25,
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
    vocabulary = study.vocabulary
    item, task = vocabulary.items[vocabulary.entry_item], vocabulary.tasks[vocabulary.entry_task]
    return Counter(
        preference(task[left], vocabulary.annotators[who], item[left], item[right], outcome)
        for who, left, right, outcome in zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
    )


def preference(task, annotator, left, right, outcome):
    if outcome == LEFT:
        return task, annotator, left, right
    return (task, annotator, right, left) if outcome == RIGHT else (task, annotator, frozenset((left, right)))


@given(grades=GRADES)
def test_grades_become_a_list_per_annotator_and_task(build, grades):
    study = build.judgments(grades=grades)
    lists, vocabulary = as_rankings(study), study.vocabulary
    assert len(lists) == len(grades)
    found = {}
    for number, (start, end) in enumerate(zip(lists.list_starts[:-1], lists.list_starts[1:], strict=True)):
        key = vocabulary.tasks[lists.list_task[number]], vocabulary.annotators[lists.list_annotator[number]]
        assert key not in found
        assert not lists.unlisted_below[number]
        assert (np.diff(lists.position[start:end]) >= 0).all()
        items = vocabulary.items[vocabulary.entry_item[lists.entry[start:end]]]
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
    assert named(study, as_pairs(study)) == {
        ("t", "ann", "y", "x"): 1,
        ("t", "bob", "x", "y"): 1,
        ("t", "cid", "y", "x"): 1,
    }
    lists = as_rankings(study)
    assert lists.list_starts.tolist() == [0, 1, 3]
    assert lists.unlisted_below.tolist() == [True, False]


def test_pairs_as_shown_are_left_as_they_are(build):
    study = build.judgments(pairs=[("t", "ann", "y", "x", "x"), ("t", "ann", "x", "y", "tie")])
    assert as_pairs(study) is study.pairs


def test_sides_of_pairs_never_shown_are_balanced_and_tell_nothing_of_the_winner():
    first, second = (codes.astype(np.int32) for codes in np.nonzero(~np.eye(50, dtype=bool)))
    turned = unshown_order(first, second)
    assert np.array_equal(turned, ~unshown_order(second, first))  # the same side in either order
    left = np.where(turned, second, first)
    assert 0.45 < (left < 25).mean() < 0.55
    assert 0.45 < (left == np.minimum(first, second)).mean() < 0.55


WEIGHTS = st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0, 3.7]), min_size=40, max_size=40)
NAMES = {WON_LEFT: "left", WON_RIGHT: "right", TIED: "tie"}


def with_weights(build, pairs, weights):
    study = build.judgments(pairs=pairs)
    return study if weights is None else build.with_pairs(study, weight=np.array(weights[: len(pairs)]))


def counted_by_hand(pairs, weights, *, pooled, sides):
    """The weight of the votes of each (task, annotator, winner, loser, side of the winner, or tie)."""
    total = Counter()
    for (task, who, left, right, winner), weight in zip(pairs, weights or [1.0] * 40, strict=False):
        first, second = (left, right) if sides else sorted((left, right))
        if winner == "tie":
            vote = first, second, "tie"
        else:
            vote = winner, right if winner == left else left, "left" if winner == left or not sides else "right"
        total[task, "all" if pooled else who, *vote] += weight
    return total


@given(pairs=VOTES, weights=st.none() | WEIGHTS, pooled=st.booleans(), sides=st.booleans())
def test_votes_are_counted(build, pairs, weights, pooled, sides):
    study = with_weights(build, pairs, weights)
    vocabulary = study.vocabulary
    table = votes(study.pairs, vocabulary, pooled=pooled, sides=sides)
    item, task = vocabulary.items[vocabulary.entry_item], vocabulary.tasks[vocabulary.entry_task]
    who = ["all"] if pooled else vocabulary.annotators
    found = {
        (task[w], who[k], item[w], item[other], NAMES[kind]): weight
        for k, w, other, kind, weight in zip(
            table.annotator, table.winner, table.loser, table.kind, table.weight.tolist(), strict=True
        )
    }
    assert len(found) == len(table)
    assert found == pytest.approx(counted_by_hand(pairs, weights, pooled=pooled, sides=sides), rel=1e-12)
    assert np.array_equal(vocabulary.entry_task[table.winner], vocabulary.entry_task[table.loser])


@given(pairs=VOTES, weights=st.none() | WEIGHTS, sides=st.booleans(), random=st.randoms(use_true_random=False))
def test_votes_do_not_depend_on_the_order_of_rows(build, pairs, weights, sides, random):
    order = random.sample(range(len(pairs)), len(pairs))
    shuffled = None if weights is None else [weights[row] for row in order]
    studies = with_weights(build, pairs, weights), with_weights(build, [pairs[row] for row in order], shuffled)
    one, other = (votes(study.pairs, study.vocabulary, sides=sides) for study in studies)
    for column in COLUMNS:
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()


@given(pairs=VOTES, random=st.randoms(use_true_random=False))
def test_without_sides_it_does_not_matter_who_stood_where(build, pairs, random):
    turned = [
        (t, k, right, left, w) if random.random() < 0.5 else (t, k, left, right, w) for t, k, left, right, w in pairs
    ]
    one, other = (
        votes(study.pairs, study.vocabulary) for study in (build.judgments(pairs=pairs), build.judgments(pairs=turned))
    )
    for column in COLUMNS:
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()


def test_a_tie_is_a_vote_of_its_own(build):
    study = build.judgments(pairs=[("t", "k", "b", "a", "tie"), ("t", "k", "a", "b", "tie"), ("t", "k", "b", "a", "b")])
    table = votes(study.pairs, study.vocabulary)
    assert [(w, o, k, n) for w, o, k, n in zip(table.winner, table.loser, table.kind, table.weight, strict=True)] == [
        (0, 1, TIED, 2.0),
        (1, 0, WON_LEFT, 1.0),
    ]
    shown = votes(study.pairs, study.vocabulary, sides=True)
    assert shown.kind.tolist() == [TIED, WON_LEFT, TIED]
    assert shown.winner.tolist() == [0, 1, 1]  # of a tie, the left one


def test_weights_and_strengths_stay_with_their_pairs(build):
    study = build.judgments(pairs=[("t", "ann", "x", "y", "y")], grades=[("t", "bob", "x", 4), ("t", "bob", "y", 1)])
    assert as_pairs(study).weight is None
    assert as_pairs(study).strength.tolist() == [1.0, 3.0]  # a vote has no strength; the grades are 3 apart
    weighted = build.with_pairs(study, weight=np.array([0.5]), strength=np.array([2.0]))
    assert as_pairs(weighted).weight.tolist() == [0.5, 1.0]
    assert as_pairs(weighted).strength.tolist() == [2.0, 3.0]


def test_strengths_of_a_list_are_distances_of_places(build):
    study = build.judgments(lists=[("t", "ann", [["x"], ["y", "z"]], True)], entries=[("t", "w")])
    pairs = as_pairs(study)
    item = study.vocabulary.items[study.vocabulary.entry_item]
    found = {
        frozenset((item[a], item[b])): s
        for a, b, s in zip(pairs.left, pairs.right, pairs.strength.tolist(), strict=True)
    }
    listed = {frozenset("xy"): 1.0, frozenset("xz"): 1.0, frozenset("yz"): 0.0}
    assert found == listed | {frozenset((one, "w")): 1.0 for one in "xyz"}  # how far below its end a list does not say


def test_too_many_pairs_are_refused_before_they_are_made(build):
    grades = [("t", "ann", number, 1) for number in range(200)]
    study = build.judgments(grades=grades)
    assert len(as_pairs(study)) == 200 * 199 / 2
    long = build.with_long_grades(40_000)  # 800 million pairs
    with pytest.raises(JudgmentError, match="use a method that takes grades or rankings as they are"):
        as_pairs(build.with_long_grades(5_000))  # one list of 5,000 items
    with pytest.raises(JudgmentError, match="799,980,000 pairs"):
        as_pairs(long)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("tasks", [1, 3])
def test_votes_on_more_items_than_stay_in_the_cache_are_counted_as_they_are(pooled, tasks):
    study = cr.simulate.pairs(items=9000, tasks=tasks, annotators=3, votes=60_000, votes_per_pair=3, seed=0).judgments
    pairs = study.pairs
    winner, loser = np.where(pairs.outcome > 0, [pairs.left, pairs.right], [pairs.right, pairs.left])
    expected = Counter(zip(np.where(pooled, 0, pairs.annotator).tolist(), winner.tolist(), loser.tolist(), strict=True))
    table = votes(pairs, study.vocabulary, pooled=pooled)
    rows = zip(table.annotator.tolist(), table.winner.tolist(), table.loser.tolist(), strict=True)
    assert dict(zip(rows, table.weight.tolist(), strict=True)) == expected


def test_codes_that_do_not_fit_are_refused():
    many = 1 << 21
    names, zero = np.empty(many, dtype=object), np.zeros(1, np.int32)
    vocabulary = Vocabulary(ids(["t"]), names, names, np.zeros(many, np.int32), np.arange(many, dtype=np.int32))
    with pytest.raises(JudgmentError, match="too many"):
        votes(Pairs(zero, zero, zero + 1, np.ones(1, np.int8)), vocabulary)


def test_an_item_graded_several_times_stands_once_in_its_list(build):
    grades = [("t", "k", "a", 0.1)] * 3 + [
        ("t", "k", "b", 0.1),
        ("t", "k", "c", 3),
        ("t", "k", "c", 0),
        ("t", "l", "a", 1),
    ]
    lists = as_lists(build.judgments(grades=grades))
    assert lists.entry.tolist() == [2, 0, 1, 0]
    assert lists.position.tolist() == [-1.5, -0.1, -0.1, -1.0]
    assert lists.row_list.tolist() == [0, 0, 0, 1]


def test_links_join_what_pairs_of_all_kinds_join(build):
    """The few pairs of neighbours make the same components as all pairs do."""
    study = build.judgments(
        pairs=[("t", "k", "a", "b", "a")],
        lists=[
            ("t", "k", [["b"], ["c", "d"]], False),
            ("u", "k", [["a"]], True),
            ("v", "k", [["a"]], False),
            ("v", "l", [["b"]], False),
            ("x", "k", [["a"], ["b"], ["c"]], False),  # names all of its task
            ("x", "l", [["c"], ["a"]], False),
        ],
        grades=[("w", "k", "a", 1), ("w", "k", "b", 1), ("w", "l", "c", 1)],
        entries=[("u", "b"), ("u", "c")],
    )
    few, whole = links(study), as_pairs(study)
    n = study.vocabulary.n_entries
    assert components(n, few.left, few.right).tolist() == components(n, whole.left, whole.right).tolist()


LISTS = st.lists(
    st.tuples(
        st.sampled_from("tu"),
        st.sampled_from("kl"),
        st.permutations("abcd").map(lambda order: [[item] for item in order]),
        st.booleans(),
    ),
    max_size=5,
)
GRADED = st.lists(st.tuples(st.sampled_from("tu"), st.sampled_from("kl"), st.sampled_from("abcd"), st.integers(0, 2)))


@given(lists=LISTS, short=st.integers(1, 4), grades=GRADED, pairs=VOTES, weights=st.none() | WEIGHTS)
def test_counted_pairs_are_those_written_out(build, lists, short, grades, pairs, weights):
    """Votes of lists and grades, counted for each two items, equal those that are written out and then counted."""
    lists = [(task, who, places[:short], below) for task, who, places, below in lists]
    study = build.judgments(lists=lists, grades=grades, pairs=pairs)
    if weights is not None:
        study = build.with_pairs(study, weight=np.array(weights[: len(pairs)]))
    one, other = (votes(as_pairs(study, pooled=way), study.vocabulary, pooled=True) for way in (False, True))
    for name in ("winner", "loser", "kind"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.weight, other.weight)


def test_pairs_of_many_annotators_are_counted_not_written_out(build):
    """A thousand annotators of 200 items make 20 million pairs, but only 20 thousand contests."""
    rng = np.random.default_rng(0)
    who, entry = (codes.astype(np.int32) for codes in np.divmod(np.arange(200_000), 200))
    study = build.with_long_grades(200)
    grades = replace(study.grades, annotator=who, entry=entry, grade=rng.integers(0, 2, len(who)) * 1.0)
    words = replace(study.vocabulary, annotators=np.arange(1000).astype(object))
    study = replace(study, grades=grades, vocabulary=words)
    assert len(as_pairs(study, pooled=True)) <= 3 * 200 * 199 / 2
    with pytest.raises(JudgmentError, match="19,900,000 pairs"):
        as_pairs(study)


@given(
    lists=st.lists(
        st.tuples(st.sampled_from(ANNOTATORS[:2]), st.permutations(ITEMS), st.integers(1, 5)), min_size=1, max_size=12
    )
)
def test_merged_pairs_of_lists_are_the_same_votes(build, lists):
    """Equal preferences of an annotator, written once or many times."""
    rankings = [
        ("t1", who, item, place, number)
        for number, (who, items, length) in enumerate(lists)
        for place, item in enumerate(items[:length], 1)
    ]
    names = ("task", "annotator", "item", "rank", "list")
    study = cr.judgments({name: [row[k] for row in rankings] for k, name in enumerate(names)}, top_k=False)
    one, other = (votes(as_pairs(study, counted=True, merged=merged), study.vocabulary) for merged in (False, True))
    for name in COLUMNS:
        assert getattr(other, name).tolist() == getattr(one, name).tolist()
