"""What only the owners of a bot see: its workshop, why a match was lost, and what was written to stderr."""

import dataclasses
import html
import re
from hashlib import sha256
from pathlib import Path

import obstore
import pytest
from sqlmodel import select, update

from deadheat.engine.core import NS_PER_MS, Fault
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.engine.verdicts import VERDICTS
from deadheat.league.blobs import _path
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.entries import enter, let_in
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import Admission, Role, SeasonState, VersionState
from deadheat.league.tables import BotVersion, Match, Participant
from deadheat.sandbox.box import Exit
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.engine.busy import on_a_busy_host
from tests.league.outcomes import attempt, forfeited
from tests.league.people import GAME
from tests.league.seasons import at_gate

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"

HOSTILE = "</pre><script>alert(1)</script>\n\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u200b\r\0 end\n"


class Watched(Played):
    """A finished series, and a signed-in browser for each author."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.browsers = {name: Browser(site).sign_in(name) for name in ("ada", "bob")}

    def mine(self, name: str, number: int = 0, status: int = 200) -> str:
        """Return the page of a match as a signed-in person sees it."""
        self.browsers[name].get(f"/matches/{self.ids[number]}/mine", status)
        return html.unescape(self.browsers[name].answer.text)

    def won_by_ada(self, transcript: Transcript) -> int:
        """Play another match, which Ada wins, with this transcript; return its index in `ids`."""
        number = self.another()
        with self.site.world.db.transaction() as session:
            match = session.exec(select(Match).where(Match.id == self.ids[number])).one()
            match.transcript_sha256 = self.site.blobs.put(encode(transcript))
            for seat in session.exec(select(Participant).where(Participant.match_id == match.id)):
                seat.fault, seat.rank = None, seat.seat + 1
        return number

    def another(self, **endings: str) -> int:
        """Play another match, which Ada loses by time on seat 0; return its index in `ids`. `seat0=`: stderr."""
        site = self.site
        season = site.world.season(0, series_length=1, games_per_pair=1)
        for headers, bot_id in zip((self.ada, self.bob), self.bots, strict=True):
            site.ok(200, site.client.put(f"/v1/seasons/{season}/entries/{bot_id}", headers=headers))
        job = site.world.claimed()
        exits = {
            seat: Exit(None, 9, True, endings.get(f"seat{seat}", "").encode(), cpu_ns=5, peak_memory_bytes=6)
            for seat in (0, 1)
        }
        told = {"seat": 0, "limit_ns": 500 * NS_PER_MS, "wall_ns": 510 * NS_PER_MS, "own_ns": 509 * NS_PER_MS}
        about = attempt("played", timeouts=[told | {"stolen_ns": NS_PER_MS, "cpu_ns": 3 * NS_PER_MS, "signal": "psi"}])
        outcome = dataclasses.replace(forfeited(job.matches[0], 0), exits=exits, attempts=(about,))
        assert site.world.finish(job, [outcome])
        self.ids.append(outcome.match_id)
        return len(self.ids) - 1


@pytest.fixture
def watched(site: Site) -> Watched:
    return Watched(site)


def test_who_shares_a_bot_sees_it_too_and_nobody_afterwards(watched: Watched) -> None:
    site = watched.site
    eve = site.author("eve")
    watched.browsers["eve"] = Browser(site).sign_in("eve")
    assert "stderr of" not in watched.mine("eve", status=404)
    team = site.ok(201, site.client.post("/v1/teams", json={"name": "lovelace"}, headers=watched.ada))["id"]
    path = f"/v1/teams/{team}"
    site.ok(200, site.client.post(f"{path}/invitations", json={"name": "eve"}, headers=watched.ada))
    site.ok(200, site.client.post(f"{path}/join", headers=eve))
    state = {"state": "frozen"}, {"state": "closed", "force": True}
    for body in state:
        site.ok(200, site.client.patch(f"/v1/seasons/{watched.season}", json=body, headers=site.organiser()))
    site.ok(200, site.client.patch(f"/v1/bots/{watched.bots[0]}", json={"team_id": team}, headers=watched.ada))
    assert "stderr of seat 0" in watched.mine("eve")
    site.ok(200, site.client.delete(f"{path}/members/eve", headers=eve))
    assert "stderr of" not in watched.mine("eve", status=404)


def test_what_is_private_is_kept_nowhere(watched: Watched) -> None:
    """Neither the server nor a proxy keeps it for the next reader of the same address."""
    path = f"/matches/{watched.ids[0]}/mine"
    public = f"/matches/{watched.ids[0]}"
    for _ in range(2):
        watched.mine("ada")
        assert watched.browsers["ada"].answer.headers["cache-control"] == "no-store"
        assert "etag" not in watched.browsers["ada"].answer.headers
        assert watched.browsers["ada"].client.get(f"{path}/0/stderr").headers["cache-control"] == "no-store"
        for address in (path, f"{path}/0/stderr"):
            anonymous = watched.site.client.get(address, headers={"Accept": "text/html"})
            sent_to = f"/sign-in?next={address.replace('/', '%2F')}"
            assert (anonymous.status_code, anonymous.headers["location"]) == (303, sent_to)
        assert "stderr of seat 0" not in watched.mine("bob")
        everybody = watched.browsers["ada"].client.get(public).text
        assert everybody == watched.site.client.get(public).text
        assert f'href="{path}"' in everybody and "stderr of seat" not in everybody
    bodies = watched.site.app.state.services.bodies
    assert not [address for address, _ in bodies._addresses if address.startswith(path)]


def test_a_lost_match_is_explained_with_its_evidence_and_cure(watched: Watched) -> None:
    told = " ".join(watched.mine("ada", watched.another(seat0="weights loaded")).split())
    assert "<strong>timeout</strong> at <code>ROLL</code>" in told and VERDICTS[Fault.TIMEOUT].happened in told
    assert VERDICTS[Fault.TIMEOUT].cure[1:] in told and "no line within 500 ms" in told
    assert "limit 500 ms, 510 ms passed, 509 ms" in told
    assert "1.0 ms taken from it" in told
    assert (
        "Signal 9 ended it." in told
        and "still running a second after" in told
        and 'href="/docs/reference/verdicts"' in told
    )
    assert f'href="/bots/{watched.bots[0]}/versions/1"' in told


def test_slow_answers_are_told_by_own_time_with_what_the_host_took(watched: Watched) -> None:
    number = watched.won_by_ada(on_a_busy_host(decode((TRANSCRIPTS / "yacht-auction.jsonl").read_bytes())))
    told = " ".join(watched.mine("ada", number).split())
    assert "took 280 ms from 2 replies; 1 counted" in told
    rows = re.findall(r"<code>ROLL [^/]*</code></td>(.*?)</tr>", told)
    cells = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert ["480", "ms", "150", "ms", "500", "ms", "96.0", "%", "90.0", "ms"] in cells
    other = watched.mine("bob", number)
    assert "The host took" not in other and '<th class="number">The host took' not in other
    page = watched.site.client.get(f"/matches/{watched.ids[number]}", headers={"Accept": "text/html"}).text
    assert "480.0 of 500 ms (the host took 150.0 ms more" in page


@pytest.mark.parametrize(("name", "own", "other"), [("ada", 0, 1), ("bob", 1, 0)])
def test_a_match_without_faults_shows_where_its_points_are_from(watched: Watched, name, own: int, other: int) -> None:
    number = watched.won_by_ada(decode((TRANSCRIPTS / "yacht-auction-example.jsonl").read_bytes()))
    told = watched.mine(name, number)
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", told, re.DOTALL)]
    four, total = (["44444", "20,000"], ["44455", "12,000"]), ("282,824", "195,500")
    assert ["four", *four[own], *four[other], "+8,000" if own == 0 else "\N{MINUS SIGN}8,000"] in rows
    assert ["total", total[own], total[other], "+87,324" if own == 0 else "\N{MINUS SIGN}87,324"] in rows
    assert told.index("+87,324" if own == 0 else "\N{MINUS SIGN}87,324") < told.index('id="replay"')
    assert '<details class="record"><summary>Its response times' in told


def test_who_won_is_not_told_the_others_evidence(watched: Watched) -> None:
    told = watched.mine("bob", watched.another(seat0="of ada"))
    assert "Won." in told and "of ada" not in told and "your program's own" not in told and "500.1" not in told


def test_people_count_seats_from_one_and_programs_from_zero(watched: Watched) -> None:
    number = watched.another(seat0="of ada", seat1="of bob")
    match_id = watched.ids[number]
    for seat, name in enumerate(("ada", "bob")):
        told = watched.mine(name, number)
        assert f"Seat {seat + 1}: " in watched.browsers[name].page.text
        assert f'aria-label="Stderr of seat {seat + 1}"' in told
        assert f'href="/matches/{match_id}/mine/{seat}/stderr"' in told
    told = watched.site.client.get(f"/matches/{match_id}").text
    assert re.findall(r'<tr><td class="number">(\d)</td><th scope="row">', told) == ["1", "2"]
    assert [seat["seat"] for seat in watched.site.client.get(f"/v1/matches/{match_id}").json()["seats"]] == [0, 1]


def test_a_match_that_was_not_played_says_so(watched: Watched) -> None:
    assert "Not played and not rated." in watched.mine("ada", 2)


def test_hostile_stderr_is_text(watched: Watched) -> None:
    """Control and invisible characters are spelled out, tags are text, and a megabyte is cut."""
    number = watched.another(seat0=HOSTILE + "x" * 1_000_000 + HOSTILE)
    watched.mine("ada", number)
    page = watched.browsers["ada"].page
    raw = watched.browsers["ada"].answer.text
    assert len(raw) < 100_000
    assert page.tags.count("script") == 2, "those of every page: the name, and times"
    assert "</pre><script>alert(1)</script>" in page.text
    assert r"\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u200b\r� end" in page.text
    assert not set(raw) & set("\x1b\x07\u202e\u200b\0")
    saved = watched.browsers["ada"].client.get(f"/matches/{watched.ids[number]}/mine/0/stderr")
    assert saved.headers["content-type"] == "text/plain; charset=utf-8"
    assert saved.headers["content-disposition"] == f'attachment; filename="match-{watched.ids[number]}.seat1.stderr"'
    assert saved.headers["x-content-type-options"] == "nosniff" and saved.text.endswith(HOSTILE.replace("\0", "\ufffd"))


def test_the_store_may_have_lost_the_transcript(watched: Watched) -> None:
    """The page still shows what the database has (the second match never had a transcript)."""
    told = watched.mine("bob", 1)
    assert VERDICTS[Fault.TIMEOUT].happened in told
    assert "See it in the replay" not in told and "deadheat explain" not in told


SOURCE = b"print('hello')\n"


@pytest.fixture
def ada(site: Site) -> Browser:
    browser = Browser(site).sign_up("ada")
    assert site.ok(201, browser.api("POST", "/v1/bots", json={"name": "greedy", "game": GAME}))["id"] == 1
    browser.get("/bots/1/upload")
    return browser


def upload(browser: Browser, content: bytes = SOURCE, name: str = "bot.py", token: str | None = None) -> str:
    fields = {"csrf": token or browser.page.token}
    answer = browser.client.post("/bots/1/versions", data=fields, files={"file": (name, content)}, headers=OURS)
    if answer.status_code != 303:
        browser.show(answer, answer.status_code)
    return str(answer.headers.get("location", answer.status_code))


def finish(site: Site, log: str, reason: str = "") -> None:
    with site.world.db.transaction() as session:
        values = {"state": VersionState.BROKEN, "log": log, "reason": reason}
        session.exec(update(BotVersion).values(**values))


def test_the_form_uploads_without_a_script(ada: Browser, site: Site) -> None:
    assert upload(ada) == "/bots/1/versions/1"
    assert len(site.queue.builds) == 1
    assert "waiting for a builder" in ada.get("/bots/1/versions/1").text and "bot.py" in ada.get("/bots/1/upload").text


def test_what_is_wrong_with_an_upload_is_said_beside_the_form(ada: Browser, site: Site) -> None:
    assert upload(ada, b"hello", "notes.txt") == "422" and 'role="alert"' in ada.answer.text
    assert not site.queue.builds


def test_an_upload_needs_the_pages_token(ada: Browser, site: Site) -> None:
    assert upload(ada, token="0" * 64) == "403"
    assert ada.client.post("/bots/1/versions", files={"file": ("bot.py", SOURCE)}, headers=OURS).status_code == 403
    assert not site.queue.builds


@pytest.mark.parametrize("field", ["csrf", "other", "file"])
def test_a_field_before_the_file_is_one_that_is_known_and_short(ada: Browser, field: str) -> None:
    fields = {field: "x" * 300}
    answer = ada.client.post("/bots/1/versions", data=fields, files={"file": ("bot.py", SOURCE)}, headers=OURS)
    assert answer.status_code == 400


def test_the_module_uploads_to_the_api(ada: Browser, site: Site) -> None:
    assert site.ok(202, ada.api("POST", "/v1/bots/1/versions", files={"file": ("bot.py", SOURCE)}))["number"] == 1


def test_hostile_names_and_logs_stay_text(ada: Browser, site: Site) -> None:
    upload(ada, name="<script>x\u202egnp.txt")
    assert "<script>x" not in ada.answer.text and "\u202e" not in ada.answer.text
    ada.get("/bots/1/upload")
    assert upload(ada) == "/bots/1/versions/1"
    log = "<script>alert(1)</script>\n\x1b[31mred\x07\r\u202eevil\n</pre><img src=x onerror=alert(1)>" + "x" * 1_000_000
    finish(site, log, "<img src=x>\x1b[2J")
    page = ada.get("/bots/1/versions/1")
    assert page.tags.count("img") == 1  # the brand's
    assert "<script>alert" not in ada.answer.text
    for mark in ("\x1b", "\x07", "\u202e"):
        assert mark not in ada.answer.text
    assert "\\x1b[31mred\\x07" in page.text


def test_a_bot_enters_chooses_withdraws_and_comes_back(ada: Browser, site: Site) -> None:
    world = site.world
    season = world.write(create_season, world.boss, name="S", game=GAME).id
    page = ada.submit(f"/bots/1/seasons/{season}/enter", 409, at="/bots/1/upload")
    assert "no ready version" in page.text
    upload(ada)
    page = ada.submit(f"/bots/1/seasons/{season}/enter", at="/bots/1/upload")
    assert "Version 1 enters it" in page.text
    with world.db.transaction() as session:
        values = {"state": VersionState.READY, "program_sha256": "f" * 64}
        session.exec(update(BotVersion).values(**values))
    world.tick()
    ada.get("/bots/1/upload")
    assert "Version 1 plays" in ada.page.text
    assert "Version 1 plays." in ada.submit(f"/bots/1/seasons/{season}/enter", version="1").text
    assert "withdrawn" in ada.submit(f"/bots/1/seasons/{season}/withdraw").text
    assert "withdrawn" not in ada.submit(f"/bots/1/seasons/{season}/rejoin").text
    world.write(disqualify, world.boss, season, 1, "<b>cheats</b>")
    page = ada.get("/bots/1/upload")
    assert "disqualified" in page.text and "<b>cheats</b>" in page.text and "b" not in page.tags
    assert f"/bots/1/seasons/{season}/rejoin" not in [form.action for form in page.forms]
    world.write(set_season_state, world.boss, season, SeasonState.OPEN)
    world.write(set_season_state, world.boss, season, SeasonState.CLOSED)
    assert [form.action for form in ada.get("/bots/1/upload").forms if "seasons" in form.action] == []


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"admission": Admission.NOBODY}, "its organisers choose who takes part"),
        ({"admission": Admission.INVITED}, "ada is not on its list"),
        ({"teams_only": True}, "it admits only bots of teams"),
    ],
)
def test_nothing_is_offered_where_the_rules_bar_a_bot(ada: Browser, site: Site, rules, why: str) -> None:
    season = site.world.season(0, **rules)
    form = f"/bots/1/seasons/{season}/enter"
    assert f"Not entered. The season does not admit this bot: {why}." in ada.get("/bots/1/upload").text
    assert form not in [found.action for found in ada.page.forms]
    site.world.build(site.world.upload(Person(2, "ada", Role.AUTHOR), 1))
    site.world.write(let_in, site.world.boss, season, 1)
    ada.submit(form, at="/bots/1/upload", version="1")
    assert "Version 1 plays." in ada.page.text, "whoever entered it, its author chooses"


def test_the_workshop_tells_how_a_version_fares_at_its_gate(ada: Browser, site: Site) -> None:
    world = site.world
    season = world.write(create_season, world.boss, name="S", game=GAME).id
    owner = Person(2, "ada", Role.AUTHOR)
    for program in ("one", "two"):
        world.build(world.upload(owner, 1), program=program)
        world.write(enter, owner, season, 1, gate=at_gate())
    text = " ".join(ada.get("/bots/1/upload").text.split())
    assert "greedy v2 \N{EN DASH} v1 promotion gate 0 / 0 / 0 running" in text
    world.build(world.upload(owner, 1), program="one")
    text = " ".join(ada.get("/bots/1/upload").text.split())
    assert "greedy v3 \N{EN DASH} v1 promotion gate 0 / 0 / 0 failed" in text
    assert "same program as version 1" in text


def test_the_bot_is_renamed_described_and_retired_and_its_source_fetched(ada: Browser, site: Site) -> None:
    assert upload(ada) == "/bots/1/versions/1"
    ada.get("/bots/1/upload")
    fetched = ada.client.get("/v1/bots/1/versions/1/source")
    assert 'href="/v1/bots/1/versions/1/source"' in ada.answer.text and fetched.content == SOURCE
    assert fetched.headers["content-disposition"] == 'attachment; filename="bot-1-version-1.py"'
    obstore.put(site.blobs._store, _path(sha256(SOURCE).hexdigest()), b"damaged")
    site.problem(500, ada.client.get("/v1/bots/1/versions/1/source"), "blob-damaged")
    ada.submit("/bots/1/change", name="deep", description="It <b>thinks</b>.")
    told = site.client.get("/bots/1", headers={"Accept": "text/html"}).text
    assert re.search(r"> deep</h1>", told) and "It &lt;b&gt;thinks&lt;/b&gt;." in told
    ada.submit("/bots/1/change", 422, name="a" * 33, description="")
    assert "at most 32 characters" in ada.answer.text
    ada.submit("/bots/1/change", name="deep", description="")
    assert site.ok(200, site.client.get("/v1/bots/1"))["description"] == ""
    ada.submit("/bots/1/retire", retired="true")
    assert "Retired since" in ada.answer.text and 'enctype="multipart/form-data"' not in ada.answer.text
    assert "deep" not in site.client.get("/authors/ada", headers={"Accept": "text/html"}).text
    ada.submit("/bots/1/retire", retired="false")
    assert 'enctype="multipart/form-data"' in ada.answer.text


def test_a_change_of_a_bot_says_what_changes(ada: Browser, site: Site) -> None:
    assert "field to change" in site.problem(422, ada.api("PATCH", "/v1/bots/1", json={}))["detail"]
    change = {"name": "Greedy", "description": "  new  ", "retired": True}
    found = site.ok(200, ada.api("PATCH", "/v1/bots/1", json=change))
    assert (found["name"], found["description"]) == ("Greedy", "new") and found["retired_at"]
    site.problem(422, ada.api("PATCH", "/v1/bots/1", json={"retired": "yes"}))
