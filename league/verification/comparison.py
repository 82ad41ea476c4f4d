"""Compares a published ranking with its log, figure by figure. It needs no database, so anybody can do it.

There are three reasons for differences: somebody tampered with a stored ranking or a result; the log has legitimately
changed since, and a refit is due; or this is another version of the method. Names of bots, authors and teams are not
compared, because they may change; neither is what is merely shown on the same page.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import groupby, islice, zip_longest
from typing import Any

from deadheat.league.ratings import Log, Prior, Rating, RatingConfig, rate
from deadheat.league.ratings.table import FIGURES
from deadheat.league.verification.fairness import MOST_DIFFERENCES

TOLERANCE = 1e-6
"""Elo by which figures of two machines may differ: their linear algebra rounds differently, by a billionth or so."""

NAMES = frozenset({"bot", "author", "team", "language"})
BESIDE = frozenset({"latency", "rules", "leads"})
"""Data stored with a ranking for its page, which do not follow from the log, or only say how sure the rest is."""

RULES = frozenset({"finals_log"})
"""The parts of a stored configuration that do not belong to the model."""

Standings = Mapping[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recount:
    """The result of a recount. `snapshot_id` is None if nothing has been ranked, so there is nothing to compare.

    `differences` are sentences, at most `MOST_DIFFERENCES`; none: every figure is as stored. `refit_due`: the log has
    changed since, so differences are to be expected; None: this is unknown.
    """

    season_id: int
    snapshot_id: int | None
    log_sha256: str | None
    games: int
    differences: tuple[str, ...]
    refit_due: bool | None

    @property
    def same(self) -> bool:
        """Whether the comparison found no difference."""
        return not self.differences


def model_of(stored: Mapping[str, Any]) -> RatingConfig:
    """Return the model's part of a stored configuration. Raises ValueError (the end of a sentence) if it belongs to
    another method.
    """
    return RatingConfig.of_json({key: value for key, value in stored.items() if key not in RULES})


def differences(stored: Standings, made: Standings) -> tuple[str, ...]:
    return tuple(islice(_differences("", _by_version(stored), _by_version(made)), MOST_DIFFERENCES))


def remade(standings: Standings, config: RatingConfig, log: Log, passed: Set[int]) -> dict[str, Any]:
    """Return the standings with every figure that follows from the log recomputed, from the priors stored in them. The
    priors of versions that `passed` their gates are recomputed too.

    Of bots that were ranked by the finals' matches alone, only the rating by the whole season is recomputed.
    """

    def widened(row: Row) -> Row:
        """Return the row with the width of the version's link to the previous version."""
        width = config.passed_sd_elo if row["version_id"] in passed else None
        return row if row["parent_id"] is None else {**row, "prior_sd": width}

    standings = {**standings, **{kind: [*map(widened, standings[kind])] for kind in ("rows", "unranked")}}
    versions = [*standings["rows"], *standings["unranked"]]
    priors = {
        str(row["version_id"]): Prior(row["parent_id"] and str(row["parent_id"]), row["prior_elo"], row["prior_sd"])
        for row in versions
    }
    fields = [list(rows) for _, rows in groupby(standings["rows"], _field)]
    ranked_fields = [[str(row["version_id"]) for row in field] for field in fields if field[0]["rank"] is not None]
    table = rate(log, config, priors, ranked_fields)
    entries = {int(entry.player): entry for entry in table.entries}
    ranked: list[Row] = []
    taken: dict[int, int] = {}
    for field in fields:
        division = field[0]["division"]
        before = taken.get(division, 0)
        ranked += [_figures(row, entries[row["version_id"]], before) for row in field]
        taken[division] = before + len(field)
    pairs = standings["pairs"]["version_ids"]
    return {
        **standings,
        "rows": ranked,
        "unranked": [_figures(row, entries[row["version_id"]]) for row in standings["unranked"]],
        "totals": {**standings["totals"], "rated": log.games},
        "fit": asdict(table.fit()),
        "seats": [asdict(effect) for effect in table.seats()],
        "pairs": {"version_ids": pairs, **asdict(table.pairs([str(version_id) for version_id in pairs]))},
    }


def _field(row: Row) -> tuple[int, bool, bool, bool, int | None]:
    """Return the properties that rows ranked against each other share (see `league.service.rankings.ranking`)."""
    in_finals = (row["season_elo"] is None, row.get("finals_place"))  # older rankings do not have these
    return row["division"], row["rank"] is None, row["finalist"], *in_finals


def _figures(row: Row, entry: Rating, before: int = 0) -> Row:
    """Return the row with recomputed figures. `before`: the number of places in its division that are already taken."""
    if row["season_elo"] is not None:
        return {**row, "season_elo": entry.elo, "season_se": entry.se}
    made: dict[str, Any] = {**row, **{name: getattr(entry, name) for name in FIGURES}}
    if entry.place is not None:
        place = entry.place
        made |= {"rank": before + place.rank, "rank_low": before + place.low, "rank_high": before + place.high}
        made["gap_se"] = place.gap_se
    return made


def _by_version(standings: Standings) -> dict[str, Any]:
    """Return the rows by version instead of by place, so that an additional row does not shift all others."""
    rows = {
        kind: {f"version {row['version_id']}": row for row in standings.get(kind, ())} for kind in ("rows", "unranked")
    }
    return {key: value for key, value in standings.items() if key not in BESIDE} | rows


def _differences(where: str, stored: Any, made: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(made, Mapping):
        for key in sorted((stored.keys() | made.keys()) - NAMES):
            yield from _differences(f"{where}.{key}" if where else key, stored.get(key), made.get(key))
    elif isinstance(stored, list | tuple) and isinstance(made, list | tuple):
        for number, (value, other) in enumerate(zip_longest(stored, made)):
            yield from _differences(f"{where}[{number}]", value, other)
    elif isinstance(stored, float | int) and isinstance(made, float | int):
        if not math.isclose(stored, made, rel_tol=0, abs_tol=TOLERANCE):
            yield f"{where} is stored as {stored}, but the log gives {made}."
    elif stored != made:
        yield f"{where} is stored as {_short(stored)}, but the log gives {_short(made)}."


def _short(value: Any) -> str:
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return "something"
    return "nothing" if value is None else str(value)
