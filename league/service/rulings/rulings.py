"""Rulings of organisers on results. Rulings on participation are in `league.service.seasons.absence`.

Nothing here touches a rating or a stored result. A ruling adds or removes a row that says "this match does not count",
notes it in the audit log with its reason, and marks the season's ranking as out of date; the refit does the rest. So
voiding and restoring a match restores exactly the previous ranking. `league.service.ground.counting` decides which
matches count.

A closed season is final: only rulings on held matches change it. An evaluation that counts only for its own standings
is final as soon as the points of the match's pairing are: from then on, voiding the match only clears its faults from
the statistics, and restoring it puts them back.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlmodel import Session, case, col, func, select

from deadheat.engine.chance import commitment
from deadheat.engine.language import _
from deadheat.league.causes import DROPPED
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, OwnMatch, WrongState
from deadheat.league.records.matches import MatchDetail
from deadheat.league.service.evaluations.playing import drawn, points_of, with_players
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.ground.steps import existing, insert_rows, lock_season, move, set_values, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.series.deadlines import rule_on_deadlines
from deadheat.league.service.series.deals import deal_dice, drawn_dice
from deadheat.league.service.series.dropping import put_back
from deadheat.league.service.series.privacy import must_see, seen_by_organiser
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import (
    IN_PLAY,
    UNRATED,
    WITH_RESULT,
    ContestState,
    MatchState,
    Players,
    Precedence,
    Purpose,
    Role,
)
from deadheat.league.tables import (
    Attempt,
    Bot,
    Contest,
    Match,
    Meeting,
    Participant,
    Season,
    Series,
    TeamMember,
    User,
    VoidedMatch,
)

ALONE = "their own bot plays in it, and every other organiser has one there, too"
"""The audit log's remark if an organiser had to judge a match of their own bot."""


def judging(session: Session, organiser: Person, match_id: int) -> dict[str, object]:
    """Say whether the organiser has a bot in the match, for the audit log. Raises OwnMatch: the organiser has, and
    somebody else could decide.
    """
    bots = select(Bot.id).join(Participant, col(Participant.bot_id) == Bot.id)
    own = session.exec(bots.where(Participant.match_id == match_id, owned_by(organiser))).first()
    if own is None:
        return {"own_bot": False}
    if _others(session, organiser, match_id):
        raise OwnMatch(match_id)
    return {"own_bot": True, "remark": ALONE}


def _others(session: Session, organiser: Person, match_id: int) -> bool:
    """Say whether there is another organiser who has no bot in the match."""
    of_match = select(Bot).join(Participant, col(Participant.bot_id) == Bot.id)
    seated = of_match.where(Participant.match_id == match_id).subquery()
    alone = select(seated.c.owner_id).where(seated.c.team_id.is_(None))
    teams = select(TeamMember.user_id).where(
        col(TeamMember.team_id).in_(select(seated.c.team_id)), col(TeamMember.joined_at).is_not(None)
    )
    organises = (col(User.role).in_(Role.allowing(Role.ORGANISER)), col(User.closed_at).is_(None))
    others = select(User.id).where(User.id != organiser.id, *organises)
    others = others.where(col(User.id).not_in(alone), col(User.id).not_in(teams))
    return session.exec(others.limit(1)).first() is not None


def void_match(session: Session, organiser: Person, match_id: int, reason: str) -> bool:
    """Take a finished match out of the log of results. Return False if it is out already; the old reason then stands.
    Raises NotAllowed, NotFound, OwnMatch, WrongState.
    """
    match, own = _ruled_on(session, organiser, match_id)
    if session.get(VoidedMatch, match_id) is not None:
        return False
    session.add(VoidedMatch(match_id=match_id, season_id=match.season_id, reason=reason, at=now(session)))
    rule_on_deadlines(session, match, void=True)
    note_ruling(session, organiser, "match-voided", match, reason, own)
    return True


def restore_match(session: Session, organiser: Person, match_id: int, reason: str) -> bool:
    """Reverse `void_match`. Return False if the match was not voided. Raises NotAllowed, NotFound, OwnMatch;
    WrongState: a replay of the match exists or is under way, and has not been voided.
    """
    match, own = _ruled_on(session, organiser, match_id)
    voided = session.get(VoidedMatch, match_id)
    if voided is None:
        return False
    of_series = select(Series.meeting_id).where(Series.id == match.series_id, Series.purpose == Purpose.EVALUATION)
    for meeting in drawn(session, with_players(col(Meeting.id).in_(of_series), col(Meeting.settled))):
        # If the meeting was settled without this match, it would contradict the points. Those voided later are in them.
        if points_of(session, match.season_id, [meeting], voided=True)[meeting.id] != meeting.points:
            sentence = _("The points of its evaluation are final, perhaps without this match: it stays void.")
            raise WrongState("final", sentence)
    _alone(session, match)
    session.delete(voided)
    rule_on_deadlines(session, match, void=False)
    note_ruling(session, organiser, "match-restored", match, reason, own)
    return True


def rejudge_match(session: Session, organiser: Person, match_id: int, reason: str) -> int:
    """Play a finished match, which becomes void, or an unplayed one again, with the same versions and seats and new
    dice. Return the new match's number.

    The committed dice of any attempt at the old match may already be known, from the deal's other rotations or to the
    organiser. New dice are as secret as those of any planned match. Raises NotAllowed, NotFound, OwnMatch; WrongState:
    the season is closed, or the match is being replayed already or was dropped before anybody began it.
    """
    match, own = _ruled_on(session, organiser, match_id, or_unplayed=True)
    if session.get_one(Season, match.season_id).players is Players.AGENTS:
        raise WrongState("agents", _("Agents cannot be made to play again; you can void the match."))
    at = now(session)
    voided = session.get(VoidedMatch, match_id)
    if voided is not None or match.state not in WITH_RESULT:
        _alone(session, match)
    if match.state is not MatchState.HELD:  # the season is locked, and so are its evaluations
        final = col(Meeting.settled) | (Contest.state != ContestState.RUNNING)
        over = (
            select(Contest.number)
            .join(Meeting, col(Meeting.contest_id) == Contest.id)
            .join(Series, col(Series.meeting_id) == Meeting.id)
            .where(Series.id == match.series_id, Series.purpose == Purpose.EVALUATION, final)
        )
        if (number := session.exec(over).first()) is not None:
            sentence = _(
                "This match counts only in evaluation %(number)s, where its points are final. You can void it, which "
                "clears its faults from the statistics. If the standings mislead, begin another evaluation.",
                number=number,
            )
            raise WrongState("final", sentence)
    if match.state is MatchState.HELD:
        answer_held(session, match_id, MatchState.ABANDONED)
    if voided is None:
        voided = VoidedMatch(match_id=match_id, season_id=match.season_id, reason=reason, at=at)
        rule_on_deadlines(session, match, void=True)
    before = session.get_one(Series, match.series_id)
    series = Series(season_id=match.season_id, queued_at=at, nudge_at=at, created_at=at)  # enqueued by the next sweep
    series.purpose, series.round = before.purpose, before.round
    series.meeting_id, series.precedence = before.meeting_id, max(before.precedence, Precedence.ORDINARY)
    session.add(series)
    session.flush()
    again = _copy(session, match, series.id, at)
    voided.rejudged_id = again.id
    session.add(voided)
    note_ruling(session, organiser, "match-rejudged", match, reason, {**own, "again": again.id})
    return again.id


def _ruled_on(
    session: Session, organiser: Person, match_id: int, *, or_unplayed: bool = False, only_held: bool = False
) -> tuple[Match, dict[str, object]]:
    """Return a match with a result, or one that we failed to play, in a season in which rulings are possible, and what
    `judging` says. Raises NotAllowed, NotFound (also for a rival's private match), WrongState, OwnMatch.
    """
    organiser.must_organise()
    match = existing(session, Match, match_id)
    must_see(session, organiser, match)
    if match.state is MatchState.ABANDONED and or_unplayed:
        # A ruling must not revive a match that was dropped before anybody tried to play it.
        whole = (col(Attempt.series_id) == match.series_id, col(Attempt.match_id).is_(None))
        if session.exec(select(Attempt.id).where(*whole, col(Attempt.cause).in_(DROPPED))).first() is not None:
            raise WrongState("dropped", _("The match was dropped before it began and is no longer needed."))
    elif match.state not in WITH_RESULT and not (match.state is MatchState.HELD and or_unplayed):
        raise WrongState.of_match(match.state, _("organisers rule on results"))
    # No ruling is made while the season closes. Held matches may be decided even after that, because standings are
    # published only once none is left.
    state = lock_season(session, match.season_id).state
    if state not in IN_PLAY and match.state is not MatchState.HELD:
        raise WrongState.of_season(state, _("organisers rule only while it is %(states)s"), IN_PLAY)
    if only_held and match.state is not MatchState.HELD:
        raise WrongState(match.state, _("The match is not waiting for an organiser."))
    return match, judging(session, organiser, match_id)


def answer_held(session: Session, match_id: int, after: MatchState, **values: object) -> None:
    """Store an organiser's answer for a held match. Raises WrongState if another organiser was faster."""
    if not move(session, Match, match_id, MatchState.HELD, after, finished_at=now(session), **values):
        raise WrongState(MatchState.DECIDED, _("Another organiser has just decided this match."))


def _alone(session: Session, match: Match) -> None:
    """Raise WrongState if another playing of the same match counts or is under way."""
    first = match
    while first.repeats_id is not None:
        first = session.get_one(Match, first.repeats_id)
    replays, newest = {first.id}, {first.id}
    while newest:
        newest = set(session.exec(select(Match.id).where(col(Match.repeats_id).in_(newest))).all())
        replays |= newest
    others = (
        select(Match.id)
        .where(col(Match.id).in_(replays), Match.id != match.id)
        .where(col(Match.state) != MatchState.ABANDONED, col(Match.id).not_in(select(VoidedMatch.match_id)))
    )
    other = session.exec(others).first()
    if other is not None:
        sentence = _("The match is replayed as match %(other)s; only one of them counts.", other=other)
        raise WrongState("rejudged", sentence)


def _copy(session: Session, match: Match, series_id: int, at: datetime) -> Match:
    """Create the match again with other dice."""
    (dice,) = deal_dice(session, match.season_id, 1) if match.asked is None else drawn_dice(session, 1)
    again = Match(
        series_id=series_id,
        season_id=match.season_id,
        number=0,
        seed=dice.seed,
        commitment=commitment(dice.seed),
        deal=dice.deal,
        asked=match.asked,
        repeats_id=match.id,
        created_at=at,
    )
    session.add(again)
    session.flush()
    seats = select(Participant).where(Participant.match_id == match.id).order_by(col(Participant.seat))
    copies = [
        {"match_id": again.id, "seat": seat.seat, "version_id": seat.version_id, "bot_id": seat.bot_id}
        for seat in session.exec(seats)
    ]
    insert_rows(session, Participant, copies)
    return again


def note_ruling(
    session: Session, organiser: Person, action: str, match: Match, reason: str, more: Mapping[str, object]
) -> None:
    """Record a ruling in the audit log, and mark the season's ranking as out of date."""
    data = {"season": match.season_id, "reason": reason, **more}
    record(session, organiser.name, action, f"match/{match.id}", data)
    touch_log(session, match.season_id)


# Matches that the service failed to play too often: an organiser looks at the evidence and decides.
# Such a match counts for nobody while it waits, and the season does not close over it. Three answers are possible: play
# it again (`league.service.rulings.rulings.rejudge_match`: another match in its place, with its own dice), decide it
# against a seat, or leave it unplayed. The audit log records each with its reason.


def held_matches(session: Session, organiser: Person, limit: int = 100) -> list[MatchDetail]:
    """List held matches that the organiser may see, the oldest first, each with its whole history. Raises
    NotAllowed.
    """
    organiser.must_organise()
    # Ordered by the number itself, SQLite walked through all matches until it had found enough.
    on_hold = select(Match.id).where(HELD, seen_by_organiser(organiser)).order_by(col(Match.id) + 0)
    return [match_detail(session, match_id, organiser) for match_id in session.exec(on_hold.limit(limit)).all()]


def held_by_game(session: Session) -> Mapping[str, int]:
    """Count held matches by game; games without any are left out."""
    counted = select(Season.game, func.count()).join(Match, col(Match.season_id) == Season.id).where(HELD)
    return dict(session.exec(counted.group_by(col(Season.game))).all())


def decide_match(session: Session, organiser: Person, match_id: int, loser: int, reason: str) -> None:
    """Decide a held match against the seat `loser`, as by a forfeit: no points, and the others are equal. Raises
    NotAllowed, NotFound, OwnMatch, WrongState; BadSetting: it has no such seat.
    """
    match, own = _ruled_on(session, organiser, match_id, or_unplayed=True, only_held=True)
    seats = session.exec(select(Participant.seat).where(Participant.match_id == match_id)).all()
    if loser not in seats:
        raise BadSetting("seat", _("the match has seats 1 to %(last)s", last=len(seats)))
    purpose = session.exec(select(Series.purpose).where(Series.id == match.series_id)).one()
    answer_held(session, match_id, MatchState.DECIDED, rated=purpose not in UNRATED)
    rank = case((col(Participant.seat) == loser, len(seats)), else_=1)
    set_values(session, Participant, col(Participant.match_id) == match_id, rank=rank)
    note_ruling(session, organiser, "match-decided", match, reason, {**own, "lost_by_seat": loser + 1})


def leave_match(session: Session, organiser: Person, match_id: int, reason: str) -> None:
    """Leave a held match unplayed; it counts for nobody. Raises NotAllowed, NotFound, OwnMatch; WrongState: the match
    is not held, or its season is closed.
    """
    match, own = _ruled_on(session, organiser, match_id, or_unplayed=True, only_held=True)
    answer_held(session, match_id, MatchState.ABANDONED)
    put_back(session, [match_id])
    note_ruling(session, organiser, "match-left", match, reason, own)
