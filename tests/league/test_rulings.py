"""Rulings on results, and what is said of a match that does not count."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.engine.chance import commitment
from deadheat.league.errors import WrongState
from deadheat.league.ratings.table import LAST_DIGIT
from deadheat.league.records.matches import MatchDetail, Uncounted
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.audit import audit_log, first_broken
from deadheat.league.service.ground.counting import counts
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons.absence import disqualify, reinstate, take_out
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import FinalsFormat, MatchState, SeasonState
from deadheat.league.tables import AuditRecord, Match, Participant
from deadheat.league.words import Uncounting
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.refusals import refused
from tests.league.test_challenges import Entrant
from tests.league.world import World

Ruling = Callable[..., Any]
Table = tuple[str | None, list[tuple[object, ...]]]


class Ranked:
    """A ranked season of three bots, in which every pair has played four games."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.season, self.owners, self.first = world.repeated(self._made, "three bots, ranked")

    def _made(self) -> tuple[int, list[tuple[Person, int]], Table]:
        self.season = self.world.season(0)
        owners = [self.world.entrant(self.season) for _ in range(3)]
        self.world.play_all()
        return self.season, owners, self.table()

    def enter(self) -> None:
        self.owners.append(self.world.entrant(self.season))

    def table(self) -> Table:
        """Rank again; return the log's hash and the rows, with digits that do not depend on the last ranking."""
        self.world.clock.turn(60)
        self.world.write(refit, self.season)
        board = self.world.read(leaderboard, self.season)
        rows = board.standings["rows"]
        return board.log_sha256, [
            (row["bot_id"], *(round(row[figure], LAST_DIGIT) for figure in ("elo", "se")), row["games"], row["rank"])
            for row in rows
        ]

    def rule(self, ruling: Ruling, *arguments: object, who: Person | None = None) -> Any:
        return self.world.write(ruling, who or self.world.boss, *arguments)

    def matches(self, bot_id: int | None = None) -> list[int]:
        statement = select(Match.id).where(Match.season_id == self.season).order_by(col(Match.id))
        if bot_id is not None:
            statement = statement.join(Participant, col(Participant.match_id) == Match.id)
            statement = statement.where(Participant.bot_id == bot_id)
        return self.world.rows(statement)

    def games(self) -> int:
        (_, rows) = self.table()
        return sum(int(str(row[3])) for row in rows) // 2


@pytest.fixture
def ranked(world: World) -> Ranked:
    return Ranked(world)


def test_a_rejudged_match_is_played_again_in_the_same_seats_with_dice_of_its_own(ranked: Ranked) -> None:
    world, match_id = ranked.world, ranked.matches()[0]
    again = ranked.rule(rejudge_match, match_id, "the host was overloaded")
    assert ranked.games() == 11, "neither counts while the second is not played"
    job = world.claimed(world.enqueued())
    old, new = world.row(Match, match_id), world.row(Match, again)
    assert old.seed != new.seed and new.commitment == commitment(new.seed)
    assert world.read(match_detail, again).seed is None
    assert old.state is MatchState.DONE, "a result is never overwritten"
    seats: dict[int, list[tuple[int, int]]] = {match_id: [], again: []}
    for row in world.rows(select(Participant).where(col(Participant.match_id).in_(list(seats)))):
        seats[row.match_id].append((row.seat, row.version_id))
    assert sorted(seats[match_id]) == sorted(seats[again])
    assert world.finish(job, [won(job.matches[0], winner=1)])
    assert ranked.games() == 12
    assert "replayed as match" in refused(WrongState, ranked.rule, restore_match, match_id, "back")
    assert "replayed as match" in refused(WrongState, ranked.rule, rejudge_match, match_id, "again")
    ranked.rule(void_match, again, "the first one was right")
    ranked.rule(restore_match, match_id, "the first one was right")
    assert ranked.table() == ranked.first


def test_every_ruling_is_in_the_audit_log_with_its_reason(ranked: Ranked) -> None:
    world, match_id = ranked.world, ranked.matches()[0]
    bot_id = ranked.owners[0][1]
    ranked.rule(void_match, match_id, "one")
    ranked.rule(restore_match, match_id, "two")
    ranked.rule(disqualify, ranked.season, bot_id, "three")
    ranked.rule(reinstate, ranked.season, bot_id, "four")
    rows = world.rows(select(AuditRecord).order_by(col(AuditRecord.id).desc()).limit(4))[::-1]
    assert world.read(first_broken) is None
    about = world.read(audit_log, subject=f"match/{match_id}")
    said = [(row.action, json.loads(row.data)["reason"]) for row in rows]
    assert said == [
        ("match-voided", "one"),
        ("match-restored", "two"),
        ("entry-disqualified", "three"),
        ("entry-reinstated", "four"),
    ]
    assert [entry.action for entry in about] == ["match-restored", "match-voided"]


def test_a_forfeit_that_is_voided_is_no_timeout_of_the_season(world: World) -> None:
    season = world.season(2, series_length=1, games_per_pair=1)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0)])
    world.write(refit, season)
    assert world.write(leaderboard, season).standings["totals"]["timeouts"] == 1
    world.write(void_match, world.boss, job.matches[0].match_id, "the host's fault after all")
    world.clock.turn(60)
    world.write(refit, season)
    assert world.write(leaderboard, season).standings["totals"]["timeouts"] == 0


def test_one_match_never_counts_twice_however_it_was_rejudged(ranked: Ranked) -> None:
    def play() -> None:
        ranked.world.clock.turn(120)
        assert ranked.world.play(ranked.world.enqueued()) == 1

    first = ranked.matches()[0]
    second = ranked.rule(rejudge_match, first, "one")
    play()
    ranked.rule(void_match, second, "two")
    ranked.rule(restore_match, first, "three")
    with pytest.raises(WrongState, match=f"match {first}"):
        ranked.rule(restore_match, second, "four")
    assert ranked.table() == ranked.first
    ranked.rule(void_match, first, "five")
    ranked.rule(restore_match, second, "six")
    third = ranked.rule(rejudge_match, second, "seven")
    with pytest.raises(WrongState, match=f"match {third}"):
        ranked.rule(restore_match, first, "while the third is on its way")
    play()
    assert ranked.games() == 12


@pytest.mark.parametrize("lost", ["void", "withdrawn", "closed"])
def test_a_match_whose_repetition_is_never_played_counts_again(ranked: Ranked, lost: str) -> None:
    world, match_id = ranked.world, ranked.matches()[0]
    again = ranked.rule(rejudge_match, match_id, "the host was overloaded")
    if lost == "void":
        assert world.finish(world.claimed(world.enqueued()), abandoned)
    elif lost == "withdrawn":
        with world.db.reading() as session:
            bot_id = session.exec(select(Participant.bot_id).where(Participant.match_id == again)).first()
        ranked.rule(take_out, ranked.season, bot_id, "it stops its host")
    else:
        world.set_state(ranked.season, SeasonState.CLOSED, force=True)
    assert ranked.table()[0] == ranked.first[0]
    newest = world.read(audit_log, subject=f"match/{match_id}", limit=1)
    assert [(entry.actor, entry.action) for entry in newest] == [("system", "match-restored")]


def test_a_double_forfeit_that_is_not_rated_still_reaches_the_totals(world: World) -> None:
    season = world.season(2, series_length=1, games_per_pair=1)
    world.write(refit, season)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0, 1)])
    world.clock.turn(60)
    assert world.write(refit, season)
    totals = world.write(leaderboard, season).standings["totals"]
    assert (totals["rated"], totals["matches"], totals["timeouts"]) == (0, 1, 2)
    assert totals["causes"] == {"referee-late": 1}


def test_a_match_that_we_failed_to_play_is_played_again(world: World) -> None:
    season = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    lost, kept = job.matches
    assert world.finish(job, [abandoned(lost), won(kept)])
    again = world.write(rejudge_match, world.boss, lost.match_id, "the engine is up again")
    with pytest.raises(WrongState, match=f"replayed as match {again}"):
        world.write(rejudge_match, world.boss, lost.match_id, "and once more")
    repeated = world.claimed(world.enqueued())
    assert repeated.matches == (replace(lost, match_id=again, seed=repeated.matches[0].seed),)
    assert repeated.matches[0].seed != lost.seed
    assert world.finish(repeated)
    assert world.write(refit, season)
    assert world.write(leaderboard, season).standings["totals"]["rated"] == 2
    assert world.write(match_detail, again).repeats_id == lost.match_id


def test_if_it_fails_again_it_can_be_tried_again(world: World) -> None:
    world.season(2, series_length=1, games_per_pair=1)
    job = world.claimed()
    assert world.finish(job, [abandoned(job.matches[0])])
    for _ in range(2):
        world.write(rejudge_match, world.boss, job.matches[0].match_id, "try")
        repeated = world.claimed(world.enqueued())
        assert world.finish(repeated, [abandoned(repeated.matches[0])])
    noted = [entry.action for entry in world.read(audit_log, subject=f"match/{job.matches[0].match_id}")]
    assert [action for action in noted if action == "match-rejudged"] == ["match-rejudged"] * 2


def test_what_was_dropped_before_anybody_began_it_is_not_rejudged(world: World) -> None:
    season = world.season(2, finals=FinalsFormat.SWISS)
    world.tick()
    dropped = world.write(league_matches.matches, season_id=season)[0].id
    world.set_state(season, SeasonState.FINALS)
    assert "dropped before it began" in world.refused(WrongState, rejudge_match, world.boss, dropped, "but we want it")


@pytest.fixture
def season(world: World) -> int:
    """Return a season of three bots in which each pair has played two matches."""
    season_id = world.season(3, games_per_pair=2)
    world.play_all()
    return season_id


def detail(world: World, match_id: int) -> MatchDetail:
    return world.read(match_detail, match_id)


def why(world: World, match_id: int) -> Uncounted:
    found = detail(world, match_id).uncounted
    assert found is not None
    return found


def rule(world: World, ruling: Callable[..., Any], *arguments: object) -> Any:
    return world.write(ruling, world.boss, *arguments)


def agrees(world: World, season_id: int) -> None:
    """Check that the matches with a reason are exactly those that are not ranked."""
    told = world.read(matches, season_id=season_id, state=MatchState.DONE, limit=1000)
    ranked = set(world.rows(select(Match.id).where(*counts(season_id))))
    progress = world.read(season_progress, season_id)
    assert world.read(season_progress, season_id, whole=False) == progress, "few matches are counted to the last"
    assert {match.id for match in told if match.uncounted is None} == ranked
    assert (progress.done, progress.counting) == (len(told), len(ranked))
    assert len(told) > len(ranked), "some do not count"


def test_a_voided_match_says_so_until_it_is_restored(world: World, season: int) -> None:
    assert rule(world, void_match, 1, "a cosmic ray")
    assert not rule(world, void_match, 1, "another one"), "it was void already"
    assert why(world, 1).cause is Uncounting.VOIDED
    assert why(world, 1).sentence.endswith("a cosmic ray")
    agrees(world, season)
    assert rule(world, restore_match, 1, "it was none")
    assert not rule(world, restore_match, 1, "it was none"), "it counted already"
    assert detail(world, 1).uncounted is None


def test_a_rejudged_match_leads_to_the_one_in_its_place_and_back(world: World, season: int) -> None:
    second = rule(world, rejudge_match, 1, "the host was late")
    assert (why(world, 1).cause, why(world, 1).rejudged_id) == (Uncounting.REJUDGED, second)
    assert detail(world, second).repeats_id == 1
    assert detail(world, second).uncounted is None, "it is not played yet: nothing is said of it"
    world.clock.turn(60)
    world.play(world.enqueued())
    third = rule(world, rejudge_match, second, "late again")
    for match_id, later in ((1, second), (second, third)):
        assert why(world, match_id).rejudged_id == later
    agrees(world, season)


def test_matches_of_a_disqualified_bot_name_it(world: World, season: int) -> None:
    name = world.read(bot_info, 1).name
    rule(world, disqualify, season, 1, "it helps another bot")
    played = set(world.rows(select(Participant.match_id).where(Participant.bot_id == 1)))
    told = world.read(matches, season_id=season, state=MatchState.DONE, limit=100)
    for match in told:
        assert (match.uncounted is not None) == (match.id in played)
        if match.uncounted is not None:
            assert match.uncounted.cause is Uncounting.DISQUALIFIED
            assert name in match.uncounted.sentence
    agrees(world, season)


def test_a_match_without_a_winner_and_one_at_a_gate_do_not_count(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0, 1), won(job.matches[1])])
    assert why(world, job.matches[0].match_id).cause is Uncounting.NO_WINNER
    entrant = Entrant(world)
    entrant.upload()
    job = world.claimed()
    assert world.finish(job)
    assert why(world, job.matches[0].match_id).cause is Uncounting.GATE
    agrees(world, season_id)
    agrees(world, entrant.season_id)


def test_a_match_that_was_not_played_says_why_not(world: World) -> None:
    first, second, third = (world.season(2, series_length=1, games_per_pair=1) for _ in range(3))
    world.tick()
    world.play([1], abandoned)
    rule(world, disqualify, second, 3, "it cheats")
    world.set_state(third, SeasonState.CLOSED, force=True)
    ids = {match.season_id: match.id for match in world.read(matches, state=MatchState.ABANDONED)}
    assert detail(world, ids[first]).not_played.endswith("(most recently: host-unknown).")
    again = rule(world, rejudge_match, ids[first], "the host is well again")
    assert detail(world, ids[first]).not_played.endswith(f"It is replayed as match {again}.")
    assert detail(world, again).repeats_id == ids[first]
    assert detail(world, ids[second]).not_played == "A bot of this series was taken out."
    assert detail(world, ids[third]).not_played == "The season closed before this series was played."


def test_voiding_changes_the_ranking_and_restoring_is_the_identity(ranked: Ranked) -> None:
    match_id = ranked.matches()[0]
    ranked.rule(void_match, match_id, "a cosmic ray")
    ranked.rule(void_match, match_id, "twice is once")
    assert ranked.table() != ranked.first
    assert ranked.games() == 11
    ranked.rule(restore_match, match_id, "it was none")
    assert ranked.table() == ranked.first


def test_a_disqualified_bot_and_all_its_matches_do_not_count_until_it_is_reinstated(ranked: Ranked) -> None:
    bot_id = ranked.owners[0][1]
    ranked.rule(disqualify, ranked.season, bot_id, "two bots of one author that help each other")
    _, rows = ranked.table()
    ranked_bots = [row[0] for row in rows if row[4] is not None]
    assert ranked_bots == sorted((bot for _, bot in ranked.owners[1:]), key=[row[0] for row in rows].index)
    assert ranked.games() == 4
    ranked.rule(reinstate, ranked.season, bot_id, "it was a mistake")
    assert ranked.table() == ranked.first
