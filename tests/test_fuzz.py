"""A few mutants of every kind of file; `python tests/fuzz.py` tries many more."""

import pytest

import fuzz

MUTANTS = 40


@pytest.mark.parametrize("kind", fuzz.KINDS, ids=lambda kind: kind.name)
def test_mutated_files_are_read_or_refused(kind):
    fuzz.try_mutants(kind, MUTANTS, seed=17)
