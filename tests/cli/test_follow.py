"""Followed matches are reported once each, however many end at once and in whatever order."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.api.schemas import write_cursor
from deadheat.cli.server import follow
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.follow import OVERLAP, POLL_SECONDS, News, Patience, newest_end
from deadheat.league.jobs import SeriesJob
from deadheat.league.records.matches import SeatView
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.tables import Match
from tests.api.site import Site

SERIES = 60
"""Matches in a series; two series fill more than a page."""


class Followed:
    """A season of three bots, hence three series, and a client of its server."""

    def __init__(self, site: Site, client: Client) -> None:
        self.world, self.client = site.world, client
        self.season = self.world.season(3, series_length=SERIES, games_per_pair=SERIES)
        claimed = [self.world.claim(series_id) for series_id in self.world.tick()]
        self.jobs: list[SeriesJob] = [job for job in claimed if job is not None]
        assert len(self.jobs) == 3

    def seats(self, job: SeriesJob) -> tuple[SeatView, ...]:
        return self.world.read(match_detail, job.matches[0].match_id).seats

    def news(self, bot_id: int = 0) -> News:
        made = News(self.client, bot_id, 0, newest_end(self.client))
        made.look()
        return made

    def ends(self, job: SeriesJob, seconds_later: float = 1) -> None:
        self.world.clock.turn(seconds_later)
        assert self.world.finish(job)


@pytest.fixture
def followed(site: Site, server: str) -> Iterator[Followed]:
    with Client(server, "") as client:
        yield Followed(site, client)


def numbers(*jobs: SeriesJob) -> list[int]:
    return [match.match_id for job in jobs for match in job.matches]


def test_series_that_end_between_two_looks_are_all_told_once(followed: Followed) -> None:
    first, second, third = followed.jobs
    news = followed.news()
    for job in (third, first, second):
        followed.ends(job)
    assert [match.id for match in news.look()] == numbers(third, first, second), "in the order in which they ended"
    assert news.look() == []


def test_an_earlier_series_that_ends_last_is_told(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(second)
    followed.ends(third)
    news = followed.news()
    followed.ends(first, seconds_later=3600)
    assert [match.id for match in news.look()] == numbers(first)


def test_a_result_that_is_seen_late_is_told_and_nothing_is_told_again(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(first)
    news = followed.news()
    followed.ends(second)
    assert len(news.look()) == SERIES
    assert followed.world.finish(third)
    late = followed.world.clock() - OVERLAP / 2
    with followed.world.db.transaction() as session:
        for number in numbers(third):
            session.get_one(Match, number).finished_at = late
    assert [match.id for match in news.look()] == numbers(third)
    assert news.look() == []


def test_who_reads_more_pages_waits_longer_for_the_next_look(followed: Followed, monkeypatch) -> None:
    asked: list[str] = []
    slept: list[float] = []
    call = followed.client.call

    def counted(method: str, path: str, **arguments: Any) -> Any:
        asked.append(path)
        return call(method, path, **arguments)

    news, patience = followed.news(), Patience(3600, "never")
    monkeypatch.setattr(followed.client, "call", counted)
    monkeypatch.setattr(follow, "time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    for job in (None, *followed.jobs):
        if job is not None:
            followed.ends(job)
        asked.clear()
        news.look()
        assert news.pages == len(asked)
        patience.pause(news.pages)
    assert slept == [POLL_SECONDS, POLL_SECONDS, 2 * POLL_SECONDS, 2 * POLL_SECONDS]


def test_of_one_bot_only_its_own_matches_are_told(followed: Followed) -> None:
    bot_id = followed.world.read(matches, season_id=followed.season, limit=1)[0].seats[0].bot_id
    mine = [job for job in followed.jobs if any(seat.bot_id == bot_id for seat in followed.seats(job))]
    news = followed.news(bot_id)
    for job in followed.jobs:
        followed.ends(job)
    assert [match.id for match in news.look()] == numbers(*mine)
    assert len(mine) == 2


def test_the_list_by_end_goes_on_where_its_cursor_says(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(second)
    since = followed.world.clock()
    followed.ends(third)
    followed.ends(first)
    told = [match.id for match in followed.client.matches(finished_since=since)]
    assert told == [number for job in (first, third, second) for number in reversed(numbers(job))]
    assert list(followed.client.matches(finished_since=since + OVERLAP, state="abandoned")) == []
    params = {"finished_since": since.isoformat(), "cursor": write_cursor(999_999)}
    with pytest.raises(Refused, match="cursor"):
        followed.client.call("GET", "/v1/matches", params=params)
