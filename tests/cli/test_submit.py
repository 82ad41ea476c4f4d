"""From an upload to looking at the first matches, at the command line against a real server."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from deadheat.cli.server import follow
from deadheat.engine.core import STDERR_KEPT_BYTES
from deadheat.engine.figures import visible
from deadheat.league.jobs import MatchOutcome, SeriesJob
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, claim_build, finish_build, note_build_log
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.entries import let_in
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import MatchState
from deadheat.sandbox.box import Exit
from tests.api.served import served
from tests.api.site import Site, bearer, token_in
from tests.api.test_matches import stored
from tests.cli.command import RANDOM, ROOT, Typing, assert_one_sentence, deadheat, invoke, succeeded
from tests.lanes import scaled
from tests.league.outcomes import forfeited
from tests.league.people import GAME

HOSTILE = "\x1b[2J\x1b]0;mine\x07 \u202e\u061cevil\u200b [red]text[/red]"


class League(Typing):
    """A server whose builder and players work when the command pauses."""

    def __init__(self, site: Site, server: str, folder: Path) -> None:
        super().__init__(site, server)
        self.headers |= {name: site.author(name) for name in ("ada", "bob")}
        self.seconds = 0.0  # the command's clock: only pauses take time
        self.reason = ""
        self.faulty = False  # whether the newest version has failed
        self.stages: list[str] = []  # a build log's stages before its end, one for each pause
        self.building: list[BuildJob] = []
        self.bot = folder / "bot.py"
        self.bot.write_text("print()")

    def submit(self, who: str, *words: object) -> subprocess.CompletedProcess[str]:
        """Submit a new version; the same file would be refused."""
        self.bot.write_text(f"{self.bot.read_text()}\n#")
        return self.run(who, "submit", self.bot, "--game", GAME, "--name", f"{who}s", *words)

    def build(self) -> None:
        with self.site.world.db.transaction() as session:
            while self.site.queue.builds:
                job = claim_build(session, self.site.queue.builds.pop(0), "builder")
                assert job is not None
                self.building.append(job)
            if self.stages:
                assert note_build_log(session, self.building[0], self.stages.pop(0))
                return
            while self.building:
                job = self.building.pop()  # a new source gives a new program
                outcome = BuildOutcome(None if self.reason else job.source_sha256, self.reason, f"built {HOSTILE}\n")
                assert finish_build(session, job, outcome)

    def work(self, seconds: float) -> None:
        self.seconds += seconds
        world = self.site.world
        self.build()
        for series_id in world.tick():
            job = world.claimed(series_id)
            assert world.finish(job, self.outcomes(job))

    def outcomes(self, job: SeriesJob) -> Sequence[MatchOutcome]:
        if self.faulty:
            return [forfeited(match, match.seats.index(max(match.seats))) for match in job.matches]
        exits = {seat: Exit(0, None, False, HOSTILE.encode(), cpu_ns=5, peak_memory_bytes=6) for seat in (0, 1)}
        played = (stored(self.site, job, number) for number, _ in enumerate(job.matches))
        return [dataclasses.replace(outcome, exits=exits) for outcome in played]


@pytest.fixture
def league(site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> League:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = League(site, server, tmp_path)
    monkeypatch.setattr(follow, "time", SimpleNamespace(sleep=made.work, monotonic=lambda: made.seconds))
    return made


def test_submit_waits_until_the_version_is_ready(league: League) -> None:
    done = succeeded(league.submit("ada"))
    assert done.stdout.splitlines() == ["adas version 1 is uploaded (9 bytes).", "adas version 1 is ready (python)."]
    again = json.loads(league.submit("ada", "--json").stdout)
    assert (again["number"], again["state"], again["matches"]) == (2, "ready", [])


def test_a_broken_version_fails_with_its_reason_and_log(league: League) -> None:
    league.reason = "the trial match ended with malformed at READY"
    done = league.submit("ada")
    assert_one_sentence(done, "adas version 1 is broken: the trial match ended with malformed", 1)
    assert "  | built " in done.stderr
    as_json = league.submit("ada", "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout)["log"].startswith("built ")


def test_no_wait_enters_a_bot_that_can_play_and_a_new_one_when_it_is_ready(league: League) -> None:
    season = league.site.world.season(0)
    new = league.submit("ada", "--no-wait", "--season", season)
    assert f"It enters season {season} when it is ready." in new.stdout
    league.submit("ada")
    (entered,) = league.submit("ada", "--no-wait", "--season", season).stdout.splitlines()[-2:-1]
    assert entered.startswith(f"Entered into season {season}")


def test_no_wait_ends_with_the_upload_and_watch_shows_the_rest(league: League) -> None:
    assert "It will be built next" in league.submit("ada", "--no-wait").stdout and league.site.queue.builds
    season = league.site.world.season(0, games_per_pair=100)
    league.submit("bob", "--season", season)
    told = league.run("ada", "watch", "adas", "--timeout", 1, "--matches", 1)
    assert_one_sentence(told, "not all matches have ended within 1 s", 3)
    league.says("ada", "enter", "adas", "--season", season)
    shown = league.says("ada", "watch", "adas", "--matches", 2, "--timeout", 60).splitlines()
    assert len(shown) == 2 and shown[0].startswith("Match 1 ")
    lines = league.rows("ada", "watch", "--matches", 3, "--timeout", 60)
    assert [line["event"] for line in lines] == ["match"] * 3
    rival = ("--season", season, "--matches", 1, "--timeout", 60)
    assert league.says("ada", "watch", "bobs", *rival).startswith("Match ")
    assert league.says("ada", "watch", "bob/bobs", *rival).startswith("Match ")
    assert_one_sentence(league.run("ada", "watch", "bobs"), "you have no bot 'bobs'", 1)
    assert_one_sentence(league.run("ada", "watch", "--season", 77), "There is no season 77.", 1)


def test_wait_shows_the_panel_and_ends_where_a_version_has_too_few_points(league: League) -> None:
    world = league.site.world
    world.bot("sample", owner=world.boss)
    season = world.season(0, panel=["boss/sample"], panel_minimum=1)
    done = league.submit("ada", "--season", season, "--wait", "--matches", 1, "--timeout", 60)
    panel = [line for line in done.stdout.splitlines() if "against the panel" in line]
    assert panel[0].startswith("Version 1 has 0 of 2 points, 1 needed against the panel of season")
    assert "1 of 2 points, 1 needed" in panel[-1] and "(enough); performance" in panel[-1]
    assert "Its first match:" in done.stdout
    league.faulty = True
    refused = league.submit("ada", "--season", season, "--wait", "--timeout", 60)
    assert_one_sentence(refused, "adas version 2 does not play in season 1: it has 0 of 2 points, 1 needed", 1)
    as_json = league.submit("ada", "--season", season, "--wait", "--json", "--timeout", 60)
    assert json.loads(as_json.stdout)["panel"]["state"] == "failed"
    listed = league.says("ada", "bot", "versions", "adas").splitlines()
    assert listed[1].startswith("  Version 3 has 0 of 2 points, 1 needed")
    lines = league.rows("ada", "bot", "versions", "adas")
    assert [[panel["points"] for panel in line["panels"]] for line in lines] == [[0.0], [0.0], [1.0]]


def test_wait_says_how_a_test_against_the_panel_ended(league: League) -> None:
    world = league.site.world
    world.bot("sample", owner=world.boss)
    season = world.season(0, panel=["boss/sample"], panel_test=["0", "20"])
    done = league.submit("ada", "--season", season, "--wait", "--timeout", 60)
    line = [line for line in done.stdout.splitlines() if "against the panel" in line][-1]
    assert ", LLR -0.00" in line and "(test not passed); performance" in line
    assert_one_sentence(done, "does not play in season 1", 1)


def test_wait_without_a_season_follows_the_one_that_the_bot_is_in(league: League) -> None:
    league.submit("ada", "--season", league.site.world.season(1))
    done = league.submit("ada", "--wait", "--matches", 1)
    assert done.stdout.splitlines()[-2] == "Its first match:" and "Entered into" not in done.stdout
    league.submit("ada", "--season", league.site.world.season(0))
    assert_one_sentence(league.submit("ada", "--wait"), "and adas is in seasons")


def test_wait_says_when_nobody_else_is_there(league: League) -> None:
    season = league.site.world.season(0, games_per_pair=100)
    done = league.submit("ada", "--season", season, "--wait", "--timeout", 2)
    assert "Nobody else is there to play against yet, and a match takes 2." in done.stdout
    assert "themselves once others have" in done.stdout
    standing = "It has no matches yet: a match takes 2 bots, and 1 is missing."
    assert_one_sentence(done, f"have not ended within 2 s; the server continues anyway. {standing}", 3)
    done = league.submit("bob", "--season", season, "--wait", "--matches", 1)
    assert "Nobody else" not in done.stdout and done.returncode == 0


def test_wait_says_the_place_in_the_queue_and_ends_where_nothing_more_comes(league: League, monkeypatch) -> None:
    season = league.site.world.season(4, games_per_pair=100, series_length=1)
    league.site.world.tick()
    ahead = league.says("ada", "matches", "--season", season, "--state", "scheduled", "--limit", 100, "--json")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            league.build()
        elif len(pauses) == 2:
            league.says("ada", "withdraw", "adas", "--season", season)
        assert len(pauses) < 100, "it waits for what never comes"

    monkeypatch.setattr(follow, "time", SimpleNamespace(sleep=pause, monotonic=lambda: 0.0))
    done = league.submit("ada", "--season", season, "--wait", "--timeout", 600)
    assert_one_sentence(done, "0 of its first 3 matches ended. It is withdrawn in this season", 1)
    assert f"{len(ahead.splitlines())} matches of other bots are waiting" in done.stderr
    bot = league.site.client.get("/bots/5", headers={"Accept": "text/html"}).text
    assert "is withdrawn in this season" in bot


def test_a_ranking_names_who_has_left(league: League) -> None:
    season = league.site.world.season(3, games_per_pair=4)

    def shown(*words: object) -> str:
        return invoke("leaderboard", *map(str, words), "--server", league.server).stdout

    league.submit("ada", "--season", season)
    for _ in range(3):
        league.work(0)
    league.site.world.write(refit, season)
    assert "adas v1" in shown("--season", season) and "Withdrawn" not in shown("--season", season)
    two = invoke("leaderboard", str(season), "--season", "99", "--server", league.server)
    assert_one_sentence(two, "give one season, not two", 2)
    league.says("ada", "withdraw", "adas", "--season", season)
    league.site.world.clock.turn(60)
    league.site.world.write(refit, season)
    league.site.app.state.services.bodies._kept.clear()  # an answer is kept for a second
    assert shown(season).splitlines()[-1] == "Withdrawn: adas."
    page = league.site.client.get(f"/seasons/{season}", headers={"Accept": "text/html"}).text
    assert "Withdrawn: <a" in page and ">adas</a>." in page


def test_one_sees_what_one_has_submitted_and_explain_knows_ones_seat(league: League) -> None:
    assert league.says("ada", "bot", "list") == "You have no bots yet.\n"
    season = league.site.world.season(0, games_per_pair=2)
    league.submit("bob", "--season", season)
    league.submit("ada", "--season", season, "--wait", "--matches", 1)
    league.reason = "it does not compile"
    league.submit("ada")
    assert league.says("ada", "bot", "list").split()[-5:] == ["2", "adas", GAME, "-", "2"]
    newest, first = league.says("ada", "bot", "versions", "adas").splitlines()
    assert newest == "Version 2 is broken: it does not compile (bot.py, 13 bytes, python)"
    assert first.startswith("Version 1 is ready")
    as_json = league.says("ada", "bot", "versions", 2, "--json").splitlines()
    assert [json.loads(line)["number"] for line in as_json] == [2, 1]
    seats = league.json("ada", "matches", 1)["seats"]
    (seat,) = (seat["seat"] for seat in seats if seat["bot"] == "adas")
    assert league.json("ada", "explain", 1)["seat"] == seat and league.json("bob", "explain", 1)["seat"] == 1 - seat
    example = ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl"
    assert_one_sentence(league.run("ada", "explain", example), "a file does not say", 2)
    nobody = invoke("explain", "1", "--server", league.server)
    assert_one_sentence(nobody, "match 1: you are not logged in; choose a seat with --seat", 2)


def test_a_bot_is_fetched_renamed_described_and_retired(league: League, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    league.submit("ada")
    assert league.says("ada", "bot", "source", "adas", 1) == "Written to adas-1.py\n"
    assert Path("adas-1.py").read_bytes() == league.bot.read_bytes()
    assert_one_sentence(league.run("ada", "bot", "source", "adas", 1), "adas-1.py already exists", 2)
    assert_one_sentence(league.run("bob", "bot", "source", 1, 1), "You have no bot number 1.", 1)
    assert league.says("ada", "bot", "rename", "adas", "deep") == "The bot is now called deep.\n"
    assert league.says("ada", "bot", "describe", "deep", "It [b]thinks[/b].") == "deep: It [b]thinks[/b].\n"
    assert league.says("ada", "bot", "retire", "deep").startswith("deep is retired. `")
    assert "deep (retired)" in " ".join(league.says("ada", "bot", "list").split())
    refused = league.run("ada", "submit", league.bot, "--game", GAME, "--name", "deep")
    assert_one_sentence(refused, "The bot is retired", 1)
    assert league.json("ada", "bot", "retire", "deep", "--undo")["retired_at"] is None


def test_a_ranking_is_of_ones_own_newest_season_with_results_else_of_the_newest(league: League) -> None:
    world = league.site.world

    def season_shown(who: str) -> int:
        found: int = league.json(who, "leaderboard")["season_id"]
        return found

    assert_one_sentence(league.run("ada", "leaderboard"), "the server has no seasons yet", 1)
    own = world.season(1, games_per_pair=4)
    assert season_shown("ada") == own, "none has results"
    league.submit("ada", "--season", own)
    others = world.season(2)
    while series := world.tick():
        for series_id in series:
            job_ = world.claim(series_id)
            assert job_ is not None and world.finish(job_)
    world.write(refit, others)
    world.write(create_season, world.boss, game=GAME, name="next year")
    assert (season_shown("ada"), season_shown("bob")) == (own, others)
    league.headers["bob"] = bearer("dh_forgotten")
    assert season_shown("bob") == others, "everybody may see it, whatever became of the login"
    for bot, season in ((1, own), (2, own), (3, others)):
        newest = world.write(create_season, world.boss, game=GAME, name=f"later {bot}").id
        world.write(let_in, world.boss, newest, bot)
        page = league.site.client.get(f"/bots/{bot}", headers={"Accept": "text/html"}).text
        assert f'In <a href="/seasons/{season}">' in page
    game = league.site.client.get(f"/games/{GAME}", headers={"Accept": "text/html"}).text
    assert f'In <a href="/seasons/{others}">' in game


STAGES = ["built\n", "built\none\ntw", "built\none\ntwo\nthree\n"]


def logged(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.removeprefix("  | ") for line in done.stderr.splitlines() if line.startswith("  | ")]


def test_wait_shows_the_log_as_it_grows(league: League, monkeypatch: pytest.MonkeyPatch) -> None:
    season = league.site.world.season(0, games_per_pair=100)
    league.submit("bob", "--season", season)
    seen: list[list[str]] = []
    look = follow.LogReader.look

    def looked(self: follow.LogReader, last: bool) -> list[str]:
        seen.append(look(self, last))
        return seen[-1]

    monkeypatch.setattr(follow.LogReader, "look", looked)
    league.stages = list(STAGES)
    done = succeeded(league.submit("ada", "--season", season, "--wait", "--matches", 1))
    assert seen[:4] == [[], ["built"], ["one"], ["two", "three"]]
    assert [line for line in logged(done) if "evil" not in line] == ["built", "one", "two", "three"]
    assert done.stderr.index("being built and tried") < done.stderr.index("| built") < done.stderr.index("| three")
    assert "\x1b" not in done.stderr, "no bars where nobody looks"


def test_logs_are_followed_to_the_end_of_the_build(league: League) -> None:
    league.submit("ada", "--no-wait")
    league.stages = list(STAGES)
    done = succeeded(league.run("ada", "logs", "adas", "--follow"))
    assert done.stdout.splitlines()[:4] == ["built", "one", "two", "three"]
    assert done.stderr.splitlines()[-1] == "Version 1 is ready"
    assert league.says("ada", "logs", "adas", "--follow").startswith("built "), "of a build that is over, all at once"
    assert league.json("ada", "logs", "adas", "--follow")["log"] == f"built {HOSTILE}\n"
    assert_one_sentence(league.run("ada", "logs", "--match", 1, "--follow"), "works only with build logs")


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "one\n", "one\n"),
        ("one\n", "one\n", ""),
        ("one\n", "one\ntwo\n", "two\n"),
        (f"head\nleft out\n{300 * 'x'}", f"head\n[... 9 bytes left out ...]\n{300 * 'x'}\ntwo\n", "\ntwo\n"),
        ("head\none\n", "head\n[... 999 bytes left out ...]\ntwo\n", "[... 999 bytes left out ...]\ntwo\n"),
        ("of an attempt that failed\n", "begun anew\n", "begun anew\n"),
    ],
)
def test_what_is_new_is_found_in_a_log_whose_middle_is_left_out(before: str, now: str, new: str) -> None:
    assert follow.grown(before, now) == new


def test_a_megabyte_without_a_newline_paints_nothing(league: League) -> None:
    league.stages = [HOSTILE + "x" * 2**20]
    league.submit("ada", "--no-wait")
    done = succeeded(league.run("ada", "logs", "adas", "--follow"))
    assert harmless(done.stdout + done.stderr)
    assert len(done.stdout) < 2 * STDERR_KEPT_BYTES


def test_a_fault_in_the_first_matches_fails_and_a_defeat_does_not(league: League) -> None:
    season = league.site.world.season(0, games_per_pair=100)
    league.submit("bob", "--season", season)
    league.faulty = True
    done = league.submit("ada", "--season", season, "--wait", "--matches", 2)
    assert done.stdout.count("adas v1 (timeout at ROLL)") == 2
    assert_one_sentence(done, "ended 2 of 2 matches by faults of its own: no line within 500 ms", 1)
    league.faulty = False
    done = succeeded(league.submit("bob", "--season", season, "--wait", "--matches", 4, "--json"))
    seats = [seat for match in json.loads(done.stdout)["matches"] for seat in match["seats"] if seat["bot"] == "bobs"]
    assert {seat["rank"] for seat in seats} == {1, 2}


def test_at_a_gate_the_new_version_is_followed_on_whichever_seat(league: League) -> None:
    """The author has both seats. The command says how the new version did and which version won."""
    season = league.site.world.season(0, games_per_pair=100)
    league.submit("ada", "--season", season)
    league.says("ada", "enter", "adas", "--season", season, "--gate", "0,100")
    league.faulty = True
    league.bot.write_text("print(2)")  # the same program would fail at once
    done = league.submit("ada", "--season", season, "--wait", "--matches", 2, "--timeout", 60)
    assert done.stdout.count(" lost: 1. adas v1, 2. adas v2 (timeout at ROLL)") == 2
    assert_one_sentence(done, "ended 2 of 2 matches by faults of its own: no line within 500 ms", 1)
    seats = [json.loads(line)["seats"] for line in league.says("ada", "matches", "--json").splitlines()]
    assert {seat["seat"] for match in seats for seat in match if seat["version"] == 2} == {0, 1}
    listed = league.says("ada", "matches", "--bot", "adas").splitlines()
    assert sum("v1 beat v2" in line for line in listed) == len(seats)


@pytest.mark.parametrize(
    ("ranks", "bots", "word"),
    [
        ((1, 2), (7, 8), "won"),
        ((2, 1), (7, 8), "lost"),
        ((1, 1), (7, 8), "drawn"),
        ((2, 1), (7, 7), "v2 beat v1"),
        ((1, 1), (7, 7), "drawn"),
        ((3, 1, 2), (7, 8, 9), "place 3"),
        ((None, None), (7, 8), "scheduled"),
    ],
)
def test_a_match_has_one_word_for_a_bot(ranks: tuple[int | None, ...], bots: tuple[int, ...], word: str) -> None:
    seats = tuple(
        SeatView(seat, bot_id, "b", "a", seat + 1, None, rank, points=None, fault=None)
        for seat, (bot_id, rank) in enumerate(zip(bots, ranks, strict=True))
    )
    state = MatchState.SCHEDULED if None in ranks else MatchState.DONE
    match = cast("Match", SimpleNamespace(state=state, seats=seats))
    assert follow.verdict(match, 7) == word
    assert follow.verdict(match, 7, 1) == ("lost" if word == "v2 beat v1" else word)


def test_patience_with_a_build_ends_with_code_3(league: League, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league, "build", lambda: None)
    assert_one_sentence(league.submit("ada", "--timeout", 25), "version 1 is not built within 25 s", 3)


def test_what_fails_its_gate_at_home_is_not_sent(server: str, site: Site, tmp_path: Path) -> None:
    gate, quitter = tmp_path / "gate.toml", tmp_path / "quitter.py"
    quitter.write_text("raise SystemExit(3)\n")
    gate.write_text(f'panel = ["{quitter}"]\ngames = 2\n[[condition]]\nno_loss = "*"\n')
    ada = site.author("ada")

    def submit(bot: str, token: str = token_in(ada)) -> subprocess.CompletedProcess[str]:
        words = ["submit", bot, "--game", GAME, "--name", "careful", "--no-wait", "--sandbox", "local"]
        return deadheat(*words, "--gate", str(gate), DEADHEAT_SERVER=server, DEADHEAT_TOKEN=token, cwd=tmp_path)

    assert_one_sentence(submit(str(quitter)), "quitter.py was not uploaded", 1)
    assert site.client.get("/v1/bots", headers=ada).json()["items"] == []
    assert_one_sentence(submit(RANDOM, token="dh_unknown"), "`deadheat login` gets", 1)
    sent = submit(RANDOM)
    assert (sent.returncode, sent.stdout.partition(" (")[0]) == (0, "careful version 1 is uploaded"), sent.stderr


def test_wrong_calls_are_refused_before_anything_is_sent(league: League) -> None:
    assert_one_sentence(league.submit("ada", "--wait"), "choose one with --season")
    assert_one_sentence(league.run("ada", "matches", "--lost"), "choose it with --bot")
    assert_one_sentence(league.submit("ada", "--season", 99, "--gate", "gate.toml"), "There is no season 99.", 1)
    world = league.site.world
    frozen = world.season(2)
    league.says("boss", "season", "freeze", frozen)
    gate = ("--gate", "gate.toml")
    told = "bots enter it only while it is scheduled or open"
    assert_one_sentence(league.submit("ada", "--season", frozen, *gate), f"season {frozen} is frozen: {told}", 1)
    other = world.season(2, game="liars-dice")
    refused = league.submit("ada", "--season", other, *gate)
    assert_one_sentence(refused, f"season {other} is of liars-dice, not of {GAME}")
    assert "uploaded" not in refused.stdout
    missing = league.run("ada", "submit", "nothing.py", "--game", GAME, "--name", "x")
    assert_one_sentence(missing, "nothing.py does not exist")
    assert_one_sentence(league.run("ada", "logs"), "name a bot, or choose a match")
    assert_one_sentence(league.run("ada", "download"), "name matches, or choose them")
    assert league.site.queue.builds == []


def test_who_is_not_logged_in_is_told_at_once(league: League) -> None:
    """Nobody listens at that address: the command does not even ask."""
    nowhere = "http://127.0.0.1:9"
    words = ["submit", str(league.bot), "--game", GAME, "--name", "x", "--server", nowhere]
    done = invoke(*words)
    assert_one_sentence(done, f"you are not logged in at {nowhere}: ", 1)
    assert f"login --sign-up --server {nowhere}`" in done.stderr


def test_a_folder_goes_up_as_a_zip_of_its_content(tmp_path: Path) -> None:
    from deadheat.cli.author.submit import read_bot

    folder = tmp_path / "bot"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "main.py").write_text("print()")
    (folder / "__pycache__" / "main.pyc").write_text("x")
    os.utime(folder / "main.py", (0, 0))  # before the first year that zip can store
    name, content = read_bot(folder)
    assert name == "bot.zip"
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["main.py"]


@pytest.fixture
def played(league: League) -> League:
    season = league.site.world.season(0, games_per_pair=2)
    league.submit("bob", "--season", season)
    league.submit("ada", "--season", season, "--wait", "--matches", 2)
    return league


def test_matches_are_listed_and_shown(played: League) -> None:
    assert "1. " in played.says("ada", "matches", "--bot", "adas")
    lines = played.says("ada", "matches", "--json", "--limit", 2).splitlines()
    assert [json.loads(line)["id"] for line in lines] == [2, 1]
    shown = played.says("ada", "matches", 1)
    assert "Match 1 of season 1, yacht-auction: done, counts" in shown and "READY" in shown
    assert played.json("ada", "matches", 1)["attempts"][0]["cause"] == "played"
    assert "No match." in played.says("ada", "matches", "--state", "abandoned")
    assert_one_sentence(played.run("ada", "matches", 99), "no match 99", 1)
    assert_one_sentence(played.run("ada", "matches", "--state", "odd"), "state", 1)


def test_transcripts_are_saved_once_and_compared(played: League, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    lines = played.says("ada", "download", "--bot", "adas", "--folder", folder, "--json").splitlines()
    files = {Path(json.loads(line)["file"]) for line in lines}
    assert files == {folder / "match-1.jsonl", folder / "match-2.jsonl"}
    (folder / "match-1.jsonl").write_text("forged")
    assert "2 transcripts" in played.says("ada", "download", 1, 2, "--folder", folder)
    assert (folder / "match-1.jsonl").read_text().startswith('{"deadheat"')
    assert_one_sentence(played.run("ada", "download", 99), "no match 99", 1)


def test_a_transcript_that_is_not_the_published_one_is_not_saved(played: League, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.cli.server.api_client.Client.transcript", lambda *_: b"another")
    assert_one_sentence(played.run("ada", "download", 1, "--folder", tmp_path), "is not the published one", 1)
    assert not (tmp_path / "match-1.jsonl").exists()


def test_a_match_is_replayed_verified_and_explained_by_its_number(played: League) -> None:
    """This league's transcripts break the rules, and `verify` says so."""
    assert "Exchange 0" in played.says("ada", "replay", 1)
    assert "Exchange 0" in invoke("replay", "1", "--server", played.server).stdout
    assert_one_sentence(played.run("ada", "verify", 1), "played under version 99 of the rules", 1)
    assert "seat 1" in played.says("ada", "explain", 1, "--seat", 1)
    assert "logs --match 1" in played.says("ada", "explain", 1)
    assert "logs --match" not in invoke("explain", "1", "--seat", "1", "--server", played.server).stdout


HARMFUL = ("\x1b", "\x07", "\u202e", "\u061c", "\u200b")


def harmless(text: str) -> bool:
    return not any(character in text for character in HARMFUL)


def test_what_bots_and_builds_print_cannot_paint_the_terminal(played: League) -> None:
    for words in (("logs", "adas"), ("logs", "adas", "--json"), ("logs", "--match", 1), ("replay", 1), ("matches", 1)):
        done = played.run("ada", *words)
        assert harmless(done.stdout + done.stderr), words
    assert "[red]text[/red]" in played.says("ada", "logs", "adas")
    assert played.json("ada", "logs", "adas")["log"] == f"built {HOSTILE}\n"
    played.reason = f"it said {HOSTILE}"
    done = played.submit("ada")
    assert done.returncode == 1
    assert harmless(done.stdout + done.stderr)


def test_the_command_spells_out_what_is_not_printed() -> None:
    for mark in map(chr, range(scaled(sys.maxunicode, 0xFFFF) + 1)):
        escape = mark.encode("unicode_escape").decode()
        assert visible(mark) == (mark if mark.isprintable() or mark == "\t" else escape)
        assert visible(mark, "\n\t") == (mark if mark.isprintable() or mark in "\n\t" else escape)
    assert visible("\x1b[2Ja\u202e") == r"\x1b[2Ja\u202e"


def test_ctrl_c_ends_a_watch_without_a_word_too_many(league: League, tmp_path: Path) -> None:
    league.submit("ada")
    asked = threading.Event()

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        await league.site.app(scope, receive, send)
        if scope["type"] == "http" and b"finished_since=" in scope["query_string"]:
            asked.set()  # it is in its loop now; a signal during Python's start would end it differently

    with served(cast("FastAPI", noting)) as server:
        token = token_in(league.headers["ada"])
        command = [sys.executable, "-m", "deadheat.cli.main", "watch", "adas", "--server", server]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DEADHEAT_TOKEN": token}
        child = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert asked.wait(60)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "stopped\n")


def test_wait_shows_log_and_first_matches(league: League) -> None:
    season = league.site.world.season(0, games_per_pair=100)
    league.submit("bob", "--season", season)
    done = succeeded(league.submit("ada", "--season", season, "--wait", "--matches", 2))
    assert "  | built " in done.stderr
    assert f"Entered into season {season}: {league.server}/seasons/{season}" in done.stdout
    assert sum(line.startswith("Match ") for line in done.stdout.splitlines()) == 2
