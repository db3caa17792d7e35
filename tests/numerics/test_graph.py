import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdrank.numerics.graph import components


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 30))
    edges = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=40))
    return nodes, np.array(edges, dtype=np.int32).reshape(-1, 2)


@given(graphs())
def test_agrees_with_scipy(graph):
    nodes, edges = graph
    ours = components(nodes, edges[:, 0].copy(), edges[:, 1].copy())
    matrix = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
    count, theirs = connected_components(matrix, directed=False)
    assert len(set(ours.tolist())) == count
    assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == count  # one to one


@given(graphs(), st.randoms(use_true_random=False))
def test_numbers_follow_the_first_nodes_whatever_the_order_of_the_edges(graph, random):
    nodes, edges = graph
    ours = components(nodes, edges[:, 0].copy(), edges[:, 1].copy())
    shuffled = [(b, a) if random.random() < 0.5 else (a, b) for a, b in random.sample(edges.tolist(), len(edges))]
    again = np.array(shuffled, dtype=np.int32).reshape(-1, 2)
    assert np.array_equal(ours, components(nodes, again[:, 0].copy(), again[:, 1].copy()))
    firsts = [ours.tolist().index(number) for number in range(ours.max() + 1)]
    assert firsts == sorted(firsts)


def test_a_long_chain_hangs_together():
    order = np.random.default_rng(0).permutation(100_000).astype(np.int32)
    assert not components(100_000, order[:-1], order[1:]).any()


@given(graphs())
def test_knowing_how_many_there_are_at_least_changes_nothing(graph):
    nodes, edges = graph
    ours = components(nodes, edges[:, 0].copy(), edges[:, 1].copy())
    twice = np.r_[edges, edges]
    for least in range(1, ours.max() + 2):
        assert np.array_equal(ours, components(nodes, twice[:, 0].copy(), twice[:, 1].copy(), least))
