"""Matches of people become game tables with seats, in which people, agents and programs sit alike. They keep their
numbers, replies and records; one that is being played goes on at the same question.
"""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0066"
down_revision = "0065"


def upgrade() -> None:
    for create in (_tables, _seats):
        create()
    old, new = (sa.table(name, *map(sa.column, KEPT)) for name in ("exhibition", "game_table"))
    op.execute(new.insert().from_select(KEPT, sa.select(*old.c)))
    op.execute(
        "INSERT INTO table_seat (table_id, seat, kind, user_id, open_user_id, resigned, ready_at, delivered_at, fault)"
        " SELECT id, seat, 'person', user_id, open_user_id, resigned, asked_at, asked_at, fault FROM exhibition"
    )
    connection = op.get_bind()
    most: int = connection.execute(sa.text("SELECT coalesce(max(seats), 0) FROM exhibition")).scalar_one()
    program = sa.text(
        "INSERT INTO table_seat (table_id, seat, kind, version_id, resigned)"
        " SELECT id, :seat, 'program', version_id, :no FROM exhibition WHERE seats > :seat AND seat <> :seat"
    )
    for seat in range(most):
        connection.execute(program, {"seat": seat, "no": False})
    answers = sa.text(
        "SELECT id, seat, answer FROM exhibition WHERE answer IS NOT NULL AND state IN ('queued', 'running')"
    )
    answered = sa.text("UPDATE table_seat SET reply = :reply WHERE table_id = :id AND seat = :seat")
    for table_id, seat, line in connection.execute(answers).all():
        reply = json.dumps([seat, line, 0, None, None, 0], separators=(",", ":"))
        connection.execute(answered, {"id": table_id, "seat": seat, "reply": reply})
    if connection.dialect.name == "postgresql":
        op.execute("SELECT setval(pg_get_serial_sequence('game_table', 'id'), max(id)) FROM game_table")
    op.drop_table("exhibition")


KEPT = (
    *("id", "state", "attempt", "worker", "lease_until", "queued_at", "nudge_at", "game", "variant", "seats", "seed"),
    *("commitment", "open_place", "failures", "replies", "turn", "waits_since_at", "voids", "cause", "ranks", "points"),
    *("transcript_sha256", "advise_at", "advice_tries", "advice_sha256", "created_at", "started_at", "finished_at"),
)
"""The columns of a person's match that a game table has, too."""


WORDS = {"native_enum": False, "create_constraint": True, "length": 16}
STATES = sa.Enum("open", "queued", "running", "done", "abandoned", name="state", **WORDS)
KINDS = sa.Enum("person", "agent", "program", name="kind", **WORDS)
FAULTS = sa.Enum(
    *("timeout", "exited", "overflow", "malformed", "illegal", "unexpected", "memory"), name="fault", **WORDS
)


def _columns(kind: sa.types.TypeEngine[Any], *names: str, nullable: bool = False) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind, nullable=nullable) for name in names)


def _tables() -> None:
    number, date, value = sa.Integer(), sa.DateTime(timezone=True), sa.JSON(none_as_null=True)
    op.create_table(
        "game_table",
        sa.Column("id", number, nullable=False),
        *_columns(STATES, "state"),
        *_columns(number, "attempt", "seats", "failures", "turn", "voids", "advice_tries"),
        *_columns(number, "open_place", nullable=True),
        *_columns(date, "queued_at", "nudge_at", "created_at"),
        *_columns(date, "lease_until", "watched_at", "waits_since_at", "advise_at", nullable=True),
        *_columns(date, "started_at", "finished_at", nullable=True),
        *_columns(value, "variant", "ranks", "points", nullable=True),
        *_columns(sa.String(128), "worker", nullable=True),
        *_columns(sa.String(64), "game", "commitment", "cause"),
        *_columns(sa.String(64), "transcript_sha256", "advice_sha256", nullable=True),
        sa.Column("seed", sa.LargeBinary(), nullable=False),
        sa.Column("replies", sa.Text(), nullable=False),
        sa.Column("pace_seconds", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_game_table")),
        sa.UniqueConstraint("open_place", name=op.f("uq_game_table_open_place")),
        *_checks(
            "game_table",
            lease="(state = 'running') = (lease_until IS NOT NULL)",
            open_place="open_place IS NULL OR state IN ('queued', 'running')",
            transcript="(state = 'done') = (transcript_sha256 IS NOT NULL)",
            seats="seats >= 2",
        ),
    )
    for columns in (["state", "nudge_at"], ["finished_at"], ["advise_at"]):
        op.create_index(op.f(f"ix_game_table_{'_'.join(columns)}"), "game_table", columns)


def _checks(table: str, **checks: str) -> Iterator[sa.CheckConstraint]:
    return (sa.CheckConstraint(check, name=op.f(f"ck_{table}_{name}")) for name, check in checks.items())


def _seats() -> None:
    number, date = sa.Integer(), sa.DateTime(timezone=True)
    refers = {"table_id": "game_table", "user_id": "user_account", "version_id": "bot_version"}
    op.create_table(
        "table_seat",
        *_columns(number, "table_id", "seat"),
        *_columns(number, "user_id", "version_id", "open_user_id", nullable=True),
        *_columns(KINDS, "kind"),
        *_columns(date, "ready_at", "delivered_at", nullable=True),
        *_columns(FAULTS, "fault", nullable=True),
        *_columns(sa.String(64), "name", nullable=True),
        *_columns(sa.Text(), "reply", "refused", nullable=True),
        sa.Column("model", sa.String(64), server_default="", nullable=False),
        sa.Column("resigned", sa.Boolean(), nullable=False),
        sa.Column("refusals", number, server_default="0", nullable=False),
        sa.Column("turns", sa.JSON(), server_default="[]", nullable=False),
        sa.PrimaryKeyConstraint("table_id", "seat", name=op.f("pk_table_seat")),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=op.f(f"fk_table_seat_{column}_{table}"))
            for column, table in refers.items()
        ),
        sa.UniqueConstraint("open_user_id", name=op.f("uq_table_seat_open_user_id")),
        *_checks(
            "table_seat",
            program="(kind = 'program') = (version_id IS NOT NULL)",
            user="kind = 'agent' OR (kind = 'person') = (user_id IS NOT NULL)",
            seat="seat >= 0",
        ),
    )
    op.create_index(op.f("ix_table_seat_user_id_table_id"), "table_seat", ["user_id", "table_id"])
    op.create_index(op.f("ix_table_seat_version_id"), "table_seat", ["version_id"])
