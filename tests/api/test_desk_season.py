"""A season's page at the desk, and what the desk says after each step, in the browser."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from deadheat.api.pages.organiser.season_form import steps
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records.seasons import DeclaredDate
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.people.notices import announce
from deadheat.league.service.people.users import check_password
from deadheat.league.service.rankings.standings import publish
from deadheat.league.service.rulings.appeals import open_appeal
from deadheat.league.service.seasons.seasons import edit_season
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import Entry
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.browser import OURS, Browser
from tests.api.site import PASSWORD, Site
from tests.api.test_matches import Played
from tests.league.clock import START
from tests.league.people import GAME

NOON = datetime(2027, 7, 1, 12, tzinfo=UTC)


def said(browser: Browser) -> list[str]:
    return re.findall(r'<p class="told" role="status">([^<]*)</p>', browser.answer.text)


def test_each_step_is_confirmed_where_it_was_taken(site: Site, boss: Browser) -> None:
    text = f'[season]\nname = "Winter"\ngame = "{GAME}"\n'
    boss.submit("/desk/season-file", at="/desk/season-file", apply="yes", document=text)
    assert "The season was created." in said(boss)[0]
    path = boss.answer.url.path
    boss.submit(f"{path}/settings", games_per_pair="20")
    assert said(boss)[-1] == "The settings were saved." and boss.answer.url.fragment == "settings"
    boss.submit(f"{path}/state", state="open")
    assert "The season was opened." in said(boss)
    _, bot_id = site.world.bot("rex")
    boss.submit(f"{path}/entries", bot=str(bot_id))
    assert "The bot was entered." in said(boss)
    for verb, told in (("withdraw", "withdrawn"), ("reinstate", "reinstated"), ("disqualify", "disqualified")):
        boss.get(f"{path}?q=rex")
        token = boss.page.token
        form = {"csrf": token, "reason": "it"}
        answer = boss.client.post(f"{path}/entries/{bot_id}/{verb}?q=rex", data=form, headers=OURS)
        assert answer.headers["location"] == f"{path}?page=1&q=rex&done={verb}#entries"
        boss.get(answer.headers["location"])
        assert f"The bot was {told}." in said(boss)
    assert not any("The bot was" in one for one in said_at(boss, f"{path}?done=nonsense"))


def said_at(browser: Browser, path: str) -> list[str]:
    browser.get(path)
    return said(browser)


def test_its_timetable_stands_at_the_top_in_order(site: Site, boss: Browser) -> None:
    season_id = site.world.season(2, games_per_pair=2, finals=FinalsFormat.STAGES, stages=["round-robin"])
    day = timedelta(days=1)
    site.world.write(edit_season, site.world.boss, season_id, freezes_at=START + 2 * day, finals_at=START + 3 * day)
    line = DeclaredEvaluation(name="Noon", format=EvaluationFormat.SWISS, rounds=3, at=[START + day])
    site.world.write(set_timetable, site.world.boss, season_id, [line])
    page = boss.get(f"/desk/seasons/{season_id}").text
    order = ("Timetable", "Evaluation Noon", "next", "Freezes", "Finals begin", "Stage 1: round robin", "Closes")
    places = [page.index(one) for one in order]
    assert places == sorted(places)
    assert "Opens manually" not in " ".join(page.split()), "it is open"


@pytest.mark.parametrize(("zone", "local"), [("UTC", ""), ("Asia/Seoul", "2027-07-01 21:00 KST"), (None, "")])
def test_a_time_zone_has_a_column_if_it_says_something_else(zone: str | None, local: str) -> None:
    opens, closes = DeclaredDate("dates.opens_at", "Opens", NOON), DeclaredDate("dates.closes_at", "Closes", None)
    first, second = steps([opens, closes], zone, NOON - timedelta(days=2))
    assert (first.label, first.utc, first.local, first.away) == ("Opens", "2027-07-01 12:00:00 UTC", local, "in 2 days")
    assert (first.next, second.next, second.utc) == (True, False, "manually")
    (past,) = steps([opens], zone, NOON + timedelta(minutes=10))
    assert (past.label, past.away, past.next) == ("Opened", "10 minutes ago", False)
    (late,) = steps([opens], zone, NOON + timedelta(minutes=10), SeasonState.SCHEDULED)
    assert late.label == "Opens", "nothing has opened it yet"


def test_a_closed_season_offers_what_is_left_to_do(site: Site, boss: Browser) -> None:
    world, season_id = site.world, site.world.season(2, games_per_pair=2)
    world.play_all()
    assert "Withdraw" in boss.get(f"/desk/seasons/{season_id}").text
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED)
    world.write(publish, season_id)
    page = boss.get(f"/desk/seasons/{season_id}").text
    for gone in ("Withdraw", "Decision and reason", "Save", "Timetable"):
        assert gone not in page
    assert "Continue with a new season" in page and f"deadheat season archive {season_id}" in page
    for table in re.findall(rf'href="(/v1/seasons/{season_id}/export/[^"]*)"', boss.answer.text):
        assert site.client.get(table).status_code == 200
    boss.get(f"/desk/seasons/new?previous={season_id}")


def test_a_setting_is_called_what_the_form_calls_it(site: Site, boss: Browser) -> None:
    season_id = site.world.season(2, finals=FinalsFormat.SWISS)
    boss.get(f"/desk/seasons/{season_id}")
    dates = {"freezes_at": "2099-01-02T00:00:00", "finals_at": "2099-01-01T00:00:00"}
    boss.submit(f"/desk/seasons/{season_id}/settings", 422, **dates)
    assert "It must come after \u201cFreezes\u201d." in boss.page.text


def test_an_appeal_says_who_met_whom_where_and_how_it_ended(site: Site, boss: Browser, played: Played) -> None:
    findings: dict[str, object] = {"verified": True, "exchanges": 1, "faults": [], "attempts": []}
    findings["replies"] = [{"seat": seat, "answers": 3, "slowest_ms": 1, "most_of_limit": 0.01} for seat in (0, 1)]
    match = site.ok(200, site.client.get(f"/v1/matches/{played.ids[1]}"))
    author = site.world.write(check_password, "ada", PASSWORD)
    site.world.write(open_appeal, author, played.ids[1], "It was fast.", findings)
    page = " ".join(boss.get("/desk").text.split())
    said = [f"{seat['author']}/{seat['bot']}: 3 answers" for seat in match["seats"]]
    assert all(line in page for line in said), "two bots have one name"
    assert "won." in page
    season = site.ok(200, site.client.get(f"/v1/seasons/{match['season_id']}"))["name"]
    assert f'<a href="/seasons/{match["season_id"]}">{season}</a>' in boss.answer.text


def test_a_match_leads_to_the_form_that_rules_on_it(site: Site, boss: Browser, played: Played) -> None:
    page = site.client.get(f"/matches/{played.ids[1]}").text
    link = f'<span data-for="desk" hidden> · <a href="/desk?match={played.ids[1]}#match">'
    assert link in page
    boss.get(f"/desk?match={played.ids[1]}")
    assert boss.form("/desk/matches").fields["match"] == f"{played.ids[1]}"


def test_an_announcement_names_its_season(site: Site, boss: Browser) -> None:
    season_id = site.world.season(2)
    name = site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))["name"]
    site.world.write(announce, site.world.boss, season_id, "Break", "Until noon.")
    boss.get("/desk")
    assert f'<a href="/desk/seasons/{season_id}">{name}</a> · boss' in boss.answer.text
    assert f'<a href="/seasons/{season_id}">{name}</a> · <a href="/authors/boss">' in site.client.get("/").text
    assert site.ok(200, site.client.get("/v1/announcements"))["items"][0]["season"] == name


def test_resting_bots_are_nothing_to_decide(site: Site, boss: Browser) -> None:
    season_id = site.world.season(2)
    with site.world.db.transaction() as session:
        session.exec(select(Entry).where(Entry.season_id == season_id, Entry.bot_id == 1)).one().rests_since = START
    page = " ".join(boss.get("/desk").text.split())
    assert "Nothing needs a decision." in page and "play again: 1 bot." in page


def test_a_new_season_starts_from_a_file_that_is_valid_as_it_is(site: Site, boss: Browser) -> None:
    boss.submit("/desk/season-file", at="/desk/season-file")
    assert "Correct this" not in boss.page.text and "has passed" not in boss.page.text
    boss.submit("/desk/season-file", apply="yes")
    assert "The season was created." in said(boss)[0]
    made = site.ok(200, site.client.get("/v1/seasons"))["items"][0]
    assert (made["name"], made["finals"]) == ("My contest", "stages")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("swiss rounds=9 keep=four", "number 1: \u201ckeep=four\u201d needs a whole number, such as keep=10."),
        ("swiss laps=9", "number 1: \u201claps=9\u201d is not known here; choose from rounds, matches, keep, further"),
        ("league keep=4", "number 1: it must begin with swiss, round-robin or knockout."),
    ],
)
def test_what_is_wrong_with_a_stage_is_said_in_its_words(boss: Browser, line: str, why: str) -> None:
    boss.get("/desk/season-file")
    text = f'[season]\nname = "Old"\ngame = "yacht-auction"\n[finals]\nfinals = "stages"\nstages = ["{line}"]'
    boss.submit("/desk/season-file", 422, document=text)
    assert why in boss.page.text and boss.page.text.count("finals.") == 1


def test_a_mistake_is_said_without_its_consequences(boss: Browser) -> None:
    boss.get("/desk/season-file")
    text = boss.form("/desk/season-file").fields["document"].replace('"round-robin"\n', '"robin"\n', 1)
    boss.submit("/desk/season-file", 422, document=text)
    (wrong,) = re.findall(r"<li><code>([^<]*)</code>", boss.answer.text)
    assert wrong == "contests.5.format"
