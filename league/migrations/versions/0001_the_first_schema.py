"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Forward."""
    _audit_log()
    _season()
    _user_account()
    _bot()
    _rating_snapshot()
    _series()
    _token()
    _bot_version()
    _match()
    _attempt()
    _entry()
    _pair()
    _participant()
    _ending()
    _latency_summary()
    _append_only("audit_log")


def _append_only(table: str) -> None:
    """Triggers that refuse to change or remove a row, whatever the statement."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()"
    )


def _audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=40), nullable=False),
        sa.Column("actor", sa.String(length=32), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=128), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("prev_sha256", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
        sa.UniqueConstraint("prev_sha256", name=op.f("uq_audit_log_prev_sha256")),
        sa.UniqueConstraint("sha256", name=op.f("uq_audit_log_sha256")),
    )


def _season() -> None:
    op.create_table(
        "season",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.String(length=64), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "scheduled",
                "open",
                "frozen",
                "finals",
                "closed",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("series_length", sa.Integer(), nullable=False),
        sa.Column("games_per_pair", sa.Integer(), nullable=True),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("log_serial", sa.Integer(), nullable=False),
        sa.Column("rated_serial", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("games_per_pair IS NULL OR games_per_pair >= 1", name=op.f("ck_season_games_per_pair")),
        sa.CheckConstraint(
            "opens_at IS NULL OR closes_at IS NULL OR opens_at < closes_at", name=op.f("ck_season_dates")
        ),
        sa.CheckConstraint("series_length BETWEEN 1 AND 1000", name=op.f("ck_season_series_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_season")),
        sa.UniqueConstraint("name_key", name=op.f("uq_season_name_key")),
    )


def _user_account() -> None:
    op.create_table(
        "user_account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("name_key", sa.String(length=32), nullable=False),
        sa.Column("password_hash", sa.String(length=256), nullable=True),
        sa.Column(
            "role",
            sa.Enum("author", "organiser", name="role", native_enum=False, create_constraint=True, length=16),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name_key", name=op.f("uq_user_account_name_key")),
    )


def _bot() -> None:
    op.create_table(
        "bot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("name_key", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name=op.f("fk_bot_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bot")),
        sa.UniqueConstraint("owner_id", "game", "name_key", name=op.f("uq_bot_owner_id_game_name_key")),
    )


def _rating_snapshot() -> None:
    op.create_table(
        "rating_snapshot",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("log_sha256", sa.String(length=64), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("standings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_rating_snapshot_season_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rating_snapshot")),
    )
    op.create_index(op.f("ix_rating_snapshot_season_id_id"), "rating_snapshot", ["season_id", "id"], unique=False)


def _series() -> None:
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "queued",
                "running",
                "done",
                "abandoned",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("nudge_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name=op.f("ck_series_lease")),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_series_attempt")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_series_season_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
    )
    op.create_index(op.f("ix_series_season_id_state"), "series", ["season_id", "state"], unique=False)
    op.create_index(op.f("ix_series_state_lease_until"), "series", ["state", "lease_until"], unique=False)
    op.create_index(op.f("ix_series_state_nudge_at"), "series", ["state", "nudge_at"], unique=False)


def _token() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_token_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("sha256", name=op.f("uq_token_sha256")),
    )
    op.create_index(op.f("ix_token_user_id"), "token", ["user_id"], unique=False)


def _bot_version() -> None:
    op.create_table(
        "bot_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("filename", sa.String(length=128), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("source_sha256", sa.String(length=64), nullable=False),
        sa.Column("language", sa.String(length=32), nullable=False),
        sa.Column("entry", sa.String(length=256), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "uploaded",
                "building",
                "ready",
                "broken",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=False,
        ),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("nudge_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("built_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("program_sha256", sa.String(length=64), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.CheckConstraint("(state = 'building') = (lease_until IS NOT NULL)", name=op.f("ck_bot_version_lease")),
        sa.CheckConstraint("(state = 'ready') = (program_sha256 IS NOT NULL)", name=op.f("ck_bot_version_program")),
        sa.CheckConstraint("attempt >= 0", name=op.f("ck_bot_version_attempt")),
        sa.ForeignKeyConstraint(["bot_id"], ["bot.id"], name=op.f("fk_bot_version_bot_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bot_version")),
        sa.UniqueConstraint("bot_id", "number", name=op.f("uq_bot_version_bot_id_number")),
        sa.UniqueConstraint("id", "bot_id", name=op.f("uq_bot_version_id_bot_id")),
    )
    op.create_index(op.f("ix_bot_version_state_lease_until"), "bot_version", ["state", "lease_until"], unique=False)
    op.create_index(op.f("ix_bot_version_state_nudge_at"), "bot_version", ["state", "nudge_at"], unique=False)


def _match() -> None:
    op.create_table(
        "match",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("seed", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.String(length=64), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "scheduled", "done", "abandoned", name="state", native_enum=False, create_constraint=True, length=16
            ),
            nullable=False,
        ),
        sa.Column("rated", sa.Boolean(), nullable=False),
        sa.Column("transcript_sha256", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name=op.f("ck_match_transcript")),
        sa.CheckConstraint("(state = 'scheduled') = (finished_at IS NULL)", name=op.f("ck_match_finished")),
        sa.CheckConstraint("NOT rated OR state = 'done'", name=op.f("ck_match_rated")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_match_season_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_match_series_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_match")),
        sa.UniqueConstraint("series_id", "number", name=op.f("uq_match_series_id_number")),
    )
    op.create_index(op.f("ix_match_season_id_id"), "match", ["season_id", "id"], unique=False)
    op.create_index(op.f("ix_match_season_id_state_id"), "match", ["season_id", "state", "id"], unique=False)


def _attempt() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=True),
        sa.Column("series_id", sa.Integer(), nullable=True),
        sa.Column("match_id", sa.Integer(), nullable=True),
        sa.Column("version_id", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("cause", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(series_id IS NULL) <> (version_id IS NULL)", name=op.f("ck_attempt_subject")),
        sa.CheckConstraint("match_id IS NULL OR series_id IS NOT NULL", name=op.f("ck_attempt_match")),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name=op.f("fk_attempt_match_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_attempt_season_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_attempt_series_id")),
        sa.ForeignKeyConstraint(["version_id"], ["bot_version.id"], name=op.f("fk_attempt_version_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
    )
    op.create_index(op.f("ix_attempt_match_id"), "attempt", ["match_id"], unique=False)
    op.create_index(op.f("ix_attempt_season_id_cause"), "attempt", ["season_id", "cause"], unique=False)
    op.create_index(op.f("ix_attempt_series_id"), "attempt", ["series_id"], unique=False)
    op.create_index(op.f("ix_attempt_version_id"), "attempt", ["version_id"], unique=False)


def _entry() -> None:
    op.create_table(
        "entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("follows", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["bot_id"], ["bot.id"], name=op.f("fk_entry_bot_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_entry_season_id")),
        sa.ForeignKeyConstraint(
            ["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"], name=op.f("fk_entry_version_id_bot_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry")),
        sa.UniqueConstraint("season_id", "bot_id", name=op.f("uq_entry_season_id_bot_id")),
    )
    op.create_index(op.f("ix_entry_bot_id"), "entry", ["bot_id"], unique=False)


def _pair() -> None:
    op.create_table(
        "pair",
        sa.Column("season_id", sa.Integer(), nullable=False),
        sa.Column("low_id", sa.Integer(), nullable=False),
        sa.Column("high_id", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.CheckConstraint("low_id < high_id", name=op.f("ck_pair_order")),
        sa.ForeignKeyConstraint(["high_id"], ["bot_version.id"], name=op.f("fk_pair_high_id")),
        sa.ForeignKeyConstraint(["low_id"], ["bot_version.id"], name=op.f("fk_pair_low_id")),
        sa.ForeignKeyConstraint(["season_id"], ["season.id"], name=op.f("fk_pair_season_id")),
        sa.PrimaryKeyConstraint("season_id", "low_id", "high_id", name=op.f("pk_pair")),
    )


def _participant() -> None:
    op.create_table(
        "participant",
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("bot_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("points", sa.String(length=64), nullable=True),
        sa.Column(
            "fault",
            sa.Enum(
                "timeout",
                "exited",
                "overflow",
                "malformed",
                "illegal",
                "unexpected",
                "memory",
                name="fault",
                native_enum=False,
                create_constraint=True,
                length=16,
            ),
            nullable=True,
        ),
        sa.Column("fault_command", sa.String(length=64), nullable=True),
        sa.Column("fault_elapsed_ms", sa.Float(), nullable=True),
        sa.Column("fault_why", sa.Text(), nullable=True),
        sa.CheckConstraint("rank >= 1", name=op.f("ck_participant_rank")),
        sa.CheckConstraint("seat >= 0", name=op.f("ck_participant_seat")),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name=op.f("fk_participant_match_id")),
        sa.ForeignKeyConstraint(
            ["version_id", "bot_id"],
            ["bot_version.id", "bot_version.bot_id"],
            name=op.f("fk_participant_version_id_bot_id"),
        ),
        sa.PrimaryKeyConstraint("match_id", "seat", name=op.f("pk_participant")),
        sa.UniqueConstraint("match_id", "version_id", name=op.f("uq_participant_match_id_version_id")),
    )
    op.create_index(op.f("ix_participant_bot_id_match_id"), "participant", ["bot_id", "match_id"], unique=False)
    op.create_index(op.f("ix_participant_version_id_match_id"), "participant", ["version_id", "match_id"], unique=False)


def _ending() -> None:
    op.create_table(
        "ending",
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("lingered", sa.Boolean(), nullable=False),
        sa.Column("stderr", sa.Text(), nullable=False),
        sa.Column("cpu_ns", sa.BigInteger(), nullable=True),
        sa.Column("peak_memory_bytes", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["match_id", "seat"], ["participant.match_id", "participant.seat"], name=op.f("fk_ending_match_id_seat")
        ),
        sa.PrimaryKeyConstraint("match_id", "seat", name=op.f("pk_ending")),
    )


def _latency_summary() -> None:
    op.create_table(
        "latency_summary",
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(length=64), nullable=False),
        sa.Column("limit_ns", sa.BigInteger(), nullable=False),
        sa.Column("prompts", sa.Integer(), nullable=False),
        sa.Column("total_ns", sa.BigInteger(), nullable=False),
        sa.Column("worst_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id", "seat"],
            ["participant.match_id", "participant.seat"],
            name=op.f("fk_latency_summary_match_id_seat"),
        ),
        sa.PrimaryKeyConstraint("match_id", "seat", "command", name=op.f("pk_latency_summary")),
    )
