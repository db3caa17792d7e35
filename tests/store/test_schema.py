"""The schema: made at once or by migrations, it is the same; databases of the version before keep every judgment."""

from __future__ import annotations

import json
import sqlite3

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from crowdrank.settings import InputError
from crowdrank.store import judgments, studies
from crowdrank.store.database import Database
from crowdrank.store.tables import REVISION, metadata

# What the first version wrote, in its own words.
FIRST = """
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO alembic_version VALUES ('first_schema');
CREATE TABLE study (id INTEGER NOT NULL, name VARCHAR NOT NULL, state VARCHAR NOT NULL, sequence INTEGER NOT NULL,
  rebuild INTEGER NOT NULL, judgments INTEGER NOT NULL, open INTEGER NOT NULL, created DOUBLE NOT NULL,
  CONSTRAINT pk_study PRIMARY KEY (id), CONSTRAINT uq_study_name UNIQUE (name));
CREATE TABLE annotator (id INTEGER NOT NULL, study_id INTEGER NOT NULL, name VARCHAR NOT NULL, state VARCHAR NOT NULL,
  details JSON NOT NULL, judgments INTEGER NOT NULL, created DOUBLE NOT NULL,
  CONSTRAINT pk_annotator PRIMARY KEY (id), CONSTRAINT uq_annotator_study_id_name UNIQUE (study_id, name),
  CONSTRAINT fk_annotator_study_id FOREIGN KEY(study_id) REFERENCES study (id));
CREATE TABLE audit (id INTEGER NOT NULL, study_id INTEGER NOT NULL, time DOUBLE NOT NULL,
  actor VARCHAR NOT NULL, action VARCHAR NOT NULL, details JSON NOT NULL, CONSTRAINT pk_audit PRIMARY KEY (id),
  CONSTRAINT fk_audit_study_id FOREIGN KEY(study_id) REFERENCES study (id));
CREATE TABLE item (id INTEGER NOT NULL, study_id INTEGER NOT NULL, task VARCHAR NOT NULL, name VARCHAR NOT NULL,
  title VARCHAR NOT NULL, content JSON NOT NULL, owner VARCHAR, media VARCHAR NOT NULL, state VARCHAR NOT NULL,
  judgments INTEGER NOT NULL, open INTEGER NOT NULL, wanted BOOLEAN NOT NULL, CONSTRAINT pk_item PRIMARY KEY (id),
  CONSTRAINT uq_item_media UNIQUE (media), CONSTRAINT uq_item_study_id_task_name UNIQUE (study_id, task, name),
  CONSTRAINT fk_item_study_id FOREIGN KEY(study_id) REFERENCES study (id));
CREATE TABLE token (id INTEGER NOT NULL, study_id INTEGER NOT NULL, annotator_id INTEGER, hash BLOB NOT NULL,
  created DOUBLE NOT NULL, expires DOUBLE NOT NULL, revoked DOUBLE,
  CONSTRAINT pk_token PRIMARY KEY (id), CONSTRAINT uq_token_hash UNIQUE (hash),
  CONSTRAINT fk_token_study_id FOREIGN KEY(study_id) REFERENCES study (id),
  CONSTRAINT fk_token_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id));
CREATE TABLE invitation (id INTEGER NOT NULL, study_id INTEGER NOT NULL, name VARCHAR, hash BLOB NOT NULL,
  annotator_id INTEGER, created DOUBLE NOT NULL, expires DOUBLE NOT NULL,
  revoked DOUBLE, CONSTRAINT pk_invitation PRIMARY KEY (id), CONSTRAINT uq_invitation_hash UNIQUE (hash),
  CONSTRAINT fk_invitation_study_id FOREIGN KEY(study_id) REFERENCES study (id),
  CONSTRAINT fk_invitation_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id));
CREATE TABLE question (id INTEGER NOT NULL, study_id INTEGER NOT NULL, annotator_id INTEGER NOT NULL,
  kind VARCHAR NOT NULL, task VARCHAR NOT NULL, items JSON NOT NULL, entries VARCHAR NOT NULL, expected JSON,
  state VARCHAR NOT NULL, created DOUBLE NOT NULL, expires DOUBLE NOT NULL,
  CONSTRAINT pk_question PRIMARY KEY (id),
  CONSTRAINT fk_question_study_id FOREIGN KEY(study_id) REFERENCES study (id),
  CONSTRAINT fk_question_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id));
CREATE TABLE judgment (id INTEGER NOT NULL, study_id INTEGER NOT NULL, sequence INTEGER NOT NULL,
  annotator_id INTEGER NOT NULL, "key" VARCHAR NOT NULL, version INTEGER NOT NULL, question_id INTEGER,
  kind VARCHAR NOT NULL, task VARCHAR NOT NULL, items JSON NOT NULL, answer JSON NOT NULL, seconds DOUBLE,
  status VARCHAR NOT NULL, passed BOOLEAN, created DOUBLE NOT NULL,
  CONSTRAINT pk_judgment PRIMARY KEY (id),
  CONSTRAINT uq_judgment_annotator_id_key_version UNIQUE (annotator_id, "key", version),
  CONSTRAINT fk_judgment_study_id FOREIGN KEY(study_id) REFERENCES study (id),
  CONSTRAINT fk_judgment_annotator_id FOREIGN KEY(annotator_id) REFERENCES annotator (id),
  CONSTRAINT fk_judgment_question_id FOREIGN KEY(question_id) REFERENCES question (id));
CREATE INDEX ix_question_annotator_id_entries ON question (annotator_id, entries);
CREATE INDEX ix_question_annotator_id_state ON question (annotator_id, state);
CREATE INDEX ix_question_study_id_state_expires ON question (study_id, state, expires);
CREATE INDEX ix_question_study_id_entries ON question (study_id, entries);
CREATE INDEX ix_judgment_study_id_sequence ON judgment (study_id, sequence);
CREATE INDEX ix_judgment_annotator_id_status ON judgment (annotator_id, status);
INSERT INTO study VALUES (1, 'old', 'open', 3, 0, 3, 0, 0);
INSERT INTO annotator VALUES (1, 1, 'ann', 'active', '{}', 3, 0);
INSERT INTO item VALUES (1, 1, 'all', 'x', 'X', '{}', NULL, 'm1', 'active', 3, 0, 0);
INSERT INTO item VALUES (2, 1, 'all', 'y', 'Y', '{}', NULL, 'm2', 'active', 3, 0, 0);
"""


def old_database(path):
    connection = sqlite3.connect(path)
    connection.executescript(FIRST)
    for number in (1, 2, 3):
        answer = json.dumps({"winner": "x" if number < 3 else "y"})
        connection.execute(
            "INSERT INTO judgment VALUES "
            "(?, 1, ?, 1, ?, 1, NULL, 'pairs', 'all', '[\"x\", \"y\"]', ?, 1.5, 'counted', NULL, 7)",
            (number, number, f"k{number}", answer),
        )
    connection.commit()
    connection.close()


def test_an_upgrade_keeps_every_judgment(tmp_path):
    old_database(tmp_path / "old.db")
    database = Database(f"sqlite:///{tmp_path / 'old.db'}")
    database.prepare()
    with database.read() as connection:
        rows = judgments.read_all(connection, 1)
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    assert [(row.key, row.answer["winner"], row.seconds, row.details) for row in rows] == [
        ("k1", "x", 1.5, None),
        ("k2", "x", 1.5, None),
        ("k3", "y", 1.5, None),
    ]
    assert found == REVISION
    assert differences == []
    database.prepare()  # nothing is left to do
    database.close()


def test_migrations_lead_to_the_schema_that_new_databases_have(database_url):
    from pathlib import Path

    from alembic import command
    from alembic.config import Config

    import crowdrank.store

    database = Database(database_url)
    config = Config()
    config.set_main_option("script_location", str(Path(crowdrank.store.__file__).parent / "migrations"))
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.prepare()
    with database.write() as connection:
        assert studies.open_study(connection, "s", [studies.NewItem("x", "X", "all")]) == 1
    database.close()


def test_other_databases_are_refused(database_url):
    database = Database(database_url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE study (id INTEGER)"))
    with pytest.raises(InputError, match="another program"):
        database.prepare()
    database.close()


def test_databases_of_newer_versions_are_refused(database_url):
    database = Database(database_url)
    database.prepare()
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'future'"))
    with pytest.raises(InputError, match="newer version"):
        database.prepare()
    database.close()
