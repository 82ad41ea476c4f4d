"""A season as flat tables, page by page: everything that is public about it, for spreadsheets and scripts.

Each page is a query of its own above the last key, so that a slow reader holds no transaction open. docs/export.md says
what each column means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlmodel import Session

from league.errors import NotFound
from league.service import exported_matches, exported_season
from league.service.export_pages import Page, Scope
from league.tables import Season
from league.words import Exported


def export_page(session: Session, scope: Scope, table: Exported, after: int = 0, limit: int = 500) -> Page:
    """The rows of the next `limit` matches (entries, teams, ...) above `after`. Raises NotFound."""
    if session.get(Season, scope.season_id) is None:
        raise NotFound("season", scope.season_id)
    return _READERS[table](session, scope, after, limit)


_READERS: Mapping[Exported, Callable[[Session, Scope, int, int], Page]] = {
    Exported.SEASON: exported_season.season,
    Exported.DIVISIONS: exported_season.divisions,
    Exported.ENTRIES: exported_season.entries,
    Exported.TEAMS: exported_season.teams,
    Exported.GATES: exported_season.gates,
    Exported.STANDINGS: exported_season.standings,
    Exported.SERIES: exported_matches.series,
    Exported.MATCHES: exported_matches.matches,
    Exported.PARTICIPANTS: exported_matches.participants,
    Exported.LATENCIES: exported_matches.latencies,
    Exported.ATTEMPTS: exported_matches.attempts,
}
