"""Statistics of results: ratings of a file or a season, and sequential tests."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from deadheat.league.service.rankings.standings import refit
from deadheat.league.tables import Participant
from tests.cli.command import assert_one_sentence, invoke, succeeded
from tests.league.conftest import execute, postgres_url  # noqa: F401  a fixture
from tests.league.ground import settings
from tests.league.logs import Line, duels
from tests.league.test_ratings import baseball
from tests.league.world import World


def written(folder: Path, lines: list[Line]) -> str:
    path = folder / "log.jsonl"
    games = [dict(zip(("players", "ranks", "group"), line, strict=False)) for line in lines]
    path.write_text("".join(json.dumps(game) + "\n" for game in games))
    return str(path)


def rated(*arguments: str) -> dict[str, Any]:
    done = succeeded(invoke("rate", *arguments, "--json"))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_seven_of_ten(tmp_path: Path) -> None:
    found = rated(written(tmp_path, duels("a", "b", 7, 3)), "--prior-sd", "none")
    first, second = found["entries"]
    assert first.keys() >= {"player", "elo", "se", "ci95", "rank_low", "rank_high", "games"}
    assert first["elo"] - second["elo"] == pytest.approx(147.19, abs=0.005)
    assert (first["gap_elo"], first["gap_se"]) == pytest.approx((147.19, 119.88), abs=0.005)
    half = 1.96 * first["se"]
    assert first["ci95"] == pytest.approx([first["elo"] - half, first["elo"] + half], abs=0.01)
    assert [(one["rank"], one["rank_low"], one["rank_high"]) for one in (first, second)] == [(1, 1, 2), (2, 1, 2)]
    assert (first["games"], second["gap_elo"], found["games"]) == (10, None, 10)
    assert len(found["log_sha256"]) == 64
    assert found["pairs"] == {"players": ["a", "b"], "games": [[0, 10], [10, 0]], "points": [[0, 7], [3, 0]]}


def test_of_tables_of_three_it_says_what_is_counted(tmp_path: Path) -> None:
    three: list[Line] = [(("a", "b", "c"), (1, 2, 3))]
    assert "against each other bot at a" in " ".join(invoke("rate", written(tmp_path, three)).stdout.split())
    assert "Wins" not in invoke("rate", written(tmp_path, duels("a", "b", 7, 3))).stdout


def test_a_table_for_people(tmp_path: Path) -> None:
    done = invoke("rate", written(tmp_path, [*baseball(), *duels("Boston", "[red]\x1b[31m", 20)]))
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1][:5] == ["#", "places", "player", "rating", "games"] and lines[3][1].startswith("1-")
    assert "[red]\\x1b[31m" in done.stdout and "Fit: chi-squared" in done.stdout
    assert "Seats at tables of 2" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:10])) <= 80


def test_ties_are_shown_as_ties(tmp_path: Path) -> None:
    done = invoke("rate", written(tmp_path, [*duels("a", "b", 0, 0, 4), *duels("a", "c", 30), *duels("b", "c", 30)]))
    shown = [line.split()[:3] for line in done.stdout.splitlines()[3:6]]
    assert shown == [["1=", "1-2", "a"], ["1=", "1-2", "b"], ["3", "3", "c"]]


def test_tables_have_a_second_column_and_may_count_wins(tmp_path: Path) -> None:
    lines: list[Line] = [(("a", "b", "c"), (1, 2, 3)), (("b", "c", "a"), (1, 3, 2)), (("c", "a", "b"), (3, 1, 2))]
    path = written(tmp_path, lines * 5)
    assert "PL" in invoke("rate", path).stdout
    placement, wins = rated(path), rated(path, "--ranks", "wins")
    assert placement["entries"][0]["wins"] == 25
    assert wins["entries"][0]["wins"] == 10
    assert (placement["config"]["ranks"], wins["config"]["ranks"]) == ("placement", "wins")
    assert placement["log_sha256"] == wins["log_sha256"]


def test_an_empty_log_is_no_error_and_standard_input_is_a_file(tmp_path: Path) -> None:
    assert invoke("rate", written(tmp_path, [])).stdout == "There are no games.\n"
    assert rated(written(tmp_path, []))["entries"] == rated("/dev/stdin")["entries"] == []


# A season of a deployment ------------------------------------------------------------------------------------------


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A league with one ranked season; the command finds it by the environment."""
    made = World(settings(tmp_path))
    made.season(3, series_length=2, games_per_pair=2)
    made.play_all()
    with made.db.transaction() as session:
        assert refit(session, 1)
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    yield made
    made.close()


def test_a_seasons_ranking_is_recomputed_and_is_the_same(world: World) -> None:
    done = invoke("rate", "--season", "1", "--check")
    assert (done.returncode, "follows from its log of 6 games." in done.stdout) == (0, True)
    found = json.loads(invoke("rate", "--season", "1", "--check", "--json").stdout)
    assert (found["differences"], found["games"], len(found["log_sha256"])) == ([], 6, 64)


def test_a_ranking_that_somebody_touched_is_told_with_exit_code_1(world: World) -> None:
    with world.db.transaction() as session:
        seat = update(Participant).where(col(Participant.match_id) == 1, col(Participant.seat) == 0)
        session.execute(seat, {"rank": 2})
    done = invoke("rate", "--season", "1", "--check")
    assert done.returncode == 1 and "does NOT follow from its log of 6 games" in done.stdout
    assert "log_sha256 is stored as" in done.stdout


def test_a_seasons_table(world: World) -> None:
    assert "1-3" in invoke("rate", "--season", "1").stdout
    found = json.loads(invoke("rate", "--season", "1", "--json").stdout)
    assert [row["rank"] for row in found["rows"]] == [1, 1, 1]


def test_what_is_not_there(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_one_sentence(invoke("rate", "--season", "9"), "There is no season 9.")
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "elsewhere"))
    assert_one_sentence(invoke("rate", "--season", "1", "--check"), "there is no database at ")
    told = " ".join(invoke("rate", "--season", "1", "--check").stderr.split())
    assert "set DEADHEAT_DATA_DIR" in told and "--check --server URL" in told
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "deadheat.sqlite3").touch()
    assert_one_sentence(invoke("rate", "--season", "1"), "the database cannot be read")


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_the_database_of_the_units_is_found(quote: str, world: World, tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "env"
    place.write_text(f"AWS_REGION=x\nDEADHEAT_DATABASE_URL={quote}{world.db.engine.url}{quote}\nDEADHEAT_PORT=1\n")
    monkeypatch.setattr("deadheat.cli.rate.UNITS", place)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "elsewhere"))
    assert_one_sentence(invoke("rate", "--season", "1", "--check"), "there is no database at ")  # what is set counts
    monkeypatch.delenv("DEADHEAT_DATA_DIR")
    assert "follows from its log of 6 games." in invoke("rate", "--season", "1", "--check").stdout
    place.unlink()
    assert_one_sentence(invoke("rate", "--season", "1", "--check"), "exec control deadheat rate")


@pytest.mark.all
def test_the_database_of_a_cluster_is_found(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url: str = request.getfixturevalue("postgres_url")
    execute(url, "CREATE DATABASE cluster TEMPLATE template")
    place = tmp_path / "env"
    place.write_text(f"DEADHEAT_DATABASE_URL={url.format('cluster')}\n")
    monkeypatch.setattr("deadheat.cli.rate.UNITS", place)
    monkeypatch.chdir(tmp_path)
    with closing(World(settings(tmp_path, database_url=url.format("cluster")))) as made:
        made.season(3, series_length=2, games_per_pair=2)
        made.play_all()
        with made.db.transaction() as session:
            assert refit(session, 1)
    assert "follows from its log of 6 games." in invoke("rate", "--season", "1", "--check").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give either a file or --season"),
        (("x", "--season", "1"), "give either a file or --season"),
        (("nowhere.jsonl",), "cannot read nowhere.jsonl: No such file"),
        ((".",), "cannot read .: Is a directory"),
        (("x", "--check"), "--check needs --season"),
        (("x", "--prior-sd", "0"), "--prior-sd is a number above 0"),
        (("x", "--prior-sd", "nan"), "--prior-sd is a number above 0"),
        (("x", "--prior-sd", "wide"), "--prior-sd is a number above 0"),
    ],
)
def test_arguments_that_cannot_be(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path, [])
    assert_one_sentence(invoke("rate", *(path if argument == "x" else argument for argument in arguments)), sentence)


def test_a_bad_line_is_told_by_number(tmp_path: Path) -> None:
    path = Path(written(tmp_path, duels("a", "b", 2)))
    path.write_text(path.read_text() + '{"players": ["a"], "ranks": [1]}\n')
    assert_one_sentence(invoke("rate", str(path)), f"{path}, line 3: players must be a list of 2 to 64")


def test_games_that_determine_nothing_need_a_prior(tmp_path: Path) -> None:
    path = written(tmp_path, duels("a", "b", 5))
    assert_one_sentence(invoke("rate", path, "--prior-sd", "none"), "without a prior these games")
    assert rated(path)["entries"][0]["player"] == "a"


def test_it_says_the_ratio_and_the_verdict() -> None:
    done = succeeded(invoke("sprt", "--elo0", "0", "--elo1", "2", "--counts", "365,16618,36229,16974,390"))
    assert done.stdout == (
        "LLR 2.25 in [-2.94, 2.94] after 141,152 games, score 50.14 %\nUndecided: more games are needed.\n"
    )


def test_json_has_the_same() -> None:
    arguments = ["--elo0", "0", "--elo1", "50", "--model", "logistic", "--counts", "50,20,130", "--json"]
    found = json.loads(invoke("sprt", *arguments).stdout)
    assert found.keys() == {"verdict", "llr", "lower", "upper", "games", "score"}
    assert (found["verdict"], found["games"], found["score"]) == ("accept", 200, 0.7)
    assert found["llr"] > found["upper"]


def test_bounds_below_zero_and_other_shares_of_errors() -> None:
    done = invoke("sprt", "--elo0", "-5", "--elo1", "0", "--alpha", "0.1", "--counts", "900, 100, 500")
    assert "H1 is rejected: the difference is -5 rather than 0 Elo." in done.stdout and "[-2.89, 2.25]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--elo0", "0", "--elo1", "5", "--counts", "1,2"), "counts are three numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", "1,2,x"), "counts are whole numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", "1,-2,3"), "counts are whole numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", ""), "counts are whole numbers"),
        (("--elo0", "5", "--elo1", "5", "--counts", "1,2,3"), "elo0 must be below elo1"),
        (("--elo0", "nan", "--elo1", "5", "--counts", "1,2,3"), "elo0 must be below elo1"),
        (("--elo0", "0", "--elo1", "5", "--beta", "1", "--counts", "1,2,3"), "alpha and beta must"),
    ],
)
def test_what_makes_no_test_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert_one_sentence(invoke("sprt", *arguments), sentence)
