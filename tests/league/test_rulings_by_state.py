"""Rulings in every state of a season, by whom, and beside other changes."""

import json
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, col, func, select

from deadheat.engine.core import Result
from deadheat.league.blobs import Blobs
from deadheat.league.errors import LeagueError, OwnMatch, WrongState
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log, first_broken
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import invite_to_team, join_team
from deadheat.league.service.rankings.standings import leaderboard, publish, refit
from deadheat.league.service.rulings import appeals, closing, rulings
from deadheat.league.service.rulings import appeals as league_appeals
from deadheat.league.service.rulings.appeals import appealable, open_appeal
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons import entries, participation, seasons
from deadheat.league.service.seasons.absence import disqualify, reinstate
from deadheat.league.service.tables import programs, sitting, turns
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import IN_PLAY, AppealState, FinalsFormat, MatchState, Purpose, Role, SeasonState
from deadheat.league.storage.backup import back_up, named_blobs
from deadheat.league.tables import AbsentEntry, Appeal, AuditRecord, Match, Season, Series, VoidedMatch
from deadheat.league.words import Remedy
from tests.league.clock import START
from tests.league.ground import in_threads
from tests.league.outcomes import abandoned
from tests.league.test_rulings import Ranked, ranked
from tests.league.test_unfinished import appeal, season
from tests.league.world import World


class Court:
    """A season of three bots in `state`, whose ladder has been played and whose finals have not."""

    def __init__(self, world: World, state: SeasonState) -> None:
        self.world, self.state = world, state
        self.season, self.owners, self.match, self.appeal = world.repeated(self._made, "court", state)

    def _made(self) -> tuple[int, list[Person], int, int]:
        world = self.world
        self.season = world.season(0, games_per_pair=2, finals=FinalsFormat.ROUND_ROBIN, finals_games=2)
        owners = [world.entrant(self.season)[0] for _ in range(3)]
        world.play_all()
        match = world.write(matches, bot_id=1)[-1].id
        appeal = world.write(open_appeal, owners[0], match, "no", {"verified": True}).id
        self.ranked()
        if self.state is not SeasonState.OPEN:
            world.set_state(self.season, self.state, force=True)
        world.clock.turn(60)
        return self.season, owners, match, appeal

    def rule(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> Any:
        return self.world.write(ruling, self.world.boss, *arguments, **named)

    def refused(self, ruling: Callable[..., Any], /, *arguments: object, **named: object) -> LeagueError:
        """Return the refusal, and check that it left the database as it was."""
        before = self.traces()
        with pytest.raises(WrongState) as told:
            self.rule(ruling, *arguments, **named)
        assert self.traces() == before
        return told.value

    def traces(self) -> list[int]:
        tables = (VoidedMatch, AbsentEntry, AuditRecord, Series)
        counts = [self.world.one(select(func.count()).select_from(table)) for table in tables]
        still = select(func.count()).select_from(Appeal).where(col(Appeal.state) == AppealState.OPEN)
        return [*counts, self.world.one(still)]

    def ranked(self) -> dict[int, Any]:
        """Rank again; return the number of games of each ranked bot."""
        self.world.clock.turn(60)
        self.world.write(refit, self.season)
        return {row["bot_id"]: row["games"] for row in self.world.ranking(self.season) if row["rank"] is not None}


@pytest.fixture(params=IN_PLAY)
def court(world: World, request: pytest.FixtureRequest) -> Court:
    return Court(world, request.param)


def test_a_match_is_voided_restored_and_rejudged_while_the_season_goes_on(court: Court) -> None:
    before = court.ranked()
    assert court.rule(void_match, court.match, "x")
    assert sum(court.ranked().values()) == sum(before.values()) - 2
    assert court.rule(restore_match, court.match, "x")
    assert court.ranked() == before
    court.rule(rejudge_match, court.match, "x")
    court.world.play(court.world.enqueued())
    assert court.ranked() == before, "the repetition counts in its place, in the finals too"


def test_a_bot_is_disqualified_and_reinstated_while_the_season_goes_on(court: Court) -> None:
    before = court.ranked()
    court.rule(disqualify, court.season, 1, "x")
    assert court.ranked() == {2: 2, 3: 2}
    court.rule(reinstate, court.season, 1, "x")
    assert court.ranked() == before


@pytest.mark.parametrize("remedy", list(Remedy))
def test_an_appeal_is_upheld_while_the_season_goes_on(court: Court, remedy: Remedy) -> None:
    ruled = court.rule(appeals.rule, court.appeal, uphold=True, ruling="right", remedy=remedy)
    assert ruled.state is AppealState.UPHELD
    assert (court.world.read(match_detail, court.match).uncounted is None) == (remedy is Remedy.NONE)
    assert court.refused(appeals.rule, court.appeal, uphold=False, ruling="twice").code == "wrong-state"


def test_a_closed_season_takes_no_ruling_and_says_so(world: World) -> None:
    court = Court(world, SeasonState.CLOSED)
    assert world.write(publish, court.season)
    standings = published(court)
    refusals = [
        *(court.refused(ruling, court.match, "x") for ruling in (void_match, restore_match, rejudge_match)),
        *(court.refused(ruling, court.season, 1, "x") for ruling in (disqualify, reinstate)),
        *(
            court.refused(appeals.rule, court.appeal, uphold=True, ruling="x", remedy=remedy)
            for remedy in (Remedy.VOID, Remedy.REJUDGE)
        ),
    ]
    assert all("season is closed" in str(refusal) for refusal in refusals)
    with pytest.raises(WrongState, match="season is closed"):
        world.read(appealable, court.owners[0], court.match)
    ruled = court.rule(appeals.rule, court.appeal, uphold=False, ruling="too late, and wrong")
    assert ruled.state is AppealState.REJECTED, "an appeal that was open is still answered"
    assert published(court) == standings


def published(court: Court) -> tuple[str | None, Any]:
    board = court.world.read(leaderboard, court.season)
    return board.log_sha256, board.standings


def test_a_match_that_is_not_done_is_neither_ruled_on_nor_appealed_against(world: World) -> None:
    court = Court(world, SeasonState.OPEN)
    owner, _ = world.entrant(court.season)
    running, *_ = world.tick()
    assert world.claim(running) is not None
    waiting = world.rows(select(Match.series_id, Match.id).where(Match.state == MatchState.SCHEDULED))
    assert {series_id == running for series_id, _ in waiting} == {True, False}, "one is played, others wait"
    for _, match_id in waiting:
        for ruling in (void_match, restore_match, rejudge_match):
            assert "not over yet" in str(court.refused(ruling, match_id, "x"))
        with pytest.raises(WrongState, match="The match is not over yet"):
            world.read(appealable, owner, match_id)


def test_a_match_of_the_finals_is_voided_and_rejudged(world: World) -> None:
    court = Court(world, SeasonState.FINALS)
    world.tick()  # the finals' tables follow from the frozen ladder's ranking
    court.ranked()
    job = world.claimed(world.tick()[0])
    assert world.finish(job)
    match_id = job.matches[0].match_id
    before = court.ranked()
    assert court.rule(void_match, match_id, "x")
    assert sum(court.ranked().values()) == sum(before.values()) - 2
    court.rule(rejudge_match, match_id, "x")
    again = world.one(select(Series).order_by(col(Series.id).desc()).limit(1))
    assert again.purpose is Purpose.FINALS
    court.world.clock.turn(60)
    assert world.finish(world.claimed(again.id))
    assert court.ranked() == before


__all__ = ["ranked"]


def test_what_was_voided_stays_so_when_its_later_repetition_is_lost(ranked: Ranked) -> None:
    match_id = ranked.matches()[0]
    ranked.rule(void_match, match_id, "collusion")
    without = ranked.table()[0]
    ranked.rule(rejudge_match, match_id, "let us see")
    assert ranked.world.play(ranked.world.enqueued(), abandoned) == 1
    assert ranked.table()[0] == without


@pytest.mark.databases
def test_a_ruling_and_an_entry_do_not_wait_for_each_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    season_id = season(world)
    appeal_id = appeal(world, season_id)
    owner, bot_id = world.bot()
    appeals = sys.modules["deadheat.league.service.rulings.appeals"]
    void, noted, entered = appeals.rulings.void_match, threading.Event(), threading.Event()

    def slowly(session: Session, *arguments: object) -> object:
        noted.set()
        entered.wait(0.5)  # at most: where the entry waits for the ruling, the ruling must not wait for it
        return void(session, *arguments)

    monkeypatch.setattr(appeals.rulings, "void_match", slowly)

    def rule() -> None:
        world.write(league_appeals.rule, world.boss, appeal_id, uphold=True, ruling="so it was", remedy=Remedy.VOID)

    def enters() -> None:
        assert noted.wait(30)
        world.write(entries.enter, owner, season_id, bot_id)
        entered.set()

    in_threads(rule, enters)
    assert world.read(first_broken) is None


def test_a_transaction_that_is_undone_leaves_no_record(world: World) -> None:
    def told() -> int:
        return len(world.read(audit_log))

    before = told()

    def fail(session: Session) -> None:
        seasons.create_season(session, world.boss, game="yacht-auction", name="never")
        raise ZeroDivisionError

    world.refused(ZeroDivisionError, fail)
    world.season(0)
    assert told() > before
    assert "never" not in str(world.read(audit_log))
    assert world.read(first_broken) is None


def test_a_back_up_has_what_people_played(world: World, tmp_path: Path) -> None:
    _, bot_id = world.playing_bot()
    exhibition_id = world.write(sitting.take_seat, world.author(), bot_id, 1)
    name = Blobs(world.settings.blobs).put(b"the transcript")
    with world.db.transaction() as session:
        job = programs.claim_table(session, exhibition_id, "w", world.host)
        assert job is not None and turns.finish(session, job.table_id, job.attempt, Result((1, 2), None, {}), name)
    assert name in named_blobs(back_up(world.settings, tmp_path / "kept").database)


class Judged:
    """A match between an organiser's bot and an author's or (if `teamed`) a team's; the author appeals."""

    def __init__(self, world: World, *, teamed: bool = False) -> None:
        self.world = world
        self.season = world.season(0, series_length=1, games_per_pair=1)
        self.boss = world.boss
        self.author, self.bots = world.author("ada"), []
        for owner in (self.boss, self.author):
            _, bot_id = world.bot(owner=owner)
            self.bots.append(bot_id)
            if teamed and owner is self.author:
                self.team = world.team(owner)
                world.write(participation.change_bot, owner, bot_id, team_id=self.team)
            world.write(entries.enter, owner, self.season, bot_id)
        job = world.claimed()
        assert world.finish(job)
        self.match = job.matches[0].match_id
        self.appeal = world.write(appeals.open_appeal, self.author, self.match, "no", {"verified": True}).id

    def organiser(self, name: str = "carol") -> Person:
        person = self.world.author(name)
        self.world.write(closing.set_role, name, Role.ORGANISER)
        return Person(person.id, name, Role.ORGANISER)

    def said(self) -> list[dict[str, Any]]:
        log = self.world.read(audit_log, subject=f"match/{self.match}")
        return [json.loads(entry.data) for entry in log]


@pytest.fixture
def judged(world: World) -> Judged:
    return Judged(world)


def test_another_organiser_decides(judged: Judged) -> None:
    world, match = judged.world, judged.match
    other = judged.organiser()
    before = judged.said()
    for ruling in (rulings.void_match, rulings.restore_match, rulings.rejudge_match):
        assert "another organiser" in world.refused(OwnMatch, ruling, judged.boss, match, "mine")
    for uphold in (True, False):
        world.refused(OwnMatch, appeals.rule, judged.boss, judged.appeal, uphold=uphold, ruling="mine")
    assert judged.said() == before, "what is refused leaves nothing behind"
    world.write(appeals.rule, other, judged.appeal, uphold=True, ruling="right", remedy=Remedy.VOID)
    voided, ruled, _ = judged.said()
    assert (voided["own_bot"], ruled["own_bot"]) == (False, False)


def test_the_only_organiser_decides_and_everyone_is_told(judged: Judged) -> None:
    judged.world.write(appeals.rule, judged.boss, judged.appeal, uphold=False, ruling="no")
    assert judged.world.write(rulings.void_match, judged.boss, judged.match, "mine")
    for record in judged.said()[:2]:
        assert record["own_bot"] is True
        assert record["remark"] == rulings.ALONE


def test_an_organiser_whose_account_is_closed_is_no_other_one(judged: Judged) -> None:
    judged.world.write(closing.close_account, judged.organiser())
    assert judged.world.write(rulings.void_match, judged.boss, judged.match, "mine")


def test_an_organiser_in_a_team_that_plays_in_the_match_is_no_other_one(world: World) -> None:
    judged = Judged(world, teamed=True)
    mate = judged.organiser("mate")
    world.write(invite_to_team, judged.author, judged.team, "mate")
    world.write(join_team, mate, judged.team)
    assert world.write(rulings.void_match, judged.boss, judged.match, "nobody else could")
    assert world.write(rulings.restore_match, mate, judged.match, "nor here")
    judged.organiser("neutral")
    world.refused(OwnMatch, rulings.void_match, mate, judged.match, "now there is one")


def test_an_organiser_without_a_bot_in_the_match_decides_alone(judged: Judged) -> None:
    assert judged.world.write(rulings.void_match, judged.organiser(), judged.match, "fair")
    judged.world.write(set_season_state, judged.boss, judged.season, SeasonState.FROZEN)
    assert judged.said()[0]["own_bot"] is False


def test_the_finals_begin_after_what_was_ordered_to_be_repeated(world: World) -> None:
    season_id = world.season(3, finals=FinalsFormat.ROUND_ROBIN, finals_games=2, finals_at=START + timedelta(hours=1))
    world.play_all()
    with world.db.transaction() as session:
        match_id = matches(session, season_id=season_id)[0].id
        rejudge_match(session, world.boss, match_id, "the judge was wrong")
    world.clock.turn(3700)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.FINALS
    assert world.row(VoidedMatch, match_id).match_id == match_id
    assert "match-restored" not in {entry.action for entry in world.read(audit_log)}
