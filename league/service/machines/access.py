"""Machines that play over HTTP, and their tokens.

Theory of operation
-------------------
Strangers' programs run on the machines that play, so these are the likeliest to fall. One that plays over HTTP holds
none of the league's secrets but its own token, and that opens nothing except the routes of `api.routes.machines`: what
the machine has claimed is all that it may read, and what it sends counts only after `league.checking` has played it
again. A token is kept as its SHA-256, as those of people are (`league.service.people.access`), in a table of its own,
so neither kind is ever taken for the other.

A machine has the name that an operator gave it, whatever it says. Its programs must be exactly the league's: a machine
of another release, or with another copy of a game, is told so at each request (`must_match`).
"""

import base64
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat import __version__
from deadheat.league.causes import Cause
from deadheat.league.checking.duplicates import weigh
from deadheat.league.database import now, surroundings
from deadheat.league.errors import BadToken, NameTaken, NotFound, OtherRelease
from deadheat.league.jobs import Failure, Host
from deadheat.league.records import from_row
from deadheat.league.records.hosts import HttpMachine
from deadheat.league.service.ground.steps import set_values
from deadheat.league.service.people.access import SECRET_BYTES, digest
from deadheat.league.service.people.users import existing_user
from deadheat.league.service.series.carrying_out import SERIES, give_back_series
from deadheat.league.service.series.games import games_here
from deadheat.league.states import Trust
from deadheat.league.tables import Machine, MachineAccess, PlayedAgain, Series, User, WorkerHost

log = logging.getLogger(__name__)

PREFIX = "dhm_"
"""The beginning of every token of a machine, by which secret scanners recognise one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A machine that plays over HTTP, and this boot of it. `owner_id`: whose it is; None: the league's own."""

    host: Host
    trust: Trust
    owner_id: int | None

    def worker(self, number: int) -> str:
        """Return the name with which one of its processes signs its work."""
        return f"{self.host.name}:{number}"


def add_machine(session: Session, name: str, trust: Trust, owner: str = "") -> str:
    """Let a machine of this name play over HTTP. Return its token, of which no other copy is kept. A revoked machine
    gets a new one; one of one's own, which holds the database, cannot have that name.

    Raises:
        NameTaken. NotFound: nobody has the owner's name.
    """
    owner_id = existing_user(session, owner).id if owner else None
    known = session.get(MachineAccess, name)
    used = select(Machine.id).where(Machine.name == name)
    if known.revoked_at is None if known is not None else session.exec(used).first() is not None:
        raise NameTaken("machine", name)
    secret = PREFIX + base64.urlsafe_b64encode(surroundings(session).entropy(SECRET_BYTES)).rstrip(b"=").decode()
    row = known or MachineAccess(name=name, sha256="", trust=trust, created_at=now(session))
    row.sha256, row.trust, row.owner_id, row.created_at = digest(secret), trust, owner_id, now(session)
    row.release, row.revoked_at, row.found, row.replayed_at = "", None, None, None
    session.add(row)
    session.flush()
    return secret


def revoke_machine(session: Session, name: str) -> int:
    """End a machine's token at once, and give back the series that it holds. Return their number. Raises NotFound."""
    revoked = set_values(
        session, MachineAccess, col(MachineAccess.revoked_at).is_(None), where={"name": name}, revoked_at=now(session)
    )
    if not revoked:
        raise NotFound("machine", name)
    return take_back(session, name, "its machine was revoked")


def take_back(session: Session, name: str, why: str) -> int:
    """Give back every series that a machine holds. Return their number."""
    running = select(Series.id, Series.attempt, Series.worker).where(Series.state == SERIES.held)
    held = [row for row in session.exec(running).all() if holder(row[2]) == name]
    for series_id, attempt, worker in held:
        give_back_series(session, series_id, attempt, worker, Failure(Cause.WORKER_STOPPED, why))
    return len(held)


def holder(worker: str | None) -> str:
    """Return the name of the machine behind a worker's name."""
    return (worker or "").rpartition(":")[0]


def machines(session: Session) -> list[HttpMachine]:
    """Return the machines that play over HTTP, by name."""
    rows = select(MachineAccess, User.name, WorkerHost.last_seen_at)
    rows = rows.outerjoin(User, col(User.id) == MachineAccess.owner_id)
    rows = rows.outerjoin(WorkerHost, col(WorkerHost.name) == MachineAccess.name)
    thrown: dict[str, list[Mapping[str, bool]]] = {}
    for again in session.exec(select(PlayedAgain).order_by(col(PlayedAgain.match_id))):
        thrown.setdefault(again.machine, []).extend(() if again.coins is None else [again.coins])
    return [
        from_row(
            HttpMachine,
            row,
            owner=owner or "",
            last_seen_at=seen_at,
            played_again=len(thrown.get(row.name, ())),
            honest=weigh(thrown.get(row.name, ())).honest,
        )
        for row, owner, seen_at in session.exec(rows.order_by(col(MachineAccess.name)))
    ]


def look_up_machine(session: Session, secret: str, boot: str) -> Caller:
    """Find the machine of a token. Raises BadToken: it is unknown or revoked."""
    row = None
    if secret.startswith(PREFIX):
        row = session.exec(OWNED, params={"sha256": digest(secret)}).first()
    if row is None:
        raise BadToken("no machine has this one")
    if row.revoked_at is not None:
        raise BadToken("this machine was revoked")
    return Caller(Host(row.name, boot), row.trust, row.owner_id)


OWNED = select(MachineAccess).where(col(MachineAccess.sha256) == bindparam("sha256"))


@cache
def games_digest() -> str:
    """Return one hash over all games that this process has."""
    games = sorted((game.name, game.rules_version, game.digest) for game in games_here())
    return hashlib.sha256(repr(games).encode()).hexdigest()


def must_match(release: str, games: str) -> None:
    """Raise OtherRelease unless a machine has exactly this server's release and games."""
    if release != __version__:
        raise OtherRelease(release, __version__)
    if games != games_digest():
        raise OtherRelease(release, __version__, games=True)
