"""Compares an archive's matches with their transcripts: players, results, response times and attempts.

The tables of an archive are put together to the record that a server gives of each match, so that
`league.verification.agreement` compares both alike. A bot may have been renamed since it played, but its author's name
and a version's number never change. Older servers did not export the name under which a bot played (`player`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import compress, groupby, zip_longest
from typing import TYPE_CHECKING, Any

from rich.progress import track

from deadheat.cli.console import err
from deadheat.cli.organiser.archive import Archived
from deadheat.cli.organiser.archive_tournaments import Checked
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import Row, rows
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.transcript import BadTranscript, Transcript, decode
from deadheat.engine.verdicts import own_times
from deadheat.league.records.matches import AttemptView, FaultView, LatencyView, MatchDetail, SeatView
from deadheat.league.states import MatchState
from deadheat.league.verification.agreement import disagreements, player, verdict, voids_before

if TYPE_CHECKING:
    from deadheat.league.records.seasons import SeasonDetail


@dataclass(slots=True)
class _Found:
    """The findings about all matches. `again`: why further attempts were needed. `names`: under which names each bot
    played, by its number, and the name that it has now.
    """

    wrong: list[str] = field(default_factory=list)
    repeated: int = 0
    again: Counter[str] = field(default_factory=Counter)
    names: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    now: dict[int, str] = field(default_factory=dict)


def transcripts(archived: Archived) -> Checked:
    """Re-simulate every transcript, and compare it with the tables. Until the final standings, some may be withheld."""
    season = archived.season(archived.season_id)
    public = [season.published_at is not None or bool(row["transcript_sha256"]) for row in _done(archived)]
    played = compress(_done(archived), public)
    seats, times = (_Joined(rows(archived, season.id, table)) for table in ("participants", "latencies"))
    ledger = defaultdict(list)  # the attempts at each match, and those at its series as a whole (None)
    for row in rows(archived, season.id, "attempts"):
        ledger[row["match_id"], row["series_id"]].append(row)
    found = _Found()
    for row in track(played, "transcripts", sum(public), console=err, transient=True, disable=not err.is_terminal):
        match_id = row["match_id"]
        attempts = ledger[None, row["series_id"]] + ledger[match_id, row["series_id"]]
        attempts.sort(key=lambda attempt: attempt["attempt_id"])
        told = _Told(season, row, seats.of(match_id), times.of(match_id), attempts)
        try:
            found.wrong += [f"Match {match_id}: {clause}." for clause in _of_match(archived, told, found)]
        except Refused as error:
            found.wrong.append(f"Match {match_id}: {error}")
    found.wrong += _exchanged(found)
    return Checked("transcripts", _sentence(found, sum(public), len(public)), tuple(found.wrong))


def _done(archived: Archived) -> Iterator[Row]:
    """Yield the rows of finished matches, one by one, because there may be very many."""
    return (row for row in rows(archived, archived.season_id, "matches") if row["state"] == MatchState.DONE)


def _sentence(found: _Found, played: int, done: int) -> str:
    said = [f"{counted(played, 'match', 'matches')} played again"]
    if found.repeated:
        why = ", ".join(f"{cause} {count}" for cause, count in sorted(found.again.items()))
        said.append(f"{counted(found.repeated, 'match', 'matches')} needed a further attempt ({why})")
    if later := done - played:
        said.append(f"not public yet: {later}")
    if renamed := sum(bool(names - {found.now[bot_id]}) for bot_id, names in found.names.items()):
        said.append(f"not compared: the names of {counted(renamed, 'bot')} renamed since")
    return "; ".join(said) + "."


@dataclass(frozen=True, slots=True)
class _Told:
    """The rows about one match."""

    season: SeasonDetail
    row: Row
    seats: Sequence[Row]
    times: Sequence[Row]
    attempts: Sequence[Row]

    def record(self, transcript: Transcript) -> MatchDetail:
        season, row = self.season, self.row
        players = transcript.about.get("players")
        names = players if isinstance(players, list) else []
        columns = "series_id", "state", "rated", "commitment", "seed", "deal", "asked", "attempt", "transcript_sha256"
        return MatchDetail(
            id=row["match_id"],
            season_id=season.id,
            game=season.game,
            variant=season.variant,
            **_some(row, *columns, "comeback", "created_at", "finished_at"),
            seats=tuple(_seat(seat, name) for seat, name in zip_longest(self.seats, names[: len(self.seats)])),
            uncounted=None,
            repeats_id=None,
            not_played="",
            attempts=tuple(map(_attempt, self.attempts)),
            latencies=tuple(map(_latency, self.times)),
        )


def _some(row: Row, *columns: str) -> dict[str, Any]:
    """Return these columns; None for those that the server did not export."""
    return {name: row.get(name) for name in columns}


def _seat(row: Row, name: Any) -> SeatView:
    fault = None
    if row["fault"]:
        fault = FaultView(row["fault"], row["fault_command"], row["fault_elapsed_ms"], row.get("fault_why") or "")
    own = row["seat"], row["bot_id"], row["bot"], row["author"], row["version"]
    told = row["player"] if "player" in row else name if _earlier(row, name) is not None else None
    return SeatView(*own, told, row["rank"], row["points"], fault)


def _earlier(row: Row, name: object) -> str | None:
    """Return the bot's name in a player's, or None if that cannot be the player of this row."""
    before, behind = f"{row['author']}/", f" v{row['version']}"
    if not isinstance(name, str) or not (name.startswith(before) and name.endswith(behind)):
        return None
    return name[len(before) : -len(behind)]


def _attempt(row: Row) -> AttemptView:
    evidence = json.loads(row["evidence"])
    columns = "match_id", "seed_number", "machine", "cause", "detail", "started_at", "finished_at"
    return AttemptView(**_some(row, *columns), seat=evidence.get("seat"), evidence=evidence)


def _latency(row: Row) -> LatencyView:
    mean_ns = row["total_ns"] // max(row["prompts"], 1)
    return LatencyView(row["seat"], row["command"], row["limit_ns"], row["prompts"], mean_ns, row["worst_ns"])


def _of_match(archived: Archived, told: _Told, found: _Found) -> Iterator[str]:
    data = archived.transcript(told.row["match_id"])
    if sha256(data).hexdigest() != told.row["transcript_sha256"]:
        yield "the transcript is not the one in the table"
        return
    try:
        transcript = decode(data)
    except BadTranscript as error:
        yield f"{error}"
        return
    record = told.record(transcript)
    if [seat.seat for seat in record.seats] != list(range(transcript.seats)):
        yield "the table does not have each of its seats once"
        return
    yield from disagreements(transcript, record)
    sums = {key: sum(own_ns) for key, (own_ns, _) in own_times(transcript).items()}
    if sums != {(row["seat"], row["command"]): row["total_ns"] for row in told.times}:
        yield "the sums of its own times are not those in the table"
    for row, seat in zip(told.seats, record.seats, strict=True):
        earlier = _earlier(row, seat.player or player(seat.author, seat.bot, seat.version))
        if earlier is None:
            yield f"seat {seat_number(seat.seat)} played as {seat.player}, which is not of its author and version"
            continue
        found.names[seat.bot_id].add(f"{seat.author}/{earlier}")
        found.now[seat.bot_id] = f"{seat.author}/{seat.bot}"
    if voids := voids_before(record):
        found.repeated += 1
        found.again.update(attempt.cause for attempt in voids)
    right, why = verdict(transcript, ())
    if right is not True:
        yield f"{why}"


def _exchanged(found: _Found) -> Iterator[str]:
    """Find bots with each other's names: a bot may be renamed, but nobody renames two of them in a circle."""
    bots = {name: bot_id for bot_id, name in found.now.items()}
    for bot_id, names in found.names.items():
        for other in {bots[name] for name in names if name in bots} - {bot_id}:
            if bot_id < other and found.now[bot_id] in found.names[other]:
                yield f"Bots {bot_id} and {other} have exchanged names."


class _Joined:
    """The rows of a table by match. They are read when they are needed, because tables are in the order of matches."""

    def __init__(self, table: Iterable[Row]) -> None:
        self._groups = ((match_id, list(found)) for match_id, found in groupby(table, lambda row: row["match_id"]))
        self._next = next(self._groups, None)

    def of(self, match_id: int) -> list[Row]:
        """Return a match's rows. `match_id` must grow from call to call."""
        while self._next is not None and self._next[0] < match_id:
            self._next = next(self._groups, None)
        return self._next[1] if self._next is not None and self._next[0] == match_id else []
