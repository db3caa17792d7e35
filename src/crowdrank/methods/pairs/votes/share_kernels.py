"""Moves of the shares of qualities in a crowd; in Numba."""

from __future__ import annotations

import math

import numpy as np

from crowdrank.numerics.compiled import kernel

SMALL = 1e-100  # products of ratios beyond it, or its inverse, are not multiplied further


@kernel(error_model="numpy")
def divided_anew(share, chance, columns, divisions, limits):
    """The shares after each cell and the next one divided their sum anew, or not; of many profiles one logarithm.

    `chance` is the likelihood of each profile, `columns` that of each cell and profile.
    """
    share, chance, there = share.copy(), chance.copy(), np.empty(len(chance))
    for cell in range(len(divisions)):
        both = share[cell] + share[cell + 1]
        new = divisions[cell] * both
        change, product, total = new - share[cell], 1.0, 0.0
        for k in range(len(chance)):
            there[k] = chance[k] + change * (columns[cell, k] - columns[cell + 1, k])
            product *= there[k] / chance[k]
            if product < SMALL or product > 1 / SMALL:
                total, product = total + math.log(product), 1.0
        if limits[cell] < total + math.log(product):
            share[cell], share[cell + 1] = new, (1 - divisions[cell]) * both
            chance, there = there, chance
    return share
