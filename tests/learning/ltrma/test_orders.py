from itertools import permutations, product

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.convert import as_lists
from crowdrank.learning.ltrma.crowd_lists import crowd_lists
from crowdrank.learning.ltrma.orders import SampledOrders, order_by_votes


def study(tasks, *, top_k=False):
    """Lists of groups of tied items, task by task: [[("ab", "c"), ("c", "a")], …], by annotators k0, k1, …"""
    rows = [
        (f"q{t}", f"k{k}", item, rank)
        for t, lists in enumerate(tasks)
        for k, groups in enumerate(lists)
        for rank, group in enumerate(groups)
        for item in group
    ]
    return cr.judgments(
        dict(zip(("task", "annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True)), top_k=top_k
    )


def sampled(lists, vocabulary, seed, *, below):
    """Chains that begin with the order of the votes, every list with the same weight."""
    return SampledOrders(lists, vocabulary, order_by_votes(lists, np.ones(len(lists))), seed, below=below)


def costs(groups, others=""):
    """The pairs that a list puts in an order."""
    levels = [*groups, others] if others else list(groups)
    return [(a, b) for i, high in enumerate(levels) for low in levels[i + 1 :] for a, b in product(high, low)]


def enumerated(items, places, lists, theta, score, rest):
    """The mean distance of each list, and the chance of each order, by summing over all orders of the first places."""
    orders = list(permutations(items, places))
    weight, far = np.empty(len(orders)), np.empty((len(orders), len(lists)))
    for number, order in enumerate(orders):
        left = sum(np.exp(score[i]) for i in items) + rest
        chance = 1.0
        for item in order:
            chance *= np.exp(score[item]) / left
            left -= np.exp(score[item])
        place = {item: order.index(item) if item in order else places for item in items}
        far[number] = [sum(place[b] < place[a] for a, b in pairs) for pairs in lists]
        weight[number] = chance * np.exp(far[number] @ theta)
    weight /= weight.sum()
    return weight @ far, dict(zip(orders, weight, strict=True))


CASES = {
    "full lists": (["abcde", "badce", "edabc"], False),
    "parts": (["abc", "ed", "cbe"], False),
    "ties": ([("ab", "cde"), ("e", "abd", "c")], False),
    "top-k lists": (["ab", "ca", "ed"], True),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("top", [None, 2])
def test_posterior_means_agree_with_enumeration(case, top):
    lists, open_below = CASES[case]
    judgments = study([lists, ["xy", "yz", "zx"]], top_k=open_below)
    words = judgments.vocabulary
    crowd = crowd_lists(as_lists(judgments), words, top)
    score = np.random.default_rng(3).normal(0, 1, words.n_entries)
    theta = np.array([-0.8, -0.3, 0.4])[crowd.annotator]
    chain = sampled(crowd, words, 5, below=top is not None)
    samples, distance = chain.sample(score, theta, 4000, 20)
    names = words.items[words.entry_item]
    of = {item: score[entry] for entry, item in enumerate(names) if words.entry_task[entry] == 0}
    items = sorted(
        {item for entry, item in enumerate(names) if entry in crowd.candidate and words.entry_task[entry] == 0}
    )
    rest = sum(np.exp(of[item]) for item in of if item not in items) if top else 0.0
    pairs = []
    for each in lists:
        groups, room = [], len(each) if top is None else top
        for group in each:
            if room <= 0:
                break
            groups.append(group)
            room -= len(group)
        listed = set("".join(groups))
        others = [i for i in items if i not in listed and (open_below or i in set("".join(each)))]
        pairs.append(costs(groups, others))
    expected, chances = enumerated(items, int(crowd.places[0]), pairs, theta[: len(lists)], of, rest)
    np.testing.assert_allclose(distance[: len(lists)], expected, rtol=0.02, atol=0.02)
    drawn = names[samples[:, : crowd.places[0]]]
    likeliest = max(chances, key=chances.get)
    share = (drawn == np.array(likeliest, dtype=object)).all(axis=1).mean()
    assert share == pytest.approx(chances[likeliest], abs=0.03)


def test_threads_do_not_change_a_bit(monkeypatch):
    rng = np.random.default_rng(0)
    lists = [["".join(rng.permutation(list("abcdefgh"))) for _ in range(3)] for _ in range(40)]
    judgments = study(lists)
    crowd = crowd_lists(as_lists(judgments), judgments.vocabulary, None)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        chain = sampled(crowd, judgments.vocabulary, 1, below=False)
        found.append(chain.sample(np.zeros(judgments.vocabulary.n_entries), np.full(len(crowd), -0.2), 5, 3))
    assert (found[0][0] == found[1][0]).all()
    assert (found[0][1] == found[1][1]).all()


def test_steps_cost_the_same_whatever_the_annotators():
    """The chain sees one table of costs: its samples are those of one list whose θ is the sum."""
    many, one = study([["abcde"] * 30]), study([["abcde"]])
    drawn = []
    for judgments, theta in ((many, -0.01), (one, -0.3)):
        crowd = crowd_lists(as_lists(judgments), judgments.vocabulary, None)
        chain = sampled(crowd, judgments.vocabulary, 2, below=False)
        drawn.append(chain.sample(np.zeros(5), np.full(len(crowd), theta), 200, 1)[0])
    assert (drawn[0] == drawn[1]).mean() > 0.99


def test_chains_forget_where_they_began():
    """Nobody knows anything about forty items (θ = 0): twenty sweeps later the first of them is anywhere."""
    judgments = study([[tuple(chr(ord("A") + n) for n in range(40))]])
    crowd = crowd_lists(as_lists(judgments), judgments.vocabulary, None)
    chain = sampled(crowd, judgments.vocabulary, 3, below=False)
    samples, _ = chain.sample(np.zeros(40), np.zeros(len(crowd)), 400, 20)
    place = np.argmax(samples == 0, axis=1)
    assert place.mean() == pytest.approx(19.5, abs=2.0)
    assert np.corrcoef(place[1:], place[:-1])[0, 1] < 0.3
