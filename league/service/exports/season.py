"""A season itself as flat tables: its settings, divisions, entries, teams, gates, panels and newest ranking."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from deadheat.league.records.seasons import Season
from deadheat.league.service.exports.pages import Page, Row, Scope, cell, cells
from deadheat.league.service.people.teams import team_info
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.seasons.entries import ENTERED
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views.contests import contests
from deadheat.league.states import ContestKind
from deadheat.league.tables import Bot, BotVersion, Contest, Entry


def season(session: Session, scope: Scope, _after: int, _limit: int) -> Page:
    """Return one row: the season's settings and dates."""
    return [cells(season_info(session, scope.season_id), *_season_columns())], None


def _season_columns() -> list[str]:
    """Return the columns of the table, without those that have tables of their own or follow from others. The dates of
    the finals come right after their settings.
    """
    dates = ["qualified_at", "finals_done_at"]
    left = [name for name in Season.model_fields if name not in {"divisions", "plays", "rounded", *dates}]
    behind = left.index("closes_when_done") + 1
    return left[:behind] + dates + left[behind:]


def divisions(session: Session, scope: Scope, _after: int, _limit: int) -> Page:
    """Return one row for each division, the highest first."""
    found = season_info(session, scope.season_id).divisions
    return [{"division": row.number, "name": row.name, "size": row.size, "entries": row.entries} for row in found], None


def entries(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each bot that takes part or has taken part."""
    statement = ENTERED.where(col(Entry.id) > after, *scope.about(Entry.bot_id)).order_by(None)
    found = session.exec(statement.order_by(col(Entry.id)).limit(limit), params={"season": scope.season_id}).all()
    rows = [
        {
            "author": author,
            "team": team,
            "bot": bot,
            "version": number,
            **cells(entry, "bot_id", "version_id", "follows"),
            "gated": entry.gate is not None,
            **cells(entry, "division", "finals_seed", "finals_place"),
            "absence": None if absent is None else absent.absence.value,
            "absence_reason": None if absent is None else absent.reason,
            **cells(entry, "waits_for_panel"),
            "rests": entry.rest_reason or None,
            "entered_at": entry.created_at.isoformat(),
        }
        for entry, bot, author, team, number, absent, _ in found
    ]
    return rows, found[-1][0].id if len(found) == limit else None


def teams(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each member of each team with a bot in the season, without people who are merely invited."""
    with_bots = (
        select(Bot.team_id)
        .join(Entry, col(Entry.bot_id) == Bot.id)
        .where(Entry.season_id == scope.season_id, col(Bot.team_id) > after, *scope.about(Bot.id))
        .distinct()
        .order_by(col(Bot.team_id))
        .limit(limit)
    )
    ids = [team_id for team_id in session.exec(with_bots) if team_id is not None]
    rows: list[Row] = []
    for team in (team_info(session, team_id) for team_id in ids):
        rows += (
            {"team_id": team.id, "team": team.name, "member": member, "captain": member == team.captain}
            for member in team.members
        )
    return rows, ids[-1] if len(ids) == limit else None


def gates(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each version at a promotion gate, without the terms of its test, which are private."""
    entries = select(Entry.id).where(Entry.season_id == scope.season_id, *scope.about(Entry.bot_id))
    here = (Contest.kind == ContestKind.GATE, col(Contest.entry_id).in_(entries))
    found = contests(session, *here, after=after, limit=limit)
    rows = [
        {
            "gate_id": one.known_as,
            "bot": candidate.bot,
            "bot_id": candidate.bot_id,
            "candidate": candidate.version,
            "candidate_id": candidate.version_id,
            "incumbent": incumbent.version,
            "incumbent_id": incumbent.version_id,
            **cells(one, "state", "wins", "draws", "losses", "created_at", "ended_at"),
        }
        for one in found
        for candidate, incumbent in (one.versions,)
    ]
    return rows, found[-1].id if len(found) == limit else None


def panels(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each version that played the season's panel."""
    statement = (
        select(Contest, Bot, BotVersion.number)
        .join(BotVersion, col(BotVersion.id) == Contest.candidate_id)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .where(Contest.kind == ContestKind.PANEL, Contest.season_id == scope.season_id, Contest.id > after)
        .where(*scope.about(Bot.id))
        .order_by(col(Contest.id))
        .limit(limit)
    )
    found = session.exec(statement).all()
    rows = [
        {
            "panel_id": row.public_id,
            "bot": bot.name,
            "bot_id": bot.id,
            "version": number,
            "version_id": row.candidate_id,
            **cells(row, "state"),
            "games": row.matches,
            "minimum": row.terms["minimum"],
            **row.result,
            **cells(row, "created_at", "ended_at"),
        }
        for row, bot, number in found
    ]
    return rows, found[-1][0].id if len(found) == limit else None


STANDING = (
    "division", "rank", "tied", "rank_low", "rank_high", "author", "team", "bot", "version", "bot_id", "version_id",
    "language", "elo", "se", "low", "high", "season_elo", "season_se", "plackett_luce", "gap_se", "prior_elo",
    "prior_sd", "parent_id", "games", "bot_games", "wins", "draws", "losses", "timeouts", "other_faults", "finalist",
    "finals_place",
)  # fmt: skip
"""Columns from a ranking's rows."""


def standings(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return the newest ranking: one row for each bot in order of places, then versions that were active before."""
    board = leaderboard(session, scope.season_id)
    every: Sequence[Row] = [*board.standings["rows"], *board.standings["unranked"]]
    listed = len(board.standings["rows"])
    ranked = {**cells(board, "snapshot_id", "log_sha256"), "ranked_at": cell(board.created_at), "final": board.final}
    chosen = list(enumerate(every))[after : after + limit]
    rows = [
        {"active": place < listed} | {name: cell(row.get(name)) for name in STANDING} | ranked
        for place, row in chosen
        if scope.bot_id in {None, row["bot_id"]}
    ]
    return rows, after + limit if after + limit < len(every) else None
