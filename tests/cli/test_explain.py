"""`deadheat explain` and the recorded opponents it proposes, and late answers in tables."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.author.results import SPARED, _text
from deadheat.cli.console import out, say
from deadheat.cli.local.bots import script
from deadheat.cli.local.recorded_bot import kind
from deadheat.engine.chance import attempt_seed
from deadheat.engine.core import NS_PER_MS, Fault, Message, Reply
from deadheat.engine.transcript import Prompt, encode
from deadheat.engine.verdicts import VERDICTS, hint
from deadheat.league.records.matches import Late, Over, Timeouts
from tests.api.site import Site
from tests.cli.command import GAME, RANDOM, ROOT, invoke, play, played, read, succeeded
from tests.engine.busy import convicted_on_a_busy_host, on_a_busy_host, taken, third_attempt, with_reply
from tests.league.test_timeouts import late

EXAMPLE = ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl"

ANSWER = "        reply = bot.answer(line)\n"
AT_THE_FOURTH = "        if line == 'SCORE\\n' and len(bot.unused) == 8:\n            BREAK\n"
BROKEN = Path(RANDOM).read_text().replace(ANSWER, ANSWER + AT_THE_FOURTH)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def broken(folder: Path, how: str) -> Path:
    """Play a match in which the second seat fails at its fourth SCORE; return the transcript's file."""
    (folder / "my_bot.py").write_text(BROKEN.replace("BREAK", how))
    return played(folder, "house:greedy", str(folder / "my_bot.py"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_a_crash_is_explained(folder: Path) -> None:
    done = succeeded(invoke("explain", str(broken(folder, "print('hm', file=sys.stderr); {}['weights']"))))
    told = squeezed(done.stdout)
    assert "my_bot.py): exited at SCORE in round 5; lost." in told, "the one that failed"
    assert VERDICTS[Fault.EXITED].happened in told and VERDICTS[Fault.EXITED].cure in told
    assert re.search(r"<< SCORE >> \S+ m?s .*500 ms .* \(no line: exited\)", told)
    assert "| hm" in told and "| KeyError: 'weights'" in told
    ours = [line for line in done.stdout.splitlines() if not line.startswith("  |") and str(folder) not in line]
    assert max(map(len, ours)) <= 80


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            "print('PUT YACHT 77777', flush=True); continue",
            ("malformed at SCORE in round 5; lost.", "In detail '77777' is not 5 dice.", ">> 0"),
        ),
        (
            "import time; time.sleep(9)",
            ("it was waiting for something, or had answered without a newline or a flush.",),
        ),
        ("print(reply, end=''); input()", ("(no line: timeout)",)),
    ],
)
def test_other_faults_are_explained(how: str, told: tuple[str, ...], folder: Path) -> None:
    shown = squeezed(invoke("explain", str(broken(folder, how)), "--seat", "2").stdout)
    assert [text for text in told if text not in shown] == []


def test_a_fault_in_the_last_round_is_of_that_round(folder: Path) -> None:
    (folder / "my_bot.py").write_text(BROKEN.replace("== 8", "== 0").replace("BREAK", "sys.exit()"))
    transcript = played(folder, str(folder / "my_bot.py"), "house:greedy")
    assert "exited at SCORE in round 13; lost." in squeezed(invoke("explain", str(transcript), "--seat", "1").stdout)
    shown = invoke("replay", str(transcript), "--round", "13").stdout.splitlines()
    assert shown[0] == "Round 13" and "exited at SCORE" in shown[1]


def test_what_is_shown_is_exact() -> None:
    done = invoke("explain", str(EXAMPLE), "--seat", "1", "--exchanges", "100")
    shown = [line.rstrip().split("  ")[-1] for line in done.stdout.splitlines() if line.startswith(("  <<", "  >>"))]
    transcript = read(EXAMPLE)
    spoken: list[str | None] = []
    for exchange in transcript.exchanges:
        spoken += [message.line for message in exchange.messages if message.seat == 0]
        spoken += [reply.line for seat, reply in exchange.replies.items() if seat == 0]
    assert shown == spoken


def test_a_match_that_nobody_failed_in_is_explained_by_its_score() -> None:
    lines = invoke("explain", str(EXAMPLE), "--seat", "2").stdout.splitlines()
    assert lines[0] == "yacht-auction, seat 2 (unnamed): lost, points 282824 : 195500."
    rows = [line.split() for line in lines]
    assert ["four", "44455", "12,000", "44444", "20,000", "-8,000"] in rows
    assert ["total", "195,500", "282,824", "-87,324"] in rows
    assert "Its slowest answers, by share of the limit" in lines


def test_a_match_of_betris_is_explained_by_cells_square_and_chips() -> None:
    transcript = ROOT / "tests" / "transcripts" / "betris-large.jsonl"
    rows = [line.split() for line in invoke("explain", str(transcript), "--seat", "2").stdout.splitlines()]
    (total,) = (row for row in rows if row[:1] == ["total"])
    own, other = float(total[1]), float(total[2])
    assert [own, other] == [float(points) for points in reversed(read(transcript).result.points or ())]
    assert float(total[3]) == own - other


def test_the_proposed_command_plays_the_same_match_again(folder: Path) -> None:
    transcript = played(folder, "house:expert", "house:greedy")
    _, *arguments = shlex.split(invoke("explain", str(transcript), "--seat", "2").stdout.splitlines()[-1])
    assert f"recorded:{transcript}#1" in arguments and "house:greedy" in arguments
    match = json.loads(invoke(*arguments, "--transcripts", str(folder), "--json").stdout.splitlines()[0])
    assert match["points"] == list(read(transcript).result.points or ())


def test_a_mended_bot_gets_past_the_place_where_it_failed(folder: Path) -> None:
    transcript = broken(folder, "sys.exit()")
    (folder / "my_bot.py").write_text(Path(RANDOM).read_text())
    seed = read(transcript).seed.hex()
    done = play(f"recorded:{transcript}#1", "house:greedy", options=["--seed", seed, "--matches", "1", "--json"])
    match = json.loads(done.stdout.splitlines()[0])
    assert [fault["seat"] for fault in match["faults"]] == [0]  # its lines end or stop fitting
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert (summary["outgrown"], [bot["wins"] for bot in summary["bots"]]) == (1, [0, 0])
    assert re.search("differs from the recording of seat 1 from exchange [0-9]+ on; its lines stop", done.stderr)
    done = play(f"recorded:{transcript}#1", "house:greedy", options=["--seed", seed, "--matches", "1"])
    assert "its recorded lines " in done.stdout


def test_the_proposed_command_has_the_dice_of_the_attempt_that_counted(folder: Path) -> None:
    (folder / "third.jsonl").write_bytes(encode(third_attempt()))
    _, *arguments = shlex.split(invoke("explain", "third.jsonl", "--seat", "1").stdout.splitlines()[-1])
    match = third_attempt()
    assert arguments[arguments.index("--seed") + 1] == attempt_seed(match.seed, 3).hex() != match.seed.hex()


def test_slow_answers_are_shown_by_own_time_with_what_the_host_took(folder: Path) -> None:
    (folder / "busy.jsonl").write_bytes(encode(on_a_busy_host(read(EXAMPLE))))
    told = squeezed(invoke("explain", "busy.jsonl", "--seat", "1", "--exchanges", "100").stdout)
    assert "1 480 ms 96.0 % 500 ms 90.0 ms ROLL" in told
    assert "Exchange 1: limit 500 ms, 630 ms passed, 480 ms of it your program's own, 150 ms taken" in told
    assert "(it waited 150 ms for a processor), 90.0 ms of CPU time used; past its deadline, but counted." in told
    assert ">> 480 ms 150 ms 500 ms 90.0 ms BID" in told and ">> 0.00 ms - 500 ms - PUT" in told
    assert "Exchange 2: limit 500 ms, 150 ms passed, 20.0 ms of it your program's own" in told
    (slow, *_) = json.loads(invoke("explain", "busy.jsonl", "--seat", "1", "--json").stdout)["slowest"]
    assert (slow["elapsed_ns"], slow["own_ns"], slow["stolen_ns"]) == (630_000_000, 480_000_000, 150_000_000)
    assert "Exchange 1:" not in invoke("explain", str(EXAMPLE), "--seat", "1").stdout


def test_an_answer_that_counted_past_its_deadline_is_named_although_five_were_slower(folder: Path) -> None:
    match = read(EXAMPLE)
    first, *slower = [prompt.exchange for prompt in match.prompts() if prompt.message.seat == 0][1:7]
    for number in slower:
        match = with_reply(match, number, 0, match.exchanges[number].replies[0]._replace(elapsed_ns=50 * NS_PER_MS))
    late = taken(match.exchanges[first].replies[0], 510 * NS_PER_MS, full_ns=500 * NS_PER_MS, cpu_ns=0, processors=1)
    (folder / "busy.jsonl").write_bytes(encode(with_reply(match, first, 0, late)))
    told = squeezed(invoke("explain", "busy.jsonl", "--seat", "1").stdout)
    assert f"Exchange {first}: limit 500 ms, 510 ms passed, 10.0 ms of it your program's own" in told


def test_a_conviction_is_explained_with_its_evidence(folder: Path) -> None:
    lost = read(ROOT / "tests" / "transcripts" / "betris-large-bank.jsonl")
    (folder / "lost.jsonl").write_bytes(encode(convicted_on_a_busy_host(lost)))
    done = invoke("explain", "lost.jsonl", "--seat", "1")
    assert "Not verified" not in done.stderr
    told = squeezed(done.stdout)
    assert "not counting 130 ms that the host took" in told and "130 ms taken from it by the host" in told
    assert "The evidence" in told
    evidence = json.loads(invoke("explain", "lost.jsonl", "--seat", "1", "--json").stdout)["evidence"]
    assert "(it waited 130 ms for a processor)" in evidence


def test_a_bot_that_is_not_here_has_a_name_to_fill_in(folder: Path) -> None:
    last = invoke("explain", str(EXAMPLE), "--seat", "1").stdout.splitlines()[-1]
    assert f" play {GAME} my_bot.py " in last


@pytest.mark.parametrize(
    ("cpu_ns", "told"), [(480_000_000, "computing"), (2_000_000, "waiting"), (None, "not measured")]
)
def test_the_clock_tells_thinking_from_waiting(cpu_ns: int | None, told: str) -> None:
    reply = Reply(None, 501_000_000, Fault.TIMEOUT, cpu_ns)
    assert told in str(hint(Fault.TIMEOUT, Prompt(3, Message(0, "SCORE", 500_000_000), 500_000_000, reply)))


def test_a_recording_knows_prompts_from_notices() -> None:
    told = script(read(EXAMPLE), 1)
    assert told["prompts"] == ["READY", "ROLL", "SCORE"] and told["notices"] == ["FINISH", "GET", "SET"]
    assert told["lines"][:2] == ["OK", "BID B 4500"] and len(told["lines"]) == 25
    assert kind('{"you":"P1","round":3}\n') == "round you"
    assert kind("{" * 100_000) == kind('{"half') == ""


def test_late_answers_are_shown_and_told(site: Site, server: str) -> None:
    assert succeeded(invoke("timeouts", "--server", server)).stdout == "No matches yet.\n"
    season_id = site.world.season(2, games_per_pair=2, series_length=2)
    assert site.world.finish(site.world.claimed(), late)
    site.world.settle_rankings()
    shown = succeeded(invoke("timeouts", "--season", str(season_id), "--over", "hour", "--server", server)).stdout
    assert "ROLL" in shown and "17 %" in shown and "machine" in shown
    titles = ("By game and command, in the last hour", "By machine, in the last hour", "in the whole season")
    assert all(title in shown for title in titles)
    told = json.loads(invoke("timeouts", "--json", "--server", server).stdout)
    assert (told["over"], told["season_id"], [late["timeouts"] for late in told["machines"]]) == ("day", None, [2])


def many(**about: Any) -> Late:
    return Late(1_234_567, 789, 789 / 1_234_567, (0.0006, 0.0007), 12, 3, **about)


FOUND = Timeouts(
    season_id=None,
    over=Over.DAY,
    commands=[
        many(over=Over.DAY, game="yacht-auction", command="SCORE", used=(0.0001, 0.25, 1.5)),
        many(over=Over.HOUR),
    ],
    course=[],
    machines=[many(machine=7)],
    bots=[many(bot="a-long-named-bot", author="somebody")],
)


@pytest.mark.parametrize(("width", "lacking"), [(130, 0), (120, 1), (100, 1), (80, 3), (60, 4), (40, 6)])
def test_a_narrow_terminal_leaves_out_whole_columns(
    width: int, lacking: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(out, "width", width)
    say(*_text(FOUND))
    shown = capsys.readouterr().out
    head = next(line for line in shown.splitlines() if line.split()[:1] == ["game"])
    assert [word for word in SPARED if word not in head] == list(SPARED[:lacking])
    assert all(whole in shown for whole in ("yacht-auction", "SCORE", "somebody/a-long-named-bot", "0.064 %"))
    assert max(len(line) for line in shown.splitlines() if line.startswith(" ")) <= width
