"""The organiser's desk, the operator's page and appeals, in the browser."""

import json
import re
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from deadheat.api.pages.author import own_match
from deadheat.api.pages.organiser import desk, operator
from deadheat.api.pages.organiser import season as season_pages
from deadheat.api.pages.organiser.operator import actions
from deadheat.api.pages.pictures import timelines
from deadheat.api.routes import seasons as schemas
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import check_password, existing_user
from deadheat.league.service.rulings.appeals import open_appeal
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.service.seasons.entries import enter, entry_info
from deadheat.league.service.seasons.seasons import season_progress
from deadheat.league.service.series.hosts import record_check
from deadheat.league.service.views.queues import take_sample
from deadheat.league.states import Admission, Role, SeasonState
from deadheat.league.terms import DATES, TERMS, Term
from tests.api.browser import OURS, PAGE, Browser
from tests.api.site import PASSWORD, Site
from tests.api.test_live_matches import a_second_passes
from tests.api.test_matches import Played
from tests.api.test_rulings import hold
from tests.league.people import GAME

SETTLED_ONCE_OPEN = {"ranks", "seats", "opens_at", "divisions"}
HOSTILE = "<script>alert(1)</script>\u202e"

FOUND: dict[str, object] = {"verified": True, "exchanges": 1, "faults": [], "attempts": []}
"""The findings of an appeal against a match that replays."""


@pytest.fixture
def ada(site: Site, played: Played) -> Browser:
    return Browser(site).sign_in("ada")


def winter(boss: Browser, **settings: Any) -> None:
    """Make a season, and show its page after its form has been sent with these settings."""
    boss.get("/desk")
    path = f"/desk/seasons/{boss.api('POST', '/v1/seasons', json={'name': 'Winter', 'game': GAME}).json()['id']}"
    boss.submit(f"{path}/settings", at=path, **settings)


def clean(browser: Browser) -> None:
    """Check that a stranger's script and control characters are shown as text."""
    assert "<script>alert" not in browser.answer.text and "\u202e" not in browser.answer.text
    assert "\x1b" not in browser.answer.text


def test_a_season_is_made_changed_opened_and_closed(boss: Browser) -> None:
    winter(boss, series_length="4", closes_at="2099-01-02T03:04:05")
    assert boss.page.text.count("Winter")
    path = boss.answer.url.path
    assert "scheduled" in boss.page.text
    assert "rounded like “Matches per" in boss.page.text, "a setting is called what the form calls it"
    assert "cobol is unknown" in boss.submit(f"{path}/settings", 422, languages="cobol").text
    boss.submit(f"{path}/settings", languages="python, c", admission="invited", closes_at="", games_per_pair="20")
    assert boss.form(f"{path}/settings").fields["languages"] == "python, c"
    assert boss.form(f"{path}/settings").fields["closes_at"] == ""
    boss.submit(f"{path}/invitations", 404, name="nobody")
    assert boss.submit(f"{path}/invitations", name="chief").text.count("Remove")
    token = boss.page.token
    for state in ("open", "closed"):
        answer = boss.client.post(f"{path}/state", data={"state": state, "csrf": token}, headers=OURS)
        assert answer.status_code == 303
    answer = boss.client.post(f"{path}/state", data={"state": "open", "csrf": token}, headers=OURS)
    assert answer.status_code == 409
    assert "This season is over" in boss.get(path).text


def test_what_is_wrong_with_a_season_is_said_beside_its_field_and_what_was_typed_stays(boss: Browser) -> None:
    winter(boss)
    form = "/desk/seasons/1/settings"
    typed = {"name": "Winter", "seats": "7", "opens_at": "2030-01-01T00:00:00", "divisions": "First, 4\nSecond"}
    boss.submit(form, 422, **typed)
    assert 'id="settings-seats-wrong">Yacht-auction is for' in boss.answer.text
    assert 'aria-invalid="true" aria-describedby="settings-seats-note settings-seats-wrong"' in boss.answer.text
    fields = boss.form(form).fields
    assert {name: fields[name] for name in typed} == typed
    boss.submit(form, 422, seats="2", name="!", finals_top="1", divisions="First, 4\nSecond, 1")
    wrong = {"name": "It begins with", "finals_top": "It should be", "divisions": "Number 2: It should"}
    for name, text in wrong.items():
        assert f'id="settings-{name}-wrong">{text}' in boss.answer.text
    boss.submit(form, name="Winter", finals_top="8", divisions="First, 4\n\nSecond")


def changed(term: Term) -> str:
    """Return a form's text for a value that is not the default; lists depend on the league."""
    if term.kind is datetime:
        return f"2099-01-0{1 + DATES.index(term.name)}T00:00:00"
    if issubclass(term.kind, StrEnum):
        return next(word for word in term.kind if word != term.default)
    return str(not term.default).lower() if term.kind is bool else str((term.least or 0) + 3)


def test_the_form_takes_all_that_the_api_takes(boss: Browser, site: Site) -> None:
    for name in ("sample", "another"):
        site.world.bot(name, owner=site.world.boss)
    winter(boss)
    form = "/desk/seasons/1/settings"
    given = set(boss.form(form).fields) - {"csrf"}
    assert given == set(schemas.SeasonChange.model_fields) - {"state", "force"}
    everything = {name: changed(term) for name, term in TERMS.items()} | {
        "name": "All", "divisions": "First, 8\nSecond", "seats": "2", "stages": "", "variant": "",
        "finals": "swiss", "languages": "c, python", "panel": "boss/sample, boss/another", "challenge_games": "0",
        "panel_minimum": "", "panel_test": "0, 100", "players": "programs",
    }  # fmt: skip
    assert set(everything) == given
    boss.submit(form, 200, **everything)
    shown = boss.form(form).fields
    assert {name: shown[name] for name in everything} == everything
    season = boss.api("GET", "/v1/seasons/1").json()
    sizes = [(division["name"], division["size"]) for division in season["divisions"]]
    assert sizes == [("First", 8), ("Second", None)]
    assert (season["languages"], season["challenge_games"]) == (["c", "python"], 0)
    assert season["opens_at"] == "2099-01-01T00:00:00Z"


def test_saving_what_is_unchanged_decides_nothing(boss: Browser) -> None:
    winter(boss, divisions="First, 4\nSecond")
    form = "/desk/seasons/1/settings"
    decided = len(boss.client.get("/v1/audit").json()["items"])
    boss.submit(form)
    assert len(boss.client.get("/v1/audit").json()["items"]) == decided
    boss.submit(form, 422, divisions="Same\nsame")
    assert 'id="settings-divisions-wrong">Each needs its own name.' in boss.answer.text
    boss.submit(form, divisions="")
    assert boss.form(form).fields["divisions"] == "Division 1"


def test_what_is_settled_cannot_be_typed_in(boss: Browser) -> None:
    winter(boss)
    path = boss.answer.url.path
    boss.client.post(f"{path}/state", data={"state": "open", "csrf": boss.page.token}, headers=OURS)
    boss.get(path)
    tag = re.search(r'<input id="settings-opens_at".*?>', boss.answer.text, re.DOTALL)
    assert tag is not None and tag[0].endswith(" disabled>")
    assert "can no longer be changed" in boss.page.text
    fields = boss.form(f"{path}/settings").fields
    sent = {name: value for name, value in fields.items() if name not in SETTLED_ONCE_OPEN}
    assert boss.client.post(f"{path}/settings", data={**sent, "promoted": "3"}, headers=OURS).status_code == 303
    assert boss.api("GET", "/v1/seasons/1").json()["promoted"] == 3


def test_an_entry_is_put_into_another_division(boss: Browser, site: Site) -> None:
    winter(boss, divisions="First, 4\nSecond")
    owner, bot_id = site.world.bot("climber")
    site.world.write(enter, owner, 1, bot_id)
    boss.get("/desk/seasons/1")
    move = f"/desk/seasons/1/entries/{bot_id}/division"
    assert boss.form(move).fields["division"] == "2"
    boss.submit(move, division="1")
    assert boss.form(move).fields["division"] == "1"
    boss.submit(move, 404, division="3")


def test_an_entry_is_disqualified_with_a_reason_and_reinstated(boss: Browser, played: Played) -> None:
    path, bot = f"/desk/seasons/{played.season}", played.bots[0]
    boss.submit(f"{path}/entries/{bot}/disqualify", 422, at=path, reason="  ")
    assert "disqualified" in boss.submit(f"{path}/entries/{bot}/disqualify", reason=HOSTILE).text
    clean(boss)
    assert "disqualified" not in boss.submit(f"{path}/entries/{bot}/reinstate", reason="it was not so").text


def test_whose_author_must_leave_after_the_freeze_is_withdrawn_at_the_desk(boss: Browser, played: Played) -> None:
    path, bot = f"/desk/seasons/{played.season}", played.bots[0]
    boss.submit(f"{path}/state", at=path, state="frozen")
    page = boss.submit(f"{path}/entries/{bot}/withdraw", reason="The author asked.")
    assert "withdrawn The author asked." in " ".join(page.text.split())
    progress = played.site.world.read(season_progress, played.season)
    assert progress.counting == progress.done, "what it played counts"
    assert f"{path}/entries/{bot}/withdraw" not in boss.answer.text
    boss.submit(f"{path}/entries/{bot}/disqualify", reason="It had a twin.")
    assert f"{path}/entries/{bot}/disqualify" not in boss.answer.text
    boss.submit(f"{path}/entries/{bot}/reinstate", reason="It had none.")
    assert f"{path}/entries/{bot}/withdraw" in boss.answer.text


def test_organisers_enter_bots_where_nobody_else_may(boss: Browser, site: Site) -> None:
    season = site.world.season(0, admission=Admission.NOBODY)
    owner, bot = site.world.bot()
    path = f"/desk/seasons/{season}"
    boss.submit(f"{path}/entries", 404, at=path, bot="x")
    assert "There is no bot 'x'" in boss.page.text
    assert "There is no bot 999" in boss.submit(f"{path}/entries", 404, bot="999").text
    boss.submit(f"{path}/entries", bot=str(bot))
    assert f"{path}/entries/{bot}/withdraw?page=1&amp;q=bot" in boss.answer.text, "it is shown"
    site.world.write(enter, owner, season, bot, 1)
    assert "is already in this season" in boss.submit(f"{path}/entries", 409, bot=str(bot)).text
    assert not site.world.read(entry_info, season, bot).follows, "its author's choice stands"
    boss.submit(f"{path}/state", state="frozen")
    assert f"{path}/entries" not in [form.action for form in boss.page.forms]


def test_organisers_enter_bots_by_name(boss: Browser, site: Site) -> None:
    season = site.world.season(0)
    for author in ("ada", "bob"):
        site.world.bot("swift", owner=site.world.author(author))
    path = f"/desk/seasons/{season}"
    assert "AUTHOR/NAME" in boss.submit(f"{path}/entries", 404, at=path, bot="swift").text
    boss.submit(f"{path}/entries", bot="Bob/Swift")
    assert "swift" in boss.page.text and f"{path}/entries/2/withdraw" in boss.answer.text


def test_every_entry_of_a_large_season_can_be_decided_about(boss: Browser, site: Site, monkeypatch) -> None:
    monkeypatch.setattr(season_pages, "ENTRIES", 2)
    season = site.world.season(5)
    path = f"/desk/seasons/{season}"

    def rows() -> list[int]:
        return [int(bot) for bot in re.findall(r'<tr><th scope="row"><a href="/bots/(\d+)">', boss.answer.text)]

    assert "1 to 2 of 5, by number." in boss.get(path).text
    assert rows() == [1, 2]
    assert f'href="{path}?page=3"' in boss.answer.text and "3 to 4 of 5, by number." in boss.get(f"{path}?page=2").text
    assert rows() == [3, 4]
    boss.submit(f"{path}/entries/4/withdraw?page=2", 422, reason=" ")
    assert 'role="alert"' in boss.answer.text, "the refusal stands in the bot's row"
    assert rows() == [3, 4]
    boss.submit(f"{path}/entries/4/withdraw?page=2", reason="It must.")
    assert rows() == [3, 4], "and what is done leads back to it"
    fifth = site.world.read(bot_info, 5).name
    boss.get(f"{path}?q=+{fifth.upper()}")
    assert rows() == [5]
    boss.submit(f"{path}/entries/5/disqualify?page=1&q=+{fifth.upper()}", reason="It must.")
    assert rows() == [5]
    for nobody in ("nobody", "%"):
        assert "None of the 5 bots matches." in boss.get(f"{path}?q={quote(nobody)}").text


def test_a_match_is_voided_restored_and_played_again(boss: Browser, played: Played) -> None:
    for verb in ("void", "restore", "rejudge"):
        boss.submit("/desk/matches", at="/desk", match=str(played.ids[0]), verb=verb, reason=HOSTILE)
        assert boss.answer.url.path == f"/matches/{played.ids[0]}"
        clean(boss)
    boss.submit("/desk/matches", 409, at="/desk", match=str(played.ids[0]), verb="rejudge", reason="again")
    assert boss.form("/desk/matches").fields["reason"] == "again"
    boss.submit("/desk/matches", 404, match="999", verb="void", reason="it")
    boss.submit("/desk/matches", 422, match="x", verb="void", reason="it")


def test_an_appeal_is_made_on_a_matchs_page_and_ruled_at_the_desk(ada: Browser, boss: Browser, played: Played) -> None:
    match = played.ids[1]
    ada.get(f"/matches/{match}")
    assert f'href="/matches/{match}/appeal"' in ada.answer.text
    ada.submit(f"/matches/{match}/appeal", at=f"/matches/{match}/appeal", text=HOSTILE)
    assert "It could not be re-simulated:" in ada.page.text
    clean(ada)
    ada.submit(f"/matches/{match}/appeal", 409, text="once more")
    boss.get("/desk")
    clean(boss)
    assert "could not be re-simulated" in boss.page.text
    boss.submit("/desk/appeals/1", 422, uphold="false", remedy="void", ruling="no")
    boss.submit("/desk/appeals/1", uphold="true", remedy="void", ruling="The host was overloaded.")
    assert "could not be re-simulated" not in boss.page.text
    page = ada.get(f"/matches/{match}/appeal")
    assert "upheld" in page.text and "The host was overloaded." in page.text


def test_nobody_is_asked_to_appeal_in_a_closed_season(ada: Browser, site: Site, played: Played) -> None:
    appeal, *paths = (f"/matches/{played.ids[1]}{part}" for part in ("/appeal", "", "/mine"))

    def asking() -> int:
        return sum(ada.client.get(path, headers=PAGE).text.count(f'href="{appeal}"') for path in paths)

    assert asking() == 2
    site.world.set_state(played.season, SeasonState.CLOSED, force=True)
    a_second_passes(site)
    assert asking() == 0
    assert "no longer possible" in ada.get(appeal).text and "<textarea" not in ada.answer.text


def test_an_appeal_is_taken_back_by_its_author_alone(site: Site, ada, boss, played: Played, monkeypatch) -> None:
    monkeypatch.setattr(own_match, "MOST_APPEALS", 1)
    path, other = (f"/matches/{played.ids[number]}/appeal" for number in (1, 0))
    ada.submit(path, at=path, text="It was fast.")
    eve = Browser(site).sign_up("eve")
    withdrawn = eve.client.post(f"{path}s/1/withdraw", data={"csrf": eve.page.token}, headers=OURS)
    assert withdrawn.status_code == 404 and "It was fast." not in eve.get(path).text
    eve.submit(path, 404, text="me too")
    ada.submit(other, at=other, text="The other, and newer.")
    for browser, forms in ((boss, 0), (ada, 1)):
        assert "It was fast." in browser.get(path).text and browser.answer.text.count("Withdraw the appeal") == forms
    assert "withdrawn" in ada.submit(f"{path}s/1/withdraw").text


@pytest.mark.parametrize(
    ("verified", "told"),
    [
        (True, "Re-simulated: rules, dice and result agree at all 7 exchanges."),
        (False, "The transcript does not replay: diverged at <3>"),
        (None, "It could not be re-simulated: diverged at <3>"),
    ],
)
def test_an_appeal_tells_the_findings(boss: Browser, site: Site, played: Played, verified, told: str) -> None:
    findings = FOUND | {"verified": verified, "exchanges": 7, "problem": "diverged at <3>"}
    author = site.world.write(check_password, "ada", PASSWORD)
    site.world.write(open_appeal, author, played.ids[1], "It was fast.", findings)
    assert told in boss.get("/desk").text
    record = site.ok(200, site.client.get("/v1/audit"))["items"][0]
    assert (record["action"], json.loads(record["data"])["verified"]) == ("appeal-opened", verified)


def test_the_oldest_appeals_come_first_and_none_is_out_of_reach(boss: Browser, site: Site, monkeypatch) -> None:
    monkeypatch.setattr(desk, "SHOWN", 2)
    site.world.season(2, games_per_pair=6)
    site.world.play_all()
    with site.world.db.transaction() as session:
        author = check_password(session, bot_info(session, 1).author, PASSWORD)
        for match in range(1, 6):
            open_appeal(session, author, match, f"appeal {match}", FOUND)

    def shown() -> list[str]:
        return re.findall(r">(appeal \d)<", boss.answer.text)

    assert "2 of 5 open appeals" in boss.get("/desk").text
    assert shown() == ["appeal 1", "appeal 2"]
    assert 'href="/desk?after=2#appeals"' in boss.answer.text and "Later ones" not in boss.get("/desk?after=3").text
    boss.get("/desk?after=4")
    assert shown() == ["appeal 5"]
    boss.submit("/desk/appeals/5", 422, uphold="false", ruling=" ")
    assert shown() == ["appeal 5"], "what was refused is said at its form"
    for number, left in ((5, ["appeal 1", "appeal 2"]), (1, ["appeal 2", "appeal 3"])):
        boss.submit(f"/desk/appeals/{number}", at=f"/desk?after={number - 1}", uphold="false", ruling="no")
        assert shown() == left
    assert "no later appeals" in boss.get("/desk?after=5").text


def test_an_announcement_is_made_and_taken_down(boss: Browser) -> None:
    boss.submit("/desk/announcements", at="/desk", title=HOSTILE, text=f"{HOSTILE}\r\nSecond line.")
    assert "\\r" not in boss.page.text and "\\n" not in boss.page.text
    clean(boss)
    boss.get("/")
    clean(boss)
    boss.submit("/desk/announcements/1/take-down", at="/desk")
    assert "Take down" not in boss.page.text


def test_the_metrics_are_linked_for_networks_that_may_read_them(boss: Browser, site: Site, monkeypatch) -> None:
    boss.get("/operator")
    assert '<a href="/metrics">' in boss.answer.text
    elsewhere = site.world.settings.model_copy(update={"metrics_networks": "192.0.2.0/24"})
    monkeypatch.setattr(site.app.state.services, "settings", elsewhere)
    assert "which only the networks in" in boss.get("/operator").text
    assert '<a href="/metrics">' not in boss.answer.text


def test_the_desk_begins_with_what_waits_for_a_decision(boss: Browser, site: Site) -> None:
    assert "Nothing needs a decision." in boss.get("/desk").text
    world = site.world
    world.ranked(2, closes_at=world.clock.now + timedelta(hours=1))
    name = world.read(bot_info, 1).author
    author = Person(world.read(existing_user, name).id, name, Role.AUTHOR)
    world.write(open_appeal, author, 1, "it was the host", FOUND)
    page = boss.get("/desk").text
    assert page.index("1 open appeal") < page.index("Open appeals") and "should be closed" not in page
    world.clock.turn(2 * 3600)
    assert "waits for 1 open appeal." in boss.get("/desk").text


def test_an_operator_of_a_league_without_matches_reads_of_no_span(boss: Browser) -> None:
    assert "void attempts, of 0 attempts-\n" in boss.get("/operator").text


def test_the_operator_sees_slots_that_idle_beside_unplayed_matches(boss: Browser, site: Site) -> None:
    site.world.write(record_check, site.world.host, {"slots": 4}, (), 0)
    page = boss.get("/operator")
    assert "judging slots4\n" in page.text and "idle although" not in page.text
    site.world.season(2)
    assert "idle although matches are unplayed4 " in boss.get("/operator").text


def test_the_operator_reads_first_whether_all_is_well(boss: Browser, site: Site) -> None:
    world = site.world
    assert "worker of the queue control," in boss.get("/operator").text
    world.write(take_sample)
    healthy = "Healthy: 1 of 1 machine may judge, nothing is held, 0 void attempts in the last hour."
    page = boss.get("/operator").text
    assert healthy in page and "blob store: ok. The queue's" in page
    reason = "Too much noise."
    found = {"findings": [{"level": "unfit", "text": reason, "mend": "buy earplugs"}]}
    world.write(record_check, world.host, found, (reason,), 60)
    page = boss.get("/operator").text
    assert healthy not in page
    assert page.index("fit to play for 0 s") < page.index(f"{world.host.name} is unfit to judge: {reason}")
    assert f"{reason} To do: buy earplugs." in page
    assert '<a href="#machine-1">' in boss.answer.text
    world.clock.turn(60)
    remark = {"findings": [{"level": "remark", "text": "It creaks.", "mend": "oil it"}]}
    world.write(record_check, world.host, remark, (), 60)
    world.write(take_sample)
    page = boss.get("/operator").text
    assert healthy in page and "It creaks. To do: oil it." in page
    assert re.search(r"was unfit from \S+ \S+ UTC to \S+ \S+ UTC\.", page)
    assert re.search(r"Last unfit from .* UTC\.\s+Too much noise\.", page)


def test_the_operator_is_told_of_what_stands_still(boss: Browser, site: Site) -> None:
    world = site.world
    world.write(take_sample)
    hold(site)
    held = '<a href="/desk#held">Held for an organiser: 1 match.</a>'
    boss.get("/operator")
    assert held in boss.answer.text
    world.season(2)
    world.tick()
    world.clock.now += timedelta(seconds=400)
    page = boss.get("/operator").text
    said = (
        "No scheduler, or no worker of the queue control, has run for 7 minutes.",
        "No machine has reported for 7 minutes, so nothing is played.",
        f"{world.host.name} has been silent for 7 minutes.",
        "Held for an organiser: 1 match.",
        "A job of the queue play has waited for 7 minutes.",
    )
    places = [page.index(sentence) for sentence in said]
    assert places == sorted(places), "the worst first"
    told = actions()
    assert places[1] < page.index(told["DeadheatNoWorker"].partition(".")[0].strip("`")) < places[2], "with what to do"


def test_the_operator_is_told_what_the_alerts_say() -> None:
    written = [Path(module.__file__ or "").read_text(encoding="utf-8") for module in (operator, timelines)]
    assert len(named := set(re.findall(r'"(Deadheat\w+)"', "".join(written)))) > 9
    assert named <= set(actions())


def test_series_that_nobody_wants_any_longer_are_no_failure(boss: Browser, site: Site) -> None:
    world = site.world
    season_id = world.season(3)
    dropped = len(world.tick())
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED, force=True)
    boss.get("/operator")
    assert f"Abandoned: {dropped} series no longer needed" in boss.answer.text
    assert "; 0 after the service failed" in boss.answer.text
    assert not re.search(r'class="fault">\s*[1-9]', boss.answer.text)


def test_the_operator_sees_queues_workers_and_what_went_wrong(boss: Browser, played: Played, site: Site) -> None:
    page = boss.get("/operator")
    assert "Oldest has waited" in page.text and "machine" in page.text and "timeout 1" in page.text
    assert "void attempts, of 6 attempts in the last 0 s" in page.text  # their worker's clock is ahead
    assert "matches in the last day" not in page.text
    boss.submit("/play", at="/play?bot=1")
    boss.get("/operator")
    assert re.search(r">exhibition</th><td class=\"number\">1<", boss.answer.text)
    site.world.clock.turn(9000)
    page = boss.get("/operator")
    assert "void attempts, of 6 attempts in the last 2.5 h" in page.text
    assert "timeouts, of 0 prompts in the last hour" in page.text
    (exhibition_id,) = site.queue.exhibitions
    boss.submit(f"/play/{exhibition_id}/resign", at=f"/play/{exhibition_id}")
    assert "matches in the last day: left 1." in boss.get("/operator").text and "Operator" in boss.get("/account").text
    site.world.write(set_role, "chief", Role.ORGANISER)
    boss.get("/operator", 403)
    boss.get("/desk")
