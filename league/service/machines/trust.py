"""What machines of low trust played, played again on trusted ones, and what follows for a machine and its matches.

Theory of operation
-------------------
When results of such a machine are taken, a share of its matches is drawn by lot, after it has answered, so it cannot
know which. A trusted worker plays each twice between two series (`workers.again`), like a canary match, with the same
programs, dice and seats; nothing of it is stored but its coins (`league.checking.duplicates`). A sweep weighs them each
minute.

A machine that lies, or is late, is revoked. Then what it played is played again, some matches each minute, as an
organiser would have it: the match becomes void, its copy has new dice, the log of decisions names both, and the authors
of its bots are told. Only the time-outs of a late machine are in doubt. A closed season is final.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlmodel import Session, col, exists, select

from deadheat.engine.core import Fault, Result
from deadheat.league.causes import Cause
from deadheat.league.checking.duplicates import Evidence, coins, weigh
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.errors import WrongState
from deadheat.league.jobs import Host, MatchOutcome, SeriesJob
from deadheat.league.service.ground.audit import SYSTEM
from deadheat.league.service.ground.steps import insert_rows, set_values
from deadheat.league.service.machines.access import revoke_machine
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.series.carrying_out import series_job
from deadheat.league.service.series.games import closed_to, games_here
from deadheat.league.service.series.hosts import may_judge, told_of
from deadheat.league.states import IN_PLAY, Found, MatchState, Role
from deadheat.league.tables import Attempt, MachineAccess, Match, Participant, PlayedAgain, Season, VoidedMatch

LEAGUE = Person(0, SYSTEM, Role.ADMIN)
"""Rules on the matches of such machines; nobody's bot is its own."""

AGAIN_AFTER = timedelta(hours=1)
"""When a match is due once more whose trusted worker has not reported."""

MOST_RULINGS = 50
"""How many matches are played again each minute."""

WORDS = {
    Found.LIES: "What it sent is not what trusted machines find.",
    Found.LATE: "Its time-outs are not those of trusted machines: it is too slow, or lies.",
}


def evidence_on(session: Session, name: str) -> Evidence:
    """Return the evidence of all matches of a machine that were played again."""
    thrown = select(PlayedAgain.coins).where(PlayedAgain.machine == name, col(PlayedAgain.coins).is_not(None))
    return weigh(coins or {} for coins in session.exec(thrown.order_by(col(PlayedAgain.match_id))))


def draw(session: Session, name: str, job: SeriesJob, outcomes: Iterable[MatchOutcome]) -> None:
    """Draw those of a machine's matches that trusted ones play again."""
    evidence, entropy = evidence_on(session, name), surroundings(session).entropy
    played = {outcome.match_id for outcome in outcomes if outcome.result is not None}
    drawn = [
        match
        for match in job.matches
        if match.match_id in played and int.from_bytes(entropy(4), "big") < evidence.share(match.seats) * 2**32
    ]
    board = leaderboard(session, job.season_id).standings["rows"] if drawn else ()
    elo = {row["version_id"]: row["elo"] for row in board}
    rows = []
    for match in drawn:
        rated = {elo[version]: seat for seat, version in enumerate(match.seats) if version in elo}
        favourite = rated[max(rated)] if len(rated) == len(match.seats) else None
        about = {"match_id": match.match_id, "machine": name, "favourite": favourite}
        rows.append({**about, "due_at": now(session), "weighed": False})
    insert_rows(session, PlayedAgain, rows)


def take_again(session: Session, host: Host) -> SeriesJob | None:
    """Return a job with the one match that is due to be played again, twice, unless this machine may not judge."""
    due = (col(PlayedAgain.coins).is_(None), col(PlayedAgain.due_at) <= now(session))
    known = select(Match.id).where(col(Match.season_id).not_in(closed_to(games_here())))  # others would play otherwise
    match_id = session.exec(
        select(PlayedAgain.match_id)
        .where(*due, col(PlayedAgain.match_id).in_(known), may_judge(settings_of(session).judge_unfit))
        .order_by(col(PlayedAgain.due_at))
        .limit(1),
        params=told_of(session, host),
    ).first()
    later = now(session) + AGAIN_AFTER
    if match_id is None or not set_values(session, PlayedAgain, *due, where={"match_id": match_id}, due_at=later):
        return None
    job = series_job(session, session.get_one(Match, match_id).series_id, host, now(session), match_id)
    return replace(job, attempt=0, matches=job.matches * 2)  # of no attempt: spectators see nothing of it


def record_again(session: Session, match_id: int, again: Sequence[Result]) -> None:
    """Store the coins of a match from both results of the trusted machine."""
    row = session.get_one(PlayedAgain, match_id)
    seats = session.exec(
        select(Participant).where(Participant.match_id == match_id).order_by(col(Participant.seat))
    ).all()
    faults = {seat.seat: seat.fault for seat in seats if seat.fault is not None}
    played = Result(tuple(seat.rank or 0 for seat in seats), None, faults)
    row.coins = coins([seat.version_id for seat in seats], played, again, row.favourite)
    session.add(row)


NEWS = (col(PlayedAgain.coins).is_not(None), col(PlayedAgain.weighed).is_(False))
CONDEMNED = (col(MachineAccess.found).is_not(None), col(MachineAccess.replayed_at).is_(None))


def tend_machines(session: Session) -> None:
    """Judge machines, and have replayed what those that are out played, if there is anything to do."""
    if session.exec(select(exists().where(*NEWS) | exists().where(*CONDEMNED))).one():
        judge_machines(session)
        replay_played(session)


def judge_machines(session: Session) -> None:
    """Weigh what is known of each machine of which there is news."""
    for name in session.exec(select(PlayedAgain.machine).where(*NEWS).distinct()).all():
        set_values(session, PlayedAgain, *NEWS, where={"machine": name}, weighed=True)
        if (found := evidence_on(session, name).verdict) is not None:
            condemn(session, name, found, WORDS[found])


def condemn(session: Session, name: str, found: Found, why: str) -> None:
    """End a machine's token, and have played again what it played, once."""
    if set_values(session, MachineAccess, col(MachineAccess.found).is_(None), where={"name": name}, found=found):
        if session.get_one(MachineAccess, name).revoked_at is None:
            revoke_machine(session, name)
        notices.machine_unfit(session, name, f"{why} Its token is revoked, and what it played is played again.")


def replay_played(session: Session) -> int:
    """Have some matches of machines that were found to lie, or to be late, played again. Return their number."""
    machine = session.exec(select(MachineAccess).where(*CONDEMNED).limit(1)).first()
    if machine is None:
        return 0
    there = (Attempt.cause == Cause.PLAYED, col(Attempt.worker).startswith(f"{machine.name}:", autoescape=True))
    played = (
        select(Match.id, Match.season_id)
        .join(Attempt, col(Attempt.match_id) == Match.id)
        .join(Season, col(Season.id) == Match.season_id)
        .where(*there, col(Season.state).in_(IN_PLAY), Match.state == MatchState.DONE)
        .where(~exists().where(col(VoidedMatch.match_id) == Match.id))
        .order_by(col(Match.season_id), col(Match.id))
    )
    if machine.found is Found.LATE:
        late = (col(Participant.match_id) == Match.id, col(Participant.fault) == Fault.TIMEOUT)
        played = played.where(exists().where(*late))
    rows = session.exec(played.limit(MOST_RULINGS)).all()
    for match_id, season_id in rows:
        try:
            rejudge_match(session, LEAGUE, match_id, WORDS[machine.found or Found.LIES])
        except WrongState:  # its evaluation's points are final: it cannot be played again, only not count
            void_match(session, LEAGUE, match_id, WORDS[machine.found or Found.LIES])
        notices.played_again(session, season_id, match_id)
    if len(rows) < MOST_RULINGS:
        machine.replayed_at = now(session)
        session.add(machine)
    return len(rows)
