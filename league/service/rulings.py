"""What an organiser may change about results, and an author about taking part.

Nothing here touches a rating or a stored result. A ruling adds or removes a row that says "this match does not
count" or "this bot does not take part", notes it in the audit log with its reason, and marks the season's ranking
as out of date; the refit does the rest. So voiding a match and restoring it, or disqualifying a bot and reinstating
it, gives back exactly the ranking of before. `league.service.counting` is the other half: which matches count.

A season that is closed is final, and no ruling changes it.
"""

from __future__ import annotations

from sqlmodel import Session, col, select

from engine.chance import commitment
from league.database import now
from league.errors import NotFound, WrongState
from league.service.audit import record
from league.service.bots import own_bot
from league.service.play import drop_waiting
from league.service.steps import insert_rows, touch_log
from league.service.teams import owned_by
from league.service.users import Person
from league.states import Absence, MatchState, SeasonState
from league.tables import AbsentEntry, Bot, Entry, Match, Participant, Season, Series, VoidedMatch

SERIES_WITHDRAWN = "entry-absent"
"""Cause in the ledger of a series that nobody had begun when one of its bots left."""

JUDGING = frozenset({SeasonState.OPEN, SeasonState.FROZEN, SeasonState.FINALS})
"""States of a season in which its matches may be ruled on."""


def void_match(session: Session, organiser: Person, match_id: int, reason: str) -> None:
    """Take a finished match out of the log of results; one that is out already stays so.

    Raises:
        NotAllowed, NotFound, WrongState.
    """
    organiser.must_organise()
    match = _finished(session, match_id)
    if session.get(VoidedMatch, match_id) is not None:
        return
    session.add(VoidedMatch(match_id=match_id, season_id=match.season_id, reason=reason, at=now(session)))
    _note(session, organiser, "match-voided", match, reason)


def restore_match(session: Session, organiser: Person, match_id: int, reason: str) -> None:
    """The opposite of `void_match`.

    Raises:
        NotAllowed, NotFound.
        WrongState: the same match was played, or is played, once more, and that one has not been voided.
    """
    organiser.must_organise()
    match = _finished(session, match_id)
    voided = session.get(VoidedMatch, match_id)
    if voided is None:
        return
    _alone(session, match)
    session.delete(voided)
    _note(session, organiser, "match-restored", match, reason)


def rejudge_match(session: Session, organiser: Person, match_id: int, reason: str) -> int:
    """Void a finished match and play it again: same seed, same versions, same seats. The new match's number.

    The seed is public by then, but the versions were uploaded before it was and cannot change.

    Raises:
        NotAllowed, NotFound.
        WrongState: the season is closed, or the match is played again already.
    """
    organiser.must_organise()
    match = _finished(session, match_id)
    at = now(session)
    voided = session.get(VoidedMatch, match_id)
    if voided is None:
        voided = VoidedMatch(match_id=match_id, season_id=match.season_id, reason=reason, at=at)
    else:
        _alone(session, match)
    before = session.get_one(Series, match.series_id)
    series = Series(season_id=match.season_id, queued_at=at, nudge_at=at, created_at=at)  # the next sweep enqueues it
    series.purpose, series.round, series.challenge_id = before.purpose, before.round, before.challenge_id
    session.add(series)
    session.flush()
    again = _copy(session, match, series.id)
    voided.rejudged_id = again.id
    session.add(voided)
    _note(session, organiser, "match-rejudged", match, reason, again=again.id)
    return again.id


def disqualify(session: Session, organiser: Person, season_id: int, bot_id: int, reason: str) -> None:
    """A bot gets no new matches, and none of those it played counts any more, until it is reinstated.

    Raises:
        NotAllowed, NotFound, WrongState.
    """
    organiser.must_organise()
    _leave(session, organiser, season_id, bot_id, Absence.DISQUALIFIED, reason)


def reinstate(session: Session, organiser: Person, season_id: int, bot_id: int, reason: str) -> None:
    """The opposite of `disqualify`; also takes back a withdrawal.

    Raises:
        NotAllowed, NotFound, WrongState.
    """
    organiser.must_organise()
    _entry(session, season_id, bot_id)
    _come_back(session, organiser, season_id, bot_id, reason)


def withdraw(session: Session, owner: Person, season_id: int, bot_id: int) -> None:
    """The author's own wish: no new matches; what was played counts.

    Raises:
        NotFound, WrongState.
    """
    own_bot(session, owner, bot_id)
    _leave(session, owner, season_id, bot_id, Absence.WITHDRAWN, "")


def rejoin(session: Session, owner: Person, season_id: int, bot_id: int) -> None:
    """The author takes a withdrawal back.

    Raises:
        NotFound.
        WrongState: the bot is disqualified, or the season closed.
    """
    own_bot(session, owner, bot_id)
    _entry(session, season_id, bot_id)
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is not None and absent.absence is Absence.DISQUALIFIED:
        raise WrongState("bot", absent.absence, "reinstated by an organiser")
    _come_back(session, owner, season_id, bot_id, "")


def _leave(session: Session, who: Person, season_id: int, bot_id: int, absence: Absence, reason: str) -> None:
    _entry(session, season_id, bot_id)
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is not None and absent.absence in {absence, Absence.DISQUALIFIED}:
        return
    if absent is None:
        absent = AbsentEntry(season_id=season_id, bot_id=bot_id, absence=absence, reason=reason, at=now(session))
    absent.absence, absent.reason, absent.at = absence, reason, now(session)
    session.add(absent)
    session.flush()
    playing = select(Series.id).join(Match, col(Match.series_id) == Series.id)
    playing = playing.join(Participant, col(Participant.match_id) == Match.id)
    playing = playing.where(Series.season_id == season_id, Participant.bot_id == bot_id).distinct()
    drop_waiting(session, season_id, SERIES_WITHDRAWN, "A bot of this series left.", col(Series.id).in_(playing))
    record(session, who.name, f"entry-{absence.value}", f"season/{season_id}", {"bot": bot_id, "reason": reason})
    touch_log(session, season_id)


def _come_back(session: Session, who: Person, season_id: int, bot_id: int, reason: str) -> None:
    absent = session.get(AbsentEntry, (season_id, bot_id))
    if absent is None:
        return
    session.delete(absent)
    data = {"bot": bot_id, "was": absent.absence.value, "reason": reason}
    record(session, who.name, "entry-reinstated", f"season/{season_id}", data)
    touch_log(session, season_id)


def _finished(session: Session, match_id: int) -> Match:
    match = session.get(Match, match_id)
    if match is None:
        raise NotFound("match", match_id)
    if match.state is not MatchState.DONE:
        raise WrongState("match", match.state, MatchState.DONE)
    _judging(session, match.season_id)
    return match


def _entry(session: Session, season_id: int, bot_id: int) -> None:
    _judging(session, season_id, SeasonState.SCHEDULED)
    entered = select(Entry.id).where(Entry.season_id == season_id, Entry.bot_id == bot_id)
    if session.exec(entered).first() is None:
        raise NotFound("entry of the bot", bot_id)


def _judging(session: Session, season_id: int, *also: SeasonState) -> None:
    """The season's row is locked, so that nothing is ruled on while it closes."""
    state = session.exec(select(Season.state).where(Season.id == season_id).with_for_update(key_share=True)).first()
    if state is None:
        raise NotFound("season", season_id)
    if state not in JUDGING and state not in also:
        raise WrongState("season", state, "open, frozen or in its finals")


def _alone(session: Session, match: Match) -> None:
    """No other playing of the same match (same seed, same versions in the same seats) counts or is on its way."""
    same = select(Match).where(
        Match.season_id == match.season_id,
        Match.commitment == match.commitment,
        Match.id != match.id,
        col(Match.state) != MatchState.ABANDONED,
        col(Match.id).not_in(select(VoidedMatch.match_id)),
    )
    mine = _seated(session, match.id)
    for other in session.exec(same).all():
        if _seated(session, other.id) == mine:
            raise WrongState("match", f"played again as match {other.id}", "the only playing that counts")


def _seated(session: Session, match_id: int) -> list[int]:
    seats = select(Participant.version_id).where(Participant.match_id == match_id)
    return list(session.exec(seats.order_by(col(Participant.seat))))


def _copy(session: Session, match: Match, series_id: int) -> Match:
    """The same match, to be played once more."""
    again = Match(
        **match.model_dump(include=Match.model_fields.keys() - RESULT),
        series_id=series_id,
        number=0,
        created_at=now(session),
    )
    assert again.commitment == commitment(match.seed)
    session.add(again)
    session.flush()
    seats = select(Participant).where(Participant.match_id == match.id).order_by(col(Participant.seat))
    copies = [
        {"match_id": again.id, "seat": seat.seat, "version_id": seat.version_id, "bot_id": seat.bot_id}
        for seat in session.exec(seats)
    ]
    insert_rows(session, Participant, copies)
    return again


RESULT = {"id", "series_id", "number", "state", "rated", "transcript_sha256", "created_at", "finished_at"}
"""Columns of a match that its repetition does not share."""


def _note(session: Session, organiser: Person, action: str, match: Match, reason: str, **more: object) -> None:
    """Into the audit log, and whether the organiser has a bot in the match: everyone may know that."""
    bots = select(Bot.id).join(Participant, col(Participant.bot_id) == Bot.id)
    own = session.exec(bots.where(Participant.match_id == match.id, owned_by(organiser))).first()
    data = {"season": match.season_id, "reason": reason, "own_bot": own is not None, **more}
    record(session, organiser.name, action, f"match/{match.id}", data)
    touch_log(session, match.season_id)
