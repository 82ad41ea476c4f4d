"""Planning a season's series: whose turn, against whom, in which seats, with which dice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, combinations, pairwise
from unittest.mock import patch

import pytest
from sqlalchemy import event
from sqlmodel import Session, col, select

from deadheat.league.jobs import Failure, SeriesJob
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons.absence import disqualify, reinstate, take_out
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.service.series import capacity
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.service.views import matches as league_matches
from deadheat.league.states import JobState, MatchState, Purpose, SeasonState
from deadheat.league.tables import BotVersion, Challenge, Division, Entry, Match, Pair, Participant, Season, Series
from tests.league.world import GAME, World, abandoned, release_series, won
from tests.league.world import tick as tick_all

Author = tuple[Person, int]
"""A bot with its owner."""


def a_season(
    world: World,
    bots: int,
    *,
    game: str = GAME,
    seats: int = 2,
    series_length: int = 2,
    games_per_pair: int | None = None,
    divisions: int = 1,
) -> tuple[int, list[Author]]:
    """An open season; its bots are shared out over the divisions. What chance decides is the same every time: that
    seats are even and that new versions are placed well is so nearly always, not always.
    """
    world.entropy = random.Random(bots).randbytes
    with world.db.transaction() as session:
        season_id = create_season(
            session,
            world.boss,
            game=game,
            name=f"{game} {bots} {seats}",
            series_length=series_length,
            games_per_pair=games_per_pair,
        ).id
        session.get_one(Season, season_id).seats = seats
        for number in range(2, divisions + 1):
            session.add(Division(season_id=season_id, number=number, name=f"Division {number}"))
        set_season_state(session, world.boss, season_id, SeasonState.OPEN)
    authors = [world.bot(game=game) for _ in range(bots)]
    for place, (owner, bot_id) in enumerate(authors):
        with world.db.transaction() as session:
            enter(session, owner, season_id, bot_id)
            entry = session.exec(select(Entry).where(Entry.season_id == season_id, Entry.bot_id == bot_id)).one()
            entry.division = 1 + place % divisions
    return season_id, authors


def versions_of(world: World, series_id: int) -> set[int]:
    with world.db.reading() as session:
        statement = select(Participant.version_id).join(Match, col(Match.id) == Participant.match_id)
        return set(session.exec(statement.where(Match.series_id == series_id)).all())


def play(world: World, series_ids: Sequence[int]) -> None:
    """The lower number wins."""
    for series_id in series_ids:
        job = world.claimed(series_id)
        assert world.finish(job, [won(match, match.seats.index(min(match.seats))) for match in job.matches])


def refit(world: World, season_id: int) -> None:
    world.clock.turn(600)  # this ranking includes what ended lately, so it is not searched for any more
    world.write(standings.refit, season_id)
    world.clock.turn(600)


def tick(world: World, room: int) -> list[int]:
    """Plan with a limit of open series."""
    with patch.object(capacity, "OPEN_SERIES", room):
        return world.write(tick_all)


# Seats and dice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_every_deal_of_liars_dice_is_played_from_every_seat(world: World, seats: int) -> None:
    a_season(world, seats + 1, game="liars-dice", seats=seats, series_length=2 * seats + 1)
    jobs = claimed(world, tick(world, 3 * seats))
    assert len(jobs) == 3 * seats
    deals: dict[bytes, list[tuple[int, ...]]] = {}
    for job in jobs:
        assert len(job.matches) == 2, "as many whole turns as fit, each match of a turn in a series of its own"
        for match in job.matches:
            deals.setdefault(match.seed, []).append(match.seats)
    assert len(deals) == 6
    for seatings in deals.values():
        taken = Counter((version, seat) for seating in seatings for seat, version in enumerate(seating))
        assert taken == {(version, seat): 1 for version in seatings[0] for seat in range(seats)}


@pytest.mark.parametrize(
    ("seats", "length"), [(2, 10), *(pytest.param(*way, marks=pytest.mark.all) for way in ((3, 9), (6, 6))), (4, 20)]
)
def test_no_series_of_any_season_has_the_same_dice_twice(world: World, seats: int, length: int) -> None:
    """A bot that carries state from one match to the next, by whatever means, meets no dice there that it has seen; nor
    does a machine that takes one series after the other begin with the dice that it ended with.
    """
    a_season(world, seats + 3, game="liars-dice", seats=seats, series_length=length)
    for chosen in range(5):
        world.entropy = random.Random(f"{seats} {chosen}").randbytes
        jobs = claimed(world, tick(world, 4 * seats))
        for job in jobs:
            assert len({match.seed for match in job.matches}) == len(job.matches)
        for before, after in pairwise(jobs):
            assert before.matches[-1].seed != after.matches[0].seed
        for job in jobs:
            assert world.finish(job)


def claimed(world: World, series_ids: Sequence[int]) -> list[SeriesJob]:
    jobs = [world.claim(series_id) for series_id in series_ids]
    return [job for job in jobs if job is not None]


@pytest.mark.parametrize("game", ["yacht-auction", "betris-large"])
def test_games_with_public_dice_get_dice_of_their_own(world: World, game: str) -> None:
    a_season(world, 2, game=game, series_length=7)
    job = world.claimed(world.tick()[0])
    assert len({match.seed for match in job.matches}) == len(job.matches) == 7


def test_seats_are_even_for_every_pair_and_every_bot(world: World) -> None:
    """Series of an odd length are the hard case; played and abandoned ones count alike."""
    a_season(world, 7, series_length=3)
    for _ in range(6):
        play(world, world.tick())
    pairs: Counter[tuple[int, int]] = Counter()
    with world.db.reading() as session:
        rows = select(Participant.match_id, Participant.version_id).order_by(col(Participant.seat))
        seated: dict[int, list[int]] = {}
        for match_id, version in session.exec(rows):
            seated.setdefault(match_id, []).append(version)
        stored = {(pair.low_id, pair.high_id): (pair.games, pair.lead) for pair in session.exec(select(Pair))}
    for one, other in seated.values():
        pairs[one, other] += 1
    for low, high in combinations(range(1, 8), 2):
        lead = pairs[low, high] - pairs[high, low]
        assert abs(lead) <= 1
        assert stored.get((low, high), (0, 0)) == (pairs[low, high] + pairs[high, low], lead)
    for version in range(1, 8):
        lead = sum(count for (one, _), count in pairs.items() if one == version)
        lead -= sum(count for (_, other), count in pairs.items() if other == version)
        assert abs(lead) <= 3


def shown_seeds(world: World) -> set[str]:
    """The seeds that anybody may see: in matches and, by name, in transcripts."""
    shown = set()
    with world.db.reading() as session:
        for match in league_matches.matches(session, limit=1000):
            if match.seed is not None or match.transcript_sha256 is not None:
                shown.add(session.get_one(Match, match.id).seed.hex())
    return shown


def secret_seeds(world: World) -> set[str]:
    """Seeds of matches that are still to be played."""
    with world.db.reading() as session:
        waiting = select(Match.seed).where(Match.state == MatchState.SCHEDULED)
        return {seed.hex() for seed in session.exec(waiting)}


def test_no_deal_is_shown_before_it_was_played_from_every_seat(world: World) -> None:
    """Through every way in which a series may end or be given back."""
    season_id, _ = a_season(world, 6, game="liars-dice", seats=3, series_length=6)
    first, other, second, another, third, rest = tick(world, 6)  # of two tables in turns

    def check(shown: int) -> None:
        assert not shown_seeds(world) & secret_seeds(world)
        assert len(shown_seeds(world)) == shown

    (job,) = claimed(world, [first])
    check(0)
    world.write(release_series, job, "w1", Failure("dirty-box"))  # given back, to be played again from the start
    check(0)
    for series_id in (first, second):
        (job,) = claimed(world, [series_id])
        assert world.finish(job)
        check(0)
    (job,) = claimed(world, [third])
    assert world.finish(job, [abandoned(job.matches[0]), won(job.matches[1])])
    check(2)
    (job,) = claimed(world, [other])
    assert world.finish(job, [abandoned(match) for match in job.matches])
    (running,) = claimed(world, [another])
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED, force=True)
    assert state_of(world, rest) is JobState.ABANDONED
    check(2)
    world.finish(running)
    check(4)
    assert not secret_seeds(world)


def state_of(world: World, series_id: int) -> JobState:
    return world.row(Series, series_id).state


def test_a_group_with_an_abandoned_match_counts_what_was_played(world: World) -> None:
    season_id, _ = a_season(world, 2, game="liars-dice", series_length=4)
    first, second = claimed(world, tick(world, 1))
    assert world.finish(first, [abandoned(first.matches[0]), won(first.matches[1])])
    assert world.finish(second)
    refit(world, season_id)
    assert world.read(leaderboard, season_id).standings["totals"]["rated"] == 3


def test_a_challenge_has_fresh_dice_in_every_game(world: World) -> None:
    """Two versions of a bot, whatever the size of the season's tables; pairing does not count them as a pair."""
    season_id, ((owner, bot_id), *_) = a_season(world, 3, game="liars-dice", seats=3)
    world.build(world.upload(owner, bot_id))
    with world.db.transaction() as session:
        season = session.get_one(Season, season_id)
        entry = session.exec(select(Entry).where(Entry.bot_id == bot_id)).one()
        challenge = Challenge(
            season_id=season_id,
            entry_id=entry.id,
            candidate_id=4,
            incumbent_id=1,
            elo0=0,
            elo1=20,
            alpha=0.05,
            beta=0.05,
            games_limit=10,
            created_at=world.clock(),
        )
        session.add(challenge)
        session.flush()
        table = Table((4, 1), 5, challenge_id=challenge.id)
        ((series_id,),) = add_series(session, season, [table], purpose=Purpose.CHALLENGE)
    job = world.claimed(series_id)
    assert [match.seats for match in job.matches] == [(4, 1), (1, 4), (4, 1), (1, 4), (4, 1)]
    assert len({match.seed for match in job.matches}) == 5
    with world.db.reading() as session:
        assert session.exec(select(Pair)).all() == []


def test_a_match_that_is_played_again_hides_no_deal_that_was_told(world: World) -> None:
    a_season(world, 2, game="liars-dice", series_length=2)
    jobs = claimed(world, tick(world, 1))
    for job in jobs:
        assert world.finish(job)
    told = shown_seeds(world)
    world.write(rejudge_match, world.boss, jobs[0].matches[0].match_id, "a doubt")
    assert shown_seeds(world) == told == {jobs[0].matches[0].seed.hex()}
    assert not secret_seeds(world) & told


def test_a_pair_that_lost_half_a_turn_gets_exactly_its_games(world: World) -> None:
    """One of the two series was dropped, so the pair lacks no whole turn; what it lacks is played with fresh dice."""
    season_id, ((_, bot_id), *_) = a_season(world, 2, game="liars-dice", series_length=2, games_per_pair=2)
    first, _ = world.tick()
    (job,) = claimed(world, [first])
    world.write(take_out, world.boss, season_id, bot_id, "it stops its host")
    assert world.finish(job)
    world.write(reinstate, world.boss, season_id, bot_id, "it does not")
    (left,) = claimed(world, world.tick())
    assert [match.seed == job.matches[0].seed for match in left.matches] == [False]
    assert left.matches[0].seats == job.matches[0].seats[::-1]
    assert world.finish(left)
    assert world.tick() == []
    assert pairs_played(world) == {(1, 2): 2}


# Whose turn, against whom ---------------------------------------------------------------------------------------


def test_only_bots_of_one_division_meet(world: World) -> None:
    a_season(world, 9, divisions=3, series_length=1)
    for _ in range(3):
        series_ids = world.tick()
        for series_id in series_ids:
            assert len({version % 3 for version in versions_of(world, series_id)}) == 1
        play(world, series_ids)


def test_divisions_of_different_sizes_play_all_their_pairs(world: World) -> None:
    a_season(world, 5, divisions=2, series_length=4, games_per_pair=4)  # three in the first, two in the second
    while series_ids := world.tick():
        play(world, series_ids)
    assert pairs_played(world) == {(1, 3): 4, (1, 5): 4, (3, 5): 4, (2, 4): 4}


def pairs_played(world: World) -> dict[tuple[int, int], int]:
    with world.db.reading() as session:
        return {(pair.low_id, pair.high_id): pair.games for pair in session.exec(select(Pair))}


def play_tables(world: World, season_id: int, tables: Sequence[tuple[int, ...]], matches: int) -> None:
    """Series of the ladder as if it had drawn them."""
    with world.db.transaction() as session:
        season = session.get_one(Season, season_id)
        planned = [*chain(*add_series(session, season, [Table(versions, matches) for versions in tables]))]
    play(world, planned)


@pytest.mark.parametrize("leave", [take_out, disqualify])
def test_who_leaves_keeps_nobody_from_playing_the_others(
    world: World, leave: Callable[[Session, Person, int, int, str], None]
) -> None:
    """The first has had all its games with as many opponents as are left, but one of them is gone."""
    season_id, _ = a_season(world, 4, series_length=10, games_per_pair=10)
    play_tables(world, season_id, [(1, 4), (1, 2)], 10)
    world.write(leave, world.boss, season_id, 4, "not here any more")
    while series_ids := world.tick():
        play(world, series_ids)
    assert pairs_played(world) == {(1, 4): 10, (1, 2): 10, (1, 3): 10, (2, 3): 10}


def test_a_pair_that_is_left_at_larger_tables_finds_somebody_to_sit_with(world: World) -> None:
    season_id, _ = a_season(world, 4, game="liars-dice", seats=3, series_length=6, games_per_pair=12)
    play_tables(world, season_id, [(1, 2, 3), (1, 2, 3), (1, 2, 4), (1, 2, 4)], 6)
    assert (3, 4) not in pairs_played(world)
    while series_ids := tick(world, 1):
        play(world, series_ids)
    assert pairs_played(world)[3, 4] == 12


def test_waiting_belongs_to_the_bot_and_not_to_its_version(world: World) -> None:
    season_id, authors = a_season(world, 6)
    play(world, tick(world, 2))
    owner, bot_id = authors[0]
    before = waiting(world, season_id)
    world.build(world.upload(owner, bot_id))
    (series_id,) = tick(world, 1)
    after = waiting(world, season_id)
    playing = versions_of(world, series_id)
    assert {bot: since for bot, since in after.items() if since != 3} == {
        bot: since for bot, since in before.items() if after[bot] != 3
    }
    assert sum(since == 3 for since in after.values()) == len(playing) == 2


def waiting(world: World, season_id: int) -> dict[int, int | None]:
    with world.db.reading() as session:
        return dict(session.exec(select(Entry.bot_id, Entry.waiting_since).where(Entry.season_id == season_id)).all())


def test_who_comes_later_is_behind_all_who_were_there(world: World) -> None:
    season_id, _ = a_season(world, 4)
    play(world, tick(world, 5))
    owner, bot_id = world.bot()
    world.write(enter, owner, season_id, bot_id)
    (series_id,) = tick(world, 1)
    since = waiting(world, season_id)
    assert since[bot_id] == (6 if 5 in versions_of(world, series_id) else 5)


def test_a_new_version_is_placed_near_its_parent(world: World) -> None:
    """Thirty bots in order of strength; the best one comes anew and meets one of the best."""
    season_id, authors = a_season(world, 30, series_length=10)
    for _ in range(15):
        play(world, world.tick())
    refit(world, season_id)
    owner, bot_id = authors[0]
    version = world.upload(owner, bot_id)
    world.build(version)
    rows = world.read(leaderboard, season_id).standings["rows"]
    best = [row["version_id"] for row in rows if row["version_id"] != 1][:12]
    met = [versions_of(world, series_id) for series_id in tick(world, 2)]
    (opponents,) = [found - {version} for found in met if version in found]
    assert opponents <= set(best)


def test_a_field_that_fell_apart_is_linked_again(world: World) -> None:
    """An organiser voids every match that linked one bot with the others."""
    season_id, _ = a_season(world, 3, series_length=1)
    for _ in range(4):
        play(world, tick(world, 4))
    with world.db.reading() as session:
        linking = session.exec(select(Participant.match_id).where(Participant.version_id == 3)).all()
    for match_id in linking:
        world.write(void_match, world.boss, match_id, "a test")
    refit(world, season_id)
    rows = world.read(leaderboard, season_id).standings["rows"]
    assert {row["version_id"]: row["part"] for row in rows} == {1: 1, 2: 1, 3: 3}
    series_ids = tick(world, 2)
    assert any(3 in versions_of(world, series_id) for series_id in series_ids)


def asked_by_a_tick(world: World) -> tuple[int, list[str]]:
    """How many series it planned, and its statements about pairs."""
    asked: list[str] = []

    def note(*arguments: object) -> None:
        asked.append(str(arguments[2]))

    event.listen(world.write(Session.get_bind), "before_cursor_execute", note)
    begun = len(world.tick())
    event.remove(world.write(Session.get_bind), "before_cursor_execute", note)
    return begun, [statement for statement in asked if "FROM pair" in statement]


@pytest.mark.parametrize("seats", [2, 3])
def test_a_tick_asks_nothing_about_those_who_are_through(world: World, seats: int) -> None:
    """One pair of twelve is left. Two statements find that out, without a join that reads every entry for every pair.
    The meetings are read once for the version that begins, and once more for each of the two, who then need nobody.
    """
    season_id, _ = a_season(world, 12, game="liars-dice", seats=seats, series_length=6, games_per_pair=6)
    with world.db.transaction() as session:
        done = set(combinations(range(1, 13), 2)) - {(11, 12)}
        session.add_all(Pair(season_id=season_id, low_id=low, high_id=high, games=6) for low, high in done)
    begun, pairs = asked_by_a_tick(world)
    assert begun == seats, "a series for each seat"
    assert len(pairs) == 2 + 3, pairs
    assert asked_by_a_tick(world) == (0, pairs[:2]), "nobody needs anybody any more"
    assert not any("JOIN" in one for one in pairs[:2])


def test_a_tick_reads_the_pairs_of_those_alone_whose_turn_it_is(world: World) -> None:
    a_season(world, 16, series_length=1)
    for _ in range(3):
        play(world, world.tick())
    begun, pairs = asked_by_a_tick(world)
    assert pairs
    assert all("_id IN (SELECT bot_version.id" in one for one in pairs), pairs
    assert len(pairs) <= begun


def test_the_stored_seed_decides_whom_chance_picks(world: World) -> None:
    """Planned twice from the same state, a tick gives the same; with another seed another."""
    season_id, _ = a_season(world, 16, series_length=1)

    def plan(seed: bytes) -> list[tuple[int, ...]]:
        with world.db.transaction() as session:
            session.get_one(Season, season_id).pairing_seed = seed
            planned = tick_all(session)
            seats = select(Match.series_id, Participant.version_id).join(Match).order_by(col(Participant.seat))
            found: dict[int, list[int]] = {series_id: [] for series_id in planned}
            for series_id, version in session.exec(seats):
                found[series_id].append(version)
            session.rollback()
        return [tuple(found[series_id]) for series_id in planned]

    assert plan(b"a") == plan(b"a") != plan(b"b")


def test_a_frozen_season_settles_and_a_closed_one_rests(world: World) -> None:
    season_id, _ = a_season(world, 3)
    for state, plays in ((SeasonState.FROZEN, True), (SeasonState.CLOSED, False)):
        world.write(set_season_state, world.boss, season_id, state)
        series_ids = world.tick()
        assert bool(series_ids) is plays
        play(world, series_ids)


def jobs(world: World, series_ids: Sequence[int]) -> list[SeriesJob]:
    found = [world.claim(series_id) for series_id in series_ids]
    return [job for job in found if job is not None]


def test_tables_of_four_are_set_and_played(world: World) -> None:
    season_id, _ = a_season(world, 9, game="liars-dice", seats=4, series_length=4)
    for _ in range(3):
        found = jobs(world, world.tick())
        assert len(found) == OPEN_SERIES
        for job in found:
            assert len(job.programs) == 4
            assert world.finish(job)
    refit(world, season_id)
    with world.db.reading() as session:
        rows = leaderboard(session, season_id).standings["rows"]
        versions = session.exec(select(BotVersion.id)).all()
    assert {row["part"] for row in rows} == {1}
    assert {row["version_id"] for row in rows if row["games"]} == set(versions)
