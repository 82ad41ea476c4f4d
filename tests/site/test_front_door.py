"""The author's front door in a browser: clumsy and hasty people lose nothing and send nothing twice."""

import itertools
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, StorageState, expect

from deadheat.api.edge.uploading import MAX_TEXT_BYTES
from deadheat.league.service.people.person import Person
from tests.site.conftest import PHONE, League, Open, keeps_out, signed_in_as
from tests.site.test_story import drops

NAMES = (f"newcomer-{number}" for number in itertools.count())
COUNTS = """() => {
    window.sent = 0;
    XMLHttpRequest.prototype.send = () => { window.sent += 1; };
}"""

Enters = Callable[..., Page]


@pytest.fixture
def newcomer(league: League) -> Person:
    return league.site.world.author(next(NAMES))


@pytest.fixture
def enters(visit: Open, league: League, newcomer: Person) -> Enters:
    """A function that opens the front door as one newcomer, in a further tab each time."""
    state: StorageState = signed_in_as(league, newcomer.id)
    return lambda **chosen: visit("/submit?game=liars-dice", storage_state=state, **chosen)


def build(page: Page) -> None:
    page.get_by_role("button", name="Build").click()


def text(page: Page) -> str:
    return page.get_by_label("Program").input_value()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_door_has_no_barriers_even_when_it_refuses(enters: Enters, language: str) -> None:
    page = enters(locale=language, viewport=PHONE)
    assert keeps_out(page, dark=True) == []
    page.locator("#upload-program").fill("  ")
    page.locator("form[data-upload] button:not([type])").click()
    expect(page.locator("#upload-program")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#upload-program")).to_be_focused()
    assert keeps_out(page, dark=True) == []


def test_nothing_is_sent_twice_at_once(enters: Enters) -> None:
    page = enters()
    page.evaluate(COUNTS)
    drops(page, "bot.py", b"print()")
    for _ in range(2):
        page.evaluate("document.querySelector('form[data-upload]').requestSubmit()")
        drops(page, "other.py", b"print(2)")
    assert page.evaluate("window.sent") == 1
    expect(page.get_by_role("button", name="Build")).to_be_disabled()
    assert page.evaluate("document.querySelector('[type=file]').files[0].name") == "bot.py"


def test_without_a_script_a_second_click_leads_to_the_same_bot(enters: Enters) -> None:
    page = enters(java_script_enabled=False)
    page.get_by_role("button", name="Build").dblclick()
    page.wait_for_url("**/versions/1")
    page.goto("/submit?game=liars-dice")
    expect(page.get_by_label("Name")).to_have_value("".join([page.locator("#who").inner_text(), "-2"]))


@pytest.mark.parametrize("scripts", [True, False])
def test_what_was_typed_stays_when_another_tab_took_the_name(enters: Enters, scripts: bool) -> None:
    first, second = enters(java_script_enabled=scripts), enters(java_script_enabled=scripts)
    build(first)
    first.wait_for_url("**/versions/1")
    second.get_by_label("Program").fill("\nprint('<second>')\n")
    build(second)
    expect(second.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    expect(second.get_by_label("Name")).to_have_accessible_description(re.compile("This name is already taken"))
    assert text(second) == "\nprint('<second>')\n"
    second.get_by_label("Name").fill("second")
    build(second)
    second.wait_for_url("**/versions/1")


def test_a_file_counts_until_it_is_taken_back(enters: Enters) -> None:
    page = enters()
    page.get_by_label("Program").fill("print('typed')\n")
    drops(page, "notes.txt", b"hello")
    expect(page.get_by_label("Program")).to_be_disabled()
    build(page)
    expect(page.locator("#upload-program-wrong")).to_be_visible()
    assert text(page) == "print('typed')\n" and page.evaluate("document.querySelector('[type=file]').files.length") == 1
    page.get_by_role("button", name="Send the text instead").click()
    expect(page.get_by_label("Program")).to_be_enabled()
    build(page)
    page.wait_for_url("**/versions/1")
    expect(page.get_by_role("main")).to_contain_text("main.py")


def test_a_paste_that_is_too_long_or_no_text_is_refused_and_stays(enters: Enters) -> None:
    page = enters()
    page.evaluate("(size) => { document.querySelector('textarea').value = '#'.repeat(size); }", MAX_TEXT_BYTES + 1)
    build(page)
    expect(page.locator("[data-part=complaint]")).to_contain_text("at most 1.0 MiB are accepted")
    assert len(text(page)) == MAX_TEXT_BYTES + 1
    page.evaluate("document.querySelector('textarea').value = '\\x7fELF\\x01\\x02'")
    build(page)
    expect(page.locator("#upload-program-wrong")).to_contain_text("This is not a program's text")
    assert text(page) == "\x7fELF\x01\x02"
    page.evaluate("document.querySelector('textarea').value = '#'.repeat(1_000_000)")
    build(page)
    page.wait_for_url("**/versions/1")


def test_who_was_signed_out_meanwhile_keeps_the_program(enters: Enters) -> None:
    page = enters()
    page.get_by_label("Program").fill("print('typed')\n")
    page.context.clear_cookies()
    build(page)
    expect(page.locator("[data-part=complaint]")).to_contain_text("You are signed out")
    assert text(page) == "print('typed')\n"


def test_going_back_begins_anew_and_leaving_asks(enters: Enters) -> None:
    page = enters()
    build(page)
    page.wait_for_url("**/versions/1")
    page.go_back()
    expect(page.get_by_role("button", name="Build")).to_be_enabled()
    expect(page.get_by_role("button", name="Build")).to_have_count(1)
    page.get_by_label("Program").press_sequentially("#")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_role("link", name="Betris (Large)").click()
    assert asked == ["beforeunload"] and text(page).count("#") > 0
