"""`deadheat season archive` and `verify`: one file has a whole season, and every lie in it is found."""

import json
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.cli.organiser.archive import MANIFEST
from deadheat.engine.core import Message
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript, encode
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.outcomes import latencies
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.beginning import begin_now
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import publish
from deadheat.league.service.seasons import divisions
from deadheat.league.service.series.carrying_out import programs_of
from deadheat.league.states import FinalsFormat, SeasonState, SourcesFrom, TranscriptsFrom
from deadheat.league.tables import BotVersion, ContestPlayer, Entry, Season
from deadheat.league.timetable import DeclaredEvaluation
from deadheat.league.verification.agreement import verdict
from tests.api.site import Site, token_in
from tests.bots.loading import bot_class
from tests.cli.command import ROOT, invoke, succeeded
from tests.league.outcomes import won
from tests.league.people import GAME
from tests.league.world import World

SEASON = 1
GOLDEN = ROOT / "tests" / "archives"


def playing(site: Site, game: str = GAME) -> Callable[[MatchJob], MatchOutcome]:
    """Return a function that plays a match with random bots and returns its outcome."""
    bot = bot_class(bots_of(game) / "random")

    def seated(seed: int) -> Player:
        player = bot(seed)

        def answer(message: Message) -> str | None:
            return None if message.line == "FINISH" else player.answer(message.line)

        return answer

    def play(match: MatchJob) -> MatchOutcome:
        transport = MemoryTransport([seated(10 * match.match_id + seat) for seat in range(len(match.seats))])
        programs = site.world.read(programs_of, set(match.seats))
        players = [programs[version].label for version in match.seats]
        about = {"match": match.match_id, "players": players}
        transcript = run_match(GAMES[game], len(match.seats), match.seed, transport, about, match.attempt)
        stored = site.blobs.put(encode(transcript))
        times = latencies(transcript)
        return replace(won(match), result=transcript.result, transcript_sha256=stored, latencies=times)

    return play


@pytest.fixture
def judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a transcript again only if it, or what the tables say about it, has changed, which saves time."""
    judge, known = verdict, dict[bytes, tuple[bool | None, str | None]]()

    def judged(transcript: Transcript, wrong: Sequence[str]) -> tuple[bool | None, str | None]:
        told = encode(transcript)
        if told not in known:
            known[told] = judge(transcript, wrong)
        return known[told]

    monkeypatch.setattr("deadheat.cli.organiser.archive_checks.verdict", judged)


def play_all(world: World, play: Callable[[MatchJob], MatchOutcome]) -> None:
    while made := world.tick():
        for series_id in made:
            job = world.claimed(series_id)
            assert world.finish(job, [play(match) for match in job.matches])


def play_finals(world: World, play: Callable[[MatchJob], MatchOutcome]) -> None:
    world.settle_rankings()
    world.write(set_season_state, world.boss, SEASON, SeasonState.FINALS)
    world.settle_rankings()
    play_all(world, play)
    world.write(standings.refit, SEASON)


@pytest.fixture
def written(site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive of a closed season with two evaluations and with finals in two stages."""
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    world, play = site.world, playing(site)
    stages = [
        "round-robin matches=2 keep=4 further=6 ties=rounds_won+sonneborn_berger",
        "knockout matches=2 further=2 third-place",
    ]
    about: dict[str, Any] = {"transcripts": TranscriptsFrom.CLOSED, "sources": SourcesFrom.CLOSED}
    assert world.season(5, games_per_pair=2, finals=FinalsFormat.STAGES, stages=stages, **about) == SEASON
    with world.db.transaction() as session:
        for version in session.exec(select(BotVersion)):
            content = f"# the source of version {version.id}".encode()
            version.source_sha256, version.size_bytes = site.blobs.put(content), len(content)
    play_all(world, play)
    swiss = DeclaredEvaluation(name="E", format=EvaluationFormat.SWISS, rounds=3, tie_breaks=["early_points"])
    for declared in (swiss, DeclaredEvaluation(name="E", format=EvaluationFormat.ROUND_ROBIN)):
        world.write(begin_now, world.boss, SEASON, declared)
        play_all(world, play)
    play_finals(world, play)
    assert site.client.get(f"/v1/seasons/{SEASON}/sources/1").status_code == 404
    assert site.client.get("/v1/matches/1/transcript").status_code == 409
    early = str(tmp_path / "early.zip")
    assert "is not over" in succeeded(invoke("season", "archive", str(SEASON), "-o", early)).stderr
    assert "0 matches played again; " in invoke("season", "verify", early).stdout
    assert world.write(publish, SEASON)
    assert site.client.get(f"/v1/seasons/{SEASON}/sources/1").content == b"# the source of version 1"
    assert site.client.get("/v1/matches/1/transcript").status_code == 200
    path = tmp_path / "season.zip"
    for output in (path, tmp_path / "again.zip"):
        assert "is not over" not in succeeded(invoke("season", "archive", str(SEASON), "-o", str(output))).stderr
    assert path.read_bytes() == (tmp_path / "again.zip").read_bytes(), "the same answers make the same file"
    return path


@pytest.mark.parametrize(
    "stages",
    [
        ["swiss rounds=3 matches=3 keep=4 further=6", "swiss rounds=2 matches=3"],
        ["round-robin matches=3 keep=5 further=6", "knockout matches=3 further=3"],
    ],
)
def test_stages_at_tables_of_three_are_verified_and_lies_about_them_found(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judged_once: None, stages: list[str]
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    world, play = site.world, playing(site, "liars-dice")
    about: dict[str, Any] = {"game": "liars-dice", "seats": 3, "series_length": 3, "games_per_pair": 3}
    world.season(7, finals=FinalsFormat.STAGES, stages=stages, **about)
    play_all(world, play)
    form = EvaluationFormat(stages[0].split()[0])
    rounds = 2 if form is EvaluationFormat.SWISS else None
    world.write(begin_now, world.boss, SEASON, DeclaredEvaluation(name="E", format=form, rounds=rounds))
    play_all(world, play)
    play_finals(world, play)
    assert world.write(publish, SEASON)
    path = tmp_path / "season.zip"
    succeeded(invoke("season", "archive", str(SEASON), "-o", str(path)))
    done = invoke("season", "verify", str(path), "--json")
    assert done.returncode == 0, done.stdout
    said = changed(path, table("evaluation_pairings"), first_row(points="[3.0, 3.0, 3.0]"))
    assert "are not those of its matches" in said
    assert "is not what its rules draw" in changed(path, table("evaluation_pairings"), seated_in_reverse)
    assert "WRONG evaluations" in changed(path, table("evaluation_pairings"), without_the_last)


def test_the_audit_log_keeps_the_hash_of_an_organisers_archive_and_others_are_compared_with_it(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    world, file = site.world, str(tmp_path / "season.zip")
    assert world.season(2, games_per_pair=2) == SEASON
    play_all(world, playing(site))

    def archived(asker: Mapping[str, str]) -> tuple[int, dict[str, object]]:
        done = invoke("season", "archive", str(SEASON), "-o", file, "--json", "--token", token_in(asker))
        return done.returncode, json.loads(done.stdout)

    def kept() -> list[object]:
        records = site.ok(200, site.client.get("/v1/audit", params={"subject": f"archive/{SEASON}"}))["items"]
        return [(one["action"], json.loads(one["data"])) for one in records]

    ada, boss = site.author(), site.organiser()
    assert archived(boss)[1]["logged"] is None, "it can still change"
    world.write(set_season_state, world.boss, SEASON, SeasonState.CLOSED)
    world.write(standings.refit, SEASON)
    assert world.write(publish, SEASON)
    assert archived(ada)[1]["logged"] is None
    assert kept() == []
    code, told = archived(boss)
    assert (code, told["logged"]) == (0, True)
    assert archived(boss) == archived(ada) == (0, told)
    assert kept() == [("season-archived", {"sha256": told["sha256"]})], "once"
    with world.db.transaction() as session:
        session.get_one(Season, SEASON).name = "Another"
    assert archived(ada)[0] == 1


@pytest.mark.parametrize("finals", [FinalsFormat.SWISS, FinalsFormat.ROUND_ROBIN])
def test_finals_are_drawn_again(site: Site, server: str, tmp_path: Path, monkeypatch, finals: FinalsFormat) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    assert site.world.season(5, ladder=False, finals=finals, finals_games=1) == SEASON
    play_finals(site.world, playing(site))
    assert site.world.write(publish, SEASON)
    path = tmp_path / "season.zip"
    succeeded(invoke("season", "archive", str(SEASON), "-o", str(path)))
    told = " ".join(invoke("season", "verify", str(path)).stdout.split())
    drawn = "3 rounds of 3 of a Swiss" if finals is FinalsFormat.SWISS else "10 meetings of a round robin"
    assert f"right finals: {drawn} drawn again" in told


def test_stages_of_several_divisions_are_seeded_by_their_places_in_these(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    world, play = site.world, playing(site)
    about: dict[str, Any] = {"finals": FinalsFormat.STAGES, "stages": ["round-robin matches=2"]}
    world.season(4, games_per_pair=2, divisions=[("First", None), ("Second", None)], **about)
    for bot_id in (2, 3):
        world.write(divisions.assign_division, world.boss, SEASON, bot_id, 1)
    play_all(world, play)
    play_finals(world, play)
    seeded = select(Entry.finals_seed, Entry.division).join(ContestPlayer, col(ContestPlayer.bot_id) == Entry.bot_id)
    assert world.rows(seeded.order_by(col(ContestPlayer.seed))) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert world.write(publish, SEASON)
    path = str(tmp_path / "season.zip")
    succeeded(invoke("season", "archive", str(SEASON), "-o", path))
    assert "right finals: 1 stage followed" in " ".join(invoke("season", "verify", path).stdout.split())


@pytest.mark.parametrize("finals", [FinalsFormat.SWISS, FinalsFormat.ROUND_ROBIN])
def test_lies_about_finals_are_found(tmp_path: Path, finals: FinalsFormat) -> None:
    """Two bots left the round robin, and one came back."""
    path = Path(shutil.copy(GOLDEN / f"2026-11-29-finals-{finals.value}.zip", tmp_path))
    assert "WRONG finals" in changed(path, table("series"), in_another_round)
    if finals is FinalsFormat.SWISS:
        seed = f"v1/seasons/{SEASON}.json"
        assert "is not what its rules draw" in changed(path, seed, edited('"pairing_seed":"', '"pairing_seed":"00'))
    else:
        log = next(name for name in zipfile.ZipFile(path).namelist() if name.startswith("v1/audit"))
        assert "WRONG finals" in changed(path, log, lambda text: text.replace(b"entry-withdrawn", b"entry-nothing"))


def in_another_round(content: bytes) -> bytes:
    """Move the first series of the finals into the second round."""
    rows = [json.loads(line) for line in content.splitlines()]
    next(row for row in rows if row["purpose"] == "finals" and row["round"] == 1)["round"] = 2
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def changed(path: Path, name: str, change: Callable[[bytes], bytes | None], *, honest: bool = True) -> str:
    """Change a member of an archive (to None: remove it), and return what `verify` says. If `honest`, also change the
    manifest to match.
    """
    other = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old:
        members = {info.filename: old.read(info) for info in old.infolist()}
    assert name in members
    new_content = change(members.pop(name))
    if new_content is not None:
        members[name] = new_content
    if honest:
        manifest = json.loads(members.pop(MANIFEST))
        manifest["members"] = {known: sha256(content).hexdigest() for known, content in members.items()}
        members[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(other, "w") as new:
        for known, content in members.items():
            new.writestr(known, content)
    done = invoke("season", "verify", str(other))
    assert done.returncode == 1, done.stdout
    return " ".join(done.stdout.split())


def table(name: str) -> str:
    return f"v1/seasons/{SEASON}/export/{name}.jsonl"


def edited(old: str, new: str) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return edit


def first_row(**values: object) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        first, *rest = content.splitlines(keepends=True)
        return b"".join([json.dumps(json.loads(first) | values).encode() + b"\n", *rest])

    return edit


def seated_in_reverse(content: bytes) -> bytes:
    """Reverse the seats of the first pairing, points and all."""
    row = json.loads(content.splitlines()[0])
    return first_row(**{name: json.dumps(json.loads(row[name])[::-1]) for name in ("players", "points")})(content)


def row_of(evaluation_id: int, **values: object) -> Callable[[bytes], bytes]:
    """Return an edit of the first row of an evaluation."""

    def edit(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        number = next(n for n, line in enumerate(lines) if json.loads(line)["evaluation_id"] == evaluation_id)
        lines[number] = json.dumps(json.loads(lines[number]) | values).encode() + b"\n"
        return b"".join(lines)

    return edit


def without_pairings(content: bytes) -> bytes:
    rows = [json.loads(line) | {"pairing_id": None} for line in content.splitlines()]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def without_the_last(content: bytes) -> bytes:
    return b"".join(content.splitlines(keepends=True)[:-1])


def test_an_archive_is_right_and_every_lie_in_it_is_found(written: Path, judged_once: None) -> None:
    done = invoke("season", "verify", str(written), "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout
    checks = "members transcripts players ranking dice evaluations finals sources log"
    assert [one["check"] for one in told] == checks.split()
    assert all(one["verified"] for one in told)
    assert "4 evaluations" in told[5]["detail"] and "2 stages" in told[6]["detail"]
    assert told[7]["detail"] == "5 versions published."
    with zipfile.ZipFile(written) as file:
        assert "third_place = true" in file.read(f"v1/seasons/{SEASON}/season.toml").decode()
        matches = [json.loads(row) for row in file.read(table("matches")).splitlines()]
    number = matches[0]["match_id"]
    transcript = f"v1/matches/{number}/transcript.jsonl"
    assert f"{transcript} is not what the manifest says" in changed(written, transcript, bytes.upper, honest=False)
    assert f"{transcript} is missing" in changed(written, transcript, lambda _: None, honest=False)
    assert "is not the one in the table" in changed(written, transcript, lambda text: text + b"\n")
    assert "but 7 in the league's record" in changed(written, table("participants"), first_row(rank=7))
    assert "seed does not match the commitment" in changed(written, table("matches"), first_row(commitment="0" * 64))
    assert "WRONG ranking" in changed(written, f"v1/seasons/{SEASON}/leaderboard.json", edited('"games":', '"games":1'))
    assert "its places do not follow" in changed(written, table("evaluation_players"), first_row(place=9))
    points = changed(written, table("evaluation_pairings"), first_row(first_points=1.5, second_points=0.5))
    assert "are not those of its matches" in points
    assert "its places do not follow" in changed(written, table("evaluation_players"), row_of(3, place=4))
    assert "its tie-breaks do not follow" in changed(written, table("evaluation_players"), first_row(figures="{}"))
    assert "does not follow from what came before" in changed(written, table("evaluation_players"), row_of(4, seed=9))
    assert "is not what its rules draw" in changed(written, table("evaluation_pairings"), row_of(4, board=9))
    assert "come from no match" in changed(written, table("series"), without_pairings)
    assert "not played as it was declared" in changed(written, table("evaluations"), row_of(3, further=0))
    assert "not played as it was declared" in changed(written, table("evaluations"), row_of(3, tie_breaks=None))
    other = row_of(1, tie_breaks='["rounds_won"]')
    assert "its tie-breaks do not follow" in changed(written, table("evaluations"), other)
    assert "ended before everything" in changed(written, table("evaluation_pairings"), without_the_last)
    assert "places in the finals do not follow" in changed(written, table("entries"), first_row(finals_place=9))
    source = changed(written, f"v1/seasons/{SEASON}/sources/3", bytes.upper)
    assert "The source of version 3 is not the one in the table" in source
    assert "WRONG dice" in changed(written, f"v1/seasons/{SEASON}.json", edited('"dice_secret":"', '"dice_secret":"00'))


def test_what_is_no_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    assert "cannot read" in invoke("season", "verify", str(path)).stderr
    path.write_bytes(b"no zip")
    assert "is not an archive" in invoke("season", "verify", str(path)).stderr
