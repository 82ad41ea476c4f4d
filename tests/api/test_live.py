"""A season's stream of news: what it says, how many may be open, and that it ends."""

import re
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from deadheat.api.edge.rates import Rates, Streams
from deadheat.api.pages import live
from deadheat.api.pages.live import News
from deadheat.api.services import Services
from deadheat.league.service.rankings.standings import refit
from tests.api.site import Site
from tests.cli.command import ROOT
from tests.league.ground import settings

OPERATORS = ROOT / "docs" / "how-to" / "abuse.md"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.01)


def ranked(site: Site, season: int) -> None:
    world = site.world
    assert world.finish(world.claimed(world.tick()[0]))
    world.clock.turn(10)
    assert world.write(refit, season)


def asker(host: str) -> Request:
    return Request({"type": "http", "headers": [], "client": (host, 1)})


def shared(site: Site) -> Services:
    found = site.app.state.services
    assert isinstance(found, Services)
    return found


def test_a_new_ranking_is_told_once(site: Site) -> None:
    season = site.world.season(2, games_per_pair=None)

    async def watch() -> list[str]:
        news = News()
        stream = news.stream(shared(site), asker("192.0.2.1"), season, None)
        said = [await anext(stream)]
        await anyio.to_thread.run_sync(ranked, site, season)
        said.append(await anext(stream))
        await anyio.to_thread.run_sync(ranked, site, season)
        said.append(await anext(stream))
        assert news.streams.total == 1
        await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
        assert news.streams.total == 0, "who leaves makes room"
        return said

    assert anyio.run(watch) == [
        "retry: 5000\n\n",
        "event: snapshot\nid: 1\ndata: 1\n\n",
        "event: snapshot\nid: 2\ndata: 2\n\n",
    ]


def test_a_stream_that_has_nothing_to_say_says_so_and_ends(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    season = site.world.season(2)
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.5)
    monkeypatch.setattr(live, "SILENCE_SECONDS", 0.0)
    answer = site.client.get(f"/seasons/{season}/events")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
    assert ": nothing new\n\n" in answer.text and "event:" not in answer.text
    assert site.app.state.news.streams.total == 0


def test_whoever_missed_a_ranking_is_told_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    season = site.world.season(2, games_per_pair=None)
    ranked(site, season)
    ranked(site, season)
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.2)
    text = site.client.get(f"/seasons/{season}/events", headers={"Last-Event-ID": "1"}).text
    assert text.count("event: snapshot\nid: 2") == 1


@pytest.mark.parametrize("before", [0, 1], ids=["the first", "another"])
def test_a_ranking_made_between_a_page_and_its_stream_is_told_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    season = site.world.season(2, games_per_pair=None)
    for _ in range(before):
        ranked(site, season)
    found = re.search(r'data-events="([^"]+)"', site.client.get(f"/seasons/{season}").text)
    assert found is not None
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.2)
    assert "event:" not in site.client.get(found[1]).text
    ranked(site, season)
    assert site.client.get(found[1]).text.count(f"event: snapshot\nid: {before + 1}\n") == 1
    again = site.client.get(found[1], headers={"Last-Event-ID": f"{before + 1}"})
    assert "event:" not in again.text, "what the last stream told is newer than the page"


@pytest.mark.parametrize("after", ["", "x", "-1", "1.0", "9" * 12, "%C2%B2"])
def test_a_page_that_names_no_ranking_hears_of_the_next_one(
    site: Site, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    season = site.world.season(2, games_per_pair=None)
    ranked(site, season)
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.2)
    answer = site.client.get(f"/seasons/{season}/events?after={after}")
    assert answer.status_code == 200 and "event:" not in answer.text


def test_streams_are_bounded_and_only_of_seasons(site: Site) -> None:
    season = site.world.season(2)
    site.problem(404, site.client.get("/seasons/99/events"))
    site.app.state.news.streams = Streams(0, 30)
    answer = site.client.get(f"/seasons/{season}/events")
    site.problem(429, answer)
    assert answer.headers["retry-after"] == "30"


def test_one_address_leaves_streams_for_others() -> None:
    streams = Streams(4, 30)
    near, far = asker("192.0.2.1"), asker("192.0.2.2")
    with streams.taken(near):
        streams.check(near)
        with streams.taken(near):
            with pytest.raises(HTTPException, match="from your address"):
                streams.check(near)
            streams.check(far)
        streams.check(near)
    with ExitStack() as all_of_them:
        for number in range(4):
            all_of_them.enter_context(streams.taken(asker(f"192.0.2.{number}")))
        with pytest.raises(HTTPException):
            streams.check(asker("192.0.2.99"))
    streams.check(far)


def test_a_hall_behind_one_address_follows_a_season() -> None:
    streams, hall = News().streams, asker("192.0.2.1")
    with ExitStack() as everybody:
        for _ in range(400):
            streams.check(hall)
            everybody.enter_context(streams.taken(hall))
        streams.check(asker("192.0.2.2"))


def test_a_hall_with_the_limits_that_operators_are_told_keeps_within_them(tmp_path: Path, one_window: None) -> None:
    told = re.findall(r"^    DEADHEAT_(\w+_PER_\w+)=(\d+)$", OPERATORS.read_text("utf-8"), re.MULTILINE)
    assert {name for name, _ in told} == {"READS_PER_MINUTE", "SIGN_INS_PER_MINUTE", "SIGN_UPS_PER_HOUR"}
    rates = Rates(settings(tmp_path, **{name.lower(): int(value) for name, value in told}), str)
    hall = asker("192.0.2.1")
    for person in range(200):
        rates.sign_up(hall)
        rates.sign_in(hall, f"author{person}")
        for _ in range(10):
            rates.write(hall)
        for _ in range(30 + 6 + 10):  # a running match each 2 s, a leaderboard each 10 s, and what else they read
            rates.read(hall)
