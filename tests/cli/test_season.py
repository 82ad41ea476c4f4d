"""Running a season, taking part in it, and the inbox, at the command line against a real server."""

import re
import shlex
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from deadheat.cli.organiser import season_file
from deadheat.cli.server.api_client import Client
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import parameters
from deadheat.league.pairing.figures import CHOICE
from deadheat.league.season_file import PATHS
from deadheat.league.service.rulings.closing import house
from deadheat.league.service.seasons.declared import apply_file
from deadheat.league.service.seasons.entries import enter, entries, entry_info
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.site import Site, token_in
from tests.cli.command import ROOT, Typing, assert_one_sentence, invoke
from tests.league.people import GAME
from tests.league.world import World


class Desk(Typing):
    """A league without a season, and the people around it."""

    def run(self, who: str, *words: object) -> subprocess.CompletedProcess[str]:
        if words[1] == "settings":
            return invoke(*map(str, words))
        if words[0] == "season" and words[1] in {"list", "show", "entries"}:
            return invoke(*map(str, words), "--server", self.server)
        return super().run(who, *words)

    def says(self, who: str, *words: object) -> str:
        return " ".join(super().says(who, *words).split())  # a table is as wide as the terminal

    def author(self, name: str, bot: str = "") -> None:
        self.headers[name] = self.site.author(name)
        if bot:
            self.upload(name, self.site.bot(self.headers[name], bot))

    def upload(self, name: str, bot_id: int, content: bytes = b"print()", program: str = "") -> None:
        version = self.site.ok(202, self.site.upload(self.headers[name], bot_id, content))
        self.site.world.build(version["id"], program=program)


@pytest.fixture
def desk(site: Site, server: str) -> Desk:
    return Desk(site, server)


def test_a_season_from_its_making_to_its_final_standings(desk: Desk) -> None:
    desk.author("ada", "swift")
    desk.author("bob", "slow")
    settings = ("games_per_pair=4", "series_length=2", "finals=round-robin", "finals_games=2")
    assert "Season 1 is scheduled" in desk.says("boss", "season", "create", "Winter", "--game", GAME, *settings)
    assert "Season 1 is open" in desk.says("boss", "season", "open", 1)
    told = desk.says("ada", "enter", "swift", "--season", 1)
    assert "swift plays version 1 in season 1; newer versions take over" in told
    desk.says("bob", "enter", "slow", "--season", 1)
    desk.site.world.settle()
    assert "Season 1 is frozen" in desk.says("boss", "season", "freeze", 1)
    assert "Season 1 is finals" in desk.says("boss", "season", "finals", 1)
    assert "finals=round-robin" in desk.says("boss", "season", "show", 1)
    refused = desk.run("boss", "season", "close", 1).stderr
    assert "finals that are not over." in " ".join(refused.split())
    for _ in range(3):
        desk.site.world.settle()
    found = desk.json("boss", "season", "show", 1)
    assert (found["state"], bool(found["published_at"])) == ("closed", True)
    shown = desk.says("boss", "season", "show", 1)
    assert "closed, standings published" in shown and "Finals: 2 finalists, round 1 of 1, 1 of 1 series played" in shown
    assert f"log {found['log_sha256']}" in shown
    assert "Winter" in desk.says("boss", "season", "list")
    assert "Season 2" in desk.says("boss", "season", "create", "Spring", "--from", 1)
    assert desk.json("boss", "season", "show", 2)["progress"]["entries"] == 2


def test_divisions_and_invitations(desk: Desk) -> None:
    desk.author("ada", "swift")
    made = desk.json(
        "boss", "season", "create", "Cup", "--game", GAME, "--divisions", "First:4,Second", "admission=invited"
    )  # fmt: skip
    assert [division["name"] for division in made["divisions"]] == ["First", "Second"]
    assert_one_sentence(desk.run("ada", "enter", "swift", "--season", 1), "not on its list", 1)
    assert "Invited to season 1: ada" in desk.says("boss", "season", "invite", 1, "ada")
    assert desk.json("ada", "enter", "swift", "--season", 1)["division"] == 2
    assert "swift plays in division 1" in desk.says("boss", "season", "assign", 1, 1, 1)
    assert "1. First: 1 of 4 bots" in desk.says("boss", "season", "show", 1)
    told = desk.says("boss", "season", "edit", 1, "--divisions", "Top:4,Middle,Low")
    assert "1. Top: 1 of 4 bots 2. Middle: 0 bots 3. Low: 0 bots" in told
    assert "1. Division 1: 1 bot" in desk.says("boss", "season", "edit", 1, "--divisions", "none")
    desk.says("boss", "season", "open", 1)
    late = desk.run("boss", "season", "edit", 1, "--divisions", "Top,Low")
    assert_one_sentence(late, "divisions: they can no longer", 1)
    assert_one_sentence(desk.run("boss", "season", "edit", 1), "NAME=VALUE or --divisions", 2)
    assert desk.json("boss", "season", "invite", 1, "ada", "--remove") == {"invited": []}


def test_settings_are_listed_given_and_emptied(desk: Desk) -> None:
    listed = desk.says("boss", "season", "settings")
    assert "finals_extra_games" in listed and "everyone, invited, nobody." in listed
    desk.says("boss", "season", "create", "Cup", "--game", GAME, "games_per_pair=6", "languages=c,cpp")
    changes = ("name=Cup 2", "games_per_pair=none", "closes_at=2027-03-01T12:00+01:00", "teams_only=yes")
    changed = desk.json("boss", "season", "edit", 1, *changes)
    assert (changed["name"], changed["games_per_pair"], changed["teams_only"]) == ("Cup 2", None, True)
    assert (changed["languages"], changed["closes_at"]) == (["c", "cpp"], "2027-03-01T11:00:00Z")
    told = desk.says("boss", "season", "create", "Dice", "--game", "liars-dice", "games_per_pair=3")
    assert "2 of each pair, not 3" in told
    assert "2 of each pair, not 3" in desk.says("boss", "season", "show", 2)
    assert "4 of each pair, not 5" in desk.says("boss", "season", "edit", 2, "games_per_pair=5")
    assert "of each pair" not in desk.says("boss", "season", "edit", 2, "games_per_pair=6")
    for wrong, sentence in (
        ("games=3", "is not a setting"),
        ("closes_at=soon", "is not a date"),
        ("finals", "not a setting"),
    ):
        assert_one_sentence(desk.run("boss", "season", "edit", 1, wrong), sentence)
    assert_one_sentence(desk.run("boss", "season", "edit", 1, "seats=9"), "seats: yacht-auction is for 2 players.", 1)
    assert_one_sentence(desk.run("boss", "season", "edit", 1, "series_length=lots"), "series_length", 1)


def test_a_gate_from_the_authors_side(desk: Desk) -> None:
    desk.author("ada", "swift")
    desk.says("boss", "season", "create", "Cup", "--game", GAME)
    desk.says("boss", "season", "open", 1)
    told = desk.says("ada", "enter", "swift", "--season", 1, "--gate", "0,50,100")
    assert "must first pass the gate" in told
    desk.upload("ada", 1, b"print(2)", program="2")
    assert "Version 2 is at the gate" in desk.says("ada", "enter", "swift", "--season", 1)
    desk.site.world.settle()
    challenge = desk.json("ada", "gate", "swift", "--season", 1)
    assert (challenge["candidate"], challenge["state"]) == (2, "failed")
    assert "100 games did not show that it is stronger." in desk.says("ada", "gate", "swift", "--season", 1)
    desk.upload("ada", 1, b"print(3)", program="2")
    told = desk.says("ada", "enter", "swift", "--season", 1)
    assert "Version 3 failed at the gate. It is the same program as version 2, which has failed here: 100 games" in told
    assert desk.json("ada", "enter", "swift", "--season", 1, "--version", 2)["version"] == 2
    desk.site.world.clock.turn(desk.site.world.settings.rejoin_seconds)
    assert not desk.json("ada", "enter", "swift", "--season", 1, "--gate", "none")["gated"]
    assert_one_sentence(desk.run("ada", "enter", "swift", "--season", 1, "--gate", "high"), "is not a gate")
    assert desk.json("ada", "enter", "Ada/swift", "--season", 1)["bot"] == "swift"
    for other in ("nobody", "house/swift"):
        done = desk.run("ada", "enter", other, "--season", 1)
        assert_one_sentence(done, f"you have no bot '{other}' for {GAME}; `deadheat bot list` lists yours", 1)


def test_an_author_leaves_by_the_bots_name_and_comes_back_after_a_pause(desk: Desk) -> None:
    desk.author("ada", "swift")
    desk.says("boss", "season", "create", "Cup", "--game", GAME)
    desk.says("ada", "enter", "swift", "--season", 1)
    told = desk.says("ada", "withdraw", "swift", "--season", 1)
    assert "swift gets no more matches in season 1." in told and "rejoin swift --season 1` reverses this" in told
    assert_one_sentence(desk.run("ada", "enter", "swift", "--season", 1), "withdrawn from the season", 1)
    assert "swift takes part in season 1 again" in desk.says("ada", "rejoin", "swift", "--season", 1)
    desk.says("boss", "season", "open", 1)
    assert desk.json("ada", "withdraw", 1, "--season", 1) == {"season_id": 1, "bot_id": 1}
    refused = desk.run("ada", "rejoin", "SWIFT", "--season", 1)
    assert_one_sentence(refused, "The bot is withdrawn and may come back in 3600 s.", 3)
    assert refused.stderr.count("3600") == 1
    desk.says("boss", "season", "freeze", 1)
    assert_one_sentence(desk.run("ada", "rejoin", "swift", "--season", 1), "organisers decide", 1)


def test_who_takes_part_is_listed_and_named(desk: Desk) -> None:
    desk.author("ada", "swift")
    desk.author("bob", "swift")
    desk.says("boss", "season", "create", "Cup", "--game", GAME, "--divisions", "First,Second")
    assert "No bot is entered" in desk.says("boss", "season", "entries", 1)
    desk.says("ada", "enter", "swift", "--season", 1, "--gate", "0,50,100")
    desk.says("bob", "enter", "swift", "--season", 1, "--version", 1)
    listed = desk.says("boss", "season", "entries", 1)
    assert "1 swift ada 2 1, gate 2 swift bob 2 1, no other" in listed
    several = desk.run("boss", "season", "assign", 1, 1, "swift")
    assert_one_sentence(several, "season 1 has several bots named 'swift': ada/swift (1), bob/swift (2)", 1)
    assert "swift plays in division 1" in desk.says("boss", "season", "assign", 1, 1, "Bob/Swift")
    why = ("--reason", "plays for ada")
    assert "swift is disqualified" in desk.says("boss", "organise", "disqualify", 1, "bob/swift", *why)
    desk.says("ada", "withdraw", "swift", "--season", 1)
    listed = desk.says("boss", "season", "entries", 1)
    assert "disqualified: plays for ada" in listed and "withdrawn by its author" in listed
    assert_one_sentence(desk.run("boss", "organise", "reinstate", 1, "slow", *why), "season 1 has no bot 'slow'", 1)


def test_the_inbox_is_shown_and_read(desk: Desk) -> None:
    desk.author("ada", "swift")
    shown = desk.says("ada", "inbox", "--limit", 5)
    assert "new Version 1 of swift is ready." in shown and "/bots/1/versions/1" in shown
    assert "Version 1" in desk.says("ada", "inbox", "--read")
    assert desk.says("ada", "inbox", "--unread") == "There is nothing new."
    told = desk.json("ada", "inbox", "--limit", 1)
    assert (told["kind"], told["about"]["bot"], bool(told["read_at"])) == ("version-ready", "swift", True)


def test_a_team_and_its_bot(desk: Desk) -> None:
    desk.author("ada", "swift")
    desk.author("bob")
    assert "Team lovelace, number 1: ada (captain)" in desk.says("ada", "team", "create", "lovelace")
    assert "invited: bob" in desk.says("ada", "team", "invite", "lovelace", "bob")
    assert "ada (captain), bob" in desk.says("bob", "team", "join", "lovelace")
    assert "swift belongs to lovelace" in desk.says("ada", "team", "give", "swift", "lovelace")
    desk.upload("bob", 1, b"print(2)")
    assert "bob (captain)" in desk.says("ada", "team", "hand-over", 1, "bob")
    assert desk.json("ada", "team", "leave", 1, "ada")["members"] == ["bob"]
    assert desk.json("bob", "team", "list")["name"] == "lovelace"
    assert "You are not in a team." in desk.says("ada", "team", "list")
    assert "swift belongs to ada" in desk.says("bob", "team", "give", "swift", "none")
    assert "cannot play against swift." in desk.says("ada", "people", "swift", "--off")
    assert desk.json("ada", "people", "swift", "--on")["plays_people"]
    assert_one_sentence(desk.run("ada", "team", "join", "lovelace"), "neither in a team", 1)


FILE = f"""[season]
name = "Winter"
game = "{GAME}"
[matches]
games_per_pair = 20
[dates]
opens_at = 2098-12-01T18:00:00+09:00
"""


@pytest.fixture
def contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A season's file, read by somebody in New York."""
    path = tmp_path / "contest.toml"
    path.write_text(FILE, encoding="utf-8")
    with monkeypatch.context() as there:
        there.setenv("TZ", "America/New_York")
        time.tzset()
        yield path
    time.tzset()


def test_a_season_is_previewed_made_changed_and_written(site: Site, server: str, contest: Path) -> None:
    desk = Typing(site, server)
    seen = desk.says("boss", "season", "apply", contest, "--dry-run")
    assert "matches.games_per_pair" in seen and "2098-12-01 04:00 EST" in seen and "days" in seen
    assert "23 bots" in desk.says("boss", "season", "apply", contest, "--dry-run", "--bots", 23)
    assert "no seasons" in invoke("season", "list", "--server", server).stdout
    assert_one_sentence(desk.run("boss", "season", "apply", contest), "pass --yes to apply this", 2)
    assert "Season 1 is created." in desk.says("boss", "season", "apply", contest, "--yes")
    assert_one_sentence(desk.run("boss", "season", "apply", contest, "--yes"), "season 1 has this name", 1)
    assert "nothing to change" in desk.says("boss", "season", "apply", contest, "--season", 1)
    assert "an estimate" in desk.says("boss", "season", "forecast", 1, "--bots", 23)
    assert desk.json("boss", "season", "forecast", 1, "--bots", 23)["ladder_matches"] == 253 * 20
    desk.says("boss", "season", "export", 1, "-o", contest)
    assert desk.says("boss", "season", "export", 1) == contest.read_text(encoding="utf-8")
    assert "nothing to change" in desk.says("boss", "season", "apply", contest, "--season", 1)
    contest.write_text(FILE.replace("20\n", "30\n"), encoding="utf-8")
    told = desk.json("boss", "season", "apply", contest, "--season", 1, "--yes")
    assert told["changes"] == [{"path": "matches.games_per_pair", "now": 20, "then": 30}]
    with Client(server, token_in(desk.headers["boss"])) as client:
        assert client.season(1).games_per_pair == 30
        assert client.apply_season_file(client.season_file(1), 1).changes == []


def test_a_person_is_asked(site: Site, server: str, contest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("season", "apply", str(contest), "--server", server, "--token", token_in(site.organiser()))
    monkeypatch.setattr(season_file, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    done = invoke(*words, stdin="n\n")
    assert (done.returncode, "2098-12-01 04:00 EST" in done.stdout) == (1, True)
    assert "Create this season? [y/N]" in done.stderr and "nothing was changed" in done.stderr
    done = invoke(*words, stdin="y\n")
    assert "Season 1 is created." in done.stdout


def test_what_is_wrong_is_said_line_by_line(site: Site, server: str, contest: Path) -> None:
    desk = Typing(site, server)
    contest.write_text(FILE.replace("= 20\n", "= '20'\n").replace("name", "nam"), encoding="utf-8")
    done = desk.run("boss", "season", "apply", contest)
    assert done.stderr.splitlines() == [
        "error: The file has 3 mistakes:",
        "season.name: this is required.",
        "season.nam: there is no such key; did you mean name.",
        "matches.games_per_pair: it should be a whole number.",
    ]
    contest.write_bytes(b"\xff")
    assert_one_sentence(desk.run("boss", "season", "apply", contest), "is not UTF-8", 2)
    assert_one_sentence(desk.run("boss", "season", "apply", contest.with_name("none")), "No such file", 2)


READ = ("run-a-season", "evaluations", "../reference/season-file")
"""The pages for organisers, in an order in which their commands can be typed."""

PAGE = "\n".join((ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8") for name in READ)
QUICK_START = (ROOT / "docs" / "start" / "organiser.md").read_text(encoding="utf-8")


def commands(page: str) -> list[list[str]]:
    """Return every `deadheat season` command of the page, without its comment."""
    lines = re.findall(r"^    (deadheat season .*)$", page, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def example() -> str:
    block = PAGE.partition("as `contest.toml`:\n\n")[2]
    return textwrap.dedent(block[: re.search(r"^\S", block, re.MULTILINE).start()])  # type: ignore[union-attr]


def house_bots(world: World) -> None:
    for name in ("random", "greedy", "expert"):
        world.bot(name, owner=world.write(house))


@pytest.fixture
def at_server(site: Site, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    monkeypatch.chdir(tmp_path)
    Path("contest.toml").write_text(example(), encoding="utf-8")
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    monkeypatch.setenv("DEADHEAT_TOKEN", token_in(site.organiser()))
    return site


def test_the_commands_of_the_quick_start_run_a_season(at_server: Site) -> None:
    authors = [at_server.world.author(name) for name in ("ada", "barbara")]
    bots = [at_server.world.bot(f"{owner.name}-bot", owner=owner)[1] for owner in authors]
    told = ""
    for words in commands(QUICK_START):
        done = invoke(*words)
        assert done.returncode == 0, (words, done.stderr)
        told = done.stdout
        if words[1] == "open":
            for owner, bot_id in zip(authors, bots, strict=True):
                at_server.world.write(enter, owner, int(words[2]), bot_id)
        for _ in range(5):
            at_server.world.settle()
    assert "closed, standings published" in told


def test_the_commands_of_the_pages_run_a_season(at_server: Site) -> None:
    site, told = at_server, dict[str, str]()
    authors = [site.world.author(name) for name in ("ada", "barbara")]
    bots = [site.world.bot(f"{owner.name}-bot", owner=owner)[1] for owner in authors]
    house_bots(site.world)
    for words in commands(PAGE):
        if words[1] == "assign":
            site.world.write(enter, site.world.boss, int(words[2]), bots[0])
        done = invoke(*words, *(["--yes"] if words[1] == "apply" else []))  # nobody can confirm
        assert done.returncode == 0, (words, done.stderr)
        told[" ".join(words[1:3])] = done.stdout
        if words[1] == "open":
            for owner, bot_id in zip(authors, bots, strict=True):
                site.world.write(enter, owner, int(words[2]), bot_id)
        for _ in range(5):
            site.world.settle()
    assert "closed, standings published" in told["show 1"]
    with site.world.db.reading() as session:
        first, third, contest = (season_info(session, number) for number in (1, 3, 4))
        assert {entry.finals_seed for entry in entries(session, 1)} == {1, 2}
        assert entry_info(session, 2, 1).division == 1
    assert first.finals_done_at is not None
    assert (contest.name, len(contest.stages or ()), contest.finals_top) == ("Code Battle 2027", 5, None)
    assert (third.previous_id, third.divisions[0].entries) == (1, 2)


def test_the_contest_at_tables_of_four_can_be_played(site: Site) -> None:
    text = textwrap.dedent(PAGE.partition("four places in the final:\n\n")[2].partition("\nKeys are")[0])
    made = site.world.write(apply_file, site.world.boss, text)
    assert made.season_id is not None
    found = site.world.read(season_info, made.season_id)
    assert (found.seats, found.ladder, len(found.stages or ())) == (4, True, 3)
    assert not any("contests" in warning for warning in made.warnings)


def test_every_setting_that_the_pages_name_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=\w+)?`|\b([a-z_]+)=(?=\w)", PAGE))
    of_a_stage = {"rounds", "matches", "keep", "further", "third_place", "ties", "ranked_by"}
    of_an_evaluation = {*DeclaredEvaluation.model_fields, *CHOICE}
    of_a_variant = {number.name for game in GAMES.values() for number in parameters(game)}
    assert {name or other for name, other in named} <= PATHS.keys() | of_a_stage | of_an_evaluation | of_a_variant
