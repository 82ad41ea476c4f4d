"""A season as flat tables, page by page: everything that is public about it, for spreadsheets and scripts.

Each page is a separate query above the last key, so a slow reader holds no transaction open. docs/export.md says
what each column means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlmodel import Session

from deadheat.league.service.exports import evaluations, matches, season, sources
from deadheat.league.service.exports.pages import Page, Scope
from deadheat.league.service.ground.steps import existing
from deadheat.league.tables import Season
from deadheat.league.words import Exported

ROWS = 500
"""The most matches, entries or the like of one page; each may have several rows."""


def export_page(session: Session, scope: Scope, table: Exported, after: int = 0) -> Page:
    """Return the rows of the next `ROWS` matches (entries, teams, ...) above `after`. Raises NotFound."""
    existing(session, Season, scope.season_id)
    return _READERS[table](session, scope, after, ROWS)


_READERS: Mapping[Exported, Callable[[Session, Scope, int, int], Page]] = {
    Exported.SEASON: season.season,
    Exported.DIVISIONS: season.divisions,
    Exported.ENTRIES: season.entries,
    Exported.TEAMS: season.teams,
    Exported.GATES: season.gates,
    Exported.PANELS: season.panels,
    Exported.STANDINGS: season.standings,
    Exported.EVALUATIONS: evaluations.evaluations,
    Exported.EVALUATION_PLAYERS: evaluations.evaluation_players,
    Exported.EVALUATION_PAIRINGS: evaluations.evaluation_pairings,
    Exported.SERIES: matches.series,
    Exported.MATCHES: matches.matches,
    Exported.PARTICIPANTS: matches.participants,
    Exported.LATENCIES: matches.latencies,
    Exported.ATTEMPTS: matches.attempts,
    Exported.SOURCES: sources.sources,
}
