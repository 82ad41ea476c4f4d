"""Seasons with finals, divisions, entry rules and gates; teams.

Columns with their constraints are added by plain statements, which SQLite and PostgreSQL both take: recreating a
table that others refer to is what SQLite will not do inside a transaction.
"""

from __future__ import annotations

from itertools import combinations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Forward."""
    _team()
    _team_member()
    _season()
    _division()
    _season_invitation()
    _entry()
    _challenge()
    _series()
    _rating_snapshot()


def _add(table: str, column: str, definition: str, check: str | None = None) -> None:
    """Add a column, and the constraint that is named after it."""
    constraint = f" CONSTRAINT ck_{table}_{column} CHECK ({check})" if check else ""
    op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {definition}{constraint}")


def _word(*words: str) -> str:
    listed = ", ".join(f"'{word}'" for word in words)
    return f"IN ({listed})"


def _instant() -> str:
    return "DATETIME" if op.get_bind().dialect.name == "sqlite" else "TIMESTAMP WITH TIME ZONE"


def _team() -> None:
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("name_key", sa.String(length=32), nullable=False),
        sa.Column("captain_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["captain_id"], ["user_account.id"], name=op.f("fk_team_captain_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
        sa.UniqueConstraint("name_key", name=op.f("uq_team_name_key")),
    )
    _add("bot", "team_id", "INTEGER CONSTRAINT fk_bot_team_id REFERENCES team (id)")
    op.create_index(op.f("ix_bot_team_id_game_name_key"), "bot", ["team_id", "game", "name_key"], unique=True)
    _add("bot_version", "uploader_id", "INTEGER CONSTRAINT fk_bot_version_uploader_id REFERENCES user_account (id)")
    _add("bot_version", "trial_sha256", "VARCHAR(64)")
    op.execute("UPDATE bot_version SET uploader_id = (SELECT owner_id FROM bot WHERE bot.id = bot_version.bot_id)")
    op.create_index(
        op.f("ix_bot_version_uploader_id_created_at"), "bot_version", ["uploader_id", "created_at"], unique=False
    )


def _team_member() -> None:
    op.create_table(
        "team_member",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("invited_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_team_member_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_team_member_user_id")),
        sa.PrimaryKeyConstraint("team_id", "user_id", name=op.f("pk_team_member")),
    )
    op.create_index(op.f("ix_team_member_user_id"), "team_member", ["user_id"], unique=False)


def _season() -> None:
    positive = {
        "finals_top": 2,
        "finals_rounds": 1,
        "entries_per_author": 1,
        "uploads_per_hour": 1,
        "versions_per_day": 1,
    }
    _add("season", "previous_id", "INTEGER CONSTRAINT fk_season_previous_id REFERENCES season (id)")
    _add("season", "ranks", "VARCHAR(16) DEFAULT 'placement' NOT NULL", f"ranks {_word('placement', 'wins')}")
    _add("season", "seats", "INTEGER DEFAULT 2 NOT NULL", "seats >= 2")
    for column in ("freezes_at", "finals_at", "qualified_at"):
        _add("season", column, _instant())
    formats = _word("none", "round-robin", "swiss")
    _add("season", "finals", "VARCHAR(16) DEFAULT 'none' NOT NULL", f"finals {formats}")
    _add("season", "finals_games", "INTEGER DEFAULT 10 NOT NULL", "finals_games BETWEEN 1 AND 1000")
    _add("season", "finals_extra_games", "INTEGER DEFAULT 0 NOT NULL", "finals_extra_games >= 0")
    _add("season", "finals_log", "VARCHAR(16) DEFAULT 'season' NOT NULL", f"finals_log {_word('season', 'finals')}")
    _add("season", "closes_when_done", "BOOLEAN DEFAULT true NOT NULL")
    _add("season", "promoted", "INTEGER DEFAULT 0 NOT NULL", "promoted >= 0")
    admissions = _word("everyone", "invited", "nobody")
    _add("season", "admission", "VARCHAR(16) DEFAULT 'everyone' NOT NULL", f"admission {admissions}")
    _add("season", "teams_only", "BOOLEAN DEFAULT false NOT NULL")
    _add("season", "languages", "JSON")
    _add("season", "challenge_games", "INTEGER DEFAULT 1000 NOT NULL", "challenge_games >= 0")
    for column, least in positive.items():
        _add("season", column, "INTEGER", f"{column} IS NULL OR {column} >= {least}")
    dates = [
        (one, other)
        for one, other in combinations(("opens_at", "freezes_at", "finals_at", "closes_at"), 2)
        if (one, other) != ("opens_at", "closes_at")
    ]
    checks = " ".join(
        f"CONSTRAINT ck_season_{one}_{other} CHECK ({one} IS NULL OR {other} IS NULL OR {one} < {other})"
        for one, other in dates
    )
    # SQLite accepts a constraint only with a column; it may well concern other columns.
    op.execute(f"ALTER TABLE season ADD COLUMN finals_done_at {_instant()} {checks}")


def _division() -> None:
    op.create_table(
        "division",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.CheckConstraint("number >= 1", name=op.f("ck_division_number")),
        sa.CheckConstraint("size IS NULL OR size >= 2", name=op.f("ck_division_size")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_division_season_id")),
        sa.PrimaryKeyConstraint("season_id", "number", name=op.f("pk_division")),
    )
    op.execute("INSERT INTO division (season_id, number, name) SELECT id, 1, 'Division 1' FROM season")


def _season_invitation() -> None:
    op.create_table(
        "season_invitation",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_season_invitation_season_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_season_invitation_user_id")),
        sa.PrimaryKeyConstraint("season_id", "user_id", name=op.f("pk_season_invitation")),
    )


def _entry() -> None:
    with op.batch_alter_table("entry") as entry:  # no table refers to it yet, so SQLite may recreate it
        entry.add_column(sa.Column("division", sa.Integer(), nullable=False, server_default="1"))
        entry.add_column(sa.Column("finals_seed", sa.Integer(), nullable=True))
        entry.add_column(sa.Column("gate", sa.JSON(), nullable=True))
        entry.create_check_constraint(op.f("ck_entry_finals_seed"), "finals_seed >= 1")
        entry.create_unique_constraint(
            op.f("uq_entry_season_id_division_finals_seed"), ["season_id", "division", "finals_seed"]
        )
        entry.create_foreign_key(
            op.f("fk_entry_season_id_division"), "division", ["season_id", "division"], ["season_id", "number"]
        )


def _challenge() -> None:
    op.create_table(
        "challenge",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("incumbent_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "running",
                "passed",
                "failed",
                "ended",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("elo0", "elo1", "alpha", "beta")),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("games_limit", "games_planned", "wins", "draws", "losses")
        ),
        sa.Column("llr", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("candidate_id <> incumbent_id", name=op.f("ck_challenge_versions")),
        sa.CheckConstraint("(state = 'running') = (ended_at IS NULL)", name=op.f("ck_challenge_ended")),
        sa.CheckConstraint("elo0 < elo1", name=op.f("ck_challenge_elo")),
        sa.CheckConstraint("games_limit >= 1", name=op.f("ck_challenge_games_limit")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_challenge_season_id")),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name=op.f("fk_challenge_entry_id")),
        sa.ForeignKeyConstraint(["candidate_id"], ["bot_version.id"], name=op.f("fk_challenge_candidate_id")),
        sa.ForeignKeyConstraint(["incumbent_id"], ["bot_version.id"], name=op.f("fk_challenge_incumbent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenge")),
    )
    op.create_index(op.f("ix_challenge_entry_id_state"), "challenge", ["entry_id", "state"], unique=False)
    op.create_index(op.f("ix_challenge_state"), "challenge", ["state"], unique=False)


def _series() -> None:
    purposes = _word("ladder", "finals", "challenge")
    _add("series", "purpose", "VARCHAR(16) DEFAULT 'ladder' NOT NULL", f"purpose {purposes}")
    _add("series", "round", "INTEGER")
    op.execute(
        "ALTER TABLE series ADD COLUMN challenge_id INTEGER "
        "CONSTRAINT fk_series_challenge_id REFERENCES challenge (id) "
        "CONSTRAINT ck_series_challenge CHECK ((purpose = 'challenge') = (challenge_id IS NOT NULL))"
    )
    op.create_index(op.f("ix_series_challenge_id"), "series", ["challenge_id"], unique=False)


def _rating_snapshot() -> None:
    """Forbid any change or removal of published standings."""
    _add("rating_snapshot", "final", "BOOLEAN DEFAULT false NOT NULL")
    final = sa.text("final")
    op.create_index(
        op.f("uq_rating_snapshot_final"),
        "rating_snapshot",
        ["season_id"],
        unique=True,
        sqlite_where=final,
        postgresql_where=final,
    )
    refusal = "published standings are final"
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER rating_snapshot_final_no_{verb.lower()} BEFORE {verb} ON rating_snapshot "
                f"WHEN OLD.final BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION rating_snapshot_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER rating_snapshot_final BEFORE UPDATE OR DELETE ON rating_snapshot "
        "FOR EACH ROW WHEN (OLD.final) EXECUTE FUNCTION rating_snapshot_refuse()"
    )
    op.execute(
        "CREATE TRIGGER rating_snapshot_whole BEFORE TRUNCATE ON rating_snapshot "
        "FOR EACH STATEMENT EXECUTE FUNCTION rating_snapshot_refuse()"
    )
