"""Bots that fail too often rest: the ladder draws no more matches for them until their authors bring them back.

A bot with `rest_faults` faults in the last `rest_matches` rated matches of its version rests, while the season is open.
Nothing else changes: it keeps its place, waiting series are played, and gates and finals continue. Its author brings it
back after the same pause as after a withdrawal, or makes another version the active one. Either way its faults are
counted from zero, so that the next rest needs as many new ones.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from sqlmodel import Session, col, select

from deadheat.engine.core import Fault
from deadheat.engine.figures import plural
from deadheat.league.database import now
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.people import notices
from deadheat.league.tables import Entry, Match, Participant, Season

LOOK_BACK = timedelta(minutes=2)
"""Only bots with such a recent fault are checked, because the scheduler asks every few seconds."""


def rest_failing(session: Session, season: Season) -> None:
    """Rest the bots that have failed too often. The season is open, and the caller has locked it."""
    if season.rest_faults is None:
        return
    failing = select(Participant.bot_id).join(Match, col(Match.id) == Participant.match_id)
    failing = failing.where(Match.season_id == season.id, col(Match.finished_at) > now(session) - LOOK_BACK)
    failing = failing.where(col(Participant.fault).is_not(None)).distinct()
    entries = select(Entry).where(Entry.season_id == season.id, col(Entry.rests_since).is_(None))
    for entry in session.exec(entries.where(col(Entry.bot_id).in_(failing))).all():
        found = select(Participant.match_id, Participant.fault).join(Match, col(Match.id) == Participant.match_id)
        found = found.where(Match.season_id == season.id, col(Match.rated), Participant.version_id == entry.version_id)
        if entry.faults_since is not None:
            found = found.where(col(Participant.finished_at) > entry.faults_since)
        newest = (col(Participant.finished_at).desc(), col(Participant.match_id).desc())
        rows = session.exec(found.order_by(*newest).limit(season.rest_matches)).all()
        last = [(match_id, Fault(fault) if fault else None) for match_id, fault in rows]
        faults = [(match_id, fault) for match_id, fault in last if fault is not None]
        if len(faults) >= season.rest_faults:
            _rest(session, season, entry, faults, len(last))


def wake(session: Session, entry: Entry) -> None:
    """Let a resting bot play again; idempotent."""
    if entry.rests_since is not None:
        entry.rests_since, entry.rest_reason, entry.faults_since = None, "", now(session)
        session.flush()


def _rest(session: Session, season: Season, entry: Entry, faults: Sequence[tuple[int, Fault]], matches: int) -> None:
    kinds = Counter(fault.value for _, fault in faults)
    what = ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common())
    reason = f"{plural(len(faults), 'fault')} in its last {plural(matches, 'match', 'matches')} ({what}), "
    reason += f"the newest in match {faults[0][0]}."
    entry.rests_since, entry.rest_reason = now(session), reason
    session.flush()
    data = {"bot": entry.bot_id, "reason": reason, "matches": [match_id for match_id, _ in faults]}
    record(session, SYSTEM, "entry-rested", f"season/{season.id}", data)
    notices.bot_rests(session, entry)
