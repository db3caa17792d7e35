"""Numbers for texts that come in pieces: a hash table that stays from piece to piece.

A cast to an Enum makes its table anew for every piece: with a million names that takes longer than all the rest of
reading a million rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Codes

FEW = 50_000  # texts for which an Enum is quick
FREE = -1
FULLEST = 0.5  # share of the places that are taken, at most


class TextTable:
    """Distinct texts, numbered in the order in which they were added."""

    def __init__(self) -> None:
        self.texts = pl.Series([], dtype=pl.String)
        self._hashes = np.zeros(0, np.uint64)
        self._places = np.zeros(0, np.int32)

    def add(self, texts: pl.Series) -> None:
        """Add texts that are not there yet."""
        self.texts = pl.concat([self.texts, texts])
        if len(self.texts) <= FEW:
            return
        first, self._hashes = len(self._hashes), self.texts.hash().to_numpy()
        if len(self._hashes) > FULLEST * len(self._places):
            size = 1 << int(len(self._hashes) / FULLEST).bit_length()
            first, self._places = 0, np.full(size, FREE, np.int32)
        _enter(self._hashes, first, self._places)

    def numbers(self, texts: pl.Series) -> Codes:
        """The number of every text; −1 where it was not added."""
        if len(self.texts) <= FEW:
            return self._by_cast(texts)
        found = np.empty(len(texts), np.int32)
        _find(texts.hash().to_numpy(), self._hashes, self._places, found)
        known = np.flatnonzero(found >= 0)
        same = (texts.gather(known) == self.texts.gather(found[known])).fill_null(False).to_numpy()
        if not same.all():  # two texts with one hash
            found[known[~same]] = self._by_cast(texts.gather(known[~same]))
        return found

    def _by_cast(self, texts: pl.Series) -> Codes:
        number = texts.cast(pl.Enum(self.texts), strict=False).to_physical()
        return number.cast(pl.Int32).fill_null(FREE).to_numpy().astype(np.int32)


@kernel
def _enter(hashes, first, places):
    last = len(places) - 1
    for number in range(first, len(hashes)):
        place = np.int64(hashes[number] & np.uint64(last))
        while places[place] != FREE:
            place = (place + 1) & last
        places[place] = number


@kernel
def _find(wanted, hashes, places, found):
    last = len(places) - 1
    for row in range(len(wanted)):
        place = np.int64(wanted[row] & np.uint64(last))
        while places[place] != FREE and hashes[places[place]] != wanted[row]:
            place = (place + 1) & last
        found[row] = places[place]
