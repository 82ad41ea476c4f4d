"""The games of the league, and the machines that play them.

Theory of operation
-------------------
A game is a folder (`engine.games.folder`), and each process plays the games that it found at its start. Two folders of
one name might play different matches, so all processes must have the same one. The API's copy is the league's:
`announce_games` stores names, rules versions and hashes when an API process starts. Every statement that claims work
has the condition `same_as`: this process has exactly that game. It concerns the claiming process and not the machine,
because a worker's folders may have been replaced while an older process still runs. So a worker with a different copy
plays none of the game's matches and builds none of its bots, but plays other games as before. If no API process has a
game, its matches wait until one does.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, and_, col, delete, false, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.games.folder import Identity, identities
from deadheat.league.records.hosts import SHOWN_DIGITS, GameHere
from deadheat.league.service.ground.steps import set_values
from deadheat.league.service.people.person import Person
from deadheat.league.states import HOLDING
from deadheat.league.tables import LeagueGame, Season


def announce_games(session: Session) -> None:
    """Declare the games of this process to be the league's."""
    here = as_reported()
    session.exec(delete(LeagueGame).where(col(LeagueGame.name).not_in(here)))
    for name, facts in here.items():
        if set_values(session, LeagueGame, col(LeagueGame.name) == name, **facts) == 0:
            with contextlib.suppress(IntegrityError), session.begin_nested():  # another process has just added it
                session.add(LeagueGame(name=name, **facts))


def same_as(games: tuple[Identity, ...]) -> SelectOfScalar[str]:
    """Return the statement for the names of the league's games that are the same as one of these."""
    same = [
        and_(
            col(LeagueGame.name) == game.name,
            col(LeagueGame.rules_version) == game.rules_version,
            col(LeagueGame.digest) == game.digest,
        )
        for game in games
    ]
    return select(LeagueGame.name).where(or_(false(), *same))


def closed_to(games: tuple[Identity, ...]) -> SelectOfScalar[int]:
    """Return the statement for the seasons whose series a process with these games must not claim."""
    return select(Season.id).where(or_(col(Season.game).not_in(same_as(games)), col(Season.state).in_(HOLDING)))


HOLDING_SEASONS = select(Season.id).where(col(Season.state).in_(HOLDING))
"""The seasons whose waiting series nobody may claim."""


def games_here() -> tuple[Identity, ...]:
    """Return the games that this process found when it started."""
    return identities()


def as_reported() -> dict[str, Any]:
    """Return the games of this process, in the form of its machine's row."""
    return {game.name: {"rules_version": game.rules_version, "digest": game.digest} for game in games_here()}


def league_games(session: Session) -> Sequence[LeagueGame]:
    return session.exec(select(LeagueGame).order_by(col(LeagueGame.name))).all()


def disagreements(games: Iterable[LeagueGame], reported: Mapping[str, Any]) -> tuple[str, ...]:
    """Return sentences for operators about the games of the league that a machine lacks because its copies differ."""
    sentences = []
    for game in games:
        other = reported.get(game.name)
        if other is None:
            sentences.append(f"It does not have {game.name}, so it does not play it.")
        elif (other["rules_version"], other["digest"]) != (game.rules_version, game.digest):
            its = f"rules {other['rules_version']}, {other['digest'][:SHOWN_DIGITS]}"
            sentences.append(f"It has another {game.name} ({its}) than the API, so it does not play it.")
    return tuple(sentences)


def games_for(session: Session, organiser: Person) -> list[GameHere]:
    organiser.must_organise()
    return [GameHere(row.name, row.rules_version, row.digest) for row in league_games(session)]
