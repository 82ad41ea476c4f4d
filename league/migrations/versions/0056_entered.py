"""Owners are told when an organiser enters their bot."""

from deadheat.league.migrations.checks import add_kind

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    add_kind("entered", after="season-invited")
