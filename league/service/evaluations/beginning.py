"""How evaluations and stages of the finals begin and end.

An evaluation is due by the season's timetable (`league.timetable`). One is played at a time, because the standings of
each seed the next; one that falls due meanwhile follows it. Each line of the timetable plays only its newest past time.
Its field is frozen at that moment, with each entry's active version. `(season, name, due_at)` is unique, and the season
is locked, so nothing is begun twice.

Stages follow each other. Seeds of the first are the finalists' places in the last evaluation, then those by the ladder
(of equal ones, the higher division comes first); seeds of later stages are the places of the stage before, of which the
first `keep` that were not taken out advance. All others then have their places in the finals (`Entry.finals_place`),
and nothing changes it: a bot that is disqualified later leaves the ranking, where others move up.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select, update

from deadheat.engine.language import N_, _
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound, WrongState
from deadheat.league.pairing.notation import stages
from deadheat.league.pairing.tournament import Form
from deadheat.league.service.contests.life import Players, begin, end, running
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import may_be_drawn, taking_part
from deadheat.league.service.ground.steps import lock_season, move, set_each, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.planning import whole_groups
from deadheat.league.states import EVALUATIONS, ON_LADDER, ContestKind, ContestState
from deadheat.league.states import Players as Who
from deadheat.league.tables import BotVersion, Contest, ContestPlayer, Entry, Season
from deadheat.league.timetable import DeclaredEvaluation, earliest_due, stored, timetable, timetable_faults


def running_evaluation(session: Session, season_id: int) -> Contest | None:
    return next(iter(running(session, season_id, *EVALUATIONS)), None)


def existing_evaluation(session: Session, evaluation_id: int) -> Contest:
    """Return an evaluation, or a stage of the finals, with that number. Raises NotFound."""
    row = session.get(Contest, evaluation_id)
    if row is None or row.kind not in EVALUATIONS:
        raise NotFound(N_("evaluation"), evaluation_id)
    return row


def set_timetable(session: Session, organiser: Person, season_id: int, declared: Sequence[DeclaredEvaluation]) -> None:
    """Replace a season's timetable; past times are no longer due. Raises NotAllowed, NotFound, BadSetting."""
    organiser.must_organise()
    season = lock_season(session, season_id)
    if not season.state.goes_on:
        raise BadSetting("evaluations", _("they can no longer be changed because the season is closed"))
    for fault in timetable_faults(declared):
        raise BadSetting("evaluations", fault)
    season.evaluations, season.evaluations_at = stored(declared), now(session)
    session.flush()
    record(session, organiser.name, "timetable-set", f"season/{season_id}", {"evaluations": season.evaluations})


def in_turn(session: Session, season: Season) -> Iterator[Contest]:
    """Yield the evaluation that is played, or else the earliest due, which begins. The caller has locked the season."""
    row = running_evaluation(session, season.id)
    if row is None and (coming := due(session, season)) is not None:
        row = _begin(session, season, coming[1], coming[0], SYSTEM)
    if row is not None and row.state is ContestState.RUNNING:
        yield row


def due(session: Session, season: Season) -> tuple[datetime, DeclaredEvaluation] | None:
    """Return the earliest evaluation that is due and has not begun, with its time, or None."""
    if not season.evaluations or season.evaluations_at is None:
        return None
    return earliest_due(timetable(season.evaluations), due_since(session, season), now(session))


def due_since(session: Session, season: Season) -> Mapping[str, datetime]:
    """Return, by the name of a line, the instant after which its times are due: its newest, or its declaration."""
    declared_at = season.evaluations_at or now(session)
    newest = select(Contest.name, func.max(Contest.due_at)).where(Contest.season_id == season.id)
    newest = newest.where(col(Contest.kind).in_(EVALUATIONS))
    begun = session.exec(newest.group_by(Contest.name)).all()
    return defaultdict(lambda: declared_at, {name: max(at, declared_at) for name, at in begun})


def begin_now(session: Session, organiser: Person, season_id: int, declared: DeclaredEvaluation) -> Contest:
    """Begin an evaluation by hand, whatever the timetable says. Raises NotAllowed, NotFound, BadSetting; WrongState:
    the season's ladder is not played, or an evaluation is.
    """
    season = _free_season(session, organiser, season_id)
    for fault in declared.faults:
        raise BadSetting("format", fault)
    newest = select(func.max(Contest.due_at)).where(Contest.season_id == season_id, Contest.name == declared.name)
    before = session.exec(newest).first()
    at = now(session) if before is None else max(now(session), before + timedelta(microseconds=1))
    return _begin(session, season, declared, at, organiser.name)


def _free_season(session: Session, organiser: Person, season_id: int) -> Season:
    """Lock a season in which an organiser may have an evaluation played now."""
    organiser.must_organise()
    season = lock_season(session, season_id)
    if season.players is Who.AGENTS:
        raise WrongState("agents", _("Agents play when they ask for a match, so their seasons have no evaluations."))
    if season.state not in ON_LADDER:
        raise WrongState.of_season(season.state, _("evaluations are played while it is %(states)s"), ON_LADDER)
    if (other := running_evaluation(session, season_id)) is not None:
        why = _("Evaluation %(number)s is being played; cancel it first.", number=other.number)
        raise WrongState(ContestState.RUNNING, why)
    return season


def cancel_evaluation(session: Session, organiser: Person, evaluation_id: int) -> None:
    """Cancel a running evaluation, without final standings. Matches in progress are played to the end. Raises
    NotAllowed, NotFound; WrongState: it is over, or is a stage of the finals.
    """
    organiser.must_organise()
    row = existing_evaluation(session, evaluation_id)
    lock_season(session, row.season_id)
    if row.kind is ContestKind.STAGE and row.state is ContestState.RUNNING:
        raise WrongState(row.state, _("The finals depend on their stages; to end them, close the season."))
    if not end(session, row, ContestState.CANCELLED, "An organiser cancelled it.", organiser.name):
        raise WrongState(row.state, _("The evaluation is over."))


def resume_evaluation(session: Session, organiser: Person, evaluation_id: int) -> None:
    """Continue a cancelled evaluation; series that were dropped with it are replaced (`evaluations.playing`). Raises
    NotAllowed, NotFound; WrongState: it was not cancelled, another one is played, or the ladder is over.
    """
    organiser.must_organise()
    row = existing_evaluation(session, evaluation_id)
    season = _free_season(session, organiser, row.season_id)
    again = {"reason": "", "ended_at": None}
    cancelled, after = ContestState.CANCELLED, ContestState.RUNNING
    if row.reason == _too_few(season) or not move(session, Contest, row.id, cancelled, after, **again):
        raise WrongState(row.state, _("Only an evaluation that was cancelled while it was played can be resumed."))
    session.refresh(row)
    data = {"evaluation": row.id, "number": row.number, "name": row.name}
    record(session, organiser.name, "evaluation-resumed", f"season/{season.id}", data)


def _begin(session: Session, season: Season, declared: DeclaredEvaluation, due_at: datetime, who: str) -> Contest:
    """Begin an evaluation, seeded by the places in the last one; others follow, by the time of submission."""
    there = select(Entry.version_id, Entry.bot_id, BotVersion.created_at).where(may_be_drawn(season.id))
    there = there.join(BotVersion, col(BotVersion.id) == Entry.version_id)
    places = _last_places(session, season.id)
    order = sorted((places[bot_id], at, version, bot_id) for version, bot_id, at in session.exec(there))
    field = [(version, bot_id) for _, _, version, bot_id in order]
    many = len(field)
    ties = None if declared.tie_breaks is None else tuple(declared.tie_breaks)
    rounds = declared.format.rules.rounds_in(many, declared.rounds, season.seats)
    form = Form(declared.format, rounds, declared.matches, tie_breaks=ties)
    row = _add(session, season, declared.name, form, field, rated=declared.counts, due_at=due_at, who=who)
    if many < season.seats:
        end(session, row, ContestState.CANCELLED, _too_few(season), who)
    return row


def _too_few(season: Season) -> str:
    return f"Fewer than {'two' if season.seats == 2 else season.seats} bots could play."


def _add(
    session: Session,
    season: Season,
    name: str,
    form: Form,
    field: Players,
    *,
    rated: bool = True,
    stage: int | None = None,
    due_at: datetime | None = None,
    who: str = SYSTEM,
) -> Contest:
    """Create an evaluation with its field."""
    newest = session.exec(select(func.max(Contest.number)).where(Contest.season_id == season.id)).one()
    row = begin(
        session,
        ContestKind.EVALUATION if stage is None else ContestKind.STAGE,
        season.id,
        field,
        number=(newest or 0) + 1,
        name=name,
        rated=rated,
        stage=stage,
        due_at=due_at or now(session),
        **{name: value for name, value in asdict(form).items() if name != "seats"},
    )
    data = {"evaluation": row.id, "number": row.number, "name": row.name, "players": len(field)}
    record(session, who, "evaluation-began", f"season/{season.id}", data)
    return row


def _last_places(session: Session, season_id: int) -> Mapping[int, int]:
    """Return the bots' places in the last finished evaluation; bots that were not in it come after them."""
    done = select(func.max(Contest.id)).where(Contest.season_id == season_id, Contest.state == ContestState.DONE)
    last = session.exec(done).one()
    before = select(ContestPlayer.bot_id, ContestPlayer.place).where(ContestPlayer.contest_id == last)
    places = session.exec(before).all()
    return defaultdict(lambda: len(places) + 1, {bot_id: place for bot_id, place in places if place is not None})


def stages_in_turn(session: Session, season: Season) -> Iterator[Contest]:
    """Yield the stage that is played, and each that follows when the one before is over; after the last one everybody
    has a place. The caller has locked the season, and the finalists have their seeds.
    """
    declared = stages(season.stages)
    begun = select(Contest).where(Contest.season_id == season.id, Contest.kind == ContestKind.STAGE)
    row = session.exec(begun.order_by(col(Contest.stage).desc()).limit(1)).first()
    while True:
        if row is not None and row.state is ContestState.RUNNING:
            yield row
            if row.state is ContestState.RUNNING:
                return
        number = 0 if row is None else row.stage or 0
        if row is None:
            seeded = select(Entry.version_id, Entry.bot_id).where(col(Entry.finals_seed).is_not(None))
            seeded = seeded.where(taking_part(season.id)).order_by(col(Entry.finals_seed), col(Entry.division))
            places = _last_places(session, season.id)
            field: Players = sorted(session.exec(seeded).all(), key=lambda player: places[player[1]])
        else:
            field = _survivors(session, row)
        if number == len(declared) or len(field) < season.seats:
            _place(session, season.id, field)
            return
        stage, number = declared[number], number + 1
        form = stage.form(len(field), whole_groups(season, stage.matches), seats=season.seats)
        row = _add(session, season, f"Stage {number}", form, field, stage=number)


def _survivors(session: Session, row: Contest) -> Players:
    """Return the players that advance from a finished stage, the best first; the others get their final places now."""
    players = select(ContestPlayer.version_id, ContestPlayer.bot_id).where(ContestPlayer.contest_id == row.id)
    is_gone = col(ContestPlayer.gone_after).is_not(None)
    there = session.exec(players.where(~is_gone).order_by(col(ContestPlayer.place))).all()
    gone = session.exec(players.where(is_gone).order_by(col(ContestPlayer.place))).all()
    going_on = there[: row.keep]
    _place(session, row.season_id, [*there, *gone], len(going_on) if len(going_on) > 1 else 0)
    return going_on


def _place(session: Session, season_id: int, order: Players, before: int = 0) -> None:
    """Record the places of all players after the first `before`."""
    rows = [{"bot": bot_id, "at": place} for place, (_, bot_id) in enumerate(order[before:], before + 1)]
    mine = (col(Entry.season_id) == season_id, col(Entry.bot_id) == bindparam("bot"))
    set_each(session, update(Entry).where(*mine).values(finals_place=bindparam("at")), rows)
    touch_log(session, season_id)
