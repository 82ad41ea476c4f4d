"""Watching and verifying transcripts, and opening them in a browser."""

import hashlib
import json
import re
import sys
import tempfile
import webbrowser
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
import zstandard

from deadheat.cli.local.transcripts import faults_of
from deadheat.cli.server.api_client import Client
from deadheat.engine.chance import commitment, season_seed
from deadheat.engine.core import Fault
from deadheat.engine.memory import Answer, MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.scenes import scenes
from deadheat.engine.transcript import Transcript, encode
from deadheat.engine.verdicts import OF_AGENTS, VERDICTS
from deadheat.games.yacht_auction.rules import YachtAuction
from deadheat.league.records.matches import Match
from tests.cli.command import RANDOM, ROOT, assert_one_sentence, invoke, played, read, succeeded, with_reply
from tests.engine.busy import COUNTED, on_a_busy_host, third_attempt
from tests.engine.busy import with_reply as with_that_reply
from tests.engine.players import Legal
from tests.league.told import detailed, labelled, told
from tests.site.tournament import tournament

TRANSCRIPTS = ROOT / "tests" / "transcripts"
EXAMPLE = TRANSCRIPTS / "yacht-auction-example.jsonl"


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("transcripts"), "house:random", RANDOM)


def test_a_transcript_verifies_packed_or_not(transcript: Path, tmp_path: Path) -> None:
    packed = tmp_path / "match.jsonl.zst"
    packed.write_bytes(zstandard.compress(transcript.read_bytes()))
    for file in (transcript, packed):
        done = invoke("verify", str(file))
        assert (done.returncode, done.stderr) == (0, "")
        assert "verified, 26 exchanges of yacht-auction" in done.stdout.replace("\n", " ")


def test_a_packed_transcript_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch) -> None:
    packed = tmp_path / "match.jsonl.zst"
    packed.write_bytes(zstandard.compress(b""))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert_one_sentence(invoke("verify", str(packed)), "to open it, `pip install", 1)


def test_a_forged_transcript_fails_with_the_exchange(transcript: Path, tmp_path: Path) -> None:
    honest = read(transcript)
    file = tmp_path / "forged.jsonl"
    file.write_bytes(encode(with_reply(honest, 3, 0, "BID A 77777", None)))
    done = invoke("verify", str(file), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["exchange"] == 4
    assert "exchange 4" in done.stderr


SECRET = bytes(32)


def serve(monkeypatch: pytest.MonkeyPatch, match: Match, transcript: Transcript, secret: str | None = None) -> None:
    """Let the server describe match 7 as `match`, publish `secret`, and serve `transcript`."""
    season = SimpleNamespace(dice_commitment=commitment(SECRET), dice_secret=secret)
    monkeypatch.setattr(Client, "season", lambda *_: season)
    content = encode(transcript)
    published = replace(match, transcript_sha256=hashlib.sha256(content).hexdigest())
    shown = detailed(transcript, published)
    monkeypatch.setattr(Client, "match", lambda *_: shown)
    monkeypatch.setattr(Client, "transcript", lambda *_: content)


def test_a_match_is_compared_with_what_the_league_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    honest = labelled(read(EXAMPLE))
    serve(monkeypatch, replace(told(honest), deal=1), honest)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = invoke("verify", "7")
    shown = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "match 7: verified, 26 exchanges of yacht-auction." in shown
    assert "seat 1 ada/bot0 v1: won, 282824 points" in shown
    assert "players, places, points, faults and response times agree with the league's record of match 7." in shown
    assert "What remains the host's word:" in shown
    assert json.loads(invoke("verify", "7", "--json").stdout)["match"] == 7
    assert invoke("replay", "7").returncode == 0
    assert list(tmp_path.iterdir()) == []  # no file is left


def test_a_league_that_serves_another_match_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says that match 7 was won with 999 points, and serves a forfeit of another game."""
    claimed = told(labelled(read(EXAMPLE)))
    won = replace(claimed, seats=(replace(claimed.seats[0], points="999"), *claimed.seats[1:]))
    serve(monkeypatch, won, read(TRANSCRIPTS / "betris-large-forfeit.jsonl"))
    done = invoke("verify", "7", "--json")
    assert_one_sentence(done, "match 7 differs from the league's record", 1)
    found = json.loads(done.stdout)
    assert found["verified"] is False
    for what in ("the commitment", "game is betris-large", "number is none", "points of seat 1", "player at seat 2"):
        assert what in found["detail"], what


def test_a_match_whose_season_is_over_has_its_dice_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = labelled(run_match(YachtAuction(), 2, season_seed(SECRET, 3), MemoryTransport([Legal(1), Legal(2)])))
    for deal, secret, code, sentence in (
        (3, None, 0, "can be checked once the final standings are published."),
        (3, SECRET.hex(), 0, "Its dice follow from its season's secret as deal 3."),
        (4, SECRET.hex(), 1, "the match does not have the dice that follow from the season's secret for number 4"),
        (3, "00", 1, "The season's secret is not the one that it was committed to"),
        (None, None, 1, "the match has a seed that was drawn separately although its season has a secret"),
    ):
        serve(monkeypatch, replace(told(honest), deal=deal), honest, secret)
        done = invoke("verify", "7")
        assert (done.returncode, sentence in " ".join((done.stdout + done.stderr).split())) == (code, True), done


def test_a_file_alone_says_what_it_cannot_know() -> None:
    shown = " ".join(invoke("verify", str(EXAMPLE)).stdout.split())
    assert "A file cannot tell whether a" in shown
    assert "the host's word" in shown


def test_no_league_is_asked_about_a_match_that_was_played_outside_of_one(tmp_path: Path) -> None:
    file = tmp_path / "local.jsonl"
    file.write_bytes(encode(replace(read(EXAMPLE), about={"match": 0, "sandbox": "local"})))
    shown = " ".join(invoke("verify", str(file)).stdout.split())
    assert "there is no record to compare" in shown
    assert "verify 0" not in shown


def test_a_result_is_told_without_lists(tmp_path: Path) -> None:
    for name in ("yacht-auction-forfeit", "liars-dice-six"):
        shown = invoke("verify", str(TRANSCRIPTS / f"{name}.jsonl")).stdout
        assert not set("[]{}") & set(shown)
    forged = tmp_path / "forged.jsonl"
    honest = read(EXAMPLE)
    forged.write_bytes(encode(replace(honest, result=replace(honest.result, ranks=(2, 1)))))
    said = invoke("verify", str(forged)).stderr
    assert "the rules end with places 1 : 2, points 282824 : 195500, the record with places 2 : 1" in said
    messages = honest.exchanges[3].messages
    exchange = honest.exchanges[3]._replace(messages=(messages[0]._replace(line="XX"), *messages[1:]))
    forged.write_bytes(encode(replace(honest, exchanges=(*honest.exchanges[:3], exchange, *honest.exchanges[4:]))))
    assert 'the record has "XX" to seat 1' in invoke("verify", str(forged)).stderr


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """The transcript of a match in which the host took time from seat 1."""
    file = tmp_path / "busy.jsonl"
    file.write_bytes(encode(on_a_busy_host(read(EXAMPLE))))
    return file


def test_verify_tells_what_the_host_took_and_what_counted_late(busy: Path) -> None:
    told = invoke("verify", str(busy)).stdout.replace("\n", " ")
    assert "The host took 280 ms from 2 replies; 1 counted past the deadline." in told
    found = json.loads(invoke("verify", str(busy), "--json").stdout)
    assert found["taken"] == {"stolen_ns": 280_000_000, "replies": 2, "past_deadline": 1}
    assert "The host took" not in invoke("verify", str(EXAMPLE)).stdout


def test_verify_tells_which_attempt_it_was(tmp_path: Path) -> None:
    file = tmp_path / "third.jsonl"
    file.write_bytes(encode(third_attempt()))
    assert "It is attempt 3, with that attempt's dice." in invoke("verify", str(file)).stdout
    assert json.loads(invoke("verify", str(file), "--json").stdout)["attempt"] == 3


def test_a_replay_shows_own_time_and_what_the_host_took(busy: Path) -> None:
    told = invoke("replay", str(busy)).stdout
    assert "480 ms + 150 ms" in " ".join(told.split())
    assert "plus adds what the host took." in " ".join(told.split())
    assert "behind a plus" not in invoke("replay", str(EXAMPLE)).stdout


def test_a_match_is_shown_round_by_round() -> None:
    done = invoke("replay", str(EXAMPLE))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^Round (\d+)", done.stdout, re.MULTILINE) == [str(number) for number in range(1, 14)]
    lines = done.stdout.splitlines()
    words = " ".join(done.stdout.split())
    for scene in scenes(read(EXAMPLE), ["1 unnamed", "2 unnamed"]):
        assert scene.words in words
    assert any(line.split() == ["yacht", "11111", "50,000", "22222", "50,000"] for line in lines)
    assert any(line.split() == ["total", "282,824", "195,500"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_boards_are_drawn_as_they_are_filled() -> None:
    file = TRANSCRIPTS / "betris-large.jsonl"
    done = invoke("replay", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    events = [event for event in read(file).events() if event["type"] == "place"]
    filled: list[set[tuple[int, int]]] = [set(), set()]
    for number in range(1, 13):
        lines = invoke("replay", str(file), "--round", str(number)).stdout.splitlines()
        assert lines[0] == f"Round {number}"
        rows = [line for line in lines if re.match(r" [1-7] (?:██|▒▒|· ){7}", line)]
        for seat, event in enumerate(event for event in events if event["round"] == number):
            cells = event["cells"]
            assert isinstance(cells, list)
            new = {(x, y) for x, y in cells}
            filled[seat] |= new
            drawn = [row[3 + 25 * seat : 17 + 25 * seat] for row in rows]
            marks = {(x, y): drawn[x - 1][2 * y - 2 : 2 * y] for x in range(1, 8) for y in range(1, 8)}
            assert {cell for cell, mark in marks.items() if mark != "· "} == filled[seat]
            assert {cell for cell, mark in marks.items() if mark == "▒▒"} == new
    totals = [f"{float(points):.1f}" for points in read(file).result.points or ()]
    assert any(line.split() == ["total", *totals] for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", ["yacht-auction-forfeit", "yacht-auction-double-fault"])
def test_a_fault_is_shown_with_its_reason(name: str) -> None:
    transcript = read(TRANSCRIPTS / f"{name}.jsonl")
    shown = " ".join(invoke("replay", str(TRANSCRIPTS / f"{name}.jsonl")).stdout.split())
    for event in transcript.events():
        if event["type"] == "fault":
            assert f"{event['fault']} at {event['command']}: {event['why']}" in shown
    assert ("Nobody wins" in shown) == (len(transcript.result.faults) == 2)


def test_what_is_not_verified_is_shown_line_by_line_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "forged.jsonl"
    file.write_bytes(encode(with_reply(read(EXAMPLE), 3, 0, "[red]\x1b[2J\udcff[/]\\[/x]\nfaked", None)))
    done = invoke("replay", str(file))
    assert done.returncode == 0 and "Not verified: diverged at exchange 3" in done.stderr.replace("\n", " ")
    assert r"seat 1 >> [red]\x1b[2J\udcff[/]\[/x]\nfaked" in done.stdout


def test_a_game_that_is_not_known_is_shown_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_bytes(encode(replace(read(EXAMPLE), game="chess", rules_version=1, about={"players": [1, "[x]"]})))
    done = invoke("replay", str(file))
    assert "'chess' is not known here" in done.stderr and "1 << ROLL 32146 62656" in done.stdout
    assert "seat 2  [x]" in done.stdout
    done = invoke("explain", str(file), "--seat", "2")
    assert (done.returncode, "PUT TWO 22233" in done.stdout) == (0, True)


def test_times_that_cannot_be_are_refused(tmp_path: Path) -> None:
    forged = EXAMPLE.read_text().replace('"OK",0,', f'"OK",{10**400},')
    lines: list[str] = []
    for line in forged.splitlines():
        item = json.loads(line)
        if lines:
            item["prev"] = hashlib.sha256(lines[-1].encode()).hexdigest()
        lines.append(json.dumps(item, separators=(",", ":")))
    file = tmp_path / "forged.jsonl"
    file.write_text("\n".join(lines) + "\n")
    for verb in (["replay"], ["explain", "--seat", "1"]):
        done = invoke(*verb, str(file))
        assert (done.returncode, "a time of more than" in done.stderr) == (1, True)


@pytest.mark.parametrize("name", ["full_ns", "delay_ns", "unseen_ns"])
def test_evidence_that_cannot_be_is_refused(busy: Path, name: str) -> None:
    match = read(busy)
    reply = match.exchanges[COUNTED].replies[0]
    assert reply.evidence is not None
    forged = reply._replace(evidence=reply.evidence._replace(**{name: 10**400}))  # type: ignore[arg-type]
    busy.write_bytes(encode(with_that_reply(match, COUNTED, 0, forged)))
    done = invoke("explain", "--seat", "1", str(busy))
    assert (done.returncode, "a time of more than" in done.stderr) == (1, True)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The addresses that the browser was asked to open."""
    found: list[Path] = []

    def open_it(address: str) -> bool:
        found.append(Path(unquote(urlsplit(address).path)))
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    return found


def test_a_match_is_opened_from_a_file_of_its_own(opened: list[Path]) -> None:
    done = succeeded(invoke("view", str(EXAMPLE)))
    (file,) = opened
    assert done.stdout == f"{file}\n" and file.name == "match.html"
    assert "verified by the rules" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "fault", "own_ms"), [(None, Fault.TIMEOUT, 3000.0), (Answer(None, 0), Fault.EXITED, 0.0)]
)
def test_of_an_agent_neither_own_time_nor_a_programs_fault_is_told(
    opened: list[Path], tmp_path: Path, answer: Answer | None, fault: Fault, own_ms: float
) -> None:
    file, players = tmp_path / "failed.jsonl", (Legal(0), lambda message: answer)
    failed = run_match(YachtAuction(), 2, read(EXAMPLE).seed, MemoryTransport(players))
    for about, measured, meant in (({}, own_ms, VERDICTS[fault]), ({"turns": {"1": []}}, None, OF_AGENTS[fault])):
        match = replace(failed, about=about)
        assert [one["elapsed_ms"] for one in faults_of(match)] == [measured]
        file.write_bytes(encode(match))
        succeeded(invoke("view", str(file)))
        assert f"Cure: {meant.cure}." in opened[-1].read_text(encoding="utf-8")


def test_a_tournament_is_opened_from_its_folder(opened: list[Path], tmp_path: Path) -> None:
    folder = tournament(tmp_path / "a b", ["yacht-auction"])
    done = invoke("view", str(folder), "--json")
    assert json.loads(done.stdout) == {"file": str(folder / "report.html")}, done.stderr
    assert opened == [folder / "report.html"]


def test_a_transcript_comes_from_standard_input(opened: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "match.html"
    succeeded(invoke("view", "-", "--output", str(file), stdin=EXAMPLE.read_text()))
    assert file.is_file() and opened == []


def test_what_cannot_be_shown_is_refused_in_a_sentence(opened: list[Path], tmp_path: Path) -> None:
    assert_one_sentence(invoke("view", str(tmp_path)), "there is no tournament in")
    assert_one_sentence(
        invoke("view", str(EXAMPLE), "--output", str(tmp_path / "no" / "file")), "no/file: No such file"
    )
    forged = tmp_path / "forged.jsonl"
    forged.write_text(EXAMPLE.read_text().replace('"ranks":[1,2]', '"ranks":[2,1]'))
    assert read(forged).result.ranks == (2, 1)
    assert_one_sentence(invoke("view", str(forged)), "is not verified", code=1)
    (tmp_path / "tournament.json").write_text('{"format": 2}')
    assert_one_sentence(invoke("view", str(tmp_path)), "was written by another")
    assert opened == []


def test_the_totals_of_the_rounds_lead_to_the_result() -> None:
    for file in TRANSCRIPTS.glob("yacht-auction*.jsonl"):
        points = read(file).result.points
        shown = re.findall(r"total (-?\d+) : (-?\d+)", invoke("replay", str(file)).stdout)
        if points is not None:
            assert shown[-1] == tuple(map(str, points))


def test_one_round_can_be_picked() -> None:
    done = invoke("replay", str(EXAMPLE), "--round", "13")
    assert done.stdout.splitlines()[0] == "Round 13" and len(done.stdout.splitlines()) == 5
