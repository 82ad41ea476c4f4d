"""Tells whether anything but the ladder is played in a season: usually nothing is, and every tick asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists

from deadheat.league.states import EVALUATIONS, ContestKind, ContestState
from deadheat.league.tables import BotVersion, Contest, Entry


@dataclass(frozen=True, slots=True)
class Beside:
    """Whether a run against the panel (or an entry that waits for it), an evaluation or a challenge is under way, or a
    bot is to enter when its version is ready.
    """

    panel: bool
    evaluation: bool
    asked: bool
    gates: bool
    wished: bool


def beside_the_ladder(session: Session, season_id: int) -> Beside:
    """Look for all of it in one statement."""
    session.flush()
    return Beside(*session.connection().execute(BESIDE, {"season_id": season_id}).one())


_HERE: Any = bindparam("season_id")
_WAITS = exists().where(col(Entry.season_id) == _HERE, col(Entry.waits_for_panel).is_(True))
_WISHED = exists().where(col(BotVersion.enters_id) == _HERE)
_PLAYED = exists().where(col(Contest.season_id) == _HERE, col(Contest.state) == ContestState.RUNNING)
_KINDS = ((ContestKind.PANEL,), EVALUATIONS, (ContestKind.REQUEST,), (ContestKind.GATE,))
_PANEL, *_OTHERS = (_PLAYED.where(col(Contest.kind).in_(kinds)) for kinds in _KINDS)
BESIDE: Any = columns(_PANEL | _WAITS, *_OTHERS, _WISHED)
