"""Studies, questions and judgments in SQLite or PostgreSQL; every change is one transaction."""
