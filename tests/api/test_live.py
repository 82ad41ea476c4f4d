"""A season's news as a stream: what it says, how many there may be, and that it ends."""

from __future__ import annotations

import anyio
import pytest

from api.pages import live
from api.pages.live import News
from api.services import Services
from league import service
from tests.api.site import Site


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.01)


def ranked(site: Site, season: int) -> None:
    """Another series is played, and the season ranked."""
    world = site.world
    [series_id, *_] = world.tick()
    job = world.claim(series_id)
    assert job is not None
    assert world.finish(job)
    world.clock.turn(10)
    with world.db.transaction() as session:
        assert service.refit(session, season)


def shared(site: Site) -> Services:
    found = site.app.state.services
    assert isinstance(found, Services)
    return found


def test_a_new_ranking_is_told_once(site: Site) -> None:
    season = site.world.season(2, games_per_pair=None)

    async def watch() -> list[str]:
        news = News()
        stream = news.stream(shared(site), season, None)
        said = [await anext(stream)]
        await anyio.to_thread.run_sync(ranked, site, season)
        said.append(await anext(stream))
        await anyio.to_thread.run_sync(ranked, site, season)
        said.append(await anext(stream))
        assert news.streams == 1
        await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
        assert news.streams == 0, "who leaves makes room"
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
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert ": nothing new\n\n" in answer.text
    assert "event:" not in answer.text
    assert site.app.state.news.streams == 0


def test_whoever_missed_a_ranking_is_told_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    season = site.world.season(2, games_per_pair=None)
    ranked(site, season)
    ranked(site, season)
    monkeypatch.setattr(live, "STREAM_SECONDS", 0.2)
    text = site.client.get(f"/seasons/{season}/events", headers={"Last-Event-ID": "1"}).text
    assert text.count("event: snapshot\nid: 2") == 1


def test_streams_are_bounded_and_only_of_seasons(site: Site) -> None:
    season = site.world.season(2)
    site.problem(404, site.client.get("/seasons/99/events"))
    site.app.state.news.streams = live.MOST_STREAMS
    site.problem(429, site.client.get(f"/seasons/{season}/events"))
