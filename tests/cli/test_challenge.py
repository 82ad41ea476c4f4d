"""Unrated matches on the league's machines, asked for and looked at from the command line."""

import dataclasses
import json
from pathlib import Path

import pytest

from deadheat.engine.transcript import encode
from deadheat.league.service.course.states import set_season_state
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import Contest
from tests.api.site import Site, token_in
from tests.cli.command import assert_one_sentence, invoke, succeeded
from tests.cli.test_season import Desk
from tests.engine.players import play as match_of
from tests.league.outcomes import lower_wins, won
from tests.league.people import GAME

former = pytest.mark.filterwarnings("ignore:a former name:DeprecationWarning")
"""Former commands use the client's former methods."""


@pytest.fixture
def desk(site: Site, server: str) -> Desk:
    """A season in which the bots of Ada and Bob have played all rated matches."""
    desk = Desk(site, server)
    desk.author("ada", "swift")
    desk.author("bob", "slow")
    desk.author("carl")
    settings = ("games_per_pair=2", "series_length=2", "unrated_games=40")
    desk.says("boss", "season", "create", "Winter", "--game", GAME, *settings)
    desk.says("boss", "season", "open", 1)
    for who, bot in (("ada", "swift"), ("bob", "slow")):
        desk.says(who, "enter", bot, "--season", 1)
    site.world.settle()
    return desk


def play(site: Site) -> None:
    """Play all that is planned. The first bot wins every game, and all games store one transcript."""
    record = site.blobs.put(encode(match_of(1)))
    while made := site.world.tick():
        for series_id in made:
            job = site.world.claimed(series_id)
            outcomes = [
                dataclasses.replace(won(match, match.seats.index(min(match.seats))), transcript_sha256=record)
                for match in job.matches
            ]
            assert site.world.finish(job, outcomes)


def test_a_challenge_from_its_asking_to_its_report(desk: Desk, tmp_path: Path) -> None:
    asked = desk.says("ada", "contest", "start", "slow", "--games", 4, "--private")
    assert "Contest 1 (challenge, private): swift v1 against bob/slow v1, in Winter" in asked
    assert "0 of 4 matches, 0/0/0; running." in asked
    play(desk.site)
    report = tmp_path / "report.html"
    shown = desk.says("ada", "contest", "show", 1, "--report", report)
    assert "4 of 4 matches, 4/0/0; ended. All 4 games have been played." in shown
    assert "bob/slow v1" in shown and "Difference by these matches alone" in shown
    assert "4 of 4 games can be watched here" in report.read_text()
    assert "ended, private" in desk.says("ada", "contest", "list", "--limit", 5)
    assert_one_sentence(desk.run("bob", "contest", "show", 1), "There is no contest 1", 1)
    assert "There are none yet." in desk.says("bob", "contest", "list", "--kind", "request")


def test_a_challenge_of_a_field(desk: Desk) -> None:
    desk.author("dora", "fast")
    desk.says("dora", "enter", "fast", "--season", 1)
    desk.site.world.settle()
    asked = desk.says("ada", "contest", "start", "slow", "dora/fast", "--sprt", "0,300")
    assert "swift v1 against bob/slow v1, dora/fast v1, in Winter" in asked and "0 of at most 40 matches" in asked
    play(desk.site)
    shown = desk.says("ada", "contest", "show", 1)
    assert "2 opponents: stronger than 2." in shown and shown.count(" stronger") == 3 and "LLR" in shown
    assert desk.rows("ada", "contest", "list")[0]["players"] == 3
    best = desk.json("ada", "contest", "start", "top:1", "--games", 2)
    assert [version["bot"] != "swift" for version in best["versions"]] == [False, True]
    assert_one_sentence(desk.run("ada", "contest", "start", "top:x", "--games", 2), "top:x is not like top:8", 2)


def test_former_commands_warn_and_answer_as_before(desk: Desk) -> None:
    asked = desk.run("ada", "challenge", "slow", "--games", 4)
    assert "warning: this command is `deadheat contest start` now" in asked.stderr
    play(desk.site)
    shown = desk.run("ada", "challenges", 1)
    assert (
        "4 of 4 matches" in shown.stdout
        and "`deadheat contest list --kind request` or `contest show` now" in shown.stderr
    )
    told = desk.json("ada", "challenges", 1)
    assert [(bot["bot"], bot["wins"]) for bot in told["bots"]] == [("swift", 4), ("slow", 0)]
    former = ("opponent", "opponent_author", "opponent_version", "games_limit", "games_planned", "bot_id", "version_id")
    assert [told[name] for name in former] == ["slow", "bob", 1, 4, 4, 1, 1]
    assert "You have not asked for any." in desk.says("bob", "challenges", "--limit", 5)
    assert "No version has been at the gate." in desk.says("ada", "gate", "swift", "--season", 1)


def test_former_commands_name_a_challenge_by_its_former_number(desk: Desk) -> None:
    for _ in range(2):
        desk.says("ada", "contest", "start", "slow", "--games", 4)
    with desk.site.world.db.transaction() as session:
        session.get_one(Contest, 1).former_id = 2
        session.get_one(Contest, 2).former_id = 77
    listed = desk.run("ada", "challenges", "--json").stdout.splitlines()
    assert [json.loads(row)["id"] for row in listed] == [77, 2]
    assert " 77 " in desk.says("ada", "challenges", "--limit", 5)
    stopped = desk.json("ada", "challenges", 2, "--stop")
    assert (stopped["id"], stopped["state"]) == (2, "ended")
    assert [desk.json("ada", "contest", "show", number)["state"] for number in (1, 2)] == ["ended", "running"]


@former
def test_former_commands_of_evaluations_know_no_other_contest(desk: Desk) -> None:
    desk.says("ada", "contest", "start", "slow", "--games", 4)
    desk.says("boss", "contest", "start", "--season", 1)
    public = ("--server", desk.server)
    listed = succeeded(invoke("evaluations", "--season", "1", "--json", *public)).stdout.splitlines()
    assert [(row["id"], row["number"]) for row in map(json.loads, listed)] == [(2, 1)]
    for words in (("1",), ("1", "--round", "1")):
        assert_one_sentence(invoke("evaluations", *words, *public), "There is no evaluation 1", 1)
    assert "No such option" in invoke("evaluations", "2", "--token", "dh_x", *public).stderr, "these are public"
    assert_one_sentence(desk.run("boss", "season", "cancel-evaluation", 1), "There is no evaluation 1", 1)
    assert desk.json("ada", "contest", "show", 1)["state"] == "running"


def test_the_former_command_begins_no_evaluation(desk: Desk) -> None:
    for words in (("--season", 1), ("slow", "--season", 1, "--rounds", 3)):
        refused = desk.run("boss", "challenge", *words)
        assert refused.returncode == 2
        assert ("Missing argument" if len(words) == 2 else "No such option") in refused.stderr
    assert desk.rows("boss", "contest", "list", "--season", 1) == []


def test_a_test_says_how_it_decided(desk: Desk) -> None:
    desk.says("ada", "contest", "start", "bob/slow", "--sprt", "0,100")
    play(desk.site)
    shown = desk.says("ada", "contest", "show", 1, "--wait")
    assert "of at most 40 matches" in shown
    assert "accepted: swift is stronger by 100 normalised Elo or more (rather than by 0)" in shown


def test_a_test_against_many_asks_for_a_pair_against_each(desk: Desk) -> None:
    asked = desk.says("ada", "contest", "start", "top:50", "--sprt", "0,100")
    assert "of at most 2 matches" in asked


def test_a_test_is_shown_with_its_own_bounds(desk: Desk) -> None:
    test = {"elo0": 0, "elo1": 100, "alpha": 0.2, "beta": 0.2}
    body = {"season_id": 1, "bot_id": 1, "opponent_id": 2, "games": 40, "test": test}
    desk.site.client.post("/v1/challenges", json=body, headers=desk.headers["ada"]).raise_for_status()
    play(desk.site)
    shown = desk.says("ada", "contest", "show", 1)
    assert "in [-1.39, 1.39]" in shown and "accepted: swift is stronger" in shown


def test_own_versions_and_stopping(desk: Desk) -> None:
    desk.upload("ada", 1, b"print(2)")
    asked = desk.says("ada", "contest", "start", "swift", "--opponent-version", 1, "--games", 10)
    assert "swift v2 against ada/swift v1" in asked
    assert "Its author stopped it." in desk.says("ada", "contest", "cancel", 1)
    assert_one_sentence(desk.run("ada", "contest", "cancel", 1), "The challenge is over", 1)


@pytest.mark.parametrize(
    ("who", "words", "said"),
    [
        ("ada", ("slow",), "--games N"),
        ("ada", ("slow", "--sprt", "x"), "two differences in Elo"),
        ("ada", ("nobody", "--games", "2"), "season 1 has no bot"),
        ("ada", ("slow", "--games", "41"), "40 unrated games a day"),
        ("carl", ("slow", "--games", "2"), "no season of your bots"),
        ("ada", ("slow", "--games", "2", "--opponent-version", "1"), "of your own bots"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(desk: Desk, who: str, words: tuple[str, ...], said: str) -> None:
    done = desk.run(who, "contest", "start", *words)
    assert_one_sentence(done, said, 2 if done.returncode == 2 else 1)


def test_what_is_meant_is_asked_where_there_is_a_choice(desk: Desk) -> None:
    desk.author("ada2", "other")
    desk.headers["ada"] = desk.headers["ada2"]
    desk.upload("ada", desk.site.bot(desk.headers["ada"], "second"))
    assert "choose one with --bot" in desk.run("ada", "contest", "start", "slow", "--games", 2).stderr
    assert desk.json("ada", "contest", "start", "slow", "--games", 2, "--bot", "second")["bot"] == "second"


STAGES = ["round-robin matches=2 keep=4", "knockout matches=2 third-place"]


@former
def test_an_evaluation_is_begun_shown_and_cancelled(site: Site, server: str) -> None:
    season_id = site.world.season(3, games_per_pair=2)
    site.world.play_all()
    boss = ("--server", server, "--token", token_in(site.organiser()))
    refused = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--server", server, "--token", "dh_wrong")
    assert refused.returncode != 0
    begun = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--matches", "4", *boss)
    assert begun.stdout == "Contest 1 of 3 bots is running.\n" and "contest start" in begun.stderr
    site.world.play_all()
    assert "By hand" in invoke("evaluations", "--season", str(season_id), "--server", server).stdout
    listed = invoke("contest", "list", "--season", str(season_id), "--server", server).stdout
    assert "By hand" in listed and "done" in listed
    shown = invoke("contest", "show", "1", "--server", server).stdout
    assert "By hand, number 1: done, round 2 of 2." in shown and "opp. early" in shown
    told = json.loads(invoke("evaluations", "1", "--server", server, "--json").stdout)
    assert [row["place"] for row in told["standings"]] == [1, 2, 3]
    assert "bye" in invoke("contest", "show", "1", "--round", "1", "--server", server).stdout
    assert invoke("contest", "start", "--season", str(season_id), *boss).returncode == 0
    assert invoke("season", "cancel-evaluation", "2", *boss).stdout == "Evaluation 2 is cancelled.\n"
    assert invoke("season", "cancel-evaluation", "2", *boss).returncode != 0
    assert invoke("season", "resume-evaluation", "2", *boss).stdout == "Evaluation 2 goes on.\n"
    assert invoke("evaluations", "--server", server).returncode != 0


@former
def test_the_command_shows_stages_and_brackets(site: Site, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = site.world.season(5, games_per_pair=2, finals=FinalsFormat.STAGES, stages=STAGES)
    site.world.play_all(lower_wins)
    site.world.settle_rankings()
    site.world.write(set_season_state, site.world.boss, staged, SeasonState.FINALS)
    site.world.settle_rankings()
    site.world.play_all(lower_wins)
    site.world.settle()
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    assert "Stage 2" in succeeded(invoke("season", "show", str(staged))).stdout
    number = str(site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"][1]["evaluation_id"])
    assert "advances" in invoke("contest", "show", number).stdout
    bracket = json.loads(invoke("evaluations", number, "--json").stdout)["bracket"]
    assert len(bracket) == 4
    assert all(tie["winner"] for tie in bracket)
    rows = site.ok(200, site.client.get(f"/v1/seasons/{staged}/leaderboard"))["rows"]
    assert [row["finals_place"] for row in rows] == [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
