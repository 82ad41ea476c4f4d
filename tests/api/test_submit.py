"""The author's front door: one form from a program to a bot in a season, without a script."""

import itertools
from hashlib import sha256

import pytest
from sqlmodel import col, select, update

from deadheat.api.edge.uploading import MAX_TEXT_BYTES
from deadheat.api.pages.author.upload import starters
from deadheat.engine.games import GAMES
from deadheat.league.records.bots import TRIAL
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.seasons.seasons import edit_season
from deadheat.league.service.views.matches import first_match
from deadheat.league.states import Admission, SeasonState
from deadheat.league.tables import Bot, BotVersion
from deadheat.sandbox.languages import LANGUAGES, detect
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.league.outcomes import won
from tests.league.people import GAME

EDGE = "edge-of-a-form"


@pytest.fixture
def ada(site: Site) -> Browser:
    return Browser(site).sign_up("ada")


def send(browser: Browser, status: int = 200, file: tuple[str, bytes] = ("", b""), **changed: str) -> str:
    """Send the page's form as browsers do, with line ends of two characters and a file that may not be chosen."""
    (form,) = (form for form in browser.page.forms if form.action == "/submit" or form.action.endswith("/versions"))
    fields = {**form.fields, **changed}
    fields["program"] = fields["program"].removeprefix("\n")
    parts = [
        (f'name="{name}"', value.replace("\n", "\r\n").encode()) for name, value in fields.items() if name != "file"
    ]
    parts.append((f'name="file"; filename="{file[0]}"', file[1]))
    body = b"".join(
        f"--{EDGE}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n"
        for head, content in parts
    )
    headers = {**OURS, "Content-Type": f"multipart/form-data; boundary={EDGE}"}
    content = body + f"--{EDGE}--\r\n".encode()
    browser.show(browser.client.post(form.action, content=content, headers=headers, follow_redirects=True), status)
    return browser.answer.url.path


def program(browser: Browser) -> str:
    return browser.page.forms[-1].fields["program"].removeprefix("\n")


def made(site: Site) -> list[tuple[str, str, int | None]]:
    """Return all versions: their bot's name, language, and the season that they are to enter."""
    found = select(Bot.name, BotVersion.language, BotVersion.enters_id).join(Bot, col(Bot.id) == BotVersion.bot_id)
    return [(name, spoken, enters) for name, spoken, enters in site.world.rows(found.order_by(col(BotVersion.id)))]


def test_the_starter_is_sent_as_it_is_and_enters_the_season(site: Site) -> None:
    season = site.world.season(0)
    ada = Browser(site).sign_up("ada")
    assert program(ada) == starters(GAME)["python"]
    assert send(ada) == "/bots/1/versions/1"
    assert made(site) == [("ada", "python", season)] and len(site.queue.builds) == 1
    stored = site.world.rows(select(BotVersion.source_sha256))[0]
    assert site.blobs.get(stored, 10_000).decode() == starters(GAME)["python"]
    ada.get("/submit")
    assert ada.form("/submit").fields["name"] == "ada-2", "that one is free"


@pytest.mark.parametrize(("game", "language"), [(g, name) for g in GAMES for name in ("python", "c", "rust")])
def test_each_game_and_language_has_its_starter_or_an_empty_field(ada: Browser, game: str, language: str) -> None:
    ada.get(f"/submit?game={game}&language={language}")
    assert program(ada) == starters(game).get(language, "")
    assert (ada.form("/submit").fields["game"], ada.form("/submit").fields["language"]) == (game, language)
    assert {"python", "c"} <= starters(game).keys()


def test_each_starter_is_of_its_language() -> None:
    for language in itertools.chain.from_iterable(map(starters, GAMES)):
        name = LANGUAGES[language].entries[0]
        assert detect(name, [name], None)[0] == language


REFUSED = {
    "no name": ({"name": ""}, "name", "Please correct the marked fields"),
    "a name that is none": ({"name": "a b"}, "name", "Please correct the marked fields"),
    "a name that is taken": ({"name": "Greedy"}, "name", "This name is already taken."),
    "a season that is gone": ({"season": "99"}, "", "There is no season 99."),
    "a season that is closed": ({"season": "closed"}, "season", "The season is closed"),
    "a season that admits nobody": ({"season": "barred"}, "season", "its organisers choose who takes part"),
    "a season of another language": ({"season": "of c"}, "season", "is in python, but the season accepts only c"),
    "nothing": ({"program": " \n"}, "program", "Paste a program, or choose a file."),
    "a picture": ({"program": "\x89PNG\r\n\x1a\x00\x00"}, "program", "This is not a program's text."),
}


@pytest.mark.parametrize(("changed", "marked", "said"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_comes_before_the_build_and_keeps_what_was_typed(
    site: Site, changed: dict[str, str], marked: str, said: str
) -> None:
    named = {"closed": site.world.season(0), "of c": site.world.season(0, languages=["c"])}
    named["barred"] = site.world.season(0, admission=Admission.NOBODY)
    site.world.set_state(named["closed"], SeasonState.CLOSED)
    ada = Browser(site).sign_up("ada")
    site.ok(201, ada.api("POST", "/v1/bots", json={"name": "greedy", "game": GAME}))
    typed = {"name": "mine", "program": "print('<mine>')\n", "season": ""} | changed
    typed["season"] = str(named.get(typed["season"], typed["season"]))
    status = 409 if marked == "season" or "taken" in said else 404 if "99" in said else 422
    assert send(ada, 403 if "organisers" in said or "only c" in said else status, ("", b""), **typed) == "/submit"
    assert said in " ".join(ada.page.text.split())
    assert 'role="alert"' in ada.answer.text and (not marked or f'id="upload-{marked}-wrong"' in ada.answer.text)
    assert ada.form("/submit").fields["name"] == typed["name"]
    if "PNG" not in typed["program"]:
        assert program(ada) == typed["program"]
    assert "\x89" not in ada.answer.text and made(site) == [] and not site.queue.builds
    assert not site.blobs.has(sha256(typed["program"].encode()).hexdigest()), "nothing is stored"
    assert len(site.ok(200, ada.api("GET", "/v1/bots"))["items"]) == 1, "no bot remains without a version"


def test_who_is_over_the_quota_keeps_what_was_typed_but_sends_no_file(site: Site) -> None:
    ada = Browser(site.beside(uploads_per_hour=1)).sign_up("ada")
    send(ada, name="one")
    ada.get("/submit")
    assert send(ada, 429, name="two", program="print(2)\n") == "/submit"
    assert "uploads by one author" in ada.page.text and program(ada) == "print(2)\n"
    assert ada.answer.headers["retry-after"]
    assert send(ada, 429, ("bot.py", b"#" * (MAX_TEXT_BYTES + 1)), name="two") == "/submit"
    assert not ada.page.forms or ada.page.forms[-1].action != "/submit", "the file was not read"


def test_a_form_that_is_sent_twice_makes_one_bot(ada: Browser, site: Site) -> None:
    first = ada.page
    for _ in range(2):
        ada.page = first
        assert send(ada, name="swift") == "/bots/1/versions/1"
    ada.page = first
    assert send(ada, 409, name="swift", program="print()") == "/submit", "another program, from another tab"
    assert len(made(site)) == 1


def test_a_program_that_is_sent_again_with_a_season_enters_it(ada: Browser, site: Site) -> None:
    first, season_id = ada.page, site.world.season(0)
    send(ada, name="swift", season="")
    for _ in range(2):
        ada.page = first
        assert send(ada, name="swift", season=str(season_id)) == "/bots/1/versions/1"
    assert [season for _name, _spoken, season in made(site)] == [season_id]


def test_a_chosen_file_is_sent_instead_of_the_text(ada: Browser, site: Site) -> None:
    send(ada, 422, ("notes.txt", b"hello"), program="print('kept')\n")
    assert program(ada) == "print('kept')\n"
    send(ada, file=("main.c", b"int main(void) {}\n"))
    assert [spoken for _name, spoken, _season in made(site)] == ["c"]


def test_a_text_may_be_long_but_not_endless(ada: Browser, site: Site) -> None:
    send(ada, 413, program="#" * (MAX_TEXT_BYTES + 1))
    ada.get("/submit")
    assert send(ada, program="#" * 1_000_000) == "/bots/1/versions/1"


def test_the_next_version_is_pasted_in_the_workshop(ada: Browser, site: Site) -> None:
    send(ada)
    season = site.world.season(0)
    ada.get("/bots/1/upload")
    assert send(ada, program="print(2)\n", season=str(season)) == "/bots/1/versions/2"
    ada.get("/bots/1/upload")
    assert send(ada, 422, program="print(2)\n") == "/bots/1/versions"
    assert "the same file, byte for byte" in ada.page.text and "print(2)" in ada.answer.text
    assert made(site)[-1] == ("ada", "python", season)


def test_the_versions_page_follows_it_to_its_place(site: Site) -> None:
    world = site.world
    season = world.season(1)
    ada = Browser(site).sign_up("ada")
    send(ada)
    here = ada.answer.url.path
    bot_id = int(here.split("/")[2])

    def step() -> str:
        ada.get(here)
        item = ada.answer.text.partition('aria-current="step">')[2].partition("</li>")[0]
        return " ".join(item.split())

    def state(**values: object) -> None:
        with world.db.transaction() as session:
            session.exec(update(BotVersion).where(col(BotVersion.bot_id) == bot_id).values(**values))

    assert step() == "waiting for a builder" and "http-equiv" in ada.answer.text
    version = world.rows(select(BotVersion.id).where(BotVersion.bot_id == bot_id))[0]
    job = world.building(version)
    assert step() == "being built"
    state(log=f"{TRIAL} at a table of 2, in seat 1 ---\n")
    assert step() == "trial match"
    assert world.worked(finish_build, job, BuildOutcome("f" * 64, "", "log"))
    assert step().startswith("in <a")
    made_now = world.tick()
    assert step() == "first match" and "of its matches" in ada.answer.text, "it says what the match waits for"
    played = [world.claimed(series) for series in made_now or world.tick()]
    assert all(map(world.finish, played))
    assert step() == "place" and "/matches/" in ada.answer.text
    first = min(each.matches[0].match_id for each in played)
    assert world.read(first_match, version, season) == first and f'href="/matches/{first}"' in ada.answer.text
    world.settle_rankings()
    assert "place" in step() and "of 2" in step() and "http-equiv" not in ada.answer.text, "there is no more to follow"
    world.set_state(season, SeasonState.CLOSED)
    assert "of 2" in step()


def test_a_version_that_fails_the_panel_is_not_shown_as_playing(site: Site) -> None:
    world = site.world
    world.bot("rex", owner=world.boss)
    season_id = world.season(1, panel=["boss/rex"], panel_games=2, panel_minimum=2)
    ada = Browser(site).sign_up("ada")
    send(ada)
    here = ada.answer.url.path
    (version,) = world.rows(select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(Bot.name == "ada"))
    assert world.worked(finish_build, world.building(version), BuildOutcome("f" * 64, "", "log"))
    for _ in range(4):
        for series in world.tick():
            job = world.claimed(series)
            winners = [1 - each.seats.index(version) if version in each.seats else 0 for each in job.matches]
            assert world.finish(job, [won(each, seat) for each, seat in zip(job.matches, winners, strict=True)])
    ada.get(here)
    step = ada.answer.text.partition('aria-current="step">')[2].partition("</li>")[0]
    assert step.startswith("not in <a") and "did not pass the panel" in step and ">place" not in ada.answer.text
    world.write(edit_season, world.boss, season_id, panel_minimum=None)
    world.tick()
    ada.get(here)
    assert "did not pass" not in ada.answer.text, "it plays now, without a minimum"
