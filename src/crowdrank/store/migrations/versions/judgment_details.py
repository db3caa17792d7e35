"""Judgments have details: the model and the version of the prompt of an LLM."""

import sqlalchemy as sa
from alembic import op

revision = "judgment_details"
down_revision = "first_schema"


def upgrade() -> None:
    """Add the column."""
    op.add_column("judgment", sa.Column("details", sa.JSON(none_as_null=True)))
