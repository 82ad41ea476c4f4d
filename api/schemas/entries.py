"""The shapes of entries and promotion gates."""

from __future__ import annotations

from pydantic import Field

from deadheat.api.schemas.base import Input, Paged, RowId
from deadheat.api.schemas.contests import SequentialTest
from deadheat.league.records.entries import Entry
from deadheat.league.service.duels.gates import MOST_GAMES, TEST


class GateRequest(SequentialTest):
    """A promotion gate: new versions take over only if a sequential test finds them stronger (docs/authors.md)."""

    elo0: float = Field(default=TEST.elo0, ge=-1000, le=1000, description="Normalised Elo at which a version fails.")
    elo1: float = Field(default=TEST.elo1, ge=-1000, le=1000, description="Normalised Elo at which it passes.")
    games: int = Field(
        default=MOST_GAMES,
        ge=2,
        le=100_000,
        description="The most games; without a verdict by then, the version fails.",
    )


class EntryRequest(Input):
    """The version that plays, and the gate that newer ones must pass."""

    version: RowId | None = Field(
        default=None, description="null: the newest ready version, and later each newer one once it is ready."
    )
    gate: GateRequest | None = Field(default=None, description="null: no gate; left out: no change.")


class EntryChange(Input):
    """An organiser's change to an entry."""

    division: RowId


class Entries(Paged[Entry]):
    """Entries in order of bots; `next` continues the list."""
