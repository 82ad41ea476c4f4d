"""What commands count and print: scores, tables and replays."""

import io
import json
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from deadheat.cli.author import results
from deadheat.cli.console import plain, short
from deadheat.cli.local import report
from deadheat.cli.local.report import LABELS, Clock, Score, Times, elo
from deadheat.cli.replays.pages import VIEWS, pages
from deadheat.engine.core import Fault, Message, Reply, Result
from deadheat.engine.figures import away, duration, limit, visible
from deadheat.engine.games import GAMES
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Exchange, Transcript
from deadheat.engine.verdicts import Taken
from deadheat.games.liars_dice.rules import IDS, LiarsDice
from deadheat.league.records.rankings import Leaderboard, Standing
from tests.engine.busy import taken

pytestmark = pytest.mark.quick


MS = 1_000_000


def match(*ranks: int, faults: dict[int, Fault] | None = None, points: tuple[int, ...] | None = None) -> Transcript:
    return Transcript("test", 1, len(ranks), bytes(16), (), Result(ranks, points, faults or {}))


def score(*matches: Transcript) -> Score:
    counted = Score(matches[0].seats)
    for item in matches:
        counted.add(item, 0)
    return counted


def test_shares_count_ties_half_and_opponents_left_behind() -> None:
    counted = score(match(1, 2), match(1, 1), match(2, 1), match(1, 2))
    assert [share.share for seat in (0, 1) if (share := counted.share(seat))] == [0.625, 0.375]
    assert (counted.firsts, counted.draws) == ([2, 1], 1)
    three = score(match(3, 1, 2))
    assert [share.share for seat in range(3) if (share := three.share(seat))] == [0, 1, 0.5]


def test_a_match_that_all_lost_has_no_winner() -> None:
    counted = score(match(1, 1, faults={0: Fault.EXITED, 1: Fault.TIMEOUT}))
    assert (counted.played, counted.unrated, counted.draws, counted.firsts) == (1, 1, 0, [0, 0])
    assert counted.share(0) is None and counted.summary(["a", "b"])["elo"] is None


def test_points_of_forfeits_do_not_count() -> None:
    counted = score(match(1, 2, points=(10, 4)), match(2, 1, faults={0: Fault.MEMORY}), match(1, 2, points=(20, 6)))
    assert (counted.mean_points(0), counted.mean_points(1)) == (15, 5)
    assert counted.faults_of(0) == {Fault.MEMORY: 1}


@pytest.mark.parametrize("chances", [(0.5, 0.0), (0.8, 0.0), (0.3, 0.4), (0.1, 0.8)], ids=str)
@pytest.mark.parametrize("matches", [10, 40])
def test_about_95_of_100_intervals_hold_the_truth(chances: tuple[float, float], matches: int) -> None:
    chance, (win, draw) = random.Random(1), chances
    held = 0
    for _ in range(400):
        counted = Score(2)
        for _ in range(matches):
            value = chance.random()
            counted.add(match(1, 2) if value < win else match(1, 1) if value < win + draw else match(2, 1), 0)
        share = counted.share(0)
        assert share is not None
        held += share.low <= win + draw / 2 <= share.high
    assert 0.9 <= held / 400 <= 1


def test_elo_has_no_bound_where_all_was_won() -> None:
    assert elo(0.5) == 0
    assert elo(10 / 11) == pytest.approx(400)
    assert elo(1) is elo(0) is None
    won = score(*[match(1, 2)] * 8).summary(["a", "b"])["elo"]
    assert won["difference"] is None and won["interval_95"][0] > 0 and won["interval_95"][1] is None


def timed(*replies: Reply) -> Transcript:
    exchanges = tuple(Exchange((Message(0, "GO 1", 100 * MS),), {0: reply}) for reply in replies)
    return Transcript("test", 1, 1, bytes(16), exchanges, Result((1,), None))


def test_times_are_counted_by_share_of_their_limit() -> None:
    clock = Clock()
    clock.add(timed(*(Reply("x", int(ms * MS), None, MS) for ms in (0.01, 0.1, 0.11, 1, 10, 49, 51, 100))))
    clock.add(
        timed(*(Reply(None, *fault) for fault in ((103 * MS, Fault.TIMEOUT), (0, Fault.EXITED), (0, Fault.UNEXPECTED))))
    )
    times = clock.own[0]["GO"]
    assert dict(zip(LABELS, times.buckets, strict=True)) == {
        ".1": 2, ".2": 1, ".5": 0, "1": 1, "2": 0, "5": 0, "10": 1, "20": 0, "50": 1, "100": 2, "late": 1,
    }  # fmt: skip
    assert (times.slowest_ns, times.limit_ns, times.varying) == (103 * MS, 100 * MS, False)
    assert clock.cpu[0]["GO"].count == 8


def test_times_are_the_bots_own_and_what_the_host_took_is_told() -> None:
    clock = Clock()
    clock.add(timed(taken(Reply("x", 0), 130 * MS, full_ns=50 * MS), Reply("x", 10 * MS)))
    times = clock.own[0]["GO"]
    assert dict(zip(LABELS, times.buckets, strict=True))["100"] == 1
    assert (times.slowest_ns, times.buckets[LABELS.index("late")]) == (80 * MS, 0)
    assert clock.taken == Taken(50 * MS, 1, 1)
    console = Console(record=True, width=200)
    report.show(console, "g", ["a"], Score(1), clock)
    assert "The host took 50.0 ms from 1 reply; 1 counted past the deadline." in console.export_text()


def test_a_bank_has_a_row_of_its_own() -> None:
    clock = Clock()
    exchanges = (
        Exchange((Message(0, "READY", 3000 * MS),), {0: Reply("OK", MS)}),
        Exchange((Message(0, "GO", 500 * MS),), {0: Reply("x", 100 * MS)}),
        Exchange((Message(0, "GO", 400 * MS),), {0: Reply("x", 50 * MS)}),
        Exchange((), {}, ({"type": "final", "bank_ns": [350 * MS]},)),
    )
    clock.add(Transcript("test", 1, 1, bytes(16), exchanges, Result((1,), None)))
    assert clock.own[0]["GO"].varying
    assert (clock.own[0]["bank"].slowest_ns, clock.own[0]["bank"].limit_ns) == (150 * MS, 500 * MS)


def test_quantiles_are_exact_to_three_digits() -> None:
    times, chance = Times(), random.Random(2)
    values = sorted(chance.randrange(1, 10**9) for _ in range(1000))
    for value in values:
        times.add(value, 10**9, late=False)
    for share in (0.5, 0.99, 1.0):
        assert times.quantile(share) == pytest.approx(values[int(share * 1000) - 1], rel=0.006)
    assert times.quantile(1.0) <= times.slowest_ns == values[-1]


def test_durations_are_short() -> None:
    assert [duration(value) for value in (0, 4_000, 40_000, 9_940_000, 123_456_789, 3 * 10**9)] == [
        "0.00 ms", "<0.01 ms", "0.04 ms", "9.9 ms", "123 ms", "3.00 s",
    ]  # fmt: skip
    assert [limit(value) for value in (500 * MS, 3 * 10**9, 9_999_890_000)] == ["500 ms", "3 s", "10 s"]


def test_the_running_score_fits_beside_a_bar() -> None:
    counted = score(*[match(1, 2)] * 999, *[match(1, 1)] * 99, *[match(2, 1)] * 999)
    assert report.running(counted) == "999 : 999, 99 drawn, 50 % (48 to 52), Elo +0"
    assert report.running(Score(3)) == "0 : 0 : 0"


def test_somebody_elses_text_does_nothing_to_a_terminal() -> None:
    assert visible("a\x1b[2Jb\u202ec\nd\udcff") == r"a\x1b[2Jb\u202ec\nd\udcff"
    assert plain("[red]\n\\[/x]") == "\\[red]\n\\\\\\[/x]"
    assert short("x" * 30 + "\n.py", 10) == "…xxxx\\n.py"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "in less than a minute"),
        (60, "in 1 minute"),
        (7199, "in 1 hour"),
        (3 * 86_400 + 5, "in 3 days"),
        (0, "less than a minute ago"),
        (-7200, "2 hours ago"),
    ],
)
def test_an_instant_is_so_far_off(seconds: float, words: str) -> None:
    assert away(seconds) == words


def standing(**chosen: Any) -> Standing:
    usual: dict[str, Any] = {
        "rank": 1, "tied": True, "rank_low": 1, "rank_high": 222, "division": 1, "bot": "greedy", "author": "ada",
        "team": None, "version": 12, "elo": 1500.0, "low": 1300.0, "high": 1716.0, "games": 12345, "wins": 10000,
        "draws": 1000, "losses": 1345, "timeouts": 1, "other_faults": 22, "plackett_luce": None,
    }  # fmt: skip
    return cast("Standing", SimpleNamespace(**(usual | chosen)))


def shown(monkeypatch: pytest.MonkeyPatch, *rows: Standing, ranks: str = "placement", columns: int = 80) -> list[str]:
    console = Console(width=columns, file=io.StringIO())
    monkeypatch.setattr(results, "out", console)
    board = SimpleNamespace(season_id=1, log_sha256="", config={"ranks": ranks}, rows=list(rows), totals=None)
    with console.capture() as capture:
        console.print(results.standings_table(cast("Leaderboard", board)))
    return capture.get().splitlines()


@pytest.mark.parametrize("name", ["greedy", "g" * 32])
def test_figures_and_headings_are_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows = (standing(bot=name, author=name), standing(division=2, team=name, rank=None, rank_low=None, rank_high=None))
    _, headings, _, first, second = shown(monkeypatch, *rows)
    assert headings.split() == ["div", "#", "places", "bot", "author", "rating", "games", "W/D/L", "faults"]
    assert first.split()[:3] == ["1", "1=", "1-222"]
    assert first.rstrip().endswith("1500 ± 208  12345  10000/1000/1345      23")
    assert second.split()[:3] == ["2", "-", "-"]


@pytest.mark.parametrize("columns", [40, 60])
def test_in_a_narrow_terminal_names_stay_and_columns_go(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    rows = [standing(bot="speedy", games=140, wins=90, draws=2, losses=48), standing(division=2)]
    title, headings, _, row, *_ = shown(monkeypatch, *rows, columns=columns)
    assert title.strip() == "Season 1" and len(row) <= columns
    assert "speedy v12" in row and "1500 ± 208" in row
    assert "  ada  " in row and "author" in headings


def test_names_are_whole_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, row = shown(monkeypatch, standing(games=3, wins=1, draws=1, losses=1, team="lovelace"))
    assert "greedy v12  ada, team lovelace  " in row


def test_at_tables_of_three_and_more_it_says_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    row = standing(games=48, wins=123, draws=0, losses=21, plackett_luce=1700.0)
    for ranks, told in (("placement", "against each other bot at a table"), ("wins", "Wins are matches won alone")):
        assert told in " ".join(" ".join(shown(monkeypatch, row, ranks=ranks)).split())
    assert "Wins" not in "".join(shown(monkeypatch, standing()))


class Liar:
    """Bids one higher, challenges or, rarely, resigns or says nonsense."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def __call__(self, message: Message) -> str | None:
        if message.limit_ns is None:
            return None
        if message.line == "READY":
            return "OK"
        current = json.loads(message.line)["currentBid"]
        choice = self.chance.random()
        if choice < 0.02:
            return '{"type":"resign"}' if choice < 0.01 else "\x1b[2Jnonsense"
        if current is not None and choice < 0.4:
            return '{"type":"challenge"}'
        quantity = 1 if current is None else current["quantity"] + 1
        face = self.chance.randint(2, 6) if current is None else current["faceValue"]
        return f'{{"type":"bid","quantity":{quantity},"faceValue":{face}}}'


def liars(seed: int, seats: int) -> Transcript:
    players = MemoryTransport([Liar(100 * seed + seat) for seat in range(seats)])
    return run_match(LiarsDice(), seats, bytes([seed] * 16), players)


def replayed(transcript: Transcript, seat: int | None = None) -> list[str]:
    view = VIEWS[transcript.game]
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    if seat is None:
        for page in pages(transcript, view):
            console.print(page.content)
    else:
        assert view.account is not None
        console.print(view.account(transcript, seat))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_every_game_of_the_house_has_a_view() -> None:
    assert set(GAMES) <= set(VIEWS)


@pytest.mark.parametrize("seats", LiarsDice.seats)
def test_a_match_of_liars_dice_is_told_in_full(seats: int) -> None:
    for seed in range(1, 13):
        transcript = liars(seed, seats)
        lines = replayed(transcript)
        text = "\n".join(lines)
        assert max(map(len, lines)) <= 80
        assert "\x1b" not in text
        kinds = [event["type"] for event in transcript.events()]
        assert sum(line.startswith("Round ") for line in lines) == kinds.count("round")
        assert text.count(" holds ") == kinds.count("hand") and text.count(" bids ") == kinds.count("bid")
        assert " ".join(text.split()).count(" loses a die") == kinds.count("challenge")
        assert text.count(" is out: ") == kinds.count("elimination") == seats - 1
        assert text.count(" resigns.") == kinds.count("resignation")
        assert all(f"  {number} unnamed ({name}) holds" in text for number, name in enumerate(IDS[:seats], 1))
        winner = transcript.result.ranks.index(1)
        assert lines[-1] == f"{winner + 1} unnamed wins."


def test_every_lost_die_is_accounted_for() -> None:
    for seed in range(1, 13):
        transcript = liars(seed, 3)
        for seat in range(3):
            if not any(event["type"] == "fault" and event["seat"] == seat for event in transcript.events()):
                told = [line for line in replayed(transcript, seat) if line.startswith("  round ")]
                lost = [e for e in transcript.events() if e["type"] == "challenge" and e["loser"] == seat]
                resigned = [e for e in transcript.events() if e["type"] == "resignation" and e["seat"] == seat]
                assert len(told) == len(lost) + len(resigned)
