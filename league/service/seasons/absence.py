"""Entries that do not take part: withdrawn by authors or taken out by organisers, and how they come back.

Theory of operation
-------------------
Leaving gains nothing. A program plays without its author, so a withdrawal only means that no more matches are drawn for
it: waiting series are played and count, whatever the opponents. An author can reverse it after a pause
(`Settings.rejoin_seconds`), so leaving for a moment is no way to choose opponents. After the freeze authors can neither
leave nor return: the field is fixed, and nobody's finals may depend on another author's choice.

Organisers can do both at any time until the season closes, with a reason. A bot that they take out leaves at once:
series that have not begun are dropped, and pairing forgets them, so they are drawn again if the ruling is reversed (the
finals do the same, see `league.service.course.finals`). Played matches count after `take_out` but not after
`disqualify`, which `league.service.ground.counting` implements.
"""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.engine.core import Fault
from deadheat.engine.figures import plural
from deadheat.engine.language import N_, _, gettext
from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.errors import TooSoon, WrongState
from deadheat.league.service.bots.bots import active, must_be_active, own_bot
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.lookups import existing_entry
from deadheat.league.service.ground.steps import lock_season, touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import ENTERABLE, GOING_ON, Absence, During, SeasonState
from deadheat.league.tables import AbsentEntry, Bot, Entry, Match, Participant, Season, Series

# Bots that fail too often rest: the ladder draws no more matches for them until their authors bring them back.
# A bot with `rest_faults` faults in the last `rest_matches` rated matches of its version rests, while the season is
# open. Nothing else changes: it keeps its place, waiting series are played, and gates and finals continue. Its author
# brings it back after the same pause as after a withdrawal, or makes another version the active one. Either way its
# faults are counted from zero, so that the next rest needs as many new ones.

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
        query = select(Participant.match_id, Participant.fault).join(Match, col(Match.id) == Participant.match_id)
        query = query.where(Match.season_id == season.id, col(Match.rated), Participant.version_id == entry.version_id)
        if entry.faults_since is not None:
            query = query.where(col(Participant.finished_at) > entry.faults_since)
        newest = (col(Participant.finished_at).desc(), col(Participant.match_id).desc())
        rows = session.exec(query.order_by(*newest).limit(season.rest_matches)).all()
        last = [(match_id, Fault(fault) if fault else None) for match_id, fault in rows]
        faults = [(match_id, fault) for match_id, fault in last if fault is not None]
        if len(faults) >= season.rest_faults:
            kinds = Counter(fault.value for _, fault in faults)
            what = ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common())
            reason = f"{plural(len(faults), 'fault')} in its last {plural(len(last), 'match', 'matches')} ({what}), "
            reason += f"the newest in match {faults[0][0]}."
            entry.rests_since, entry.rest_reason = now(session), reason
            session.flush()
            data = {"bot": entry.bot_id, "reason": reason, "matches": [match_id for match_id, _ in faults]}
            record(session, SYSTEM, "entry-rested", f"season/{season.id}", data)
            notices.bot_rests(session, entry)


def wake(session: Session, entry: Entry) -> None:
    """Let a resting bot play again; idempotent."""
    if entry.rests_since is not None:
        entry.rests_since, entry.rest_reason, entry.faults_since = None, "", now(session)
        session.flush()


FROM_THE_FREEZE = N_("after the freeze only organisers decide who takes part")


def withdraw(session: Session, owner: Person, season_id: int, bot_id: int) -> None:
    """Withdraw a bot at its author's wish: it gets no new matches; those played, and those waiting to be played, count.
    Raises NotFound; WrongState: the season is frozen, or further.
    """
    own_bot(session, owner, bot_id)
    _season_with(session, season_id, bot_id, ENTERABLE, gettext(FROM_THE_FREEZE))
    if session.get(AbsentEntry, (season_id, bot_id)) is None:
        _leave(session, owner.name, season_id, bot_id, Absence.WITHDRAWN, "")


def rejoin(session: Session, owner: Person, season_id: int, bot_id: int) -> None:
    """Reverse the author's own withdrawal, or let a resting bot play again. Raises NotFound; WrongState: the bot is
    retired, an organiser has taken it out, or the season is frozen, or further; TooSoon: the pause is not over.
    """
    must_be_active(session, own_bot(session, owner, bot_id))
    season = _season_with(session, season_id, bot_id, ENTERABLE, gettext(FROM_THE_FREEZE))
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is not None:
        if not by_author(absent):
            raise _ruled_out(absent)
        sentence = N_("The bot is withdrawn and may come back in %(seconds)s s.")
        check_pause(session, season, absent.at, "withdrawn", sentence)
        _come_back(session, owner, season, absent, "entry-rejoined", "")
    entry = existing_entry(session, season_id, bot_id)
    if entry.rests_since is not None:
        sentence = N_("The bot is resting and may play again in %(seconds)s s.")
        check_pause(session, season, entry.rests_since, "resting", sentence)
        wake(session, entry)
        record(session, owner.name, "entry-rejoined", f"season/{season_id}", {"bot": bot_id, "was": "rested"})


def take_out(session: Session, organiser: Person, season_id: int, bot_id: int, reason: str) -> None:
    """Withdraw a bot as an organiser; what it played counts. Raises NotAllowed, NotFound, WrongState."""
    organiser.must_organise()
    _rule_out(session, organiser, season_id, bot_id, Absence.WITHDRAWN, reason)


def disqualify(session: Session, organiser: Person, season_id: int, bot_id: int, reason: str) -> None:
    """Disqualify a bot: it gets no matches from now on, and none of those it played counts, until it is reinstated.
    Raises as `take_out` does.
    """
    organiser.must_organise()
    _rule_out(session, organiser, season_id, bot_id, Absence.DISQUALIFIED, reason)


def leave_everywhere(session: Session, who: Person, bot_ids: Collection[int], ruling: str = "") -> None:
    """Withdraw bots at their author's wish from every season that authors can still leave; in others they play on to
    the end. With the reason of a `ruling`, take them out of every current season, as an organiser does. The caller has
    locked the seasons that accept entries.
    """
    entered = select(Entry.season_id, Entry.bot_id).join(Season, col(Season.id) == Entry.season_id)
    entered = entered.where(col(Entry.bot_id).in_(bot_ids), col(Season.state).in_(GOING_ON if ruling else ENTERABLE))
    for season_id, bot_id in session.exec(entered.order_by(col(Entry.season_id), col(Entry.bot_id))).all():
        if ruling:
            _rule_out(session, who, season_id, bot_id, Absence.WITHDRAWN, ruling)
        else:
            withdraw(session, who, season_id, bot_id)


def withdraw_inactive(session: Session, season_id: int) -> None:
    """Withdraw the bots that were retired, or lost their account, while authors could not leave the season."""
    entered = select(Entry.bot_id).join(Bot, col(Bot.id) == Entry.bot_id).where(Entry.season_id == season_id, ~active())
    absent = select(AbsentEntry.bot_id).where(AbsentEntry.season_id == season_id)
    for bot_id in session.exec(entered.where(col(Entry.bot_id).not_in(absent)).order_by(col(Entry.bot_id))).all():
        _leave(session, SYSTEM, season_id, bot_id, Absence.WITHDRAWN, "")


def reinstate(session: Session, organiser: Person, season_id: int, bot_id: int, reason: str) -> None:
    """Reverse a ruling, or an author's withdrawal without a pause. Raises NotAllowed, NotFound, WrongState."""
    organiser.must_organise()
    season = _season_with(session, season_id, bot_id, GOING_ON, _("its entries are final"))
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is not None:
        _come_back(session, organiser, season, absent, "entry-reinstated", reason)
        notices.bot_entered(session, season_id, bot_id)


def absent_entries(session: Session, season_id: int) -> dict[int, AbsentEntry]:
    """Return the bots that are out of a season, with the reasons."""
    return {row.bot_id: row for row in session.exec(OUT, params={"season": season_id})}


OUT = select(AbsentEntry).where(AbsentEntry.season_id == bindparam("season"))


def by_author(absent: AbsentEntry) -> bool:
    """Say whether an absence is an author's withdrawal. Withdrawals have no reason; rulings always have one."""
    return not absent.reason


def check_pause(session: Session, season: Season, since: datetime, state: str, sentence: str) -> None:
    """Check that the pause after `since` is over, if the ladder is played. Raises TooSoon: `said`, with `seconds`."""
    left = since + timedelta(seconds=settings_of(session).rejoin_seconds) - now(session)
    if During.LADDER in season.state.during and left > timedelta():
        raise TooSoon(sentence, state, left)


def must_take_part(session: Session, season_id: int, bot_id: int) -> None:
    """Raise WrongState if the bot was taken out or is withdrawn; the sentence says who can bring it back."""
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is None:
        return
    if by_author(absent):
        raise WrongState(absent.absence, _("The bot is withdrawn from the season; let it rejoin first."))
    raise _ruled_out(absent)


def _ruled_out(absent: AbsentEntry) -> WrongState:
    sentence = _("The bot was %(state)s by an organiser; only an organiser can bring it back.")
    return WrongState(absent.absence, sentence % {"state": gettext(absent.absence)})


def _rule_out(session: Session, organiser: Person, season_id: int, bot_id: int, absence: Absence, reason: str) -> None:
    assert reason, "a ruling has a reason"
    _season_with(session, season_id, bot_id, GOING_ON, _("its entries are final"))
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is not None and absent.absence in {absence, Absence.DISQUALIFIED} and not by_author(absent):
        return
    _leave(session, organiser.name, season_id, bot_id, absence, reason)
    theirs = select(Series.id).join(Match, col(Match.series_id) == Series.id)
    theirs = theirs.join(Participant, col(Participant.match_id) == Match.id)
    theirs = theirs.where(Series.season_id == season_id, Participant.bot_id == bot_id).distinct()
    sentence = N_("A bot of this series was taken out.")
    drop_waiting(session, season_id, Cause.ENTRY_ABSENT, sentence, col(Series.id).in_(theirs))


def _leave(session: Session, actor: str, season_id: int, bot_id: int, absence: Absence, reason: str) -> None:
    row = AbsentEntry(season_id=season_id, bot_id=bot_id, absence=absence, reason=reason, at=now(session))
    session.merge(row)
    session.flush()
    record(session, actor, f"entry-{absence.value}", f"season/{season_id}", {"bot": bot_id, "reason": reason})
    touch_log(session, season_id)


def _come_back(session: Session, who: Person, season: Season, absent: AbsentEntry, action: str, reason: str) -> None:
    session.delete(absent)
    season.finals_done_at = None  # the finals resume: the bot's missed matches are played now
    session.flush()
    data = {"bot": absent.bot_id, "was": absent.absence.value, "reason": reason}
    record(session, who.name, action, f"season/{season.id}", data)
    touch_log(session, season.id)


def _season_with(session: Session, season_id: int, bot_id: int, states: Collection[SeasonState], clause: str) -> Season:
    """Return the season, locked, if it is in one of these states and has the bot. Raises NotFound, WrongState."""
    season = lock_season(session, season_id)
    if season.state not in states:
        raise WrongState.of_season(season.state, clause)
    existing_entry(session, season_id, bot_id)
    return season
