"""The end of a season: its standings become final, and the hash of its archive is noted.

A closed season is over when the last of its series has ended and no match waits for an organiser. Then the log cannot
change any more (`league.service.rulings.rulings` refuses to touch a closed season). The ranking is made once more from
all of it, and stored as the published standings with the log's hash. There is one such snapshot for a season, and the
database refuses to change or remove it. The secret of the season's dice is published with it, because no match is left
to be played.
"""

import logging

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from deadheat.league.database import surroundings
from deadheat.league.service.ground.audit import SYSTEM, audit_log, record
from deadheat.league.service.ground.lookups import PUBLISHED
from deadheat.league.service.ground.steps import lock_season, set_values
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.history import remember
from deadheat.league.service.rankings.ranking import ranking
from deadheat.league.service.seasons.seasons import published
from deadheat.league.service.series.response_times import latency_by_version
from deadheat.league.states import UNFINISHED, MatchState, SeasonState
from deadheat.league.tables import Match, Season, Series
from deadheat.league.verification.chain import canonical

log = logging.getLogger(__name__)


def seasons_to_publish(session: Session) -> list[int]:
    """Return the closed seasons without published standings, in which no series is under way and no match is held."""
    unfinished = select(Series.season_id).where(col(Series.state).in_(UNFINISHED))
    held = select(Match.season_id).where(Match.state == MatchState.HELD)
    over = select(Season.id).where(
        Season.state == SeasonState.CLOSED, *(col(Season.id).not_in(those) for those in (unfinished, held, PUBLISHED))
    )
    return list(session.exec(over.order_by(col(Season.id))))


def publish(session: Session, season_id: int) -> bool:
    """Publish a season's standings. Return False if they are published already, or if the season is not over. Call this
    first in a transaction.

    As for any ranking, the log is read and fitted in a session of its own, so that no writer waits for it.
    """
    with surroundings(session).reading() as reader:
        if season_id not in seasons_to_publish(reader):
            return False
        snapshot = ranking(reader, season_id)
        snapshot.standings["latency"] = latency_by_version(reader, season_id)
    snapshot.final = True
    session.add(snapshot)
    try:
        session.flush()
    except IntegrityError:
        session.rollback()  # another process was faster, with the same log
        return False
    set_values(session, Season, col(Season.id) == season_id, rated_serial=Season.log_serial)
    remember(session, snapshot)
    secret = session.get_one(Season, season_id).secret
    data = {"ranking": snapshot.id, "log_sha256": snapshot.log_sha256, "dice_secret": secret and secret.hex()}
    record(session, SYSTEM, "season-published", f"season/{season_id}", data)
    notices.standings_published(session, season_id, snapshot.standings["rows"])
    log.info("season %d published: log %s", season_id, snapshot.log_sha256[:12])
    return True


def note_archive(session: Session, organiser: Person, season_id: int, sha256: str) -> None:
    """Record the hash of a closed season's archive; recording it again changes nothing.

    The record is about ``archive/1`` rather than ``season/1``, whose records are in the archive. Raises NotAllowed,
    NotFound. WrongState: the standings are not published.
    """
    organiser.must_organise()
    lock_season(session, season_id)
    published(session, season_id, "its archive is final")
    subject, data = f"archive/{season_id}", {"sha256": sha256}
    if canonical(data) not in {one.data for one in audit_log(session, subject=subject)}:
        record(session, organiser.name, "season-archived", subject, data)
