from itertools import combinations, permutations, product

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.rankings.borda import Borda
from crowdrank.methods.rankings.mallows import Mallows, _expected
from crowdrank.numerics.mallows import one_more


def study(lists, *, top_k=False):
    """Lists of items, or of groups of tied items, by annotators k00, k01, …"""
    rows = [
        (f"k{n:02}", item, rank) for n, each in enumerate(lists) for rank, group in enumerate(each, 1) for item in group
    ]
    who, item, rank = zip(*rows, strict=True)
    return cr.judgments({"annotator": list(who), "item": list(item), "rank": list(rank)}, top_k=top_k)


def cost(order, lists, items, *, top_k=False) -> int:
    """Pairs that lists put the other way around, counted one by one."""
    total = 0
    for each in lists:
        place = {item: rank for rank, group in enumerate(each) for item in group}
        if top_k:
            place = dict.fromkeys(items, len(each)) | place
        total += sum(a in place and b in place and place[b] < place[a] for a, b in combinations(order, 2))
    return total


def order_of(consensus):
    return consensus.ranking["item"].to_list()


@pytest.mark.parametrize(("items", "n_lists"), [("abc", 3), ("abcd", 2), ("ab", 5)])
def test_all_small_cases_against_brute_force(items, n_lists):
    """Every profile of lists, each a task of one study."""
    orders = list(permutations(items))
    profiles = list(product(orders, repeat=n_lists))
    rows = [
        (f"{number:04}", f"k{who}", item, rank)
        for number, profile in enumerate(profiles)
        for who, order in enumerate(profile)
        for rank, item in enumerate(order)
    ]
    columns = dict(zip(("task", "annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    ranking = cr.Mallows().fit(cr.judgments(columns)).ranking
    for profile, (_, found) in zip(profiles, ranking.group_by("task", maintain_order=True), strict=True):
        least = min(cost(order, profile, items) for order in orders)
        assert cost(found["item"].to_list(), profile, items) == least


@pytest.mark.parametrize("top_k", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_partial_and_tied_lists_against_brute_force(seed, top_k):
    rng = np.random.default_rng(seed)
    items = "abcdef"[: rng.integers(2, 7)]
    lists = []
    for _ in range(rng.integers(1, 6)):
        named = rng.permutation(list(items))[: rng.integers(1, len(items) + 1)]
        cuts = np.flatnonzero(rng.random(len(named) - 1) < 0.7) + 1
        lists.append([part.tolist() for part in np.split(named, cuts)])
    found = Mallows().fit(study(lists, top_k=top_k))
    seen = sorted({item for each in lists for group in each for item in group})
    least = min(cost(order, lists, seen, top_k=top_k) for order in permutations(seen))
    assert cost(order_of(found), lists, seen, top_k=top_k) == least
    assert found.fit.objective == -least


@pytest.mark.parametrize("exact", [14, 2])
@pytest.mark.parametrize("seed", range(5))
def test_never_further_away_than_borda_or_any_list(seed, exact):
    rng = np.random.default_rng(seed)
    items = [f"i{n:02}" for n in range(30)]
    lists = [[[items[i]] for i in np.argsort(np.arange(30) + rng.normal(0, 15, 30))] for _ in range(6)]
    judgments = study(lists)
    found = Mallows(exact=exact).fit(judgments)
    mine = cost(order_of(found), lists, items)
    assert -found.fit.objective == mine
    assert mine <= cost(order_of(Borda().fit(judgments)), lists, items)
    for each in lists:
        assert mine <= cost([item for (item,) in each], lists, items)


def test_local_search_comes_near_the_best():
    """Twelve items in no order at all, where majorities contradict each other most."""
    rng = np.random.default_rng(3)
    lists = [[[f"i{i:02}"] for i in rng.permutation(12)] for _ in range(7)]
    exactly, searched = (Mallows(exact=exact).fit(study(lists)) for exact in (12, 2))
    assert exactly.fit.objective >= searched.fit.objective >= exactly.fit.objective * 1.01
    assert any("local search" in note for note in searched.notes)
    assert not any("local search" in note for note in exactly.notes)


def test_what_neither_lists_nor_votes_tell_apart_is_tied():
    assert Mallows().fit(study(["abc", "bac"])).ranking["rank"].to_list() == [1, 1, 3]
    assert Mallows().fit(study([["a", "bc"], [["a", "b", "c"]]])).ranking["rank"].to_list() == [1, 2, 2]


def test_of_equally_near_orders_the_votes_decide():
    """b and a are even among themselves; b is further up elsewhere."""
    lists = ["bxya", "abxy"]
    best = order_of(Mallows().fit(study(lists)))
    assert best.index("b") < best.index("a")


def test_weights():
    lists = study(["abc", "cba", "cab"])
    assert order_of(Mallows().fit(lists)) == ["c", "a", "b"]
    assert order_of(Mallows(weights={"k00": 3}).fit(lists)) == ["a", "b", "c"]


def inversions(order) -> int:
    return sum(a > b for a, b in combinations(order, 2))


@pytest.mark.parametrize("clear", [-1.5, -0.2, 1e-5, 0.3, 2.0])
def test_the_expected_distance_is_the_mean_over_all_orders(clear):
    """Also of lists with ties: all arrangements of a pair, a triple and one by itself."""
    distance = np.array([inversions(order) for order in permutations(range(6))])
    chance = np.exp(-clear * distance)
    assert sum(one_more(n, clear) for n in range(1, 7)) == pytest.approx(distance @ chance / chance.sum())
    distance = np.array([inversions(order) for order in set(permutations([0, 0, 1, 1, 1, 2]))])
    chance = np.exp(-clear * distance)
    sizes, counts = np.array([1, 2, 3, 6]), np.array([-1.0, -1.0, -1.0, 1.0])
    assert _expected(0, 4, sizes, counts, clear) == pytest.approx(distance @ chance / chance.sum())


def test_the_expected_distance_is_smooth_around_0():
    """Where one formula takes over from the other."""
    for length in (2, 5, 50):
        edge = 1e-3 / length
        assert one_more(length, edge * 0.999999) == pytest.approx(one_more(length, edge * 1.000001), rel=1e-6)
    assert one_more(7, 0.0) == 3


def mallows_list(rng, items, dispersion):
    """Repeated insertion: the next item goes i places before the end with a chance in proportion to φ^i."""
    order = []
    for number, item in enumerate(items):
        chance = dispersion ** np.arange(number + 1)
        order.insert(number - rng.choice(number + 1, p=chance / chance.sum()), item)
    return order


def crowd(rng, dispersion, tasks=60):
    items = "abcdefgh"
    rows = [
        (f"t{task:02}", f"k{who}", item, rank)
        for task in range(tasks)
        for who, each in enumerate(dispersion)
        for rank, item in enumerate(mallows_list(rng, items, each))
    ]
    return cr.judgments(
        dict(zip(("task", "annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    )


def test_dispersions_are_those_that_made_the_lists():
    truth = [0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 2.0]
    good = [0.3] * 15  # enough of them to find the true order itself
    found = Mallows().fit(crowd(np.random.default_rng(6), truth + good))
    estimated = dict(found.annotators.select("annotator", "dispersion").iter_rows())
    np.testing.assert_allclose([estimated[f"k{who}"] for who in range(8)], truth, rtol=0.15)


def test_extended_trusts_those_who_agree_and_turns_around_those_who_reverse():
    """Two good annotators against three who guess and one who reverses."""
    judgments = crowd(np.random.default_rng(7), [0.25, 0.3, 1.0, 1.0, 1.0, 3.0])
    gold = cr.gold(
        {
            "task": [f"t{t:02}" for t in range(60) for _ in range(8)],
            "item": list("abcdefgh") * 60,
            "rank": [*range(8)] * 60,
        }
    )
    plain, extended = (Mallows(extended=extended).fit(judgments) for extended in (False, True))
    tau = [cr.evaluate(found, gold, "tau").mean["tau"] for found in (plain, extended)]
    assert extended.fit.converged
    assert extended.fit.steps >= 1
    assert tau[1] > tau[0] + 0.1
    np.testing.assert_allclose(extended.annotators["dispersion"], [0.25, 0.3, 1.0, 1.0, 1.0, 3.0], rtol=0.3)


def test_perfect_agreement_has_a_small_dispersion_and_no_more():
    found = Mallows().fit(study(["abc"] * 4))
    assert 0 < found.annotators["dispersion"].max() < 0.5


def test_one_item_lists_say_nothing(build):
    found = Mallows().fit(build.judgments(lists=[("t", "k", [["a"], ["b"]], False), ("t", "l", [["c"]], False)]))
    assert np.isnan(found.score).tolist() == [False, False, True]


def test_a_task_too_large_for_all_its_pairs_is_refused():
    rank = list(range(5001))
    with pytest.raises(cr.JudgmentError, match="has 5,001 items"):
        Mallows().fit(cr.judgments({"item": [str(n) for n in rank], "rank": rank}))
