"""Named blocks of one long parameter vector, so that methods need no offsets."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from crowdrank.study import Floats


class Layout:
    """The order and sizes of the blocks of a parameter vector.

    >>> layout = Layout(score=3, quality=2)
    >>> theta = layout.unpack(np.arange(5.0))
    >>> theta.quality
    array([3., 4.])
    >>> layout.pack(score=np.array([1, 2, 3]), quality=0)
    array([1., 2., 3., 0., 0.])
    """

    def __init__(self, **sizes: int) -> None:
        ends = np.cumsum(list(sizes.values())).tolist()
        self.slices = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.size: int = ends[-1]

    def unpack(self, vector: Floats) -> SimpleNamespace:
        """The blocks by name, as views: writing to them writes to the vector."""
        return SimpleNamespace(**{name: vector[where] for name, where in self.slices.items()})

    def pack(self, **blocks: float | Floats) -> Floats:
        """One vector from all the blocks."""
        vector = np.empty(self.size)
        for name, where in self.slices.items():
            vector[where] = blocks[name]
        return vector
