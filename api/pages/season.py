"""A season: its leaderboard and its newest matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from markupsafe import Markup
from pydantic import ConfigDict
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import line
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import ROWS, everyones, render
from deadheat.api.schemas import base
from deadheat.api.schemas.base import RowId
from deadheat.api.services import Services
from deadheat.engine.intervals import bars
from deadheat.engine.language import N_, gettext, language
from deadheat.league.database import now
from deadheat.league.records.rankings import tally
from deadheat.league.records.seasons import Progress, Season
from deadheat.league.service.course import states
from deadheat.league.service.course.finals import finals_progress
from deadheat.league.service.evaluations.staged import stages_of
from deadheat.league.service.evaluations.views import coming, evaluations
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.rankings.history import trends
from deadheat.league.service.rankings.standings import Leaderboard, order_is_settled
from deadheat.league.service.seasons.participation import AbsentBot, absent_bots
from deadheat.league.service.seasons.seasons import season_info, season_progress, season_waiting
from deadheat.league.service.views.matches import matches
from deadheat.league.states import SEASON_STEPS, Absence, MatchState, SeasonState, dated_steps
from deadheat.league.terms import TERMS, Group
from deadheat.sandbox.languages import LANGUAGES

router = APIRouter(prefix="/seasons/{season_id}")

RECENT = 10
"""The number of matches below the leaderboard."""

Row = Mapping[str, Any]


class Chosen(base.Query):
    """The filter of a leaderboard: part of a bot's, an author's or a team's name, a language, a division."""

    model_config = ConfigDict(extra="ignore", frozen=True)  # a shared link may carry unknown parameters

    q: Annotated[str, Query(max_length=64)] = ""
    language: Annotated[str, Query(max_length=32)] = ""
    division: Number = None
    page: RowId = 1

    @property
    def query(self) -> str:
        """The filter without the page, to be added to an address with a query."""
        kept = {"q": self.q, "language": self.language, "division": self.division}
        found = urlencode({name: value for name, value in kept.items() if value})
        return f"&{found}" if found else ""

    def matching(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the matching rows."""
        found = rows
        if wanted := self.q.strip().casefold():
            named = (
                (row, f"{row['bot']}\n{row['author']}\n{row['team'] or ''}") for row in rows
            )  # none has a line break
            found = [row for row, names in named if wanted in names.casefold()]
        for setting, value in (("language", self.language), ("division", self.division)):
            if value:
                found = [row for row in found if row[setting] == value]
        return found


@dataclass(frozen=True, slots=True)
class Shown:
    """A page of the leaderboard. `found`: the number of matching rows."""

    table: Markup
    found: int


@router.get("")
@everyones
def season(shared: Shared, season_id: Id, chosen: Annotated[Chosen, Query()]) -> str:
    """Show the leaderboard and the newest matches."""
    return _season(shared, season_id, chosen)


def _season(shared: Services, season_id: int, chosen: Chosen) -> str:
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        board = shared.boards.newest(session, season_id)
        progress = _progress(session, info, board.standings["totals"])
        finals = finals_progress(session, season_id) if info.state is SeasonState.FINALS else []
        stages = stages_of(session, season_id)
        waits_for = states.waits_for(session, season_id)
        announcements = league_announcements.announcements(session, season_id, limit=3)
        recent = matches(session, season_id=season_id, state=MatchState.DONE, limit=RECENT)
        absent = absent_bots(session, season_id)
        evaluation = next(iter(evaluations(session, season_id, limit=1)), None)
        at = now(session)
        draws = coming(session, season_id)
        settled = info.state is SeasonState.OPEN and order_is_settled(session, season_id)
        key = (season_id, board.snapshot_id, chosen, language(), tuple(info.divisions))
        page = shared.boards.part(key, lambda: shown(shared, session, board, chosen, info))
    standings = board.standings
    return render(
        shared,
        "season.html",
        season=info,
        announcements=announcements,
        dates=[(what.capitalize() if date > at else past, date) for what, past, date in _dates(info)],
        draws=draws,
        begun=info.state.ladder_is_over,
        limits=_limits(info),
        coming=[(N_("next evaluation"), due) for _words, due in draws[:1]]
        + [(what, date) for what, _past, date in _dates(info) if date > at],
        note=gettext(step.note) if (step := SEASON_STEPS.get(info.state)) else "",
        finals=finals,
        settled=settled,
        stages=stages,
        divisions={division.number: division.name for division in info.divisions},
        waits_for=waits_for,
        evaluation=evaluation,
        progress=progress,
        board=board,
        rows=standings["rows"],
        chosen=chosen,
        shown=page,
        languages=sorted(info.languages or LANGUAGES),
        absent=_absent(absent, standings["rows"]),
        totals=standings["totals"],
        matches=recent,
    )


def _absent(absent: Sequence[AbsentBot], rows: Sequence[Row]) -> Mapping[str, Sequence[AbsentBot]]:
    """Return the bots that the ranking does not show, by reason."""
    ranked = {row["bot_id"] for row in rows} if absent else ()
    unseen = [bot for bot in absent if bot.bot_id not in ranked]
    kinds = {kind.value: [bot for bot in unseen if bot.absence is kind] for kind in Absence}
    return {kind: bots for kind, bots in kinds.items() if bots}


def _progress(session: Session, info: Season, totals: Row | None) -> Progress:
    """Return the matches as the ranking counted them, because counting takes a second; the rest is up to date."""
    if totals is None:
        return season_progress(session, info.id, whole=False)
    scheduled, held = season_waiting(session, info.id)
    return Progress(
        info.entries, scheduled, totals["matches"], totals["rated"], held, totals["abandoned"], totals["voids"]
    )


def shown(shared: Services, session: Session, board: Leaderboard, chosen: Chosen, info: Season) -> Shown:
    """Return the requested page of the matching rows, by the name of their division, with pictures of intervals and
    trends. The intervals of a page share a scale. With a filter, the scale contains the ratings of all rows.
    """
    rows: Sequence[Row] = board.standings["rows"]
    found = chosen.matching(rows)
    part = found[(chosen.page - 1) * ROWS : chosen.page * ROWS]
    every = [row["elo"] for row in (rows if chosen.query else part)]
    ways = trends(session, info.id, [row["bot_id"] for row in part])
    times = board.standings["latency"].of(part)
    about = tally(board.config, (row["plackett_luce"] for row in part))
    names = {one.number: one.name for one in info.divisions}
    divisions: dict[str, list[Markup]] = {}
    for row, bar in zip(part, bars(part, every), strict=True):
        way = trend(ways.get(row["bot_id"], []))
        made = line(info.id, row, bar, way, times.get(row["version_id"]), second=bool(about))
        divisions.setdefault(names[row["division"]], []).append(made)
    table = render(
        shared, "board.html", season=info, divisions=divisions, chosen=chosen, pages=-(-len(found) // ROWS), tally=about
    )
    return Shown(Markup(table), len(found))  # noqa: S704  a template's, which escapes


def _limits(info: Season) -> list[tuple[str, str]]:
    """Return the labels and values of the season's unusual settings for those who enter and upload, except those that
    the page states in words.
    """
    found = []
    for name, term in TERMS.items():
        value, setting = getattr(info, name), term.setting
        if setting.group in (Group.ENTRY, Group.QUOTAS) and not setting.in_words and value != term.default:
            options = setting.options
            text = gettext(options[str(value).lower()]) if options else ", ".join(value) if term.kind is list else value
            found.append((gettext(setting.label), str(text)))
    return found


def _dates(info: Season) -> list[tuple[str, str, datetime]]:
    """Return the dated steps in order, each with its words before and after its date; one that has not been taken after
    its date keeps the former.
    """
    found = []
    for state, name, at in dated_steps(info, SeasonState.SCHEDULED):
        what = name.removesuffix("_at")
        found.append((what, what.capitalize() if state.is_after(info.state) else SEASON_STEPS[state].past, at))
    return found
