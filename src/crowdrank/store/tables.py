"""The tables of the newest schema. `migrations/` brings older databases here; a test compares the two.

Times are seconds since 1970. Counts in `study`, `item` and `annotator` are kept with every change, in its transaction:
caps are checked against them without counting rows.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    types,
)

Record = Any  # a row of the database; its columns are attributes

REVISION = "judgment_details"  # the newest migration

JSON = types.JSON(none_as_null=True)  # an empty value is empty, not the text "null"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _study_id() -> Column[int]:
    return Column("study_id", ForeignKey("study.id"), nullable=False)


study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("state", String, nullable=False),  # open, paused, closed, frozen
    Column("sequence", Integer, nullable=False),  # of the last change
    Column("rebuild", Integer, nullable=False),  # of the last change that is not a new judgment
    Column("judgments", Integer, nullable=False),  # that count, without checks
    Column("open", Integer, nullable=False),  # questions that somebody has now, without checks
    Column("created", Double, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("task", String, nullable=False),
    Column("name", String, nullable=False),
    Column("title", String, nullable=False),
    Column("content", JSON, nullable=False),  # text, markdown, image, html, place
    Column("owner", String),  # an annotator who is never asked about it
    Column("media", String, nullable=False, unique=True),  # the secret part of the address of its image or page
    Column("state", String, nullable=False),  # active, withdrawn
    Column("judgments", Integer, nullable=False),
    Column("open", Integer, nullable=False),
    Column("wanted", Boolean, nullable=False),  # the next annotator is asked about it
    UniqueConstraint("study_id", "task", "name"),
)

annotator = Table(
    "annotator",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("name", String, nullable=False),
    Column("state", String, nullable=False),  # active, void
    Column("details", JSON, nullable=False),  # what an LLM tells about itself
    Column("judgments", Integer, nullable=False),  # that count, with checks
    Column("created", Double, nullable=False),
    UniqueConstraint("study_id", "name"),
)

token = Table(
    "token",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("annotator_id", ForeignKey("annotator.id")),  # empty: of the owner
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Double),
)

invitation = Table(
    "invitation",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("name", String),  # of the annotator; empty: numbered
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("annotator_id", ForeignKey("annotator.id")),  # who used it
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Double),
)

question = Table(
    "question",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("annotator_id", ForeignKey("annotator.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("task", String, nullable=False),
    Column("items", JSON, nullable=False),  # as shown
    Column("entries", String, nullable=False),  # task and items in one order: the same for the same question
    Column("expected", JSON),  # the right answer of a gold check
    Column("state", String, nullable=False),  # open, answered, skipped, expired
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Index(None, "annotator_id", "entries"),
    Index(None, "annotator_id", "state"),
    Index(None, "study_id", "state", "expires"),
    Index(None, "study_id", "entries"),
)

judgment = Table(
    "judgment",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("sequence", Integer, nullable=False),
    Column("annotator_id", ForeignKey("annotator.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("version", Integer, nullable=False),  # 1, then one more for each edit
    Column("question_id", ForeignKey("question.id")),  # empty: imported
    Column("kind", String, nullable=False),
    Column("task", String, nullable=False),
    Column("items", JSON, nullable=False),
    Column("answer", JSON, nullable=False),  # winner, tie, grade or ranking
    Column("seconds", Double),
    Column("status", String, nullable=False),  # counted, skipped, withdrawn, replaced
    Column("passed", Boolean),  # of gold checks: whether the answer is right
    Column("created", Double, nullable=False),
    Column("details", JSON),  # of an LLM: model, version of the prompt; since the second schema
    UniqueConstraint("annotator_id", "key", "version"),
    Index(None, "study_id", "sequence"),
    Index(None, "annotator_id", "status"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_id(),
    Column("time", Double, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("details", JSON, nullable=False),
)
