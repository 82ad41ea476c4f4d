"""A season's dice follow from a secret that it commits to when it opens and reveals at the end."""

import json
from dataclasses import replace

import pytest
from sqlmodel import col, select, update

from deadheat.engine.chance import SECRET_BYTES, commitment, season_seed
from deadheat.league.service.rankings import standings
from deadheat.league.service.rulings.rulings import rejudge_match
from deadheat.league.service.seasons.seasons import create_season, season_info
from deadheat.league.service.series.deals import SKIPPED, skip_dice
from deadheat.league.states import MatchState, SeasonState
from deadheat.league.tables import AuditRecord, Match, Season
from deadheat.league.verification.fairness import BY_THEMSELVES, Dealt, DiceCheck, Told, check_dice
from tests.league.people import GAME
from tests.league.world import World


def told(world: World, season_id: int) -> tuple[str | None, str | None]:
    info = world.read(season_info, season_id)
    return info.dice_commitment, info.dice_secret


def check(world: World, season_id: int) -> DiceCheck:
    return world.read(standings.dice_check, season_id)


def rows(world: World) -> list[Match]:
    return world.rows(select(Match).order_by(col(Match.id)))


def audited(world: World, action: str) -> list[dict[str, str]]:
    return [json.loads(data) for data in world.rows(select(AuditRecord.data).where(AuditRecord.action == action))]


def test_a_season_commits_to_its_dice_when_it_opens_and_before_it_plans(world: World) -> None:
    season_id = world.season(2)
    committed, secret = told(world, season_id)
    assert committed is not None and secret is None
    assert ([data["dice_commitment"] for data in audited(world, "season-open")], rows(world)) == ([committed], [])
    world.set_state(season_id, SeasonState.FROZEN, SeasonState.OPEN)  # opening it again draws no new secret
    assert told(world, season_id) == (committed, None)


def test_every_seed_follows_from_the_secret_and_no_number_is_left_out(world: World) -> None:
    world.season(3, series_length=2, games_per_pair=4)
    world.play_all()
    secret = world.one(select(Season.secret))
    assert secret is not None and len(secret) == SECRET_BYTES
    found = rows(world)
    assert [match.deal for match in found] == list(range(1, len(found) + 1))
    assert all(match.seed == season_seed(secret, match.deal or 0) for match in found)


def test_rotations_of_a_deal_share_its_number_and_a_repetition_has_its_own(world: World) -> None:
    season_id = world.season(3, game="liars-dice", seats=3, series_length=6, games_per_pair=6)
    world.play_all()
    found = rows(world)
    assert len(found) == 6 and {match.deal for match in found} == {1, 2}
    assert len({(match.deal, match.seed) for match in found}) == 2
    again = world.write(rejudge_match, world.boss, found[0].id, "a test")
    assert {match.id: match.deal for match in rows(world)}[again] == 3
    assert check(world, season_id).differences == ()


def test_the_secret_is_told_with_the_published_standings_and_not_before(world: World) -> None:
    season_id = world.season(2)
    job = world.claimed(world.tick()[0])
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    assert told(world, season_id)[1] is None  # a series is still being played
    assert world.finish(job)
    assert told(world, season_id)[1] is None
    assert "published with the final" in check(world, season_id).sentence
    assert world.write(standings.publish, season_id)
    committed, secret = told(world, season_id)
    assert secret is not None and commitment(bytes.fromhex(secret)) == committed
    assert [data["dice_secret"] for data in audited(world, "season-published")] == [secret]
    found = check(world, season_id)
    assert found.differences == ()
    assert found.sentence.startswith("The dice follow from the secret that the season opened with")


def test_a_season_that_was_opened_before_there_were_secrets_goes_on_and_says_so(world: World) -> None:
    with world.db.transaction() as session:
        season_id = create_season(session, world.boss, game=GAME, name="old", games_per_pair=4).id
        session.exec(update(Season).values(state=SeasonState.OPEN))  # without a secret, as an earlier version did
    for _ in range(2):
        world.entrant(season_id)
    world.play_all()
    found = rows(world)
    assert found and {match.deal for match in found} == {None}
    assert len({match.seed for match in found}) == len(found)
    assert all(match.state is MatchState.DONE for match in found)
    assert check(world, season_id) == DiceCheck(BY_THEMSELVES, ())
    world.publish(season_id)
    assert told(world, season_id) == (None, None)


def test_numbers_since_a_back_up_are_left_out_after_a_restore(world: World) -> None:
    """Their dice may have been seen, and the same back-up may be restored twice."""
    season_id = world.season(2)
    world.write(skip_dice)
    world.play_all()
    with world.db.transaction() as session:
        skip_dice(session)
        skip_dice(session)
    world.write(rejudge_match, world.boss, rows(world)[0].id, "a test")
    numbers = [match.deal or 0 for match in rows(world)]
    assert numbers[0] > SKIPPED and numbers[-1] > numbers[-2] + 2 * SKIPPED
    assert check(world, season_id).differences == ()
    with world.db.transaction() as session:
        session.exec(update(Match).where(col(Match.deal) == numbers[1]).values(deal=numbers[-1] + 1))
    assert any(f"Dice number {numbers[1]} " in sentence for sentence in check(world, season_id).differences)


SECRET = bytes(range(SECRET_BYTES))
SEASON = Told(commitment(SECRET), SECRET.hex(), (commitment(SECRET),), game="liars-dice")


def dealt(match_id: int, deal: int, *seats: int) -> Dealt:
    seed = season_seed(SECRET, deal)
    return Dealt(match_id, deal, commitment(seed), seed.hex(), seats)


MATCHES = [dealt(10, 1, 1, 2), dealt(11, 1, 2, 1), dealt(12, 2), replace(dealt(13, 3), seed=None)]


def test_honest_dice_are_found_honest() -> None:
    assert check_dice(SEASON, MATCHES).differences == ()
    assert check_dice(replace(SEASON, secret=None), MATCHES).differences == ()
    assert check_dice(Told(None, None, ()), [Dealt(1, None, "", "")]).differences == ()
    assert check_dice(Told(None, None, ()), []).sentence == "No dice have been drawn yet."


@pytest.mark.parametrize(
    ("season", "matches", "sentence"),
    [
        (replace(SEASON, announced=("f" * 64,)), MATCHES, "is not the one in the audit log"),
        (replace(SEASON, announced=()), MATCHES, "is not the one in the audit log"),
        (replace(SEASON, commitment=None, secret=None), MATCHES, "is not the one in the audit log"),
        (replace(SEASON, secret="00" * 32), [], "The season's secret is not the one"),
        (replace(SEASON, secret="no secret"), [], "The season's secret is not the one"),
        (SEASON, [*MATCHES, Dealt(14, None, "", None)], "Match 14 has a seed that was drawn separately"),
        (SEASON, [*MATCHES, replace(dealt(14, 2), deal=4)], "Match 14 does not have the dice"),
        (SEASON, [*MATCHES, replace(dealt(14, 4), seed="00")], "Match 14 does not have the dice"),
        (SEASON, [*MATCHES, dealt(14, 1, 1, 2)], "Match 14 has the same dice as match 10"),
        (SEASON, [*MATCHES, dealt(14, 1, 2, 3)], "Match 14 has the same dice as match 10"),
        (replace(SEASON, game=GAME), MATCHES, "Match 11 has the same dice as match 10"),
        (SEASON, [*MATCHES, dealt(14, 10**12)], "Dice number 4 of the season was never used"),
    ],
)
def test_whatever_was_chosen_is_found(season: Told, matches: list[Dealt], sentence: str) -> None:
    (found,) = check_dice(season, matches).differences
    assert sentence in found
