"""A season as flat tables, page by page: everything that is public about it, for spreadsheets and scripts.

Each page is a query above the last key, so slow readers hold no transaction open. docs/reference/data-export.md
says what each column means; `league.service.series.deals` decides when a match's dice are shown.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, SQLModel, col, select

from deadheat.league.causes import told, told_evidence
from deadheat.league.errors import NotFound
from deadheat.league.records import seasons as records
from deadheat.league.service.evaluations.playing import drawn, with_players
from deadheat.league.service.ground.lookups import machine_numbers
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.teams import team_info
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.seasons.entries import ENTERED
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.series.deals import withheld
from deadheat.league.service.series.privacy import SHOWN, shown_attempt, shown_series
from deadheat.league.service.views.contests import contests
from deadheat.league.service.views.matches import seated
from deadheat.league.service.views.uncounted import uncounted
from deadheat.league.states import (
    EVALUATIONS,
    OF_EVALUATIONS,
    WITH_RESULT,
    ContestKind,
    MatchState,
    Purpose,
    SourcesFrom,
)
from deadheat.league.tables import (
    Attempt,
    Bot,
    BotVersion,
    Contest,
    ContestPlayer,
    Entry,
    LatencySummary,
    Match,
    Meeting,
    MeetingPlayer,
    Participant,
    RatingSnapshot,
    Season,
    Series,
    User,
    VoidedMatch,
)
from deadheat.league.words import Exported

ROWS = 500
"""The most matches, entries or the like of one page; each may have several rows."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """The requested part of a season: everything, or the matches of one bot with everyone in them."""

    season_id: int
    bot_id: int | None = None


@dataclass(slots=True)
class _Page:
    """A page of a table: the keys above `after`. `next`: its last key if another page follows, else None."""

    session: Session
    scope: Scope
    after: int
    next: int | None = None

    def read(self, statement: Any, key: Any, limit: int = 0, **given: Any) -> Sequence[Any]:
        """Return the statement's next `limit` (or `ROWS`) rows in the order of a key, that of their first table (or
        themselves).
        """
        limit = limit or ROWS
        statement = statement.where(col(key) > self.after).order_by(None).order_by(col(key)).limit(limit)
        rows: Sequence[Any] = self.session.exec(statement, params=given).all()
        if len(rows) == limit:
            last: Any = rows[-1] if isinstance(rows[-1], (int, SQLModel)) else rows[-1][0]
            self.next = last if isinstance(last, int) else last.id
        return rows

    def of(self, match_id: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on a column that names a match, or none if everything is wanted."""
        theirs = select(Participant.match_id).where(Participant.bot_id == self.scope.bot_id)
        return () if self.scope.bot_id is None else (col(match_id).in_(theirs),)

    def about(self, bot_id: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on a column that names a bot, or none if everything is wanted."""
        return () if self.scope.bot_id is None else (col(bot_id) == self.scope.bot_id,)


def export_page(session: Session, scope: Scope, table: Exported, after: int = 0) -> tuple[list[Row], int | None]:
    """Return the rows of the next `ROWS` matches (entries, teams, ...) above `after`, and the key after which the next
    page begins, or None after the last. Raises NotFound.
    """
    existing(session, Season, scope.season_id)
    page = _Page(session, scope, after)
    return _READERS[table](page), page.next


def _cells(row: object, *names: str) -> Row:
    return {name: _cell(getattr(row, name)) for name in names}


def _cell(value: Any) -> Any:
    """Return one value as it is exported: dates and words as text, lists and objects as JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.value
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _season(page: _Page) -> list[Row]:
    """Return the season's settings and dates, without what has tables of its own or follows from others. The dates of
    the finals come right after their settings.
    """
    dates = ["qualified_at", "finals_done_at"]
    left = [name for name in records.Season.model_fields if name not in {"divisions", "plays", "rounded", *dates}]
    behind = left.index("closes_when_done") + 1
    return [_cells(season_info(page.session, page.scope.season_id), *left[:behind], *dates, *left[behind:])]


def _divisions(page: _Page) -> list[Row]:
    divisions = season_info(page.session, page.scope.season_id).divisions
    return [{"division": row.number, "name": row.name, "size": row.size, "entries": row.entries} for row in divisions]


def _entries(page: _Page) -> list[Row]:
    return [
        {
            "author": author,
            "team": team,
            "bot": bot,
            "version": number,
            **_cells(entry, "bot_id", "version_id", "follows"),
            "gated": entry.gate is not None,
            **_cells(entry, "division", "finals_seed", "finals_place"),
            "absence": None if absent is None else absent.absence.value,
            "absence_reason": None if absent is None else absent.reason,
            **_cells(entry, "waits_for_panel"),
            "rests": entry.rest_reason or None,
            "entered_at": entry.created_at.isoformat(),
        }
        for entry, bot, author, team, number, absent, _ in page.read(
            ENTERED.where(*page.about(Entry.bot_id)), Entry.id, season=page.scope.season_id
        )
    ]


def _teams(page: _Page) -> list[Row]:
    """Return one row for each member of each team with a bot in the season, without people who are merely invited."""
    with_bots = select(Bot.team_id).join(Entry, col(Entry.bot_id) == Bot.id).distinct()
    ids = page.read(with_bots.where(Entry.season_id == page.scope.season_id, *page.about(Bot.id)), Bot.team_id)
    return [
        {"team_id": team.id, "team": team.name, "member": member, "captain": member == team.captain}
        for team in (team_info(page.session, team_id) for team_id in ids)
        for member in team.members
    ]


def _gates(page: _Page) -> list[Row]:
    """Return one row for each version at a promotion gate, without the terms of its test, which are private."""
    entries = select(Entry.id).where(Entry.season_id == page.scope.season_id, *page.about(Entry.bot_id))
    here = (Contest.kind == ContestKind.GATE, col(Contest.entry_id).in_(entries))
    duels = contests(page.session, *here, after=page.after, limit=ROWS)
    page.next = duels[-1].id if len(duels) == ROWS else None
    return [
        {
            "gate_id": duel.known_as,
            "bot": candidate.bot,
            "bot_id": candidate.bot_id,
            "candidate": candidate.version,
            "candidate_id": candidate.version_id,
            "incumbent": incumbent.version,
            "incumbent_id": incumbent.version_id,
            **_cells(duel, "state", "wins", "draws", "losses", "created_at", "ended_at"),
        }
        for duel in duels
        for candidate, incumbent in (duel.versions,)
    ]


def _panels(page: _Page) -> list[Row]:
    statement = (
        select(Contest, Bot, BotVersion.number)
        .join(BotVersion, col(BotVersion.id) == Contest.candidate_id)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .where(Contest.kind == ContestKind.PANEL, Contest.season_id == page.scope.season_id, *page.about(Bot.id))
    )
    return [
        {
            "panel_id": row.public_id,
            "bot": bot.name,
            "bot_id": bot.id,
            "version": number,
            "version_id": row.candidate_id,
            **_cells(row, "state"),
            "games": row.matches,
            "minimum": row.terms["minimum"],
            **{name: row.result[name] for name in ("points", "elo", "se")},
            **_cells(row, "created_at", "ended_at"),
        }
        for row, bot, number in page.read(statement, Contest.id)
    ]


STANDING = (
    "division", "rank", "tied", "rank_low", "rank_high", "author", "team", "bot", "version", "bot_id", "version_id",
    "language", "elo", "se", "low", "high", "season_elo", "season_se", "plackett_luce", "gap_se", "prior_elo",
    "prior_sd", "parent_id", "games", "bot_games", "wins", "draws", "losses", "timeouts", "other_faults", "finalist",
    "finals_place",
)  # fmt: skip
"""Columns from a ranking's rows."""


def _standings(page: _Page) -> list[Row]:
    """Return the newest ranking: one row for each bot in order of places, then versions that were active before."""
    board = leaderboard(page.session, page.scope.season_id)
    listed = len(board.standings["rows"])
    every = list(enumerate([*board.standings["rows"], *board.standings["unranked"]]))
    ranked = {**_cells(board, "snapshot_id", "log_sha256"), "ranked_at": _cell(board.created_at), "final": board.final}
    page.next = page.after + ROWS if page.after + ROWS < len(every) else None
    return [
        {"active": place < listed} | {name: _cell(row.get(name)) for name in STANDING} | ranked
        for place, row in every[page.after : page.after + ROWS]
        if page.scope.bot_id in {None, row["bot_id"]}
    ]


def _sources(page: _Page) -> list[Row]:
    statement = (
        select(BotVersion, Bot.name, User.name)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(_public(page.scope.season_id), *page.about(BotVersion.bot_id))
    )
    return [
        {
            "version_id": version.id,
            "author": author,
            "bot": bot,
            "version": version.number,
            **_cells(version, "bot_id", "language", "filename", "size_bytes", "source_sha256"),
        }
        for version, bot, author in page.read(statement, BotVersion.id)
    ]


def public_source(session: Session, season_id: int, version_id: int) -> BotVersion:
    """Return a version whose source is public. Raises NotFound."""
    version = session.exec(select(BotVersion).where(_public(season_id), BotVersion.id == version_id)).first()
    if version is None:
        raise NotFound("source", version_id)
    return version


def _public(season_id: int) -> ColumnElement[bool]:
    """Return the condition on versions that the season publishes their sources, if it does so: of those that played for
    an entry in its own matches, not only against its panel, at a gate or at an author's request.
    """
    published = (
        select(Season.id)
        .join(RatingSnapshot, col(RatingSnapshot.season_id) == Season.id)
        .where(Season.id == season_id, Season.sources == SourcesFrom.CLOSED, col(RatingSnapshot.final).is_(True))
    )
    played = (
        select(Participant.version_id)
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(col(Match.season_id).in_(published), col(Match.state).in_(WITH_RESULT))
        .where(col(Series.purpose).in_([Purpose.LADDER, Purpose.FINALS, *OF_EVALUATIONS]))
    )
    return col(BotVersion.id).in_(played)


# Evaluations, from which anybody can repeat every draw and recompute every place ------------------------------------

EVALUATION = (
    "number", "name", "format", "rounds", "matches", "rated", "stage", "keep", "further", "third_place", "rules",
    "tie_breaks", "state", "reason", "due_at",
)  # fmt: skip


def _evaluations(page: _Page) -> list[Row]:
    return [
        {"evaluation_id": row.id, **_cells(row, *EVALUATION, "created_at", "ended_at")}
        for row in page.read(select(Contest).where(*_of_scope(page)), Contest.id)
    ]


def _evaluation_players(page: _Page) -> list[Row]:
    """Return one row for each version in an evaluation's field; a page covers one evaluation."""
    statement = (
        select(ContestPlayer, Bot.name, BotVersion.number)
        .join(Bot, col(Bot.id) == ContestPlayer.bot_id)
        .join(BotVersion, col(BotVersion.id) == ContestPlayer.version_id)
        .where(
            col(ContestPlayer.contest_id).in_(page.read(select(Contest.id).where(*_of_scope(page)), Contest.id, 1)),
            *page.about(ContestPlayer.bot_id),
        )
        .order_by(col(ContestPlayer.seed))
    )
    return [
        {
            "evaluation_id": row.contest_id,
            "seed": row.seed,
            "bot": bot,
            "version": number,
            **_cells(row, "bot_id", "version_id", "place", "figures", "gone_after"),
        }
        for row, bot, number in page.session.exec(statement)
    ]


def _evaluation_pairings(page: _Page) -> list[Row]:
    """Return one row for each pairing and each bye. At larger tables, `players` and `points` list all of them."""
    statement = (
        select(Meeting.id, Meeting.contest_id)
        .join(Contest, col(Contest.id) == Meeting.contest_id)
        .where(Contest.season_id == page.scope.season_id, col(Contest.kind).in_(EVALUATIONS))
    )
    if page.scope.bot_id is not None:
        theirs = select(MeetingPlayer.meeting_id).join(BotVersion, col(BotVersion.id) == MeetingPlayer.version_id)
        statement = statement.where(col(Meeting.id).in_(theirs.where(BotVersion.bot_id == page.scope.bot_id)))
    of = dict(page.read(statement, Meeting.id))
    large = page.session.get_one(Season, page.scope.season_id).seats > 2
    rows = []
    for meeting in sorted(drawn(page.session, with_players(col(Meeting.id).in_(of))), key=lambda meeting: meeting.id):
        points = (None, None) if meeting.points is None else (*meeting.points, 0.0)
        row: Row = {
            "pairing_id": meeting.id,
            "evaluation_id": of[meeting.id],
            "round": meeting.round,
            "board": meeting.board,
            "first_id": meeting.players[0],
            "second_id": (*meeting.players, None)[1],
            "first_points": points[0],
            "second_points": points[1],
        }
        if large:
            row |= {"players": _cell([*meeting.players]), "points": _cell(meeting.points and [*meeting.points])}
        rows.append(row)
    return rows


def _of_scope(page: _Page) -> list[ColumnElement[bool]]:
    """Return the condition that an evaluation belongs to the season, and the bot to the evaluation."""
    with_it = select(ContestPlayer.contest_id).where(*page.about(ContestPlayer.bot_id))
    wanted = [col(Contest.season_id) == page.scope.season_id, col(Contest.kind).in_(EVALUATIONS)]
    return wanted if page.scope.bot_id is None else [*wanted, col(Contest.id).in_(with_it)]


def _matches(page: _Page) -> list[Row]:
    matches = page.read(_shown(page, Match), Match.id)
    rulings = page.session.exec(select(VoidedMatch).where(col(VoidedMatch.match_id).in_([row.id for row in matches])))
    rejudged = {ruling.match_id: ruling.rejudged_id for ruling in rulings}
    reasons = uncounted(page.session, matches)
    untold = withheld(page.session, matches)
    return [
        {
            "match_id": match.id,
            **_cells(match, "series_id", "number", "state", "rated", "asked"),
            "uncounted": _cell(why.cause) if (why := reasons[match.id]) else None,
            "voided": match.id in rejudged,
            "rejudged_as": rejudged.get(match.id),
            "commitment": match.commitment,
            "seed": match.seed.hex() if match.state is MatchState.DONE and match.id not in untold else None,
            **_cells(match, "deal", "attempt"),
            "transcript_sha256": None if match.id in untold else match.transcript_sha256,
            "comeback": None if match.id in untold else match.comeback,
            **_cells(match, "created_at", "finished_at"),
        }
        for match in matches
    ]


def _shown(page: _Page, what: Any) -> Any:
    return select(what).where(Match.season_id == page.scope.season_id, SHOWN, *page.of(Match.id))


LEFT_OUT = {"finished_at", "fault_why"}
"""The column of a participant that its match has, and the one that may be withheld."""

FARED = [
    name for name in Participant.model_fields if name not in LEFT_OUT | {"match_id", "seat", "bot_id", "version_id"}
]


def _participants(page: _Page) -> list[Row]:
    matches = page.read(_shown(page, Match), Match.id)
    untold = withheld(page.session, matches)
    return [
        {
            **_cells(seat, "match_id", "seat"),
            "author": seat.author,
            "bot": seat.bot,
            "version": seat.number,
            **_cells(seat, "bot_id", "version_id", *FARED),
            "fault_why": None if seat.match_id in untold else seat.fault_why,
        }
        for seat in seated(page.session, [match.id for match in matches])
    ]


def _latencies(page: _Page) -> list[Row]:
    statement = (
        select(LatencySummary)
        .where(col(LatencySummary.match_id).in_(page.read(_shown(page, Match.id), Match.id)))
        .order_by(col(LatencySummary.match_id), col(LatencySummary.seat), col(LatencySummary.command))
    )
    return [_cells(row, *LatencySummary.model_fields) for row in page.session.exec(statement)]


def _attempts(page: _Page) -> list[Row]:
    statement = select(Attempt).where(Attempt.season_id == page.scope.season_id, shown_attempt())
    attempts = page.read(statement.where(*page.of(Attempt.match_id)), Attempt.id)
    machines = machine_numbers(page.session, {row.worker for row in attempts})
    return [
        {
            "attempt_id": row.id,
            **_cells(row, "series_id", "match_id"),
            "series_attempt": row.attempt,
            "seed_number": row.seed_number,
            "machine": machines.get(row.worker),
            "cause": row.cause,
            "detail": told(row.cause, row.detail),
            "evidence": json.dumps(told_evidence(row.evidence), sort_keys=True),
            **_cells(row, "started_at", "finished_at"),
        }
        for row in attempts
    ]


NUMBERED = {"gate_id": ContestKind.GATE, "panel_id": ContestKind.PANEL}
"""The columns with the number of a series' contest, by the kind of this."""


def _series(page: _Page) -> list[Row]:
    statement = select(Series).where(Series.season_id == page.scope.season_id, shown_series())
    if page.scope.bot_id is not None:
        theirs = select(Match.series_id).join(Participant, col(Participant.match_id) == Match.id)
        statement = statement.where(col(Series.id).in_(theirs.where(Participant.bot_id == page.scope.bot_id)))
    series = page.read(statement, Series.id)
    machines = machine_numbers(page.session, {row.worker for row in series})
    met = select(Meeting.id, Contest).join(Contest, col(Contest.id) == Meeting.contest_id)
    met = met.where(col(Meeting.id).in_({row.meeting_id for row in series}))
    of = {(meeting_id, contest.kind): contest.public_id for meeting_id, contest in page.session.exec(met)}
    return [
        {
            "series_id": row.id,
            **_cells(row, "purpose", "round"),
            **{name: of.get((row.meeting_id or 0, kind)) for name, kind in NUMBERED.items()},
            "pairing_id": row.meeting_id if row.purpose in OF_EVALUATIONS else None,
            "state": row.state.value,
            "attempts": row.attempt,
            "machine": machines.get(row.worker),
            **_cells(row, "created_at", "started_at", "finished_at"),
        }
        for row in series
    ]


_READERS: Mapping[Exported, Callable[[_Page], list[Row]]] = {
    Exported.SEASON: _season,
    Exported.DIVISIONS: _divisions,
    Exported.ENTRIES: _entries,
    Exported.TEAMS: _teams,
    Exported.GATES: _gates,
    Exported.PANELS: _panels,
    Exported.STANDINGS: _standings,
    Exported.EVALUATIONS: _evaluations,
    Exported.EVALUATION_PLAYERS: _evaluation_players,
    Exported.EVALUATION_PAIRINGS: _evaluation_pairings,
    Exported.SERIES: _series,
    Exported.MATCHES: _matches,
    Exported.PARTICIPANTS: _participants,
    Exported.LATENCIES: _latencies,
    Exported.ATTEMPTS: _attempts,
    Exported.SOURCES: _sources,
}
