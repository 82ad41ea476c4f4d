"""Tells whether anything but the ladder is played in a season: usually nothing is, and every tick asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists

from deadheat.league.service.duels.counting import Kind
from deadheat.league.states import ChallengeState, EvaluationState
from deadheat.league.tables import BotVersion, Challenge, Contest, Entry, PanelRun


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
_RUNS = exists().where(col(PanelRun.season_id) == _HERE, col(PanelRun.state) == ChallengeState.RUNNING)
_WAITS = exists().where(col(Entry.season_id) == _HERE, col(Entry.waits_for_panel).is_(True))
_PLAYED = exists().where(col(Contest.season_id) == _HERE, col(Contest.state) == EvaluationState.RUNNING)
_TRIED = exists().where(col(Challenge.season_id) == _HERE, col(Challenge.state) == ChallengeState.RUNNING)
_WISHED = exists().where(col(BotVersion.enters_id) == _HERE)
_ASKED, _GATES = _TRIED.where(Kind.REQUEST.condition), _TRIED.where(Kind.GATE.condition)
BESIDE = columns(_RUNS | _WAITS, _PLAYED, _ASKED, _GATES, _WISHED)
