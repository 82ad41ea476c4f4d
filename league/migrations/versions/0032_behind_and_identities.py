"""Organisers are told of a timetable that falls behind; people sign in through an OpenID provider."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

BEFORE = "'deadline', 'season-invited'"
AFTER = "'deadline', 'behind', 'season-invited'"


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_identity_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identity_issuer_subject")),
        sa.UniqueConstraint("user_id", "issuer", name=op.f("uq_identity_user_id_issuer")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _change_in_place()
        return
    found = sa.inspect(op.get_bind()).get_check_constraints("notice")
    (kinds,) = (one["sqltext"] for one in found if one["name"] == "ck_notice_notice_kind")
    op.drop_constraint(op.f("ck_notice_notice_kind"), "notice", type_="check")
    deadline = "'deadline'::character varying"
    assert kinds.count(deadline) == 1, kinds
    op.create_check_constraint(
        op.f("ck_notice_notice_kind"), "notice", kinds.replace(deadline, f"{deadline}, 'behind'::character varying")
    )


def _change_in_place() -> None:
    """Edit the schema's text as in 0017, because SQLite has no statement to change a constraint. All rows satisfy the
    new one.
    """
    connection = op.get_bind()
    of_it = sa.text("SELECT sql FROM sqlite_master WHERE name = 'notice'")
    text: str = connection.execute(of_it).scalar_one()
    assert text.count(BEFORE) == 1, text
    version = connection.execute(sa.text("PRAGMA schema_version")).scalar_one()
    connection.execute(sa.text("PRAGMA writable_schema = ON"))
    changed = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = 'notice'")
    connection.execute(changed, {"sql": text.replace(BEFORE, AFTER)})
    connection.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    connection.execute(sa.text("PRAGMA writable_schema = OFF"))
