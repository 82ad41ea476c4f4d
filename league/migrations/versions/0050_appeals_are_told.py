"""Organisers are notified of appeals."""

from deadheat.league.migrations.checks import add_kind

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    add_kind("appeal-opened", after="evaluation-done")
