"""Numbers as good as random that follow from the grades alone, never from names or the order of rows.

Entries and profiles are hashed by what was graded: an entry by the levels it got and from whom, a profile by the levels
it gave and to what, repeatedly (the colour refinement of Weisfeiler and Leman). Sums of whole numbers do not depend on
their order, as sums of floats would.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.grades.curves.curves import GradesByProfile

ROUNDS = 3  # further rounds tell hardly any more entries apart

Hashes = NDArray[np.uint64]


def content_keys(rows: GradesByProfile, seed: int) -> tuple[Hashes, Hashes]:
    """A number for each entry and each row, equal only where what was graded is equal."""
    level = _mixed(rows.level.astype(np.uint64) + np.uint64(seed << 8))
    entry, profile = np.zeros(rows.n_entries, np.uint64), np.zeros(rows.n_profiles, np.uint64)
    for _ in range(ROUNDS):
        by_profile = _mixed(profile[rows.profile] ^ level)
        entry = _sums(rows.entry, by_profile, rows.n_entries)
        profile = _sums(rows.profile, _mixed(entry[rows.entry] + level), rows.n_profiles)
    row = _mixed(_mixed(entry[rows.entry]) + _mixed(profile[rows.profile] ^ level))
    return entry, row


def _sums(group: NDArray[np.int32], values: Hashes, size: int) -> Hashes:
    total = np.zeros(size, np.uint64)
    np.add.at(total, group, values)
    return total


def _mixed(value: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the value (the last steps of SplitMix64)."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)))
