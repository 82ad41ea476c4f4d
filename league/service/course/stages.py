"""Finals in stages: one evaluation after another, each with the bots that came first in the one before.

Theory of operation
-------------------
A stage is an evaluation (`league.service.evaluations.playing`) with a number: it is drawn, played and settled like any
other, its matches are rated, and rulings after a pairing is settled do not change it. A number is unique in a season,
and the planner has locked the season, so nothing is begun twice.

Seeds of the first stage are the finalists' places in the last evaluation, then, for those who were not in it or if
there was none, their seeds by the ladder. Seeds of later stages are the places of the stage before. When a stage is
over, the first `keep` of those that were not taken out advance. All others then have their places in the finals
(`Entry.finals_place`), and nothing changes it: a ruling changes ratings, and a bot that is disqualified later leaves
the ranking, where others move up. All finalists are one field, whatever their divisions.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam
from sqlmodel import Session, col, select, update

from deadheat.league.pairing.stages import stages
from deadheat.league.service.evaluations.beginning import begin_stage, last_places
from deadheat.league.service.evaluations.playing import carry_on
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.steps import set_each, touch_log
from deadheat.league.states import ContestKind, EvaluationState
from deadheat.league.tables import BotVersion, Contest, ContestPlayer, Entry, Season


def plan_stages(session: Session, season: Season) -> tuple[list[int], bool]:
    """Do what can be done next, and return the new series. The second value is True when the finals are over. The
    caller has locked the season, and the finalists have their seeds.
    """
    declared = stages(season.stages)
    row = _newest(session, season.id)
    while True:
        if row is not None and row.state is EvaluationState.RUNNING:
            made = carry_on(session, season, row)
            session.refresh(row)
            if row.state is EvaluationState.RUNNING:
                return made, False
        number = 0 if row is None else row.stage or 0
        field = _finalists(session, season.id) if row is None else _survivors(session, row)
        if number == len(declared) or len(field) < season.seats:
            _place(session, season.id, field)
            return [], True
        row = begin_stage(session, season, number + 1, declared[number], field)


def _newest(session: Session, season_id: int) -> Contest | None:
    found = select(Contest).where(Contest.season_id == season_id, Contest.kind == ContestKind.STAGE)
    return session.exec(found.order_by(col(Contest.stage).desc()).limit(1)).first()


def _finalists(session: Session, season_id: int) -> Sequence[BotVersion]:
    there = (col(Entry.finals_seed).is_not(None), taking_part(season_id))
    seeded = select(BotVersion).join(Entry, col(Entry.version_id) == BotVersion.id).where(*there)
    places = last_places(session, season_id)
    by_ladder = session.exec(seeded.order_by(col(Entry.finals_seed))).all()
    return sorted(by_ladder, key=lambda version: places[version.bot_id])


def _survivors(session: Session, row: Contest) -> Sequence[BotVersion]:
    """Return the versions that advance from a finished stage, the best first; the others get their final places now."""
    left = (ContestPlayer.contest_id == row.id, col(ContestPlayer.gone_after).is_(None))
    players = select(BotVersion).join(ContestPlayer, col(ContestPlayer.version_id) == BotVersion.id)
    placed = players.where(ContestPlayer.contest_id == row.id).order_by(col(ContestPlayer.place))
    there = session.exec(placed.where(*left)).all()
    gone = session.exec(placed.where(left[0], ~left[1])).all()
    going_on = there[: row.keep]
    _place(session, row.season_id, [*there, *gone], len(going_on) if len(going_on) > 1 else 0)
    return going_on


def _place(session: Session, season_id: int, order: Sequence[BotVersion], before: int = 0) -> None:
    """Record the places of all versions after the first `before`."""
    rows = [{"bot": version.bot_id, "at": place} for place, version in enumerate(order[before:], before + 1)]
    mine = (col(Entry.season_id) == season_id, col(Entry.bot_id) == bindparam("bot"))
    set_each(session, update(Entry).where(*mine).values(finals_place=bindparam("at")), rows)
    touch_log(session, season_id)
