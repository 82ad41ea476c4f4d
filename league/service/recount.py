"""Making a stored ranking again from the log and comparing every figure: anybody with the database can.

What can differ: somebody changed a stored ranking or a result behind the league's back; the log has legitimately
changed since, and a refit is due; or this is another version of the method. Names of bots, authors and teams are not
compared, for they may change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from sqlmodel import Session

from league.errors import NotFound
from league.ratings import RatingConfig
from league.service.ranking import ranking
from league.service.standings import leaderboard
from league.tables import Season

TOLERANCE = 1e-6
"""Elo by which figures of two machines may differ: their linear algebra rounds differently, by a billionth or so."""

MOST_DIFFERENCES = 20

NAMES = frozenset({"bot", "author", "team", "language"})
BESIDE = frozenset({"latency"})
"""What is stored with a ranking for its page, and does not follow from the log."""

RULES = frozenset({"finals_log"})
"""What a stored configuration has beside the model's."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What a recount found. `snapshot_id` None: nothing was ranked yet, so there is nothing to compare.

    `differences` are sentences, at most `MOST_DIFFERENCES`; none: every figure is as stored. `refit_due`: the log has
    changed since, so differences are to be expected.
    """

    season_id: int
    snapshot_id: int | None
    log_sha256: str | None
    games: int
    differences: tuple[str, ...]
    refit_due: bool

    @property
    def same(self) -> bool:
        """Nothing differs."""
        return not self.differences


def recount(session: Session, season_id: int) -> Recount:
    """Compare the newest ranking with what its configuration makes of the log of now. Raises NotFound."""
    season = session.get(Season, season_id)
    if season is None:
        raise NotFound("season", season_id)
    stored = leaderboard(session, season_id)
    due = season.log_serial != season.rated_serial and not stored.final
    if stored.snapshot_id is None:
        return Recount(season_id, None, None, 0, (), due)
    try:
        config = RatingConfig.of_json({key: value for key, value in stored.config.items() if key not in RULES})
    except ValueError as error:
        return Recount(season_id, stored.snapshot_id, stored.log_sha256, 0, (f"The ranking was {error}.",), due)
    made = ranking(session, season_id, config)
    before = {"log_sha256": stored.log_sha256, "config": stored.config, **_by_version(stored.standings)}
    after = {"log_sha256": made.log_sha256, "config": made.config, **_by_version(made.standings)}
    found = tuple(islice(_differences("", before, after), MOST_DIFFERENCES))
    return Recount(season_id, stored.snapshot_id, made.log_sha256, made.standings["totals"]["rated"], found, due)


def _by_version(standings: Mapping[str, Any]) -> dict[str, Any]:
    """Rows by version instead of by place, so that one more does not look like a change of all below it."""
    rows = {
        kind: {f"version {row['version_id']}": row for row in standings.get(kind, ())} for kind in ("rows", "unranked")
    }
    return {key: value for key, value in standings.items() if key not in BESIDE} | rows


def _differences(where: str, stored: Any, made: Any) -> Iterator[str]:
    """Sentences, for each place where two documents differ."""
    if isinstance(stored, dict) and isinstance(made, dict):
        for key in sorted((stored.keys() | made.keys()) - NAMES):
            yield from _differences(f"{where}.{key}" if where else key, stored.get(key), made.get(key))
    elif isinstance(stored, list | tuple) and isinstance(made, list | tuple):
        for number, (one, other) in enumerate(zip_longest(stored, made)):
            yield from _differences(f"{where}[{number}]", one, other)
    elif not _same(stored, made):
        yield f"{where} is stored as {_short(stored)}, and the log gives {_short(made)}."


def _same(stored: Any, made: Any) -> bool:
    if isinstance(stored, float | int) and isinstance(made, float | int):
        return math.isclose(stored, made, rel_tol=0, abs_tol=TOLERANCE)
    return bool(stored == made)


def _short(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return "something"
    return "nothing" if value is None else str(value)
