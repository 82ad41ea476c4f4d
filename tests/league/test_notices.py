"""People are told of each of their events once, in the transaction of the event."""

from datetime import timedelta

import pytest
from sqlmodel import Session, col, select

from deadheat.league.pairing.duel import Duel
from deadheat.league.records.bots import Notice as NoticeInfo
from deadheat.league.service.duels import requests
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.people import notices, teams
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import appeals, closing
from deadheat.league.service.seasons import absence, admission, entries, participation, seasons
from deadheat.league.states import SeasonState
from deadheat.league.tables import BotVersion, Entry, Match, Notice, Season, User
from deadheat.league.words import NoticeKind
from tests.league.clock import START
from tests.league.outcomes import forfeited, won
from tests.league.seasons import at_gate
from tests.league.world import World


def told(world: World, person: Person, kind: NoticeKind | None = None) -> list[NoticeInfo]:
    return [one for one in reversed(world.read(notices.inbox, person, limit=1000)) if kind in (None, one.kind)]


def texts(world: World, person: Person, kind: NoticeKind) -> list[str]:
    return [one.text for one in told(world, person, kind)]


def newest_version(world: World) -> int:
    return world.one(select(BotVersion.id).order_by(col(BotVersion.id).desc()).limit(1))


def play(world: World, *, faulty: int) -> None:
    """Play what is planned now; version `faulty` fails in all its matches."""
    world.play(
        world.tick(), lambda match: forfeited(match, match.seats.index(faulty)) if faulty in match.seats else won(match)
    )


def test_the_whole_team_is_told_how_a_build_ended_and_once(world: World) -> None:
    ada, bob, carl = (world.author(name) for name in ("ada", "bob", "carl"))
    team = world.team(ada, bob)
    world.write(teams.invite_to_team, ada, team, "carl")
    _, bot_id = world.bot("swift", owner=ada)
    world.write(participation.change_bot, ada, bot_id, team_id=team)
    version_id = world.upload(bob, bot_id)
    job = world.building(version_id)
    broken = BuildOutcome(None, "It does not compile.", "log")
    assert world.write(finish_build, job, broken) and not world.write(finish_build, job, broken)
    world.write(notices.version_settled, version_id)  # as if the step were repeated
    for person in (ada, bob):
        assert texts(world, person, NoticeKind.VERSION_BROKEN) == ["Version 2 of swift is broken: It does not compile."]
    assert told(world, ada, NoticeKind.VERSION_BROKEN)[0].path == f"/bots/{bot_id}/versions/2"
    assert texts(world, ada, NoticeKind.VERSION_READY) == ["Version 1 of swift is ready."]
    assert told(world, carl) == told(world, carl, NoticeKind.TEAM_INVITED) != []
    assert texts(world, carl, NoticeKind.TEAM_INVITED) == ["ada invites you to the team lovelace."]


def test_who_is_invited_again_and_again_is_told_once_a_day(world: World) -> None:
    ada, carl = world.author("ada"), world.author("carl")
    team = world.team(ada)
    for seconds in (0, 1, 24 * 3600):
        world.clock.turn(seconds)
        world.write(teams.invite_to_team, ada, team, "carl")
        world.write(teams.leave_team, ada, team, "carl")
    assert len(told(world, carl, NoticeKind.TEAM_INVITED)) == 2


def test_what_did_not_happen_is_not_told(world: World) -> None:
    ada, bot_id = world.bot()
    job = world.building(world.upload(ada, bot_id))

    def fail_after_it(session: Session) -> None:
        finish_build(session, job, BuildOutcome(None, "no", "log"))
        raise ZeroDivisionError

    world.refused(ZeroDivisionError, fail_after_it)
    assert texts(world, ada, NoticeKind.VERSION_BROKEN) == []


def test_the_first_fault_of_a_version_is_told_and_many_once_more(world: World) -> None:
    season_id = world.season(1, games_per_pair=40, series_length=2)
    ada, _ = world.entrant(season_id, "swift")
    version_id = newest_version(world)
    for _ in range(4):
        play(world, faulty=version_id)
    first, many = told(world, ada)[1:]
    season = world.row(Season, season_id).name
    assert first.text == f"Version 1 of swift failed in a match for the first time in {season}: timeout."
    assert first.path == f"/matches/{first.about['match_id']}/mine"
    assert many.kind is NoticeKind.MANY_FAULTS and many.text.endswith(f"failed in 6 of its last 6 matches in {season}.")


def test_faults_of_unrated_matches_that_were_asked_for_are_no_news(world: World) -> None:
    season_id = world.season(1, unrated_games=10)
    ada, bot_id = world.bot("swift")
    rival = world.read(lambda session: session.exec(select(Entry)).one()).bot_id
    world.write(requests.ask, ada, season_id, Duel(2), bot_id=bot_id, opponent_id=rival)
    play(world, faulty=newest_version(world))
    world.tick()
    assert [one.kind for one in told(world, ada)] == [NoticeKind.VERSION_READY, NoticeKind.CHALLENGE_OVER]
    assert "with 0 wins, 0 draws and 2 losses" in told(world, ada)[-1].text


def test_a_gate_an_appeal_and_the_final_standings_are_told(world: World) -> None:
    season_id = world.season(1)
    ada, bot_id = world.bot("swift")
    world.write(entries.enter, ada, season_id, bot_id, gate=at_gate(games=2))
    world.version(ada, bot_id)
    world.play_all()
    (gate,) = told(world, ada, NoticeKind.GATE_FAILED)
    assert gate.text.startswith("Version 2 of swift did not pass its gate in season")
    match_id = world.one(select(Match.id).where(col(Match.rated).is_(True)).limit(1))
    appeal = world.write(appeals.open_appeal, ada, match_id, "why?", {"verified": True})
    (opened,) = told(world, world.boss, NoticeKind.APPEAL_OPENED)
    season = world.row(Season, season_id).name
    assert (opened.text, opened.path) == (
        f"{ada.name} appeals for swift against match {match_id} of {season}.",
        "/desk#appeals",
    )
    assert texts(world, ada, NoticeKind.APPEAL_OPENED) == []
    world.write(appeals.rule, world.boss, appeal.id, uphold=False, ruling="It was lost.")
    assert texts(world, ada, NoticeKind.APPEAL_DECIDED) == [
        f"The appeal of swift against match {match_id} is rejected: It was lost."
    ]
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    world.settle()
    world.settle()
    assert texts(world, ada, NoticeKind.STANDINGS) == [f"{world.row(Season, season_id).name} is over. swift: place 1."]


def test_a_passed_gate_is_told_to_its_author(world: World) -> None:
    season_id = world.season(1)
    ada, bot_id = world.bot("swift")
    incumbent = newest_version(world)
    world.write(entries.enter, ada, season_id, bot_id, gate=at_gate())
    world.version(ada, bot_id)
    for _ in range(60):
        play(world, faulty=incumbent)
    (passed,) = told(world, ada, NoticeKind.GATE_PASSED)
    assert passed.text.startswith("Version 2 of swift passed its gate in season")
    assert passed.path == f"/bots/{bot_id}/upload"


def test_a_date_is_told_a_day_before_once_and_again_when_it_moves(world: World) -> None:
    season_id = world.season(2, closes_at=START + timedelta(days=3))
    people = [Person(row.id, row.name, row.role) for row in world.rows(select(User)) if row.id > 1]
    world.tick()
    assert all(told(world, person, NoticeKind.DEADLINE) == [] for person in people)
    world.clock.turn(2.5 * 86_400)
    for _ in range(3):
        world.tick()
    for person in people:
        (one,) = told(world, person, NoticeKind.DEADLINE)
        assert one.text.endswith("will be closed on 2026-01-04 12:00 UTC.")
    world.write(seasons.edit_season, world.boss, season_id, closes_at=START + timedelta(days=3, hours=6))
    world.tick()
    assert len(told(world, people[0], NoticeKind.DEADLINE)) == 2


def test_owners_are_told_that_an_organiser_entered_their_bot(world: World) -> None:
    season_id = world.season(0)
    (ada, bot_id), (_, other) = world.bot("swift", owner=world.author("ada")), world.bot("own", owner=world.boss)
    world.write(entries.let_in, world.boss, season_id, bot_id)
    name = world.row(Season, season_id).name
    assert texts(world, ada, NoticeKind.ENTERED) == [f"An organiser entered swift in {name}."]
    world.write(absence.withdraw, ada, season_id, bot_id)
    world.clock.turn(1)
    world.write(absence.reinstate, world.boss, season_id, bot_id, "asked for")
    assert len(texts(world, ada, NoticeKind.ENTERED)) == 2
    world.write(entries.enter, ada, world.season(0), bot_id)
    world.write(entries.enter, world.boss, season_id, other)
    assert (len(texts(world, ada, NoticeKind.ENTERED)), texts(world, world.boss, NoticeKind.ENTERED)) == (2, [])


def test_an_invitation_is_told_once_and_to_no_closed_account(world: World) -> None:
    season_id = world.season(0)
    ada, bob = world.author("ada"), world.author("bob")
    for _ in range(2):
        world.write(admission.invite_to_season, world.boss, season_id, "ada")
        world.write(admission.uninvite_from_season, world.boss, season_id, "ada")
    world.write(admission.set_list, world.boss, season_id, [ada.id, bob.id])
    assert len(told(world, ada, NoticeKind.SEASON_INVITED)) == len(told(world, bob)) == 1
    bob, bot_id = world.bot("slow", owner=bob)
    version_id = world.upload(bob, bot_id)
    world.write(closing.close_account, bob)
    world.build(version_id, reason="broken")
    assert texts(world, bob, NoticeKind.VERSION_BROKEN) == []


def test_reading_leaves_what_came_later_unread(world: World) -> None:
    ada, bot_id = world.bot("swift")
    seen = told(world, ada)[-1]
    world.version(ada, bot_id)
    assert world.write(notices.mark_read, ada, seen.id) == 1
    assert [one.about["version"] for one in world.read(notices.inbox, ada, unread=True)] == [2]
    assert world.write(notices.mark_read, world.author(), 2**31 - 1) == 0
    assert world.read(notices.count_unread, ada) == 1, "nobody reads for another"


def test_old_notices_go_and_of_one_person_the_newest_stay(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bot_id = world.bot("swift")
    for _ in range(4):
        world.version(ada, bot_id)
    monkeypatch.setattr(notices, "MOST_KEPT", 3)
    world.write(notices.forget_old)
    assert [one.about["version"] for one in told(world, ada)] == [3, 4, 5]
    world.clock.turn(notices.KEPT.total_seconds() + 1)
    world.write(notices.forget_old)
    assert world.read(lambda session: session.exec(select(Notice)).all()) == []
