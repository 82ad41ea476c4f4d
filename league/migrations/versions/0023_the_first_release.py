"""The schema of 0.2.0, the first release, from `0.2.0.sql`, and triggers, which each database spells differently."""

from pathlib import Path

from alembic import op

from deadheat.league.migrations.sql import run

revision = "0023"
down_revision = None

SCHEMA = Path(__file__).parents[1] / "0.2.0.sql"

APPEND_ONLY = "audit_log is append-only"
FINAL = "published standings are final"


def upgrade() -> None:
    run(SCHEMA.read_text("utf-8"))
    if op.get_bind().dialect.name == "sqlite":
        _refuse_in_sqlite("audit_log_no", "audit_log", APPEND_ONLY)
        _refuse_in_sqlite("rating_snapshot_final_no", "rating_snapshot WHEN OLD.final", FINAL)
    else:
        _refuse("audit_log", APPEND_ONLY, append_only="UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT")
        _refuse(
            "rating_snapshot",
            FINAL,
            final="UPDATE OR DELETE ON rating_snapshot FOR EACH ROW WHEN (OLD.final)",
            whole="TRUNCATE ON rating_snapshot FOR EACH STATEMENT",
        )


def _refuse_in_sqlite(trigger: str, rows: str, because: str) -> None:
    for verb in ("UPDATE", "DELETE"):
        refusal = f"BEGIN SELECT RAISE(ABORT, '{because}'); END"
        op.execute(f"CREATE TRIGGER {trigger}_{verb.lower()} BEFORE {verb} ON {rows} {refusal}")


def _refuse(table: str, because: str, **triggers: str) -> None:
    refusal = f"$$ BEGIN RAISE EXCEPTION '{because}'; END $$"
    op.execute(f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS {refusal}")
    for name, when in triggers.items():
        op.execute(f"CREATE TRIGGER {table}_{name} BEFORE {when} EXECUTE FUNCTION {table}_refuse()")
