"""Alembic's migrations: `versions/` has one file for each schema."""
