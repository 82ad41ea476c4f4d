"""Meetings of evaluations seat two or more: their players are rows of their own."""

from alembic import op

from deadheat.league.migrations.checks import edit_in_sqlite, replaced
from deadheat.league.migrations.sql import run

revision = "0060"
down_revision = "0059"

TABLES = """
CREATE TABLE meeting (
    id SERIAL NOT NULL CONSTRAINT pk_meeting PRIMARY KEY,
    evaluation_id INTEGER NOT NULL CONSTRAINT fk_meeting_evaluation_id REFERENCES evaluation (id),
    round INTEGER NOT NULL,
    board INTEGER NOT NULL,
    settled BOOLEAN NOT NULL,
    CONSTRAINT ck_meeting_place CHECK (round >= 1 AND board >= 1),
    CONSTRAINT uq_meeting_evaluation_id_round_board UNIQUE (evaluation_id, round, board)
);
CREATE TABLE meeting_player (
    meeting_id INTEGER NOT NULL CONSTRAINT fk_meeting_player_meeting_id REFERENCES meeting (id),
    seat INTEGER NOT NULL CONSTRAINT ck_meeting_player_seat CHECK (seat >= 0),
    version_id INTEGER NOT NULL CONSTRAINT fk_meeting_player_version_id REFERENCES bot_version (id),
    points FLOAT,
    CONSTRAINT pk_meeting_player PRIMARY KEY (meeting_id, seat),
    CONSTRAINT uq_meeting_player_meeting_id_version_id UNIQUE (meeting_id, version_id)
);
INSERT INTO meeting (id, evaluation_id, round, board, settled)
    SELECT id, evaluation_id, round, board, first_points IS NOT NULL FROM evaluation_pairing;
INSERT INTO meeting_player (meeting_id, seat, version_id, points)
    SELECT id, 0, first_id, first_points FROM evaluation_pairing
    UNION ALL SELECT id, 1, second_id, second_points FROM evaluation_pairing WHERE second_id IS NOT NULL;
ALTER TABLE series RENAME COLUMN pairing_id TO meeting_id;
DROP INDEX ix_series_pairing_id;
CREATE INDEX ix_series_meeting_id ON series (meeting_id) WHERE meeting_id IS NOT NULL;
"""

IN_POSTGRESQL = """
SELECT setval(pg_get_serial_sequence('meeting', 'id'), coalesce((SELECT max(id) FROM meeting), 0) + 1, FALSE);
ALTER TABLE series DROP CONSTRAINT fk_series_pairing_id;
ALTER TABLE series ADD CONSTRAINT fk_series_meeting_id FOREIGN KEY (meeting_id) REFERENCES meeting (id);
"""


def upgrade() -> None:
    run(TABLES)
    if op.get_bind().dialect.name == "sqlite":
        edit_in_sqlite("series", _of_meetings)
    else:
        run(IN_POSTGRESQL)
    op.drop_table("evaluation_pairing")


def _of_meetings(text: str) -> str:
    text = replaced(text, "fk_series_pairing_id", "fk_series_meeting_id")
    return replaced(text, "REFERENCES evaluation_pairing", "REFERENCES meeting")
