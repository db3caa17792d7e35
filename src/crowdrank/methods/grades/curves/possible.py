"""Which grades can be the true grade of an item.

Whoever types 10 on a scale from 0 to 3 makes a grade of their own. Models with a class for each grade would give that
class to other items: nothing says what it means. A grade is possible if somewhere no other grade was given more often.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Codes


def possible_truths(entry: Codes, level: Codes, n_entries: int, n_levels: int) -> NDArray[np.bool_]:
    """Whether each level leads the grades of any entry; without grades, all may be true.

    >>> possible_truths(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 2, 0, 1]), 2, 3).tolist()
    [True, True, False]
    """
    if not len(entry):
        return np.ones(n_levels, bool)
    cell = entry.astype(np.int64) * n_levels + level
    count = np.bincount(cell, minlength=n_entries * n_levels).reshape(n_entries, n_levels)
    return np.asarray(((count > 0) & (count == count.max(axis=1, keepdims=True))).any(axis=0))
