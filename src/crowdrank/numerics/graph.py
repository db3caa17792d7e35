"""Connected components by union-find."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.study import Codes


def components(n_nodes: int, one: Codes, other: Codes, least: int = 1) -> NDArray[np.int32]:
    """The component of each node, numbered in the order of their first nodes; edge `e` joins `one[e]` and `other[e]`.

    If there cannot be fewer than `least` components, the search ends when there are no more.

    >>> components(5, np.array([0, 3], dtype=np.int32), np.array([2, 4], dtype=np.int32)).tolist()
    [0, 1, 0, 2, 2]
    """
    roots = for_work(_roots, n_nodes + len(one))(n_nodes, one, other, least)
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


@kernel
def _roots(n_nodes, one, other, least):
    parent, parts = np.arange(n_nodes), n_nodes
    for edge in range(len(one)):
        if parts <= least:
            break
        a, b = one[edge], other[edge]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parts -= a != b
        # The smaller node stays the root: the numbering does not depend on the order of the edges.
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    for node in range(n_nodes):  # its parent is smaller, so the root of that is known already
        parent[node] = parent[parent[node]]
    return parent
