"""`report.html` of a tournament: one file with everything, from the folder's results and kept transcripts."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from deadheat.cli.console import note
from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.local.transcripts import doubt, parsed
from deadheat.cli.local.transcripts import read as read_transcript
from deadheat.cli.output import Column, Columns
from deadheat.cli.tournament import times
from deadheat.cli.tournament.records import (
    BadFolder,
    Bot,
    FaultRecord,
    GameRecord,
    Kind,
    Request,
    Stage,
    read,
    record_of,
)
from deadheat.cli.tournament.standings import Standings, standings_of
from deadheat.engine import figures
from deadheat.engine.core import NS_PER_MS, NS_PER_S
from deadheat.engine.figures import bars, counted, interval, visible
from deadheat.engine.games import GAMES
from deadheat.engine.transcript import BadTranscript
from deadheat.league.ratings import Rating, RatingTable
from deadheat.league.ratings.table import NORMAL_95
from deadheat.league.records.contests import ContestDetail
from deadheat.league.records.matches import Match
from deadheat.league.states import MatchState
from deadheat.league.words import Uncounting

__all__ = ["BadFolder", "write", "write_report"]

NAME = "report.html"

MOST_KEPT_BYTES = 48 * 1024 * 1024
"""The most space for games in the report, enough for some 10,000 short ones. A browser opens a file of that size in
seconds; other games are in the folder, and `deadheat view FILE` shows them."""

MOST_MORE = 100
"""The table gives no number if separating neighbours takes more than this many times the games."""

MOST_LINKS = 10
"""The most games named beside each kind of fault; the list of games has all of them."""


def write(folder: Path, output: Path | None = None, title: str = "", played: Standings | None = None) -> Path:
    """Write the report of a tournament, which may still be running, and return its file: `output`, or `report.html` in
    the folder. `title` replaces its usual heading, `played` what the folder's records say. Raises BadFolder, OSError.
    """
    played = played or standings_of(*read(folder))
    file = output or folder / NAME
    title = title or f"Tournament of {played.about.game}"
    page.save(file, page.page(title, _body(folder, played, title), ["report.js"]))
    return file


def _body(folder: Path, played: Standings, title: str) -> Iterator[str]:
    about = played.about
    kind = f"{about.kind}, {counted(about.games, 'game')} per pair, tables of {about.seats}"
    started = about.started[:16].replace("T", " ")
    yield f'<h1>{shown(title)}</h1>\n<p class="facts">{shown(started)} · {shown(kind)} · seed '
    yield f"<code>{shown(about.seed)}</code> · sandbox {shown(about.sandbox)} · Deadheat {shown(about.deadheat)}, "
    yield f"rules {about.rules_version}</p>\n"
    if not played.games:
        yield "<p>No game has been played yet.</p>\n"
        return
    yield from _figures(played)
    table = played.table()
    rows = times.rows(played)
    kept = _kept(folder, played)
    parts = (
        ("Ratings", _ratings(table, played)),
        ("Crosstable", _crosstable(table, played)),
        ("Response times", times.response_times(rows, played)),
        ("Faults", _faults(played, kept)),
        ("What the host took", times.host(played)),
        ("Games", _games(played, kept)),
        ("Bots", _bots(played)),
    )
    for heading, part in parts:
        yield f"<section>\n<h2>{heading}</h2>\n"
        yield from part
        yield "</section>\n"
    yield page.data("whatif", times.what_if(rows, played))
    yield page.data("games-data", _listed(played, kept))
    yield from kept.values()


def _figures(played: Standings) -> Iterator[str]:
    faults = sum(len(game.faults) for game in played.games.values())
    facts = (
        ("games", f"{len(played.games):,}"),
        ("bots", f"{len(played.labels)}"),
        ("games with a fault", f"{sum(bool(game.faults) for game in played.games.values()):,}" if faults else "none"),
        ("mean of a game", figures.duration(round(NS_PER_S * mean(game.seconds for game in played.games.values())))),
    )
    yield '<dl class="figures">'
    yield from (f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    yield "</dl>\n"


def _kept(folder: Path, played: Standings) -> dict[int, str]:
    """Pack the kept games by number, those with faults first, up to `MOST_KEPT_BYTES`. Leave out a transcript that is
    gone or does not follow the rules.
    """
    wanted = [game for game in played.games.values() if game.transcript]
    kept: dict[int, str] = {}
    size = 0
    for game in sorted(wanted, key=lambda game: not game.faults):
        file = (folder / str(game.transcript)).resolve()
        if not file.is_relative_to(folder.resolve()):
            continue
        try:
            transcript = read_transcript(file)
        except (OSError, BadTranscript):
            continue
        if doubt(transcript) is not None or transcript.seats != len(game.players):
            continue
        packed = page.packed(game.number, transcript, game.players)
        size += len(packed)
        if size > MOST_KEPT_BYTES:
            break
        kept[game.number] = packed
    return dict(sorted(kept.items()))


def _ratings(table: RatingTable, played: Standings) -> Iterator[str]:
    entries = table.entries
    if not entries:
        yield '<p class="note">No game counts: in each of them every bot committed a fault.</p>\n'
        return
    ranges = [{"low": row.low, "elo": row.elo, "high": row.high} for row in entries]
    pictures = {row.player: interval(of, bar) for row, of, bar in zip(entries, ranges, bars(ranges), strict=True)}
    columns: Columns[Rating] = (
        Column("Place", lambda row: str(row.place.rank if row.place else ""), right=True),
        Column("Bot", lambda row: shown(row.player)),
        Column("Rating", lambda row: f"{row.elo:.0f} ± {NORMAL_95 * row.se:.0f}", right=True),
        Column("95 % interval", lambda row: f'<span class="interval">{pictures[row.player]}</span>'),
        Column("Places", _places, right=True),
        Column("Games", lambda row: str(row.games), right=True),
        Column("Won / drawn / lost", lambda row: f"{row.wins} / {row.draws} / {row.losses}", right=True),
        Column("Ahead of the next", _gap, right=True),
        Column("Told apart", lambda row: _resolved(row, played.about.games)),
    )
    yield from page.table("Ratings", entries, columns, head=1)
    yield '<p class="note">Elo around 1500 with 95 % intervals, as in <code>deadheat rate</code>; so are places. Told '
    yield "apart: ahead of the next by more than that interval; the games that it takes assume that the gap stays."
    fit = table.fit()
    if fit.chi2_per_dof is not None:
        yield f" Fit: chi-squared {fit.chi2_per_dof:.2f} per degree of freedom (near 1: a single rating per bot "
        yield "explains the results)."
    yield "</p>\n"
    if len(entries) > 2:
        yield (
            f'<p class="note">The first of {len(entries)} is there partly by luck. Before you choose it, '
            "play it against its rivals with another <code>--seed</code>: expect less than this table says.</p>\n"
        )


def _places(row: Rating) -> str:
    if row.place is None:
        return ""
    return f"{row.place.low} to {row.place.high}" if row.place.low < row.place.high else f"{row.place.low}"


def _gap(row: Rating) -> str:
    if row.place is None or row.place.gap_elo is None or row.place.gap_se is None:
        return "&ndash;"
    return f"{row.place.gap_elo:+.0f} ± {NORMAL_95 * row.place.gap_se:.0f}"


def _resolved(row: Rating, games: int) -> str:
    """Say whether a gap exceeds its 95 % interval, or how many games per pair would resolve it if it stays."""
    if row.place is None or row.place.gap_elo is None or row.place.gap_se is None:
        return ""
    gap, width = row.place.gap_elo, NORMAL_95 * row.place.gap_se
    if gap > width:
        return '<span class="met">yes</span>'
    if gap <= 0 or (times := (width / gap) ** 2) > MOST_MORE:
        return "no"
    return f"no: needs {math.ceil(games * times):,} games per pair"


def _crosstable(table: RatingTable, played: Standings) -> Iterator[str]:
    order = [row.player for row in table.entries]

    def column(number: int, opponent: str) -> Column[str]:
        return Column(str(number), lambda bot: _cell(played, played.numbers[bot], played.numbers[opponent]))

    columns: Columns[str] = (
        Column("Bot", lambda bot: f"{order.index(bot) + 1}. {shown(bot)}"),
        *(column(number, opponent) for number, opponent in enumerate(order, 1)),
    )
    yield '<div class="pairs">'
    yield from page.table("Crosstable", order, columns)
    yield "</div>\n"
    several = " At tables of three and more, each pair of places counts as a game." if played.about.seats > 2 else ""
    yield (
        '<p class="note">A cell shows what the bot on the left took from the one above: points of games (a draw is '
        "half a point), pairs won, drawn and lost (games that share their dice, seats exchanged), and its own faults. "
        f"A click lists the games.{several}</p>\n"
    )


def _cell(played: Standings, bot: int, opponent: int) -> str:
    if (bot, opponent) not in played.meetings:
        return ""
    meeting = played.meetings[bot, opponent]
    points, games = meeting.score[0] + meeting.score[1] / 2, sum(meeting.score)
    cell = f'<a class="score s{round(10 * points / games)}" href="#pair-{bot}-{opponent}">'
    cell += f"{points:g}<small>/{games}</small></a>"
    if any(meeting.pairs):
        cell += f"<small>{'&ndash;'.join(map(str, meeting.pairs))}</small>"
    if meeting.faults:
        cell += f'<small class="fault">{counted(meeting.faults, "fault")}</small>'
    return cell


_FaultKind = tuple[str, str, str]
"""A kind of fault: bot, fault, command."""


def _faults(played: Standings, kept: Mapping[int, str]) -> Iterator[str]:
    kinds: dict[_FaultKind, list[tuple[GameRecord, FaultRecord]]] = defaultdict(list)
    for game in played.games.values():
        for fault in game.faults:
            kinds[game.players[fault.seat], fault.fault, fault.command or "the start"].append((game, fault))
    if not kinds:
        yield f"<p>None in {counted(len(played.games), 'game')}.</p>\n"
        return
    columns: Columns[_FaultKind] = (
        Column("Bot", lambda kind: shown(kind[0])),
        Column("Fault", lambda kind: f'<span class="fault">{shown(kind[1])}</span>'),
        Column("At", lambda kind: f"<code>{shown(kind[2])}</code>"),
        Column("Times", lambda kind: f"{len(kinds[kind]):,}", right=True),
        Column("Games, and after how much own time", lambda kind: _links(kinds[kind], kept)),
    )
    yield from page.table("Faults", sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)), columns)


def _links(faults: Sequence[tuple[GameRecord, FaultRecord]], kept: Mapping[int, str]) -> str:
    links = []
    for game, fault in faults[:MOST_LINKS]:
        after = "" if fault.elapsed_ms is None else f" {figures.duration(round(fault.elapsed_ms * NS_PER_MS))}"
        number = f'<a href="#game-{game.number}">{game.number}</a>' if game.number in kept else f"{game.number}"
        links.append(f'<span class="pair">{number}<small>{after}</small></span>')
    more = len(faults) - MOST_LINKS
    return "".join(links) + (f"and {more:,} more" if more > 0 else "")


def _games(played: Standings, kept: Mapping[int, str]) -> Iterator[str]:
    """Yield the places for the viewer and for the list, which the page's script fills and filters."""
    transcripts = sum(game.transcript is not None for game in played.games.values())
    sentence = f"{len(kept):,} of {counted(len(played.games), 'game')} can be watched here"
    if missing := transcripts - len(kept):
        sentence += f"; {counted(missing, 'other transcript')} would make this file too large, or cannot be verified"
    yield f"<p>{sentence}. Choose one by its number.</p>\n{page.viewer()}"
    yield page.part("report-games.html")


def _listed(played: Standings, kept: Mapping[int, str]) -> dict[str, Any]:
    """Return the games for the script: number, bots by seat, ranks, points, faults, seconds, and if it is watchable."""
    numbers = played.numbers
    games = [
        [
            game.number,
            [numbers[bot] for bot in game.players],
            game.ranks,
            None if game.points is None else [figures.points(value) for value in game.points],
            [[fault.seat, fault.fault, fault.command or ""] for fault in game.faults],
            round(game.seconds, 3),
            int(game.number in kept),
        ]
        for game in sorted(played.games.values(), key=lambda game: game.number)
    ]
    return {"labels": [visible(label) for label in played.labels], "games": games}


def _bots(played: Standings) -> Iterator[str]:
    columns: Columns[Bot] = (
        Column("Bot", lambda bot: shown(bot.label)),
        Column("Given as", lambda bot: f"<code>{shown(bot.given)}</code>"),
        Column("SHA-256 of what was built", lambda bot: f'<code class="hash">{shown(bot.sha256)}</code>'),
    )
    yield from page.table("Bots", played.about.bots, columns)


_TAKEN_OUT = frozenset({Uncounting.VOIDED, Uncounting.REJUDGED})
"""Results that an organiser annulled."""

_TOLD_EVERY = 100
"""The number of transcripts between two progress lines of the report."""


def write_report(
    contest: ContestDetail, matches: Sequence[Match], transcript_of: Callable[[int], bytes], output: Path
) -> Path:
    """Fetch the transcripts of a duel on a league's machines, and write its report: that of a gauntlet at home. Raises
    OSError if it cannot be written.

    The league's games share dice only where a test counts pairs of them; otherwise there are no pairs in the report.
    """
    over = sorted((match for match in matches if match.state == MatchState.DONE), key=lambda match: match.id)
    played = [match for match in over if match.uncounted is None or match.uncounted.cause not in _TAKEN_OUT]
    places = {(side.bot_id, side.version): place for place, side in enumerate(contest.versions)}
    request, games = _request(contest), []
    with tempfile.TemporaryDirectory(prefix="deadheat-contest-") as work:
        for number, match in enumerate(played):
            if number % _TOLD_EVERY == _TOLD_EVERY - 1:
                note(f"{number + 1} of {len(played)} transcripts", "fetched")
            file = Path(work) / f"{match.id}.jsonl"
            file.write_bytes(data := transcript_of(match.id))
            transcript = parsed(data, f"match {match.id}")
            request = replace(request, variant=transcript.variant)  # the season's variant, the same in all matches
            names = [request.labels[places.get((seat.bot_id, seat.version), 1)] for seat in match.seats]
            # The league reports no other times than those of replies, because it plays series in one go.
            replies = (reply for exchange in transcript.exchanges for reply in exchange.replies.values())
            seconds = sum(reply.own_ns + reply.stolen_ns for reply in replies) / NS_PER_S
            games.append(record_of(match.id, names, match.commitment, transcript, seconds, file.name))
        title = f"{contest.title}: contest {contest.id}"
        return write(Path(work), output, title, standings_of(request, games, paired=contest.paired))


def _request(contest: ContestDetail) -> Request:
    """Return the request in the form that a tournament's folder stores."""
    alone = len({side.bot for side in contest.versions}) == len(contest.versions)
    labels = [side.bot if alone else f"{side.author}/{side.bot} v{side.version}" for side in contest.versions]
    given = [f"bot {side.bot_id}, version {side.version}" for side in contest.versions]
    games = contest.matches * (len(labels) - 1)
    tested = contest.llr is not None
    return Request(
        game=contest.game,
        rules_version=GAMES[contest.game].rules_version if contest.game in GAMES else 0,
        bots=tuple(Bot(label, place, "", "", ()) for label, place in zip(labels, given, strict=True)),
        kind=Kind.GAUNTLET,
        seats=2,
        games=games,
        stages=(Stage(len(labels), games),),
        sprt={"elo0": contest.elo0, "elo1": contest.elo1} if tested else None,  # type: ignore[dict-item]
        seed=f"contest {contest.id}",
        keep="all",
        sandbox="the league's",
        started=contest.created_at.isoformat(),
    )
