"""When a season's ladder, evaluations and finals will be done in its present state; when a bot's next result comes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import comb
from typing import Any

from sqlalchemy import Row, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, or_, select

from deadheat.engine.figures import counted
from deadheat.engine.language import N_, _, gettext, ngettext
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.pairing.notation import stages
from deadheat.league.pairing.tournament import Form
from deadheat.league.records.entries import Entry as EntryInfo
from deadheat.league.records.entries import Waiting
from deadheat.league.records.seasons import Forecast, ForecastEvaluation
from deadheat.league.service.course.finals import finals_form
from deadheat.league.service.duels.panels import RUNNING
from deadheat.league.service.evaluations.beginning import due_since, running_evaluation
from deadheat.league.service.evaluations.playing import form_of, last_round
from deadheat.league.service.ground.counting import may_be_drawn, taking_part
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.entries import entry_info
from deadheat.league.service.series.capacity import SEASONS, machines_for, pace
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.service.series.hosts import judging_slots
from deadheat.league.service.series.pace import (
    Machines,
    Pace,
    Work,
    done_in_gaps,
    foresee,
    tournament,
    tournaments,
    warnings,
)
from deadheat.league.service.series.planning import matches_of_each, series_at_once, whole_groups
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.service.series.turns import in_turns_of_seasons
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import (
    ENTERABLE,
    ON_LADDER,
    UNFINISHED,
    WITH_RESULT,
    FinalsFormat,
    JobState,
    MatchState,
    Players,
    Purpose,
    SeasonState,
    dated_steps,
)
from deadheat.league.tables import (
    BotVersion,
    Contest,
    ContestPlayer,
    Entry,
    Match,
    Meeting,
    Pair,
    Participant,
    Season,
    Series,
)
from deadheat.league.timetable import next_after, stamp, timetable


def season_forecast(session: Session, organiser: Person, season_id: int, bots: int | None = None) -> Forecast:
    """Return the forecast for an existing season. `bots`: the number to assume; None for those that have entered.
    Raises NotAllowed, NotFound.
    """
    organiser.must_organise()
    return forecast(session, existing(session, Season, season_id), bots)


def forecast(session: Session, season: Season, bots: int | None = None) -> Forecast:
    """Return the forecast for a stored season, or for one in memory, which has no number if it is new."""
    entries = _entries(session, season)
    fields = [bots] if bots is not None else list(Counter(entries.values()).values())
    field, machines = sum(fields), machines_for(session, season)
    pace, length = machines.pace, matches_of_each(season, season.series_length)
    slots = machines.slots if season.players is Players.PROGRAMS else 0
    at, until = now(session), season.finals_at or season.closes_at
    begins = max(at, _resumes_at(season) or at)
    coming = _coming(session, season, machines, field, begins)
    bounded = season.ladder and season.games_per_pair is not None and not season.state.ladder_is_over
    bounded = bounded and season.settled_until is None  # while it rests, nobody knows when it plays the rest
    ladder = _ladder(session, season, fields, entries if bots is None else {}) if bounded else None
    left = Work(1, -(-(ladder or 0) // length), length)  # all of it may be played at once
    ladder_done = done_in_gaps(machines.seconds([left]), begins, coming) if ladder else None
    finals = [] if season.finals_done_at or field < 2 else _finals(season, fields)
    done_at = _finals_done(session, season, machines, finals)
    panel = len(season.panel or ())
    late = _late(season, ladder_done, done_at, until)
    matches = [matches_of_each(season, line.matches) for line in timetable(season.evaluations)]
    return Forecast(
        season_id=season.id,
        bots=field,
        slots=slots,
        series_measured=pace.series,
        start_seconds=round(pace.start_seconds, 3),
        match_seconds=round(pace.match_seconds, 4),
        turn_seconds=round(pace.turn_seconds, 3),
        matches_a_minute=round(pace.matches_a_minute(length, slots), 1),
        evaluation_matches_a_minute=round(pace.matches_a_minute(matches[0], machines.slots), 1) if matches else None,
        panel_matches=panel * season.panel_games,
        panel_seconds=round(panel * pace.seconds(season.panel_games), 1),
        ladder_matches=ladder,
        ladder_done_at=ladder_done,
        evaluations=coming,
        finals_matches=sum(work.all_matches for works in finals for work in works),
        finals_done_at=done_at,
        warnings=[*_unknowns(session, season, field), *warnings(coming, until), *late],
    )


def falls_behind(session: Session, season: Season) -> tuple[ForecastEvaluation, datetime] | None:
    """Return the evaluation in progress if it will be late, and the date of its successor or of what ends it."""
    row = running_evaluation(session, season.id)
    if row is None or row.stage is not None:
        return None
    dates = next_after(timetable(season.evaluations), row.due_at), season.finals_at or season.closes_at
    following = min(filter(None, dates), default=None)
    if following is None:
        return None
    running = _running(session, season, row, machines_for(session, season))
    return (running, following) if running.done_at > following else None


def _resumes_at(season: Season) -> datetime | None:
    """Return the date of the step to the next state in which matches are played, if none are now and it has a date."""
    following = (state for state in SeasonState if state.is_after(season.state) and not state.holds)
    resumed = next(following) if season.state.holds else None
    return next((date for state, _setting, date in dated_steps(season, season.state) if state is resumed), None)


def _entries(session: Session, season: Season) -> dict[int, int]:
    """Return the versions that an evaluation would include now, with their divisions."""
    there = taking_part if season.state is SeasonState.SCHEDULED else may_be_drawn  # no panel is played before it opens
    return dict(session.exec(select(Entry.version_id, Entry.division).where(there(season.id))).all())


# What is played -----------------------------------------------------------------------------------------------------


def _ladder_seconds(season: Season, pace: Pace) -> float:
    """Return how long the ladder's series hold a slot that an evaluation waits for."""
    goes_on = season.ladder and season.ladder_during_evaluations
    return pace.seconds(matches_of_each(season, season.series_length)) if goes_on else 0.0


def _coming(
    session: Session, season: Season, machines: Machines, field: int, begins: datetime
) -> list[ForecastEvaluation]:
    if season.state.ladder_is_over:
        return []
    row = running_evaluation(session, season.id)
    running = None if row is None else _running(session, season, row, machines)
    if field < 2 and running is None:
        return []
    lines, took = timetable(season.evaluations), {}
    for line in lines:
        form = Form(line.format, line.rounds or 0, whole_groups(season, line.matches), seats=season.seats)
        works = tournament(form, field, series_at_once(season))
        seconds = machines.seconds(works, _ladder_seconds(season, machines.pace))
        took[line.name] = (sum(work.all_matches for work in works), seconds)
    until = season.finals_at or season.closes_at
    return foresee(lines, took, due_since(session, season), begins, until, running)


def _running(session: Session, season: Season, row: Contest, machines: Machines) -> ForecastEvaluation:
    """Return the forecast for the evaluation in progress."""
    at = now(session)
    players = session.exec(select(func.count()).where(col(ContestPlayer.contest_id) == row.id)).one()
    works = tournament(form_of(season, row), players, series_at_once(season))
    ladder_seconds = _ladder_seconds(season, machines.pace) if row.stage is None else 0.0
    if row.format.rules.has_winner:
        done_at = max(at, row.created_at + timedelta(seconds=machines.seconds(works)))
    else:
        open_ones = select(func.count()).where(col(Meeting.contest_id) == row.id, ~col(Meeting.settled))
        rounds, further = works[:1], works[1:]
        tables = sum(work.series for work in rounds) // series_at_once(season)  # of a round; in a round robin, of all
        undrawn = max(0, row.rounds - last_round(session, row.id)) * tables  # none in a round robin
        share = (session.exec(open_ones).one() + undrawn) / max(1, sum(work.pools for work in rounds) * tables)
        left = machines.seconds(rounds, ladder_seconds) * share + machines.seconds(further)
        done_at = at + timedelta(seconds=left)
    matches = sum(work.all_matches for work in works)
    return ForecastEvaluation(row.name, row.due_at, row.created_at, done_at, matches)


def _ladder(session: Session, season: Season, fields: Sequence[int], versions: dict[int, int]) -> int:
    """Return the number of matches left to a ladder with a bound, of whose bots `versions` are known."""
    assert season.games_per_pair is not None
    each = whole_groups(season, season.games_per_pair)
    pairs = sum(comb(field, 2) for field in fields)
    planned = waiting = 0
    if versions and season.state is not SeasonState.SCHEDULED:
        inside = (col(Pair.low_id).in_(versions), col(Pair.high_id).in_(versions))
        games = session.exec(select(Pair.games).where(Pair.season_id == season.id, *inside)).all()
        planned = sum(min(each, count) for count in games)
        waiting = _count(session, season, Purpose.LADDER, MatchState.SCHEDULED)
    return -(-max(0, pairs * each - planned) // comb(season.seats, 2)) + waiting


def _finals(season: Season, fields: Sequence[int]) -> list[list[Work]]:
    """Return the work of the finals: by stage, or all at once."""
    players = [min(field, season.finals_top or field) for field in fields]
    if season.finals is FinalsFormat.NONE:
        return []
    if season.finals is FinalsFormat.STAGES:
        whole = partial(whole_groups, season)
        return tournaments(stages(season.stages), sum(players), season.seats, series_at_once(season), whole)
    works = []
    for finalists in players:
        works += tournament(finals_form(season, finalists), finalists, series_at_once(season))
        each = matches_of_each(season, season.finals_games)
        works.append(Work(1, -(-season.finals_extra_games // each), each))
    return [works]


def _finals_done(
    session: Session, season: Season, machines: Machines, finals: Sequence[Sequence[Work]]
) -> datetime | None:
    """Return when the finals, or the rest of them, will be over, or None if their beginning is unknown."""
    seconds = [machines.seconds(works) for works in finals]
    if not finals or season.state is not SeasonState.FINALS:
        return season.finals_at + timedelta(seconds=sum(seconds)) if finals and season.finals_at else None
    if season.finals is FinalsFormat.STAGES:
        row = running_evaluation(session, season.id)
        at = now(session) if row is None else _running(session, season, row, machines).done_at
        return at + timedelta(seconds=sum(seconds[0 if row is None else row.stage or 1 :]))
    every = sum(work.all_matches for works in finals for work in works)
    left = max(0.0, 1 - _count(session, season, Purpose.FINALS, *WITH_RESULT) / max(1, every))
    return now(session) + timedelta(seconds=sum(seconds) * left)


def _count(session: Session, season: Season, purpose: Purpose, *states: MatchState) -> int:
    """Count the matches of one purpose in these states."""
    statement = select(func.count()).select_from(Match).join(Series, col(Series.id) == Match.series_id)
    statement = statement.where(Match.season_id == season.id, Series.purpose == purpose)
    return session.exec(statement.where(col(Match.state).in_(states))).one()


# What is wrong ------------------------------------------------------------------------------------------------------


def _unknowns(session: Session, season: Season, field: int) -> Iterator[str]:
    if not season.state.goes_on or not (season.evaluations or season.finals is not FinalsFormat.NONE):
        return
    if not judging_slots(session):
        yield _("No machine is judging now; this assumes one slot.")
    if field < 2:
        yield _("Fewer than two bots have entered; say how many you expect.")
    if season.state.holds and _resumes_at(season) is None and season.evaluations:
        yield _("The season has no opening date; this assumes that it is open when they begin.")
    if others := session.exec(SEASONS.where(Season.id != (season.id or 0))).one():
        yield ngettext(
            "%(n)s other season is being played on the same machines; this does not take them into account.",
            "%(n)s other seasons are being played on the same machines; this does not take them into account.",
            others,
        ) % {"n": others}


def _late(season: Season, ladder: datetime | None, finals: datetime | None, until: datetime | None) -> Iterator[str]:
    if ladder is not None and until is not None and ladder > until:
        yield _("The ladder will take until %(at)s, and is cut off at %(until)s.", at=stamp(ladder), until=stamp(until))
    if finals is not None and season.closes_at is not None and finals > season.closes_at:
        closes = stamp(season.closes_at)
        yield _("The finals will take until %(at)s; the season closes at %(closes)s.", at=stamp(finals), closes=closes)


# A bot's wait --------------------------------------------------------------------------------------------------------
#
# Machines play for every season, and a series hands in its results only when all of it is over. So the matches ahead of
# a bot are those of all series before its first one, in the order in which workers take them, by which seasons take
# turns (`league.service.series.turns`), and then its own series. The estimate is a plain quotient: those series, each
# at its season's pace in the last hour (`league.service.series.pace`), divided by the number of series in progress,
# each assumed to be half over. It foresees no change, such as machines that start or stop, or series let in ahead.
# There is no estimate if nothing is played, or if too few series of a season ahead have ended within the last hour.

LATELY = timedelta(hours=1)
"""The pace is measured on series that ended within this time."""

MOST_AHEAD = 5000
"""The most series ahead that are examined; a longer queue counts as endless."""

NOT_LATELY = N_("The wait is unknown: too few series have ended in the last hour.")
AT_PANEL = N_("It plays the season's panel first, and its next match there is drawn in a moment.")
NOTHING_PLAYED = N_("The wait is unknown: no machine is playing at the moment.")


def waiting(session: Session, season_id: int, bot_id: int, version: int | None = None) -> Waiting:
    """Describe a bot's wait for its next result. Raises NotFound: it is not in that season, or has no such version."""
    entry = entry_info(session, season_id, bot_id)
    season = session.get_one(Season, season_id)
    if season.players is Players.AGENTS:
        return Waiting(0, 0, 0, None, over=False, sentence=_("It plays when it asks for a match."))
    statement = OWN
    if version is not None:
        known = select(BotVersion.id).where(BotVersion.bot_id == bot_id, BotVersion.number == version)
        version_id = session.exec(known).first()
        if version_id is None:
            raise NotFound("version", version)
        statement = statement.where(Participant.version_id == version_id)
    own = set(session.connection().execute(statement, {"season": season_id, "bot": bot_id}).scalars())
    unfinished: Sequence[Any] = session.connection().execute(LEFT).all()
    played = [series for series in unfinished if series.state is JobState.RUNNING]
    queued = in_turns_of_seasons(session, [series for series in unfinished if series.state is not JobState.RUNNING])
    playing = [series for series in played if series.id in own]
    waits = [series for series in queued if series.id in own]
    ahead = queued[: queued.index(waits[0])] if waits else queued
    before = _matches(ahead)
    if playing or waits:
        seconds = _seconds(session, playing or waits[:1], ahead, played)
        stop = stopped(session)
        expected = "" if stop and seconds is None else _expected(seconds, bool(played))
        sentence = " ".join(filter(None, (_place(_matches(playing), _matches(waits), before), expected, stop)))
        return Waiting(_matches(playing), _matches(waits), before, seconds, over=False, sentence=sentence)
    panel = RUNNING.join(BotVersion, col(BotVersion.id) == Contest.candidate_id).where(BotVersion.bot_id == bot_id)
    if version is not None:
        panel = panel.where(BotVersion.number == version)
    at_panel = session.exec(panel.limit(1), params={"season_id": season_id}).first() is not None
    if at_panel:
        return Waiting(0, 0, before, None, over=False, sentence=gettext(season.state.holds or AT_PANEL))
    over = _no_more(season, entry, version)
    return Waiting(0, 0, before, None, over=over != "", sentence=over or _undrawn(session, season, entry, before))


OWN = (
    select(Match.series_id)
    .join(Participant, col(Participant.match_id) == Match.id)
    .where(Match.season_id == bindparam("season"), Match.state == MatchState.SCHEDULED)
    .where(Participant.bot_id == bindparam("bot"))
    .where(col(Participant.finished_at).is_(None), PLANNED)  # implied, and has an index
    .distinct()
)

LEFT = (
    columns(
        *(getattr(Series, name) for name in ("id", "season_id", "state", "started_at", "queued_at", "precedence")),
        func.count(col(Match.id)).label("matches"),
    )
    .join_from(Series, Match, col(Match.series_id) == Series.id)
    .join(Season, (col(Season.id) == Series.season_id) & (col(Season.players) == Players.PROGRAMS))
    .where(col(Series.state).in_(UNFINISHED), col(Match.state) == MatchState.SCHEDULED, PLANNED)
    .where(or_(col(Series.state) == JobState.RUNNING, col(Series.season_id).not_in(HOLDING_SEASONS)))
    .group_by(col(Series.id))
    .order_by(col(Series.queued_at), col(Series.id))
    .limit(MOST_AHEAD)
)
"""The series of all seasons that machines play or may take, with the number of matches left in each. Those that an
author asked for are left out, because they seldom come first and may be private."""


def _matches(series: Sequence[Row[Any]]) -> int:
    return sum(row.matches for row in series)


def _seconds(
    session: Session, own: Sequence[Row[Any]], ahead: Sequence[Row[Any]], played: Sequence[Row[Any]]
) -> int | None:
    """Return the seconds until the first series of `own` ends. They are being played, or it follows `ahead` and
    `played`.
    """
    if not played:
        return None
    at, is_played = now(session), own[0].state is JobState.RUNNING
    wanted = own if is_played else [own[0], *ahead, *played]
    paces = {key: pace(session, key, len(played), at - LATELY) for key in {series.season_id for series in wanted}}
    if not all(known.series for known in paces.values()):
        return None
    took = {series.id: paces[series.season_id].seconds(series.matches) for series in wanted}
    if is_played:
        left: float = min(took[row.id] - (at - row.started_at).total_seconds() for row in own)
        return max(0, round(left))
    work: float = sum(took[row.id] for row in ahead) + sum(took[row.id] / 2 for row in played)
    return round(work / len(played) + took[own[0].id])


def _place(playing: int, planned: int, before: int) -> str:
    if playing:
        now_playing = ngettext(
            "%(count)s of its matches is being played now.", "%(count)s of its matches are being played now.", playing
        )
        return now_playing % {"count": f"{playing:,}"}
    matches = ngettext("%(count)s of its matches is waiting", "%(count)s of its matches are waiting", planned)
    wait = matches % {"count": f"{planned:,}"}
    if not before:
        return _("%(wait)s; nothing is ahead of it.", wait=wait)
    return _("%(wait)s, after %(others)s of other bots.", wait=wait, others=counted(before, "match", "matches"))


def _expected(seconds: int | None, something_played: bool) -> str:
    if seconds is None:
        return gettext(NOT_LATELY if something_played else NOTHING_PLAYED)
    if seconds < 10:
        return _("At the pace of the last hour, its next result is due at any moment.")
    minutes = round(seconds / 60)
    about = _("%(seconds)s s", seconds=seconds) if seconds < 120 else _("%(minutes)s min", minutes=minutes)
    return _("At the pace of the last hour, its next result comes in about %(time)s.", time=about)


def _no_more(season: Season, entry: EntryInfo, version: int | None) -> str:
    """Return the reason why no further result comes by itself, or "" if one may come."""
    if not season.state.goes_on:
        return _("The season is closed, so nothing more is played.")
    if entry.absence is not None:
        return _("It is %(state)s in this season: it gets no more matches.", state=gettext(entry.absence.value))
    if entry.waits_for_panel:
        return _("It has not passed the season's panel, so it gets no matches.")
    if version is not None and version not in (entry.version, entry.challenger):
        text = _("Version %(version)s gets no more matches: version %(other)s plays in this season.")
        return text % {"version": version, "other": entry.version}
    if entry.rests:
        return _("It is resting, so no more matches are drawn for it: %(why)s", why=entry.rests)
    return ""


def _undrawn(session: Session, season: Season, entry: EntryInfo, before: int) -> str:
    """Describe a bot that takes part and has no match waiting."""
    if season.state.holds:
        return gettext(season.state.holds)
    if season.state in ON_LADDER and not season.ladder:
        return _("It has no matches at present: only evaluations and finals are played in this season.")
    here = select(func.count()).select_from(Entry).where(taking_part(season.id), Entry.division == entry.division)
    missing = season.seats - session.exec(here).one()
    if season.state in ENTERABLE and missing > 0:
        text = ngettext(
            "It has no matches yet: a match takes %(seats)s bots, and %(count)s is missing.",
            "It has no matches yet: a match takes %(seats)s bots, and %(count)s are missing.",
            missing,
        )
        return text % {"seats": season.seats, "count": missing}
    if before:
        text = ngettext(
            "It has no match waiting. %(count)s match of other bots is waiting; more are drawn once it is played.",
            "It has no match waiting. %(count)s matches of other bots are waiting; more are drawn as these are played.",
            before,
        )
        return text % {"count": f"{before:,}"}
    if season.state in ON_LADDER and season.settled_until is not None:
        return _("It has no match waiting: the order is settled, so the ladder plays a series every ten minutes.")
    if season.state not in ENTERABLE:
        return _("It has no matches at present.")
    return _("It has no matches at present; more follow when a bot or a version arrives.")
