"""Watching a match in progress: it grows, restarts after a failure of the service, and becomes its own replay."""

from __future__ import annotations

import re
from dataclasses import replace

from playwright.sync_api import expect
from sqlmodel import col, select, update

from deadheat.engine.chance import commitment
from deadheat.engine.core import Reply
from deadheat.engine.transcript import Transcript, decode
from deadheat.league.jobs import MatchOutcome, SeriesJob
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.service.series import live
from deadheat.league.states import SeasonState
from deadheat.league.tables import Match, Series
from tests.league.outcomes import won
from tests.site.conftest import PHONE, League, Open, barriers
from tests.site.leagues import TRANSCRIPTS


class Played:
    """A series whose first match is a recorded one, shown exchange by exchange."""

    def __init__(self, league: League, name: str, game: str) -> None:
        self.league, self.world = league, league.site.world
        self.content = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
        self.transcript: Transcript = decode(self.content)
        world = self.world
        with world.db.transaction() as session:
            season = create_season(
                session, world.boss, game=game, name=f"live {name}", seats=self.transcript.seats, series_length=2
            )
            set_season_state(session, world.boss, season.id, SeasonState.OPEN)
        for seat in range(self.transcript.seats):
            owner, bot_id = world.bot(f"player{seat}", game)
            world.write(enter, owner, season.id, bot_id)
        world.tick()
        with world.db.reading() as session:
            series_id = session.exec(select(Series.id).where(Series.season_id == season.id)).first()
        assert series_id is not None
        job = world.claimed(series_id)
        self.job: SeriesJob = job
        self.match_id = job.matches[0].match_id
        with world.db.transaction() as session:
            of_it = col(Match.id) == self.match_id
            alone = commitment(self.match_id.to_bytes(32))  # no other match may use its dice
            session.exec(update(Match).where(of_it).values(seed=self.transcript.seed, commitment=alone))

    def show(self, exchanges: int) -> None:
        replies: list[dict[int, Reply]] = [dict(e.replies) for e in self.transcript.exchanges[:exchanges]]
        assert self.world.write(live.show, self.job, self.match_id, replies)

    def finish(self) -> None:
        first, *others = (won(match) for match in self.job.matches)
        stored = self.league.site.blobs.put(self.content)
        mine: MatchOutcome = replace(first, transcript_sha256=stored, result=self.transcript.result)
        assert self.world.finish(self.job, [mine, *others])


def test_a_match_is_watched_while_it_is_played_and_becomes_its_replay(visit: Open, league: League) -> None:
    played = Played(league, "yacht-auction", "yacht-auction")
    page = visit(f"/matches/{played.match_id}")
    expect(page.locator("#told")).to_contain_text("Its series is being played now")
    played.show(3)
    expect(page.locator("[data-part=where]")).to_contain_text("move 4 of 4")
    expect(page.locator("#told")).to_contain_text("Being played now")
    assert barriers(page) == []
    played.show(6)
    expect(page.locator("[data-part=where]")).to_contain_text("move 11 of 11")
    page.get_by_role("button", name="Back", exact=True).click()
    played.show(8)
    expect(page.locator("[data-part=where]")).to_contain_text(re.compile("move 10 of 1[2-9]"))
    home = visit("/")
    home.get_by_role("link", name="watch live").first.click()
    assert re.search(rf"/matches/{played.match_id}$", home.url)
    played.finish()
    page.wait_for_selector("#replay:not([hidden])")
    expect(page.locator("h1")).not_to_contain_text("scheduled")


def test_without_scripts_a_running_match_is_told_in_words(visit: Open, league: League) -> None:
    played = Played(league, "liars-dice", "liars-dice")
    played.show(3)
    page = visit(f"/matches/{played.match_id}", java_script_enabled=False, viewport=PHONE)
    expect(page.locator("#told")).to_contain_text("Being played now")
    expect(page.locator("noscript .moves tbody tr")).to_have_count(4)
    expect(page.locator("noscript meta[http-equiv=refresh]")).to_have_count(1)
    expect(page.locator("html")).to_have_js_property("scrollWidth", PHONE["width"])  # the page reloads itself
    played.finish()
    expect(page.locator(".moves tbody tr").last).to_contain_text(re.compile("wins|draw"))


def test_spectators_see_hands_only_when_they_are_revealed(visit: Open, league: League) -> None:
    played = Played(league, "liars-dice-odd-spelling", "liars-dice")
    challenge = next(
        number
        for number, exchange in enumerate(played.transcript.exchanges)
        if any(event["type"] == "challenge" for event in exchange.events)
    )
    played.show(challenge - 1)
    page = visit(f"/matches/{played.match_id}")
    page.wait_for_selector("#live-match:not([hidden])")
    expect(page.locator("[data-part=sight]")).to_be_hidden()
    assert page.locator(".liars .chair .die:not(.down)").count() == 0
    played.show(challenge)
    expect(page.locator("[data-part=where]")).to_contain_text("round 2")
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".liars .chair .die:not(.down)").first).to_be_visible()
