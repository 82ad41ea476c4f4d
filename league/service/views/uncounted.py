"""Explains to people why a match is not in the log of results (`service.ground.counting`), and what stops play."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, exists
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.engine.figures import wait
from deadheat.engine.language import N_, _, gettext, ngettext
from deadheat.league.causes import DROPPED
from deadheat.league.database import now, settings_of
from deadheat.league.records.matches import AttemptView, Uncounted
from deadheat.league.service.series.hosts import ALIVE, NO_HOST, able, told_of
from deadheat.league.states import UNRATED, WITH_RESULT, Absence, ContestKind, Fitness, Purpose
from deadheat.league.tables import (
    AbsentEntry,
    Bot,
    Contest,
    Match,
    Meeting,
    Participant,
    Series,
    VoidedMatch,
    WorkerHost,
)
from deadheat.league.words import Uncounting


def uncounted(session: Session, matches: Sequence[Match | Row[Any]]) -> dict[int, Uncounted | None]:
    """Return why each of these matches does not count, by id; None: it counts, or has no result."""
    rows = session.connection().execute(RULED, {"ids": [match.id for match in matches]}).all()
    concerned = [row.id for row in rows if row.some_out]
    disqualified: dict[int, list[str]] = {}  # their names by match, by seat
    for match_id, name in session.exec(DISQUALIFIED, params={"ids": concerned}) if concerned else ():
        disqualified.setdefault(match_id, []).append(name)
    by_id = {row.id: row for row in rows}
    return {
        match.id: _why(match, by_id[match.id], disqualified.get(match.id, [])) if match.state in WITH_RESULT else None
        for match in matches
    }


_OUT = (
    (col(AbsentEntry.season_id) == Match.season_id)
    & (col(AbsentEntry.bot_id) == Participant.bot_id)
    & (col(AbsentEntry.absence) == Absence.DISQUALIFIED)
)
"""The condition that the participant of a match is disqualified."""

RULED: Any = (
    columns(
        col(Match.id),
        *(col(Series.purpose), col(Contest.kind)),
        *(col(VoidedMatch.match_id).label("voided"), col(VoidedMatch.rejudged_id), col(VoidedMatch.reason)),
        exists().where(col(Participant.match_id) == Match.id, _OUT).label("some_out"),
    )
    .join_from(Match, Series, col(Series.id) == Match.series_id)
    .join(VoidedMatch, col(VoidedMatch.match_id) == Match.id, isouter=True)
    .join(Meeting, col(Meeting.id) == Series.meeting_id, isouter=True)
    .join(Contest, col(Contest.id) == Meeting.contest_id, isouter=True)
    .where(col(Match.id).in_(bindparam("ids", expanding=True)))
)

DISQUALIFIED = (
    select(Participant.match_id, Bot.name)
    .join(Match, col(Match.id) == Participant.match_id)
    .join(AbsentEntry, _OUT)
    .join(Bot, col(Bot.id) == Participant.bot_id)
    .where(col(Participant.match_id).in_(bindparam("ids", expanding=True)))
    .order_by(col(Participant.match_id), col(Participant.seat))
)


BY_KIND: Mapping[ContestKind, tuple[Uncounting, str]] = {
    ContestKind.REQUEST: (Uncounting.ASKED, N_("An author asked for it, and such matches are never rated.")),
    ContestKind.PANEL: (Uncounting.PANEL, N_("It was played against the season's panel, and is never rated.")),
    ContestKind.GATE: (Uncounting.GATE, N_("It was played at a promotion gate, whose matches are never rated.")),
    ContestKind.EVALUATION: (
        Uncounting.EVALUATION,
        N_("It was played in an evaluation, and counts only for that evaluation's standings."),
    ),
}
"""Why matches of unrated contests do not count."""


def why_not_played(session: Session, match_id: int, attempts: Sequence[AttemptView]) -> str:
    """Explain an abandoned match in sentences, from its attempts, the oldest first."""
    replayed = session.exec(select(VoidedMatch.rejudged_id).where(VoidedMatch.match_id == match_id)).first()
    again = "" if replayed is None else " " + _("It is replayed as match %(match_id)s.", match_id=replayed)
    if not attempts:
        return _("The service failed.") + again
    newest = attempts[-1]
    if newest.cause in DROPPED:
        return gettext(newest.detail)
    return _("The service failed at every attempt (most recently: %(cause)s).", cause=newest.cause) + again


def _why(match: Match | Row[Any], row: Row[Any], disqualified: Sequence[str]) -> Uncounted | None:
    """Return the first reason that applies: a ruling on the match itself, its purpose, its result, or its players.
    `row`: its one of `RULED`.
    """
    purpose, again, reason = Purpose(row.purpose), row.rejudged_id, row.reason
    if again is not None:
        sentence = _("An organiser has it replayed as match %(match_id)s: %(reason)s", match_id=again, reason=reason)
        return Uncounted(Uncounting.REJUDGED, sentence, again)
    if row.voided is not None:
        if purpose is Purpose.EVALUATION:
            sentence = _("An organiser declared it void: %(reason)s", reason=reason)
        else:
            sentence = _("An organiser took it out of the log of results: %(reason)s", reason=reason)
        return Uncounted(Uncounting.VOIDED, sentence, None)
    if purpose in UNRATED:
        word, sentence = BY_KIND[row.kind]
        return Uncounted(word, gettext(sentence), None)
    if not match.rated:
        return Uncounted(
            Uncounting.NO_WINNER, _("All its bots committed faults: nobody won, and it is not rated."), None
        )
    if disqualified:
        names = _(" and ").join(disqualified)
        sentence = ngettext(
            "%(names)s is disqualified in this season.", "%(names)s are disqualified in this season.", len(disqualified)
        )
        return Uncounted(Uncounting.DISQUALIFIED, sentence % {"names": names}, None)
    return None


def stopped(session: Session) -> str:
    """Return what stops or slows play, since when, as a sentence for everybody; "" if machines play."""
    session.flush()
    judges = able(settings_of(session).judge_unfit).label("judges")
    statement = columns(*(col(getattr(WorkerHost, name)) for name in SHOWN), ALIVE.label("alive"), judges)
    machines = session.connection().execute(statement, told_of(session, NO_HOST)).all()
    at = now(session)

    def since(instants: list[datetime]) -> str:
        return wait(max(0, int((at - max(instants)).total_seconds())))

    idle = [machine for machine in machines if machine.judges and machine.held_since_at]
    if any(machine.judges for machine in machines):
        if not idle:
            return ""
        who, time = ", ".join(sorted({machine.held_by for machine in idle})), since([row.held_since_at for row in idle])
        return _("Processors have been held by %(who)s for %(time)s, so matches run more slowly.", who=who, time=time)
    present = [machine for machine in machines if machine.alive]
    if checked := [machine.since_at for machine in present if machine.fitness is Fitness.UNCHECKED]:
        return _("The machine has been under check for %(time)s; matches begin when it passes.", time=since(checked))
    if present:
        time = since([machine.since_at for machine in present])
        return _("No machine has been fit to play for %(time)s.", time=time)
    if machines:
        time = since([machine.last_seen_at for machine in machines])
        return _("No machine has reported for %(time)s, so nothing is played.", time=time)
    return _("No machine has ever reported, so nothing is played.")


SHOWN = ("fitness", "since_at", "last_seen_at", "held_by", "held_since_at")
