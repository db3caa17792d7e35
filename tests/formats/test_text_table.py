"""Numbers of texts: those of a dictionary, for few and for many texts, also where two have one hash."""

import numpy as np
import polars as pl
import pytest

from crowdrank.formats import text_table
from crowdrank.formats.text_table import TextTable


@pytest.mark.parametrize("few", [0, 1000])
def test_numbers_are_places_in_the_order_added(monkeypatch, few):
    monkeypatch.setattr(text_table, "FEW", few)
    rng, table, place = np.random.default_rng(0), TextTable(), {}
    for _ in range(6):
        texts = [f"text {number}" for number in rng.integers(0, 400, 300)]
        expected = [place.get(text, -1) for text in texts]
        assert table.numbers(pl.Series(texts)).tolist() == expected
        new = list(dict.fromkeys(text for text in texts if text not in place))
        table.add(pl.Series(new, dtype=pl.String))
        place |= {text: len(place) + number for number, text in enumerate(new)}
        assert table.numbers(pl.Series([*texts, None])).tolist() == [*(place[text] for text in texts), -1]


def test_texts_with_one_hash_stay_apart(monkeypatch):
    monkeypatch.setattr(text_table, "FEW", 0)
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series(self.str.len_bytes().cast(pl.UInt64)))
    table = TextTable()
    table.add(pl.Series(["a", "b", "cc"]))
    assert table.numbers(pl.Series(["b", "cc", "x", "a", "ddd"])).tolist() == [1, 2, -1, 0, -1]
