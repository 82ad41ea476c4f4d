"""The checks of `deadheat season verify`: members, transcripts, names, ranking, seeds, evaluations, stages and log.

The tables of an archive are put together to the record that a server gives of each match, so that
`league.verification.agreement` compares both alike. A bot may have been renamed since it played, but its author's name
and a version's number never change. Older servers did not export the name under which a bot played (`player`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import compress, groupby, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import track

from deadheat.cli.console import err, fail
from deadheat.cli.organiser.archive import Archived, grouped, opened
from deadheat.cli.organiser.archive_tournaments import Checked, evaluations, finals
from deadheat.cli.output import Output
from deadheat.cli.rate import Row, dice_of, recount_of
from deadheat.cli.server.wire import Refused
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.transcript import BadTranscript, Transcript, decode
from deadheat.engine.verdicts import own_times
from deadheat.league.records.matches import AttemptView, FaultView, LatencyView, MatchDetail, SeatView
from deadheat.league.states import MatchState
from deadheat.league.verification.agreement import HOSTS_WORD, disagreements, player, verdict, voids_before
from deadheat.league.verification.fairness import record_sha256

if TYPE_CHECKING:
    from deadheat.league.records.seasons import SeasonDetail


@dataclass(slots=True)
class _Findings:
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
    season = archived.record
    public = [season.published_at is not None or bool(row["transcript_sha256"]) for row in _done(archived)]
    played = compress(_done(archived), public)
    seats, times = (_Joined(archived.rows(table)) for table in ("participants", "latencies"))
    ledger = grouped(archived.rows("attempts"), "match_id", "series_id")
    findings = _Findings()
    for row in track(played, "transcripts", sum(public), console=err, transient=True, disable=not err.is_terminal):
        match_id = row["match_id"]
        attempts = ledger[None, row["series_id"]] + ledger[match_id, row["series_id"]]
        attempts.sort(key=lambda attempt: attempt["attempt_id"])
        match = _MatchRows(season, row, seats.of(match_id), times.of(match_id), attempts)
        try:
            findings.wrong += [f"Match {match_id}: {clause}." for clause in _of_match(archived, match, findings)]
        except Refused as error:
            findings.wrong.append(f"Match {match_id}: {error}")
    bots = {name: bot_id for bot_id, name in findings.now.items()}
    for bot_id, names in findings.names.items():  # a bot may be renamed, but nobody renames two of them in a circle
        for other in {bots[name] for name in names if name in bots} - {bot_id}:
            if bot_id < other and findings.now[bot_id] in findings.names[other]:
                findings.wrong.append(f"Bots {bot_id} and {other} have exchanged names.")
    clauses = [f"{counted(sum(public), 'match', 'matches')} played again"]
    if findings.repeated:
        why = ", ".join(f"{cause} {count}" for cause, count in sorted(findings.again.items()))
        clauses.append(f"{counted(findings.repeated, 'match', 'matches')} needed a further attempt ({why})")
    if later := len(public) - sum(public):
        clauses.append(f"not public yet: {later}")
    if renamed := sum(bool(names - {findings.now[bot_id]}) for bot_id, names in findings.names.items()):
        clauses.append(f"not compared: the names of {counted(renamed, 'bot')} renamed since")
    return Checked("transcripts", f"{'; '.join(clauses)}.", tuple(findings.wrong))


def _done(archived: Archived) -> Iterator[Row]:
    """Yield the rows of finished matches, one by one, because there may be very many."""
    return (row for row in archived.rows("matches") if row["state"] == MatchState.DONE)


@dataclass(frozen=True, slots=True)
class _MatchRows:
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
    played_as = row["player"] if "player" in row else name if _earlier(row, name) is not None else None
    return SeatView(*own, played_as, row["rank"], row["points"], fault)


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


def _of_match(archived: Archived, match: _MatchRows, findings: _Findings) -> Iterator[str]:
    data = archived.transcript(match.row["match_id"])
    if sha256(data).hexdigest() != match.row["transcript_sha256"]:
        yield "the transcript is not the one in the table"
        return
    try:
        transcript = decode(data)
    except BadTranscript as error:
        yield f"{error}"
        return
    record = match.record(transcript)
    if [seat.seat for seat in record.seats] != list(range(transcript.seats)):
        yield "the table does not have each of its seats once"
        return
    yield from disagreements(transcript, record)
    sums = {key: sum(own_ns) for key, (own_ns, _) in own_times(transcript).items()}
    if sums != {(row["seat"], row["command"]): row["total_ns"] for row in match.times}:
        yield "the sums of its own times are not those in the table"
    for row, seat in zip(match.seats, record.seats, strict=True):
        earlier = _earlier(row, seat.player or player(seat.author, seat.bot, seat.version))
        if earlier is None:
            yield f"seat {seat_number(seat.seat)} played as {seat.player}, which is not of its author and version"
            continue
        findings.names[seat.bot_id].add(f"{seat.author}/{earlier}")
        findings.now[seat.bot_id] = f"{seat.author}/{seat.bot}"
    if voids := voids_before(record):
        findings.repeated += 1
        findings.again.update(attempt.cause for attempt in voids)
    right, why = verdict(transcript, ())
    if right is not True:
        yield f"{why}"


class _Joined:
    """The rows of a table by match. They are read when they are needed, because tables are in the order of matches."""

    def __init__(self, table: Iterable[Row]) -> None:
        self._groups = ((match_id, list(group)) for match_id, group in groupby(table, lambda row: row["match_id"]))
        self._next = next(self._groups, None)

    def of(self, match_id: int) -> list[Row]:
        """Return a match's rows. `match_id` must grow from call to call."""
        while self._next is not None and self._next[0] < match_id:
            self._next = next(self._groups, None)
        return self._next[1] if self._next is not None and self._next[0] == match_id else []


MOST_SHOWN = 20
"""The most sentences shown for one check."""


def verify(file: Annotated[Path, typer.Argument(help="An archive of `season archive`.")]) -> Iterator[Output]:
    """Check an archive by itself: transcripts by the rules and against all tables, the ranking, the dice, all
    evaluations, the finals and the log.

    Exit code 1 if anything is wrong.
    """
    failed = 0
    with opened(file) as archived:
        for check in checks(archived):
            failed += bool(check.wrong)
            answer = {"check": check.name, "verified": not check.wrong, "wrong": list(check.wrong)}
            yield Output(answer | {"detail": check.sentence}, _lines(check))
        yield Output(text=HOSTS_WORD)
    if failed:
        fail(f"{file}: {counted(failed, 'check')} failed")


def _lines(check: Checked) -> Iterator[str]:
    yield f"{'WRONG' if check.wrong else 'right'}  {check.name}: {check.sentence}"
    yield from (f"       {sentence}" for sentence in check.wrong[:MOST_SHOWN])
    if len(check.wrong) > MOST_SHOWN:
        yield f"       and {len(check.wrong) - MOST_SHOWN} more"


def checks(archived: Archived) -> Iterator[Checked]:
    """Run all checks. Whatever is missing counts as wrong."""
    for check in (members, transcripts, players, ranking, dice, evaluations, finals, sources, log):
        try:
            yield check(archived)
        except Exception as error:  # noqa: BLE001  whatever an archive makes a check stumble over is wrong
            yield Checked(check.__name__, "they cannot be read.", (f"{type(error).__name__}: {error}",))


def members(archived: Archived) -> Checked:
    wrong = tuple(archived.wrong_members())
    return Checked("members", f"the manifest names {counted(archived.member_count, 'member')}.", wrong)


def ranking(archived: Archived) -> Checked:
    """Recompute the newest ranking from the tables. Before it is published, it may lag behind them."""
    recount = recount_of(archived, archived.season_id)
    lags = archived.record.published_at is None and len(recount.differences) == 1
    if lags and "log_sha256" in recount.differences[0]:
        return Checked("ranking", "not compared: results have arrived since it was made, and it is not final.", ())
    sentence = f"computed again from {counted(recount.games, 'game')}." if recount.snapshot_id else "nothing is ranked."
    return Checked("ranking", sentence, (*recount.differences, *_wrong_standings(archived)))


def sources(archived: Archived) -> Checked:
    """Compare the published sources with their table."""
    try:
        published = list(archived.rows("sources"))
    except Refused:
        return Checked("sources", "the archive comes from a server that published none.", ())
    wrong = [
        f"The source of version {row['version_id']} is not the one in the table."
        for row in published
        if sha256(archived.public_source(archived.season_id, row["version_id"])).hexdigest() != row["source_sha256"]
    ]
    return Checked("sources", f"{counted(len(published), 'version')} published.", tuple(wrong))


def dice(archived: Archived) -> Checked:
    check = dice_of(archived, archived.season_id)
    return Checked("dice", check.sentence, check.differences)


NAMED = "participants", "entries", "evaluation_players", "panels", "sources"
"""Tables with names of bots and numbers of versions; the first one is compared with the transcripts."""

RANKED = "standings", "leaderboard"
"""They keep the names that bots had when the ranking was made."""

Facts = dict[tuple[str, int], Any]
"""What a number stands for: an author, a bot, or a version's bot and number, by kind and number."""


def players(archived: Archived) -> Checked:
    """Compare all names of bots and authors, and the numbers of versions, with those of the seats."""
    known: Facts = {}
    wrong: dict[str, None] = {}
    for table, row in _named(archived):
        for (kind, number), value in _facts(row).items():
            if table in RANKED and kind == "bot" and value not in _others(known, number):
                continue  # it may have been renamed since
            if known.setdefault((kind, number), value) != value:
                what = "version" if kind == "version" else "bot"
                wrong[f"The {kind} of {what} {number} is {known[kind, number]}, but {value} in {table}."] = None
    bots = counted(sum(kind == "bot" for kind, _ in known), "bot")
    return Checked("players", f"the names of {bots} are the same everywhere.", tuple(wrong))


def _named(archived: Archived) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for table in NAMED:
        try:
            yield from ((table, row) for row in archived.rows(table))
        except Refused:
            if table not in ("sources", "panels", "evaluation_players"):  # older servers did not have them
                raise
    yield from (("standings", row) for row in archived.rows("standings"))
    yield from (("leaderboard", row) for row in _ranked(_board(archived)))


def _facts(row: Mapping[str, Any]) -> Facts:
    facts: Facts = {("bot", row["bot_id"]): row["bot"]}
    if "author" in row:
        facts["author", row["bot_id"]] = row["author"]
    if row["version_id"] is not None:
        facts["version", row["version_id"]] = (row["bot_id"], row["version"])
    return facts


def _others(known: Facts, bot_id: int) -> set[str]:
    """Return the names of the same author's other bots, and this bot's own."""
    author = known.get(("author", bot_id))
    of_author = {number for (kind, number), value in known.items() if kind == "author" and value == author}
    return {known["bot", number] for number in of_author if ("bot", number) in known}


def _board(archived: Archived) -> Mapping[str, Any]:
    board: Mapping[str, Any] = archived.call("GET", f"/v1/seasons/{archived.season_id}/leaderboard")
    return board


def _ranked(board: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*board["rows"], *board["unranked"]] if board["snapshot_id"] is not None else []


def _wrong_standings(archived: Archived) -> Iterator[str]:
    """Compare the table of standings with the ranking, row by row; yield a sentence for each difference."""
    board, table = _board(archived), list(archived.rows("standings"))
    if archived.record.published_at is None and any(row["snapshot_id"] != board["snapshot_id"] for row in table):
        return  # there was a newer ranking when the table was written
    if len(table) != len(_ranked(board)):
        yield f"The table of standings has {counted(len(table), 'row')}, the ranking {len(_ranked(board))}."
    for place, (listed, row) in enumerate(zip(table, _ranked(board), strict=False), 1):
        if names := [name for name in listed.keys() & row.keys() if listed[name] != row[name]]:
            yield f"Row {place} of the table of standings differs from the ranking: {', '.join(sorted(names))}."


def log(archived: Archived) -> Checked:
    """Recompute the hashes of the public log's records about the season, and their chain where two are adjacent."""
    records = list(archived.audit(f"season/{archived.season_id}", oldest_first=True))
    wrong = [f"Record {line.id} is not what its hash says." for line in records if record_sha256(line) != line.sha256]
    for record, following in pairwise(records):
        if following.id <= record.id:
            wrong.append(f"Record {following.id} does not come after record {record.id}.")
        elif following.id == record.id + 1 and following.prev_sha256 != record.sha256:
            wrong.append(f"Record {following.id} does not follow from record {record.id}.")
    season = archived.record
    if season.published_at is not None:
        publications = [json.loads(record.data) for record in records if record.action == "season-published"]
        if [(data.get("log_sha256"), data.get("dice_secret")) for data in publications] != [
            (season.log_sha256, season.dice_secret)
        ]:
            wrong.append("The log's record of the publication has other figures than the season.")
    sentence = f"{counted(len(records), 'record')} hashed again; the server's log has what is between them"
    return Checked("log", f"{sentence} (`deadheat audit --check`).", tuple(wrong))
