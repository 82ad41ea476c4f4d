"""Finals in stages: one evaluation after another, each with the bots that came first in the one before.

Theory of operation
-------------------
A stage is an evaluation (`league.service.evaluations.playing`) with a number: it is drawn, played and settled like any
other, its matches are rated, and rulings after a pairing is settled do not change it. A number is unique in a season,
and the planner has locked the season, so nothing is begun twice.

Seeds of the first stage are the finalists' places in the last evaluation, then, for those who were not in it or if
there was none, their seeds by the ladder; of equal seeds, the higher division comes first. Seeds of later stages are
the places of the stage before. When a stage is over, the first `keep` of those that were not taken out advance. All
others then have their places in the finals (`Entry.finals_place`), and nothing changes it: a ruling changes ratings,
and a bot that is disqualified later leaves the ranking, where others move up. All finalists are one field, whatever
their divisions.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import bindparam
from sqlmodel import Session, col, select, update

from deadheat.league.pairing.stages import stages
from deadheat.league.service.contests.life import Players
from deadheat.league.service.evaluations.beginning import begin_stage, last_places
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.steps import set_each, touch_log
from deadheat.league.states import ContestKind, ContestState
from deadheat.league.tables import Contest, ContestPlayer, Entry, Season


def stages_in_turn(session: Session, season: Season) -> Iterator[Contest]:
    """Yield the stage that is played, and each that follows when the one before is over; after the last one everybody
    has a place. The caller has locked the season, and the finalists have their seeds.
    """
    declared = stages(season.stages)
    row = _newest(session, season.id)
    while True:
        if row is not None and row.state is ContestState.RUNNING:
            yield row
            if row.state is ContestState.RUNNING:
                return
        number = 0 if row is None else row.stage or 0
        field = _finalists(session, season.id) if row is None else _survivors(session, row)
        if number == len(declared) or len(field) < season.seats:
            _place(session, season.id, field)
            return
        row = begin_stage(session, season, number + 1, declared[number], field)


def _newest(session: Session, season_id: int) -> Contest | None:
    found = select(Contest).where(Contest.season_id == season_id, Contest.kind == ContestKind.STAGE)
    return session.exec(found.order_by(col(Contest.stage).desc()).limit(1)).first()


def _finalists(session: Session, season_id: int) -> Players:
    seeded = select(Entry.version_id, Entry.bot_id).where(col(Entry.finals_seed).is_not(None), taking_part(season_id))
    places = last_places(session, season_id)
    by_ladder = session.exec(seeded.order_by(col(Entry.finals_seed), col(Entry.division))).all()
    return sorted(by_ladder, key=lambda player: places[player[1]])


def _survivors(session: Session, row: Contest) -> Players:
    """Return the players that advance from a finished stage, the best first; the others get their final places now."""
    players = select(ContestPlayer.version_id, ContestPlayer.bot_id).where(ContestPlayer.contest_id == row.id)
    is_gone = col(ContestPlayer.gone_after).is_not(None)
    there = session.exec(players.where(~is_gone).order_by(col(ContestPlayer.place))).all()
    gone = session.exec(players.where(is_gone).order_by(col(ContestPlayer.place))).all()
    going_on = there[: row.keep]
    _place(session, row.season_id, [*there, *gone], len(going_on) if len(going_on) > 1 else 0)
    return going_on


def _place(session: Session, season_id: int, order: Players, before: int = 0) -> None:
    """Record the places of all players after the first `before`."""
    rows = [{"bot": bot_id, "at": place} for place, (_, bot_id) in enumerate(order[before:], before + 1)]
    mine = (col(Entry.season_id) == season_id, col(Entry.bot_id) == bindparam("bot"))
    set_each(session, update(Entry).where(*mine).values(finals_place=bindparam("at")), rows)
    touch_log(session, season_id)
