"""Compares a season's file with the season, checks the changes, and applies them.

Theory of operation
-------------------
A file declares a whole season (`league.season_file`). It is compared with the season as it is, or with a new one that
has only defaults. The differences are checked against all the rules that bind every organiser (`faults`, `settled`,
`change_faults`), so that all refusals are reported at once, with the mistakes in the file itself. Only a file without
mistakes is applied, by the use cases behind the desk's forms, in the caller's transaction. A preview is the same
without that last step. Applying a file twice changes nothing the second time, because nothing differs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session, col, select

from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league import season_file
from deadheat.league.database import now
from deadheat.league.errors import BadSeasonFile, LeagueError
from deadheat.league.pairing.notation import CONTESTS, Mistake, stages
from deadheat.league.records.seasons import Declared, DeclaredChange, DeclaredDate
from deadheat.league.season_file import EVALUATIONS, KEYS, PATHS, Declaration, Read
from deadheat.league.service.duels.panels import panel_faults
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.ground.steps import existing, lock_season, storable
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.admission import invited_to_season, set_list
from deadheat.league.service.seasons.divisions import (
    SINGLE,
    change_divisions,
    change_faults,
    division_faults,
    divisions_of,
)
from deadheat.league.service.seasons.seasons import (
    create_season,
    edit_season,
    faults,
    inherited,
    published,
    rounded,
    settled,
)
from deadheat.league.service.views.forecasts import forecast
from deadheat.league.states import SEASON_STEPS, Admission, FinalsFormat, SeasonState, dated_steps
from deadheat.league.tables import Season, User
from deadheat.league.terms import DATES, TERMS
from deadheat.league.timetable import DeclaredEvaluation, stamp, stored, timetable

MOST_NAMES = 10
"""The number of unknown authors that one message names."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The changes that a file asks for. `now` and `then` have a value for each key; `row`: None for a new season."""

    row: Season | None
    read: Read
    now: Mapping[str, Any]
    then: Mapping[str, Any]
    invited: Sequence[User] | None

    @property
    def changed(self) -> list[str]:
        """The keys whose values differ, in the file's order."""
        return [name for name in KEYS if self.then[name] != self.now[name]]

    def as_season(self) -> Season:
        """Return the season after the changes, in memory only."""
        state = self.row.state if self.row else SeasonState.SCHEDULED
        terms = {name: self.then[name] for name in TERMS}
        lines = stored(self.then[EVALUATIONS])
        return Season(game=self.then["game"], name=self.then["name"], state=state, evaluations=lines, **terms)


def season_as_file(session: Session, organiser: Person | None, season_id: int) -> str:
    """Return the season's file; for everyone (None) without the list of the invited. Raises NotAllowed, NotFound."""
    if organiser is not None:
        organiser.must_organise()
    row = existing(session, Season, season_id)
    return season_file.write(_public(session, row) if organiser is None else _as_it_is(session, organiser, row))


def preview_file(
    session: Session, organiser: Person, text: str, season_id: int | None = None, bots: int | None = None
) -> Declared:
    """Preview the changes that a file makes in a season, or in a new one (None). `bots`: the number that the forecast
    assumes. Raises NotAllowed, NotFound, BadSeasonFile.
    """
    organiser.must_organise()
    row = None if season_id is None else existing(session, Season, season_id)
    return _outcome(session, _plan(session, organiser, text, row), season_id, bots, applied=False)


def apply_file(session: Session, organiser: Person, text: str, season_id: int | None = None) -> Declared:
    """Change a season to what its file declares, or create one (None). Raises NotAllowed, NotFound, BadSeasonFile."""
    organiser.must_organise()
    row = None if season_id is None else lock_season(session, season_id)
    plan = _plan(session, organiser, text, row)
    outcome = _outcome(session, plan, season_id, None, applied=bool(plan.changed))
    then, file = plan.then, plan.read.declared
    if row is None:
        assert file.name is not None, "its name is required"
        given = {name: then[name] for name in TERMS if name in file.model_fields_set}
        given |= {"game": file.game, "previous_id": file.previous_id}
        given["divisions"] = () if file.previous_id else then["divisions"]
        made = create_season(session, organiser, name=file.name, **given).id
    else:
        made = row.id
    if EVALUATIONS in plan.changed:
        set_timetable(session, organiser, made, then[EVALUATIONS])
    if row is not None and "divisions" in plan.changed:
        change_divisions(session, organiser, made, then["divisions"])
    settings = {name: then[name] for name in plan.changed if name in {"name", *TERMS}}
    if row is not None and settings:
        edit_season(session, organiser, made, **settings)
    if plan.invited is not None:
        set_list(session, organiser, made, [user.id for user in plan.invited])
    return replace(outcome, season_id=made)


def _plan(session: Session, organiser: Person, text: str, row: Season | None) -> _Plan:
    """Compare the file with the season, and check the changes. Raises BadSeasonFile with all mistakes."""
    read = season_file.read(text)
    declared, mistakes = read.declared, list(read.mistakes)
    previous_id = row.previous_id if row else declared.previous_id
    previous, why = _previous(session, previous_id, is_new=row is None)
    if why:
        mistakes.append((PATHS["previous_id"], why))
    game = row.game if row else declared.game or (previous.game if previous else None)
    invited, unknown = _users(session, declared.invited)
    if unknown:
        mistakes.append((PATHS["invited"], unknown))
    mistakes += _fixed(session, declared, row, previous)
    if game is None or game not in GAMES:
        if declared.game is not None:
            known = ", ".join(sorted(GAMES))
            mistakes.append((PATHS["game"], _("there is no such game; choose from %(all)s", all=known)))
        elif not {PATHS["game"], PATHS["previous_id"]} & {path for path, _ in mistakes}:
            mistakes.append((PATHS["game"], _("a season needs a game, or a season to continue (previous_id)")))
        raise BadSeasonFile(read.located(mistakes))
    standard = {name: term.default for name, term in TERMS.items()} | inherited(game, previous, declared.players)
    before = {**standard, **_before(session, organiser, row, previous)}
    after = _after(declared, before, standard, invited)
    if row is None:
        after |= {"game": game, "previous_id": declared.previous_id}
    plan = _Plan(row, read, before, after, invited)
    complained = {path for path, _ in mistakes}
    if any(path == PATHS["finals"] or path.startswith(CONTESTS) for path in complained):
        # other complaints about finals would follow from that mistake
        complained |= {PATHS[name] for name in ("finals", "finals_at", "stages", "finals_log")}
    mistakes += (mistake for mistake in _refusals(session, plan) if mistake[0] not in complained)
    if mistakes:
        raise BadSeasonFile(read.located(mistakes))
    return plan


def _before(session: Session, organiser: Person, row: Season | None, previous: Season | None) -> dict[str, Any]:
    """Return a season's present values; for a new season, the values that are not settings."""
    if row is not None:
        return _as_it_is(session, organiser, row)
    game = previous.game if previous else None
    invited = invited_to_season(session, organiser, previous.id) if previous else []
    divisions = _divisions(session, previous) if previous else list(SINGLE)
    lists = {"invited": invited, "divisions": divisions, EVALUATIONS: []}
    return {"name": None, "game": game, "previous_id": None, **lists}


def _after(
    declared: Declaration, before: Mapping[str, Any], standard: Mapping[str, Any], users: Sequence[User] | None
) -> dict[str, Any]:
    """Return the values that the file asks for, valid or not."""
    given = {name: getattr(declared, name) for name in TERMS if name in declared.model_fields_set}
    after = {**before, **standard, **given, EVALUATIONS: declared.evaluations or []}
    if stages(after["stages"]) == stages(before["stages"]):  # the order of a line's words does not matter
        after["stages"] = before["stages"]
    if declared.name is not None:
        after["name"] = declared.name
    if users is not None:
        after["invited"] = [user.name for user in users]
    if declared.divisions is not None:
        after["divisions"] = [(division.name, division.size) for division in declared.divisions] or list(SINGLE)
    return after


def _as_it_is(session: Session, organiser: Person, row: Season) -> dict[str, Any]:
    return {**_public(session, row), "invited": invited_to_season(session, organiser, row.id)}


def _public(session: Session, row: Season) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in ("name", "game", "previous_id", *TERMS)}
    return {**own, "divisions": _divisions(session, row), EVALUATIONS: timetable(row.evaluations)}


def _divisions(session: Session, row: Season) -> list[tuple[str, int | None]]:
    return [(division.name, division.size) for division in divisions_of(session, [row.id])[row.id]]


def _previous(session: Session, previous_id: int | None, *, is_new: bool) -> tuple[Season | None, str]:
    """Return the season that this one continues, and the reason why it cannot be continued, if any."""
    if previous_id is None:
        return None, ""
    if not is_new:
        return existing(session, Season, previous_id), ""
    try:
        return published(session, previous_id, _("it can be continued")), ""
    except LeagueError as error:
        return None, f"{str(error)[:1].lower()}{str(error)[1:]}".rstrip(".")


def _users(session: Session, names: Sequence[str] | None) -> tuple[list[User] | None, str]:
    """Return the authors with these names, and a message about unknown names; None if the file has no list."""
    if names is None:
        return None, ""
    keys = {storable(name).lower(): name for name in names}
    users = session.exec(select(User).where(col(User.name_key).in_(keys)).order_by(User.name_key)).all()
    for user in users:
        del keys[user.name_key]
    unknown = list(keys.values())
    more = " " + _("and %(count)s more", count=len(unknown) - MOST_NAMES) if len(unknown) > MOST_NAMES else ""
    names = ", ".join(unknown[:MOST_NAMES]) + more
    return list(users), _("there are no such authors: %(names)s", names=names) if unknown else ""


def _fixed(session: Session, declared: Declaration, row: Season | None, previous: Season | None) -> Iterator[Mistake]:
    """Yield mistakes about values that never change, and about a name that another season has."""
    if declared.name is not None:
        named = session.exec(select(Season.id).where(Season.name_key == declared.name.lower())).first()
        if named is not None and (row is None or named != row.id):
            text = _("season %(id)s has this name; apply the file to it (--season %(id)s), or choose another", id=named)
            yield PATHS["name"], text
    if row is not None:
        if declared.previous_id not in {None, row.previous_id}:
            other = _("nothing") if row.previous_id is None else _("season %(id)s", id=row.previous_id)
            yield PATHS["previous_id"], _("the season continues %(other)s, which cannot be changed", other=other)
        if declared.game not in {None, row.game}:
            yield PATHS["game"], _("the season's game is %(game)s, which cannot be changed", game=row.game)
    elif previous is not None and declared.game not in {None, previous.game}:
        yield PATHS["game"], _("the previous season's game is %(game)s", game=previous.game)


def _refusals(session: Session, plan: _Plan) -> Iterator[Mistake]:
    """Yield mistakes against the rules of all seasons."""
    wrong = [*faults(plan.as_season()), *panel_faults(session, plan.as_season())]
    if plan.row is not None:
        wrong += settled(plan.row.state, [name for name in plan.changed if name in TERMS])
    if "divisions" in plan.changed:
        divisions = plan.then["divisions"]
        if plan.row is not None:
            wrong += change_faults(session, plan.row, divisions)
        elif plan.read.declared.previous_id is not None:
            sentence = _("a season that continues another keeps its divisions; change them once it is made")
            yield PATHS["divisions"], sentence
        else:
            wrong += division_faults(divisions)
    yield from ((PATHS[fault.setting], fault.why) for fault in wrong)


def _outcome(session: Session, plan: _Plan, season_id: int | None, bots: int | None, *, applied: bool) -> Declared:
    changes = [DeclaredChange(PATHS[name], _json(plan.now[name]), _json(plan.then[name])) for name in plan.changed]
    dates = _timetable(plan.then, now(session))
    wanted = plan.as_season()
    if plan.row is not None:
        kept = None if EVALUATIONS in plan.changed else plan.row.evaluations_at
        wanted.id, wanted.evaluations_at, wanted.finals_done_at = plan.row.id, kept, plan.row.finals_done_at
    foreseen = forecast(session, wanted, bots)
    warnings = [*_warnings(session, plan), *foreseen.warnings]
    return Declared(season_id, applied, plan.read.declared.timezone, changes, dates, foreseen, warnings)


def season_timetable(session: Session, season_id: int) -> list[DeclaredDate]:
    """Return the timetable of a season, without steps that are taken by hand."""
    row = existing(session, Season, season_id)
    taken = {f"dates.{step.date}" for state, step in SEASON_STEPS.items() if not state.is_after(row.state)}
    steps = _timetable(_public(session, row), now(session))
    return [step for step in steps if step.at is not None or step.path not in taken]


def _timetable(then: Mapping[str, Any], at: datetime) -> list[DeclaredDate]:
    """Return the steps in the order in which they are taken; one without a date follows the one before it."""
    steps: list[tuple[datetime, DeclaredDate]] = []
    latest = datetime.min.replace(tzinfo=UTC)
    for name in DATES:
        if name == "finals_at" and then["finals"] is FinalsFormat.NONE:
            continue
        latest = max(latest, then[name] or latest)
        closes_itself = name == "closes_at" and then["finals"] is not FinalsFormat.NONE and then["closes_when_done"]
        otherwise = N_("when the finals are over") if closes_itself else N_("manually")
        steps.append((latest, DeclaredDate(PATHS[name], TERMS[name].setting.label, then[name], otherwise)))
        if name == "finals_at":
            words = (then["finals_at"], N_("with the finals"))
            for number, stage in enumerate(stages(then["stages"]), 1):
                label = _("Stage %(number)s: %(words)s", number=number, words=stage.words)
                steps.append((latest, DeclaredDate(PATHS["stages"], label, *words)))
                words = (None, N_("when the one before is over"))
    dates = []
    for line in then[EVALUATIONS]:
        label = _("Evaluation %(name)s", name=line.name)
        if line.every_minutes is not None:
            label += _(", then every %(time)s", time=line.interval)
        dates.append(DeclaredDate(EVALUATIONS, label, line.next_due(at), N_("all times have passed")))
    dates.sort(key=lambda date: (date.at is None, date.at or at))
    steps += ((date.at or latest, date) for date in dates)
    return [step for _, step in sorted(steps, key=lambda pair: pair[0])]


NEAR_THE_END = timedelta(hours=1)
"""The time before the end of the ladder in which the beginning of an evaluation is warned of."""


def _warnings(session: Session, plan: _Plan) -> Iterator[str]:
    """Yield warnings about values that are allowed but probably a mistake."""
    season = plan.as_season()
    if plan.read.outdated:
        yield f"{', '.join(plan.read.outdated)}: say this in [[contests]]; `deadheat season export` writes it so."
    for state, name, date in dated_steps(season, season.state):
        if date <= now(session):
            yield f"{PATHS[name]} has passed: the season will be {SEASON_STEPS[state].becomes} at once."
    if season.admission is Admission.INVITED and not plan.then["invited"]:
        yield f"{PATHS['invited']} is empty, so no author can enter yet."
    if season.admission is not Admission.INVITED and plan.read.declared.invited:
        yield f"{PATHS['invited']} has no effect while {PATHS['admission']} is {season.admission.value}."
    if plan.then[EVALUATIONS] and season.state is SeasonState.SCHEDULED and season.opens_at is None:
        yield f"{PATHS['opens_at']} is left out: nothing is played, not even evaluations, until you open the season."
    for line in plan.then[EVALUATIONS]:
        if line.next_due(now(session)) is None:
            yield f"{EVALUATIONS}: all times of {line.name} have passed."
        if end := season.finals_at or season.closes_at:
            what = "the finals begin" if season.finals_at else "the season closes"
            before = end - timedelta(microseconds=1)
            if (lost := line.next_due(before)) is not None:
                yield f"{EVALUATIONS}: {line.name}, due {stamp(lost)}, is not played: {what} at {stamp(end)}."
            if (last := line.newest_due(end - NEAR_THE_END, before)) is not None:
                due = f"{EVALUATIONS}: {line.name}, due {stamp(last)}"
                yield f"{due}, is cancelled if it is not over when {what} at {stamp(end)}."
    if sentence := rounded(season):
        yield sentence


def _json(value: Any) -> Any:
    """Return a value in its JSON form; divisions are written as people write them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(line, DeclaredEvaluation) for line in value):
        return [line.words for line in value]
    if isinstance(value, list):
        return [line if isinstance(line, str) else f"{line[0]}: {line[1]}" if line[1] else line[0] for line in value]
    return value
