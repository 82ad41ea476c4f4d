"""Organisers' announcements."""

from sqlalchemy import Integer, bindparam
from sqlmodel import Session, col, select

from deadheat.league.database import now
from deadheat.league.records import from_row
from deadheat.league.records.rulings import Announcement as AnnouncementInfo
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.tables import Announcement, Season

MAX_SHOWN = 50


def announce(session: Session, organiser: Person, season_id: int | None, title: str, text: str) -> AnnouncementInfo:
    """Publish an announcement to everyone. Raises NotAllowed, NotFound."""
    organiser.must_organise()
    season = None if season_id is None else existing(session, Season, season_id).name
    row = Announcement(season_id=season_id, title=title, text=text, author=organiser.name, at=now(session))
    session.add(row)
    session.flush()
    record(session, organiser.name, "announced", f"announcement/{row.id}", {"season": season_id, "title": title})
    return from_row(AnnouncementInfo, row, season=season)


def take_down(session: Session, organiser: Person, announcement_id: int) -> None:
    """Remove an announcement; the audit log still shows that it existed. Raises NotAllowed, NotFound."""
    organiser.must_organise()
    row = existing(session, Announcement, announcement_id)
    record(session, organiser.name, "announcement-removed", f"announcement/{row.id}", {"title": row.title})
    session.delete(row)


def announcements(session: Session, season_id: int | None = None, limit: int = MAX_SHOWN) -> list[AnnouncementInfo]:
    """Return the announcements about one season and about the whole league, or all, the newest first."""
    statement = NEWEST if season_id is None else ABOUT
    rows = session.exec(statement, params={"season": season_id, "most": limit})
    return [from_row(AnnouncementInfo, row, season=season) for row, season in rows]


NAMED = select(Announcement, Season.name).join(Season, col(Season.id) == Announcement.season_id, isouter=True)
NEWEST = NAMED.order_by(col(Announcement.id).desc()).limit(bindparam("most", type_=Integer))
ABOUT = NEWEST.where((col(Announcement.season_id) == bindparam("season")) | col(Announcement.season_id).is_(None))
