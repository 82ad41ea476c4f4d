"""Simulated people: an organiser who interferes, an author who uploads, and a guest who plays."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sqlalchemy import bindparam
from sqlmodel import Session, col, select, update

from deadheat.league import database, errors
from deadheat.league.pairing.duel import Duel
from deadheat.league.service.bots.bots import Upload, add_version
from deadheat.league.service.duels.requests import ask
from deadheat.league.service.jobs import builds
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.rulings import (
    decide_match,
    held_matches,
    leave_match,
    rejudge_match,
    restore_match,
    void_match,
)
from deadheat.league.service.series.hosts import record_check
from deadheat.league.service.tables import programs, sitting, turns, viewing
from deadheat.league.states import MatchState, Role
from deadheat.league.tables import GameTable, Match, UtcDateTime
from tests.simulation.machines import Source
from tests.workers.people import move

if TYPE_CHECKING:
    from tests.simulation.simulator import Simulator

BOSS = Person(1, "boss", Role.ORGANISER)

FILENAME = "upload.py"

RESIGNS, FALLS_SILENT = 0.2, 0.2
"""How likely a guest does so at each of a match's 24 turns; few are played to the end."""


def organiser(now: Simulator) -> None:
    """Find machines unfit, and matches worth another look."""
    while True:
        now.pause(10)
        for action in (_find_unfit, _rule, _answer):
            if now.happens(now.weather.interfere + now.weather.unfit):
                with now.task(), now.stage.database.transaction() as session:
                    action(now, session)


def _find_unfit(now: Simulator, session: Session) -> None:
    record_check(session, now.chance.choice(now.hosts), {}, ["its canary sang"], now.chance.uniform(0, 30))


def _rule(now: Simulator, session: Session) -> None:
    done = session.exec(select(Match.id).where(Match.state == MatchState.DONE).order_by(col(Match.id))).all()
    if done:
        verb = now.chance.choice([void_match, rejudge_match, restore_match])
        with contextlib.suppress(errors.WrongState):
            verb(session, BOSS, now.chance.choice(done), "storm")


def _answer(now: Simulator, session: Session) -> None:
    held = held_matches(session, BOSS)
    if held:
        match = now.chance.choice(held)
        if now.happens(0.4):
            rejudge_match(session, BOSS, match.id, "storm")
        elif now.happens(0.5):
            decide_match(session, BOSS, match.id, now.chance.choice(match.seats).seat, "storm")
        else:
            leave_match(session, BOSS, match.id, "storm")


def author(now: Simulator) -> None:
    """Upload new versions of some bots, whatever becomes of them."""
    while now.uploads < now.extent.uploads:
        now.uploads += 1
        now.pause(now.chance.uniform(0, now.extent.storm_seconds / 2))
        text = f"# upload {now.uploads}, which {now.chance.choice(list(Source))}"
        owner, bot_id = now.chance.choice(now.league.bots)
        with now.task(), contextlib.suppress(errors.BlobsAway):
            sha256 = now.blobs.put(text.encode())
            with now.stage.database.transaction() as session:
                upload = Upload(FILENAME, len(text), sha256, "python", "main.py")
                version_id = add_version(session, owner, bot_id, upload).id
            now.enqueue(builds.BUILDS, version_id)
        if now.happens(0.3):
            with now.task(), contextlib.suppress(errors.LeagueError), now.stage.database.transaction() as session:
                _ask(now, session, owner, bot_id)


def _ask(now: Simulator, session: Session, owner: Person, bot_id: int) -> None:
    """Ask for unrated matches against a bot of the season, or between versions of one's own."""
    rival = now.chance.choice(now.league.bots)[1]
    games, private = Duel(now.chance.randint(1, 4)), now.happens(0.5)
    ask(session, owner, 1, games, bot_id=bot_id, opponent_id=rival, private=private)


def guest(now: Simulator) -> None:
    """Sit down against a bot and move, until resigning or falling silent."""
    silent: set[int] = set()
    while True:
        now.pause(now.chance.uniform(1, 8))
        with now.task():
            with now.stage.database.transaction() as session:
                exhibition_id = sitting.open_of(session, now.league.guest)
                if exhibition_id is not None and exhibition_id not in silent:
                    _take_turn(now, session, exhibition_id, silent)
            if exhibition_id is None:
                if now.sittings == now.extent.sittings:
                    return
                with now.stage.database.transaction() as session:
                    try:
                        seat = sitting.take_seat(session, now.league.guest, now.chance.choice(now.league.bots)[1])
                    except errors.WrongState:  # no version of the bot has played in a season yet
                        continue
                now.sittings += 1
                now.enqueue(programs.TABLES, seat)


def site(now: Simulator) -> None:
    """Watch the tables, as the site does by the way. It reports more often than this, in one step here."""
    while True:
        now.pause(4)
        with now.task(), now.stage.database.transaction() as session:
            session.connection().execute(BETWEEN, {"at": database.now(session)})
            for table_id in turns.watch(session):
                turns.attend(session, table_id)


BETWEEN = (
    update(GameTable)
    .where(col(GameTable.watched_at).is_not(None))
    .values(watched_at=bindparam("at", type_=UtcDateTime))
)


def _take_turn(now: Simulator, session: Session, exhibition_id: int, silent: set[int]) -> None:
    shown = viewing.view(session, now.league.guest, exhibition_id)
    mood = now.chance.random()
    if shown.prompt is None or mood < FALLS_SILENT:
        silent.update({exhibition_id} if shown.prompt is not None else ())
    elif mood < FALLS_SILENT + RESIGNS:
        turns.resign(session, now.league.guest, exhibition_id)
    else:
        try:
            turns.answer(session, now.league.guest, exhibition_id, shown.turn, move(shown))
        except errors.WrongState as refused:
            if refused.state != "late":  # a person may be late: the turn ends a little after its deadline
                raise
