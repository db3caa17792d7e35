"""Exports in files, and judgments as plain rows."""

from __future__ import annotations

import json

import pytest

import crowdrank as cr
from crowdrank.formats.decode import table_of


@pytest.fixture
def read(tmp_path):
    """Read content as a file of this name; text, bytes, or anything that is written as JSON."""

    def call(name, content, **options):
        if not isinstance(content, bytes | str):
            content = json.dumps(content, ensure_ascii=False)
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return cr.read(path, **options)

    return call


@pytest.fixture
def rows():
    """The judgments of one kind as tuples of these columns."""

    def call(judgments, *columns):
        return table_of(judgments).select(columns).rows()

    return call
