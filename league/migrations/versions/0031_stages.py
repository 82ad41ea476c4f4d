"""Finals in stages, and knock-outs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

CHANGED = {
    "season": {
        "finals": ("finals IN ('none', 'round-robin', 'swiss')", "finals IN ('none', 'round-robin', 'swiss', 'stages')")
    },
    "evaluation": {
        "format": ("format IN ('swiss', 'round-robin')", "format IN ('swiss', 'round-robin', 'knockout')"),
    },
}
"""Constraints by table and name, before and after."""

COLUMNS = {
    "entry": ["finals_place INTEGER CONSTRAINT ck_entry_finals_place CHECK (finals_place >= 1)"],
    "evaluation": [
        "stage INTEGER CONSTRAINT ck_evaluation_stage CHECK (stage >= 1)",
        "keep INTEGER CONSTRAINT ck_evaluation_keep CHECK (keep >= 1)",
        "further INTEGER DEFAULT 0 NOT NULL CONSTRAINT ck_evaluation_further CHECK (further >= 0)",
        "third_place BOOLEAN DEFAULT FALSE NOT NULL",
    ],
    "evaluation_player": ["gone_after INTEGER CONSTRAINT ck_evaluation_player_gone_after CHECK (gone_after >= 0)"],
}


def upgrade() -> None:
    """Forward."""
    op.add_column("season", sa.Column("stages", sa.JSON(none_as_null=True), nullable=True))
    for table, columns in COLUMNS.items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    of_stages = sa.text("stage IS NOT NULL")
    op.create_index(
        "ix_evaluation_stage",
        "evaluation",
        ["season_id", "stage"],
        unique=True,
        sqlite_where=of_stages,
        postgresql_where=of_stages,
    )
    for table in CHANGED:
        if op.get_bind().dialect.name == "sqlite":
            _change_in_place(table)
        else:
            _change(table)


def _change(table: str) -> None:
    for name, (_, after) in CHANGED[table].items():
        op.drop_constraint(op.f(f"ck_{table}_{name}"), table, type_="check")
        op.create_check_constraint(op.f(f"ck_{table}_{name}"), table, after)


def _change_in_place(table: str) -> None:
    """Edit the schema's text as in 0017, because SQLite has no statement to change a constraint. All rows satisfy the
    new ones.
    """
    connection = op.get_bind()
    of_it = {"table": table}
    text: str = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = :table"), of_it).scalar_one()
    for before, after in CHANGED[table].values():
        assert text.count(before) == 1, text
        text = text.replace(before, after)
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :table")
    connection.execute(changed, {"sql": text, **of_it})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
