"""A new season from four answers, and one that continues another."""

import re
from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from deadheat.api.pages.organiser.presets import DAY, Answers, preset_file
from deadheat.engine.games import GAMES
from deadheat.league.records.seasons import Season
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.rankings.standings import publish, refit
from deadheat.league.service.seasons.admission import invite_to_season, invited_to_season
from deadheat.league.service.seasons.declared import apply_file, preview_file
from deadheat.league.service.seasons.entries import enter, entries
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.states import Admission, FinalsFormat, SeasonState
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.people import GAME

ZONES = ("UTC", "Asia/Seoul", "America/New_York")
WEEKEND = {"opens_at": "2030-01-05T10:00", "closes_at": "2030-01-06T18:00"}
ANSWERS = {"name": "Dice", "game": "liars-dice", "kind": "contest", "zone": "Asia/Seoul", **WEEKEND}


def asked(boss: Browser, status: int = 200, **answers: str) -> str:
    """Answer the questions, and return the text of the page that follows."""
    page = boss.submit("/desk/seasons", status, at="/desk/seasons/new", **{**ANSWERS, **answers})
    return " ".join(page.text.split())


def made(site: Site, boss: Browser) -> Season:
    """Make the season that the page previews."""
    page = boss.submit("/desk/season-file", apply="yes", document=boss.page.forms[-1].fields["document"])
    assert "The season was created." in page.text
    return site.world.read(season_info, int(boss.answer.url.path.rpartition("/")[2]))


@pytest.mark.parametrize(("preset", "game", "zone"), [*product(("ladder", "contest", "class"), sorted(GAMES), ZONES)])
def test_each_preset_is_a_season_of_each_game_in_each_zone(site: Site, preset: str, game: str, zone: str) -> None:
    """In New York, clocks are changed that night, and entries are fixed at half past one for the second time."""
    weeks = timedelta(weeks=3 if preset == "class" else 0)
    opens_at, closes_at = datetime(2030, 11, 2, 14, tzinfo=UTC) - weeks, datetime(2030, 11, 3, 12, tzinfo=UTC)
    dates = {"opens_at": opens_at, "closes_at": closes_at}
    local = {name: f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}" for name, at in dates.items()}
    answers = Answers.model_validate({"name": "Any", "game": game, "kind": preset, "zone": zone, **local})
    declared = site.world.read(preview_file, site.world.boss, preset_file(answers), None, 20)
    empty = ["entry.invited is empty, so no author can enter yet."] if preset == "class" else []
    assert declared.warnings == empty
    steps = {date.path: date.at for date in declared.timetable if date.at}
    assert dates.items() <= {path.removeprefix("dates."): at for path, at in steps.items()}.items()
    frozen = DAY if preset == "class" else timedelta(hours=5, minutes=30)
    assert (steps["dates.freezes_at"], declared.timezone) == (closes_at - frozen, zone)
    values = {change.path: change.then for change in declared.changes}
    assert values.get("matches.seats", 2) == (4 if game == "liars-dice" else 2)
    assert len(declared.forecast.evaluations) == {"ladder": 0, "contest": 8, "class": 6}[preset]
    assert (declared.forecast.finals_done_at is not None) == (preset == "contest")


def test_four_answers_and_a_preview_make_a_season(site: Site, boss: Browser) -> None:
    page = asked(boss)
    assert "2030-01-05 10:00 KST" in page and "20 bots" in page and "Interim, then every 4 hours" in page
    assert boss.page.forms[-2].action == "/desk/season-file", "the first button creates it"
    season = made(site, boss)
    assert (season.name, season.seats, season.finals) == ("Dice", 4, FinalsFormat.STAGES)
    assert season.opens_at == datetime(2030, 1, 5, 1, tzinfo=UTC)


def test_what_is_wrong_is_said_at_the_question(boss: Browser) -> None:
    assert "It must come at least 7 days after the opening." in asked(boss, 422, kind="class")
    assert 'id="season-closes_at-wrong"' in boss.answer.text and re.search(
        'value="class"[^>]* checked', boss.answer.text
    )
    assert "knows no such time zone" in asked(boss, 422, zone="Asia/Seul")
    assert "It begins with" in asked(boss, 422, name="!")
    assert "should be a valid datetime" in asked(boss, 422, opens_at="tomorrow")
    assert "there is no such game" in asked(boss, 422, game="chess"), "a file that is wrong is shown"
    asked(boss)
    boss.submit("/desk/season-file", apply="yes", document=boss.page.forms[-1].fields["document"])
    assert "This name is already taken." in asked(boss, 409, name="dice")


def test_a_begin_in_the_past_and_evaluations_that_take_too_long_are_warned_of(boss: Browser) -> None:
    assert "dates.opens_at has passed" in asked(boss, opens_at="2025-01-05T10:00")
    boss.submit("/desk/season-file", document=boss.page.forms[-1].fields["document"], bots="100000")
    assert "evaluations will not be done before the next is due" in boss.page.text
    assert "The finals will take until" in boss.page.text


def test_a_season_continues_another_with_all_that_it_had(site: Site, boss: Browser) -> None:
    world, form = site.world, "/desk/seasons?previous=1"
    divisions = '[[divisions]]\nname = "A"\nsize = 4\n[[divisions]]\nname = "B"\n'
    fields = {**ANSWERS, "game": GAME, "kind": "class", "name": "First", "closes_at": "2030-01-19T10:00"}
    text = preset_file(Answers.model_validate(fields)) + divisions
    first = world.write(apply_file, world.boss, text).season_id or 0
    owner, bot_id = world.bot("climber")
    world.write(invite_to_season, world.boss, first, owner.name)
    world.write(set_season_state, world.boss, first, SeasonState.OPEN)
    world.write(enter, owner, first, bot_id)
    boss.get(f"/desk/seasons/new?previous={first}")
    assert "season.previous_id" in boss.submit(form, 422, name="Second").text, "it is not over"
    world.write(set_season_state, world.boss, first, SeasonState.CLOSED, force=True)
    world.clock.turn(60)
    world.write(refit, first)
    world.write(publish, first)
    boss.get("/desk")
    assert f"/desk/seasons/new?previous={first}" in boss.answer.text
    boss.get(f"/desk/seasons/new?previous={first}")
    assert not {"game", "kind"} & boss.form(form).fields.keys()
    boss.submit(form, 409, name="first", **WEEKEND)
    boss.submit(form, name="Second", opens_at="2031-03-01T12:00", closes_at="2031-03-29T12:00", zone="Asia/Seoul")
    assert "2031-03-03 12:00 KST" in boss.page.text, "two days after the opening, as before"
    season = made(site, boss)
    assert [(part.name, part.size) for part in season.divisions] == [("A", 4), ("B", None)]
    assert (season.previous_id, season.admission, season.games_per_pair) == (first, Admission.INVITED, 40)
    assert world.read(invited_to_season, world.boss, season.id) == [owner.name]
    assert [entry.bot for entry in world.read(entries, season.id)] == ["climber"]
    boss.get("/desk/seasons/new?previous=99", 404)
