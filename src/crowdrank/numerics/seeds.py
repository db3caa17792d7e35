"""Random numbers from a seed that a user gave."""

from __future__ import annotations

import numpy as np

from crowdrank.settings import check_whole_number


def generator(seed: int) -> np.random.Generator:
    """Random numbers, the same for the same seed."""
    check_whole_number("seed", seed, least=0)
    return np.random.default_rng(seed)
