"""Planning decides who plays, against whom, in which seats and with which dice."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, combinations, pairwise
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import event
from sqlmodel import Session, col, select

from deadheat.league.jobs import Failure, SeriesJob
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons import absence, entries
from deadheat.league.service.series import capacity
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.service.views import matches as league_matches
from deadheat.league.states import JobState, MatchState, Purpose, SeasonState
from deadheat.league.tables import BotVersion, Entry, Match, Pair, Participant, Season, Series
from tests.lanes import scaled
from tests.league.outcomes import abandoned, lower_wins, won
from tests.league.people import GAME
from tests.league.seasons import at_gate
from tests.league.world import World, release_series
from tests.league.world import tick as tick_all

Author = tuple[Person, int]
"""An owner and their bot."""


def a_season(world: World, bots: int, *, divisions: int = 1, **settings: Any) -> tuple[int, list[Author]]:
    """Open a season and share its bots out over its divisions. Random numbers are always the same, because even
    seats and good placements are likely but not certain.
    """
    world.entropy = random.Random(bots).randbytes
    named = [(f"Division {number}", None) for number in range(1, divisions + 1)]
    season_id = world.season(0, divisions=named, **{"games_per_pair": None, **settings})
    authors = [world.entrant(season_id, game=settings.get("game", GAME)) for _ in range(bots)]
    with world.db.transaction() as session:
        for entry in session.exec(select(Entry).where(Entry.season_id == season_id).order_by(col(Entry.id))):
            entry.division = 1 + (entry.id - 1) % divisions
    return season_id, authors


def versions_of(world: World, series_id: int) -> set[int]:
    statement = select(Participant.version_id).join(Match, col(Match.id) == Participant.match_id)
    return set(world.rows(statement.where(Match.series_id == series_id)))


def tick(world: World, room: int) -> list[int]:
    with patch.object(capacity, "OPEN_SERIES", room):
        return world.write(tick_all)


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
    """Nor does a machine begin a series with the dice with which its previous one ended."""
    a_season(world, seats + 3, game="liars-dice", seats=seats, series_length=length)
    for chosen in range(scaled(5, 2)):
        world.entropy = random.Random(f"{seats} {chosen}").randbytes
        jobs = claimed(world, tick(world, 4 * seats))
        for job in jobs:
            assert len({match.seed for match in job.matches}) == len(job.matches)
        for before, after in pairwise(jobs):
            assert before.matches[-1].seed != after.matches[0].seed
        for job in jobs:
            assert world.finish(job)


def claimed(world: World, series_ids: Sequence[int]) -> list[SeriesJob]:
    return [job for job in [world.claim(series_id) for series_id in series_ids] if job is not None]


@pytest.mark.parametrize("game", ["yacht-auction", "betris-large"])
def test_games_with_public_dice_get_dice_of_their_own(world: World, game: str) -> None:
    a_season(world, 2, game=game, series_length=7)
    job = world.claimed(world.tick()[0])
    assert len({match.seed for match in job.matches}) == len(job.matches) == 7


def test_seats_are_even_for_every_pair_and_every_bot(world: World) -> None:
    """Series of odd length are the hard case, because seats cannot be even within one."""
    a_season(world, 7, series_length=3)
    for _ in range(4):
        world.play(world.tick(), lower_wins)
    pairs: Counter[tuple[int, int]] = Counter()
    rows = select(Participant.match_id, Participant.version_id).order_by(col(Participant.seat))
    seated: dict[int, list[int]] = {}
    for match_id, version in world.rows(rows):
        seated.setdefault(match_id, []).append(version)
    stored = {(pair.low_id, pair.high_id): (pair.games, pair.lead) for pair in world.rows(select(Pair))}
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
    """Return the seeds that are public in matches or in transcripts."""
    shown = set()
    for match in world.read(league_matches.matches, limit=1000):
        if match.seed is not None or match.transcript_sha256 is not None:
            shown.add(world.row(Match, match.id).seed.hex())
    return shown


def secret_seeds(world: World) -> set[str]:
    waiting = select(Match.seed).where(Match.state == MatchState.SCHEDULED)
    return {seed.hex() for seed in world.rows(waiting)}


def test_no_deal_is_shown_before_it_was_played_from_every_seat(world: World) -> None:
    """Series end in every possible way, and one is given back."""
    season_id, _ = a_season(world, 6, game="liars-dice", seats=3, series_length=6)
    first, other, second, another, third, rest = tick(world, 6)  # series of two tables alternate

    def check(shown: int) -> None:
        assert not shown_seeds(world) & secret_seeds(world)
        assert len(shown_seeds(world)) == shown

    (job,) = claimed(world, [first])
    check(0)
    world.write(release_series, job, "w1", Failure("container-died"))  # given back, to be restarted
    check(0)
    for series_id in (first, second):
        (job,) = claimed(world, [series_id])
        assert world.finish(job)
        check(0)
    (job,) = claimed(world, [third])
    assert world.finish(job, [abandoned(job.matches[0]), won(job.matches[1])])
    check(2)
    (job,) = claimed(world, [other])
    assert world.finish(job, abandoned)
    (running,) = claimed(world, [another])
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    assert world.row(Series, rest).state is JobState.ABANDONED
    check(2)
    world.finish(running)
    check(4)
    assert not secret_seeds(world)


def test_a_group_with_an_abandoned_match_counts_what_was_played(world: World) -> None:
    season_id, _ = a_season(world, 2, game="liars-dice", series_length=4)
    first, second = claimed(world, tick(world, 1))
    assert world.finish(first, [abandoned(first.matches[0]), won(first.matches[1])])
    assert world.finish(second)
    world.rank(season_id)
    assert world.read(leaderboard, season_id).standings["totals"]["rated"] == 3


def test_a_gate_plays_each_deal_from_both_seats_at_a_table_of_two(world: World) -> None:
    """Both versions are of one bot, and pairing does not count them as a pair."""
    season_id, ((owner, bot_id), *_) = a_season(world, 3, game="liars-dice", seats=3, series_length=5)
    world.write(entries.enter, owner, season_id, bot_id, gate=at_gate())
    world.version(owner, bot_id)
    series = [one for one in world.tick() if world.row(Series, one).purpose is Purpose.CHALLENGE]
    first, second = ({match.seed: match.seats for match in world.claimed(one).matches} for one in series)
    assert first.keys() == second.keys() and len(first) > 1, "no deal twice in one series"
    assert all({first[seed], second[seed]} == {(1, 4), (4, 1)} for seed in first)
    assert (1, 4) not in pairs_played(world)


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
    """One of two series is dropped, so the pair lacks half a turn, which is played with fresh dice."""
    season_id, ((_, bot_id), *_) = a_season(world, 2, game="liars-dice", series_length=2, games_per_pair=2)
    first, _ = world.tick()
    (job,) = claimed(world, [first])
    world.write(absence.take_out, world.boss, season_id, bot_id, "it stops its host")
    assert world.finish(job)
    world.write(absence.reinstate, world.boss, season_id, bot_id, "it does not")
    (left,) = claimed(world, world.tick())
    assert [match.seed == job.matches[0].seed for match in left.matches] == [False]
    assert left.matches[0].seats == job.matches[0].seats[::-1]
    assert world.finish(left)
    assert world.tick() == []
    assert pairs_played(world) == {(1, 2): 2}


def pairs_played(world: World) -> dict[tuple[int, int], int]:
    return {(pair.low_id, pair.high_id): pair.games for pair in world.rows(select(Pair))}


def play_tables(world: World, season_id: int, tables: Sequence[tuple[int, ...]], matches: int) -> None:
    """Play series of these tables as if the ladder had drawn them."""
    with world.db.transaction() as session:
        season = session.get_one(Season, season_id)
        planned = [*chain(*add_series(session, season, [Table(versions, matches) for versions in tables]))]
    world.play(planned, lower_wins)


@pytest.mark.parametrize("leave", [absence.take_out, absence.disqualify])
def test_a_bot_that_leaves_does_not_keep_the_others_from_playing(
    world: World, leave: Callable[[Session, Person, int, int, str], None]
) -> None:
    """Bot 1 has had all its games with two opponents, as many as remain, but one of the two has left."""
    season_id, _ = a_season(world, 4, series_length=10, games_per_pair=10)
    play_tables(world, season_id, [(1, 4), (1, 2)], 10)
    world.write(leave, world.boss, season_id, 4, "not here any more")
    world.play_all(lower_wins)
    assert pairs_played(world) == {(1, 4): 10, (1, 2): 10, (1, 3): 10, (2, 3): 10}


def test_the_last_pair_at_larger_tables_finds_a_third_player(world: World) -> None:
    season_id, _ = a_season(world, 4, game="liars-dice", seats=3, series_length=6, games_per_pair=12)
    play_tables(world, season_id, [(1, 2, 3), (1, 2, 3), (1, 2, 4), (1, 2, 4)], 6)
    assert (3, 4) not in pairs_played(world)
    while series_ids := tick(world, 1):
        world.play(series_ids, lower_wins)
    assert pairs_played(world)[3, 4] == 12


def test_waiting_belongs_to_the_bot_and_not_to_its_version(world: World) -> None:
    season_id, authors = a_season(world, 6)
    world.play(tick(world, 2), lower_wins)
    owner, bot_id = authors[0]
    before = waiting(world, season_id)
    world.version(owner, bot_id)
    (series_id,) = tick(world, 1)
    after = waiting(world, season_id)
    playing = versions_of(world, series_id)
    assert {bot: since for bot, since in after.items() if since != 3} == {
        bot: since for bot, since in before.items() if after[bot] != 3
    }
    assert sum(since == 3 for since in after.values()) == len(playing) == 2


def waiting(world: World, season_id: int) -> dict[int, int | None]:
    return dict(world.rows(select(Entry.bot_id, Entry.waiting_since).where(Entry.season_id == season_id)))


def test_a_newcomer_is_behind_all_others(world: World) -> None:
    season_id, _ = a_season(world, 4)
    world.play(tick(world, 5), lower_wins)
    _, bot_id = world.entrant(season_id)
    (series_id,) = tick(world, 1)
    assert waiting(world, season_id)[bot_id] == (6 if 5 in versions_of(world, series_id) else 5)


def test_a_new_version_is_placed_near_its_parent(world: World) -> None:
    """The best of thirty bots uploads a new version, which meets one of the next twelve."""
    season_id, authors = a_season(world, 30, series_length=2)
    for _ in range(15):
        world.play(world.tick(), lower_wins)
    world.rank(season_id)
    owner, bot_id = authors[0]
    version = world.upload(owner, bot_id)
    world.build(version)
    best = [row["version_id"] for row in world.ranking(season_id) if row["version_id"] != 1][:12]
    met = [versions_of(world, series_id) for series_id in tick(world, 2)]
    (opponents,) = [found - {version} for found in met if version in found]
    assert opponents <= set(best)


def test_a_field_that_fell_apart_is_linked_again(world: World) -> None:
    """An organiser has voided every match between one bot and the others."""
    season_id, _ = a_season(world, 3, series_length=1)
    for _ in range(4):
        world.play(tick(world, 4), lower_wins)
    linking = world.rows(select(Participant.match_id).where(Participant.version_id == 3))
    for match_id in linking:
        world.write(void_match, world.boss, match_id, "a test")
    world.rank(season_id)
    assert {row["version_id"]: row["part"] for row in world.ranking(season_id)} == {1: 1, 2: 1, 3: 3}
    series_ids = tick(world, 2)
    assert any(3 in versions_of(world, series_id) for series_id in series_ids)


def asked_by_a_tick(world: World) -> tuple[int, list[str]]:
    """Run a tick; return how many series it planned, and its statements about pairs."""
    asked: list[str] = []

    def note(*arguments: object) -> None:
        asked.append(str(arguments[2]))

    event.listen(world.write(Session.get_bind), "before_cursor_execute", note)
    begun = len(world.tick())
    event.remove(world.write(Session.get_bind), "before_cursor_execute", note)
    return begun, [statement for statement in asked if "FROM pair" in statement]


@pytest.mark.parametrize("seats", [2, 3])
def test_a_tick_asks_nothing_about_bots_without_games_left(world: World, seats: int) -> None:
    """One pair of twelve bots is left. Two statements find it without a join; three read meetings, those of the
    version that begins and of each of the two.
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


def test_a_tick_reads_only_the_pairs_of_bots_whose_turn_it_is(world: World) -> None:
    a_season(world, 16, series_length=1)
    world.play(world.tick(), lower_wins)
    begun, pairs = asked_by_a_tick(world)
    assert pairs
    assert all("_id IN (SELECT bot_version.id" in one for one in pairs), pairs
    assert len(pairs) <= begun


def test_divisions_of_different_sizes_play_all_their_pairs(world: World) -> None:
    a_season(world, 5, divisions=2, series_length=4, games_per_pair=4)  # three in the first, two in the second
    world.play_all(lower_wins)
    assert pairs_played(world) == {(1, 3): 4, (1, 5): 4, (3, 5): 4, (2, 4): 4}


def test_the_stored_seed_decides_what_is_left_to_chance(world: World) -> None:
    """A tick plans the same from the same seed, and something else from another seed."""
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
        world.set_state(season_id, state)
        series_ids = world.tick()
        assert bool(series_ids) is plays
        world.play(series_ids, lower_wins)


def test_tables_of_four_are_set_and_played(world: World) -> None:
    season_id, _ = a_season(world, 9, game="liars-dice", seats=4, series_length=4)
    for _ in range(3):
        found = claimed(world, world.tick())
        assert len(found) == OPEN_SERIES
        for job in found:
            assert len(job.programs) == 4
            assert world.finish(job)
    world.rank(season_id)
    rows = world.ranking(season_id)
    versions = world.rows(select(BotVersion.id))
    assert {row["part"] for row in rows} == {1}
    assert {row["version_id"] for row in rows if row["games"]} == set(versions)
