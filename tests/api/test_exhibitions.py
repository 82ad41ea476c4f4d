"""The pages of a person's match: who may see what, what a form turns into, and what stays when it is over."""

import itertools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import to_thread
from sqlmodel import Session as DatabaseSession
from sqlmodel import col, select, update

from deadheat.api import deps
from deadheat.api.edge import arrival
from deadheat.api.edge.rates import Streams
from deadheat.api.pages import forms
from deadheat.api.pages.player import exhibition as pages
from deadheat.api.pages.player.exhibition import turn_of
from deadheat.engine.advice import ADVISERS, Session, advice, seed_of
from deadheat.engine.core import Message, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.games.forms import Turn
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.scenes import scenes_so_far
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.engine.unfinished import unfinished
from deadheat.league.errors import IllegalMove
from deadheat.league.service.people.access import Access
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import existing_user
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.tables import advising, places, programs, turns, viewing
from deadheat.league.service.tables.programs import TableJob
from deadheat.league.states import Role, TableState
from deadheat.league.tables import Bot, GameTable, RatingPoint
from tests.api.browser import OURS, PAGE, Browser
from tests.api.site import Site
from tests.league import tabled

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
READY = {0: Reply("OK", 5), 1: Reply("OK", 0)}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "WAIT_SECONDS", 0.0)


def seated(site: Site, game: str = "yacht-auction", seat: str = "last") -> tuple[Browser, TableJob]:
    """Let Ada take a seat, and a worker claim the match."""
    _, bot_id = site.world.playing_bot("greedy", game)
    ada = Browser(site).sign_up()
    ada.submit("/play", at=f"/play?bot={bot_id}", seat=seat)
    (exhibition_id,) = site.queue.exhibitions
    job = site.world.write(programs.claim_table, exhibition_id, "w1", site.world.host)
    assert job is not None
    return ada, job


def ask(site: Site, job: TableJob, *replies: dict[int, Reply]) -> None:
    assert tabled.ask(site.world, job, *replies)


def heard(site: Site, job: TableJob) -> str | None:
    found = tabled.hear(site.world, job)
    assert found is not None
    return found.answer


def test_a_move_is_posted_and_heard(site: Site) -> None:
    ada, job = seated(site)
    path = f"/play/{job.table_id}"
    assert "as soon as a worker is free" not in ada.get(path).text and "share it" not in ada.page.text
    assert "greedy is thinking" in ada.page.text
    ask(site, job, READY)
    assert "It is your move." in ada.get(path).text
    assert "Thirteen rounds." in ada.page.text, "the rules are at hand"
    ada.submit(path, bundle="B", bid="1200")
    assert heard(site, job) == "BID B 1200"


def test_a_refused_move_is_told_and_may_be_made_again(site: Site) -> None:
    ada, job = seated(site)
    path = f"/play/{job.table_id}"
    ask(site, job, READY)
    page = ada.submit(path, at=path, bundle="B", bid="100001")
    assert "That is not possible: “Your bid” must be a whole number from 0 to 100000." in page.text
    assert heard(site, job) is None
    assert ada.form(path).fields["bid"] == "100001", "what was typed stays"
    ada.submit(path, bundle="A", bid="1")
    assert heard(site, job) == "BID A 1"


def test_a_match_that_ends_while_its_page_is_made_is_heard_of(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer is notified once the table has another version, so the page must not have that version yet."""
    ada, job = seated(site)
    looked, looks = viewing.table_info, itertools.count(1)

    def ended_meanwhile(session: DatabaseSession, exhibition_id: int) -> viewing.TableInfo:
        found = looked(session, exhibition_id)
        if next(looks) == 2:  # the first check is whether everybody may see it
            with site.world.connect().transaction() as another:
                places.abandon(another, exhibition_id, TableState.RUNNING, "broken")
        return found

    monkeypatch.setattr(viewing, "table_info", ended_meanwhile)
    path = f"/play/{job.table_id}"
    assert 'data-version="running-' in ada.client.get(path, headers=PAGE).text
    monkeypatch.undo()
    assert "data-version" not in ada.client.get(path, headers=PAGE).text


def test_a_form_that_is_out_of_date_changes_nothing(site: Site) -> None:
    ada, job = seated(site)
    path = f"/play/{job.table_id}"
    ask(site, job, READY)
    ada.get(path)
    ask(site, job, READY, {0: Reply("BID A 0", 3), 1: Reply("BID B 0", 0)})
    ada.submit(path, bundle="A", bid="7", turn="1")
    assert heard(site, job) is None


def test_a_move_that_came_in_time_counts_although_it_waited_for_a_thread(site: Site, monkeypatch) -> None:
    ada, job = seated(site)
    ask(site, job, READY)
    path, clock = f"/play/{job.table_id}", site.world.clock
    tabled.wait(site.world, job, site.world.settings.exhibition_move_seconds - 1)
    ada.get(path)
    fields, look_up = ada.form(path).fields | {"bundle": "A", "bid": "7"}, deps.look_up

    def waited(*given: Any) -> Access:
        clock.turn(1.5)
        return look_up(*given)

    monkeypatch.setattr(arrival, "time", SimpleNamespace(monotonic=lambda: clock.now.timestamp()))  # noqa: PLW0108 moves
    monkeypatch.setattr(forms, "look_up", waited)
    ada.client.post(path, data=fields, headers=OURS)
    assert heard(site, job) == "BID A 7"


def test_only_a_move_that_was_just_made_is_waited_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, job = seated(site)
    path = f"/play/{job.table_id}"
    ask(site, job, READY)
    ada.get(path)
    waited: list[str] = []

    async def wait(_shared: object, _visit: object, _exhibition_id: int, before: str) -> None:
        waited.append(before)

    monkeypatch.setattr(pages, "_wait_for_the_bot", wait)
    form = ada.form(path).fields | {"bundle": "A", "bid": "7"}
    for fields, waits in (({"turn": "99"}, 0), ({"bid": "no number"}, 0), ({}, 1), ({}, 1), ({"turn": "99"}, 1)):
        ada.show(ada.client.post(path, data=form | fields, headers=OURS, follow_redirects=True), 200)
        assert len(waited) == waits, "the same move again changes nothing"
    assert heard(site, job) == "BID A 7"
    ada.submit(f"{path}/resign", at=path)
    ada.show(ada.client.post(path, data=form, headers=OURS, follow_redirects=True), 200)
    assert len(waited) == 1, "the match is over"


def test_the_wait_for_a_bot_holds_no_thread(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, job = seated(site)
    path = f"/play/{job.table_id}"
    ask(site, job, READY)
    monkeypatch.setattr(pages, "WAIT_SECONDS", 60.0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await to_thread.run_sync(ask, site, job, READY, {0: Reply("BID A 7", 3), 1: Reply("BID B 0", 0)})

    monkeypatch.setattr(pages, "asyncio", SimpleNamespace(sleep=sleep))
    ada.submit(path, at=path, bundle="A", bid="7")
    assert len(slept) == 1, "until the table changed"


def test_the_document_has_ones_own_hand_alone_and_no_seed(site: Site) -> None:
    ada, job = seated(site, "liars-dice")
    ask(site, job, READY, {0: Reply('{"type":"bid","quantity":1,"faceValue":2}', 9)})
    answer = ada.client.get(f"/play/{job.table_id}/document")
    state = answer.json()["match"]["scenes"][-1]["state"]
    assert (len(state["hands"][0]), len(state["hands"][1])) == (0, 5)
    assert job.seed.hex() not in answer.text
    page = ada.get(f"/play/{job.table_id}")
    assert job.seed.hex() not in page.text


def test_a_table_is_chosen_of_those_that_there_are(site: Site) -> None:
    _, yacht = site.world.playing_bot("sailor")
    _, liars = site.world.playing_bot("fox", "liars-dice")
    ada = Browser(site).sign_up()
    ada.get(f"/play?bot={yacht}")
    assert ada.form("/play").fields["seat"] == "last" and "our seat" not in ada.page.text
    assert "copies" not in ada.page.text, "a game for two has one"
    ada.get(f"/play?bot={liars}")
    fields = ada.form("/play").fields
    assert (fields["copies"], fields["seat"]) == ("1", "any") and "Seat 1 opens the bidding" in ada.page.text
    copies, seats = pages.tables("liars-dice")
    assert (len(copies), len(seats)) == (5, 7), "no list of every table"
    assert all(f'value="{value}"' in ada.answer.text for value, _ in (*copies, *seats))
    assert "at a table of 3, seats are 1 to 3" in ada.submit("/play", 422, copies="2", seat="4").text
    nonsense = [("1", "0"), ("1", "-1"), ("6", "any"), ("x", "any"), ("", ""), ("²", "any"), ("1", "1" * 400)]
    for copies_, seat in nonsense:
        ada.submit("/play", 422, copies=copies_, seat=seat)
    ada.submit("/play", copies="2", seat="any")
    assert len(site.queue.exhibitions) == 1


def test_a_stream_tells_when_the_table_has_changed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, job = seated(site)
    ask(site, job, READY)
    monkeypatch.setattr(pages, "STREAM_SECONDS", 0.2)
    monkeypatch.setattr(pages, "LOOK_SECONDS", 0.05)
    answer = ada.client.get(f"/play/{job.table_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream") and answer.text.count("event: table") == 1
    site.app.state.tables.streams = Streams(0, 5)
    assert ada.client.get(f"/play/{job.table_id}/events").status_code == 429


def test_when_it_is_over_everyone_can_watch_and_verify_it(site: Site) -> None:
    ada, job, record = over(site)
    path = f"/v1/exhibitions/{job.table_id}"
    verified = site.ok(200, site.client.get(f"{path}/verification"))
    assert verified == {"verified": True, "exchanges": 26, "problem": None}
    assert site.ok(200, site.client.get(f"{path}/replay"))["names"] == ["greedy", "ada"]
    assert site.client.get(f"{path}/transcript").content == encode(record)
    page = Browser(site).get(f"/play/{job.table_id}")
    assert re.search(r"ada (lost|won)\. [0-9,\u2212]+ : [0-9,\u2212]+", page.text)
    assert re.search(r"You (lost|won)\. ", ada.get(f"/play/{job.table_id}").text)
    assert "Verify" in page.text and "share it" in page.text
    assert "against greedy" in ada.get("/play").text


def over(site: Site) -> tuple[Browser, TableJob, Transcript]:
    """End Ada's match, and store its transcript."""
    ada, job = seated(site)
    content = (TRANSCRIPTS / "yacht-auction.jsonl").read_bytes()
    record = decode(content)
    with site.world.db.transaction() as session:
        session.get_one(GameTable, job.table_id).seed = record.seed
    assert site.world.write(turns.finish, job.table_id, job.attempt, record.result, site.blobs.put(content))
    return ada, job, record


def test_when_it_is_over_everyone_reads_where_the_strongest_house_bot_would_have_moved_otherwise(site: Site) -> None:
    _, job, record = over(site)
    path, stranger = f"/play/{job.table_id}", Browser(site)
    assert "It is looking at" in stranger.get(path).text
    site.problem(409, site.client.get(f"/v1/exhibitions/{job.table_id}/advice"))

    def bot(message: Message) -> str | None:
        """Bid as Ada did, but for one bid that the rules refuse and one that differs; repeat her first score."""
        asked = next((p for p in record.prompts() if p.message.seat == 1 and p.message.line == message.line), None)
        number = None if asked is None else asked.exchange
        return {1: "BID A 100001", 2: "BID B 54321"}.get(number or 0, asked.reply.line if asked else None)

    session = run_match(Session(record, 1), 1, seed_of(record, 1), MemoryTransport([bot]))
    said = encode(session)
    work = site.world.write(advising.claim_advice, job.table_id)
    assert work is not None
    site.world.write(advising.store_advice, work, site.blobs.put(said))
    page = stranger.get(path).text
    assert "It is looking at" not in page and "nothing that the rules allow" in page and "54,321 points on B" in page
    assert "100,001" not in page
    second = advice(record, 1, session, ADVISERS[record.game])[1]
    assert f'href="#move-{second.scene}"' in stranger.answer.text
    assert site.client.get(f"/v1/exhibitions/{job.table_id}/advice").content == said


def test_after_a_match_its_person_may_play_again_or_one_level_up(site: Site) -> None:
    ada, job, _ = over(site)
    path, world = f"/play/{job.table_id}", site.world
    assert "Rematch" in ada.get(path).text and "Next level" not in ada.answer.text, "nobody is rated"
    season_id = world.season(3)
    world.play_all()
    world.write(refit, season_id)
    with world.db.transaction() as session:
        session.exec(update(RatingPoint).where(col(RatingPoint.bot_id) == 4).values(bot_id=1))
        session.exec(update(RatingPoint).values(elo=1000 + col(RatingPoint.bot_id)))
        session.exec(update(Bot).values(plays_people=True))
        above = session.get_one(Bot, 2).name
    assert f"Next level: {above}" in ada.get(path).text
    stranger = Browser(site).get(path).text
    assert "Play against greedy" in stranger and "Next level" not in stranger


def test_advice_that_the_store_has_lost_is_not_shown(site: Site) -> None:
    ada, job, _ = over(site)
    work = site.world.write(advising.claim_advice, job.table_id)
    assert work is not None
    site.world.write(advising.store_advice, work, "0" * 64)
    assert "would have done" not in ada.get(f"/play/{job.table_id}").text


def test_who_cannot_sit_down_is_told_why(site: Site) -> None:
    ada, job = seated(site)
    assert "Too many matches against bots" in ada.submit("/play", 409, at="/play?bot=1").text
    assert f"/play/{job.table_id}" in ada.answer.text, "and where the open one is"
    site.problem(404, site.client.get("/v1/exhibitions/99/replay"))


def test_everyone_sees_which_bots_there_are_the_easiest_first_and_signs_in_to_take_a_seat(site: Site) -> None:
    season_id = site.world.season(2)
    site.world.play_all()
    with site.world.db.transaction() as session:
        refit(session, season_id)
        session.exec(update(RatingPoint).values(elo=1000 - col(RatingPoint.bot_id)))
        session.exec(update(Bot).values(plays_people=True))
        expected = session.exec(select(Bot.name).order_by(col(Bot.id))).all()
    page = Browser(site).get("/play").text
    assert (
        sorted(expected, key=page.index) == [*expected[::-1]]
        and page.index("level 1") < page.index("level 2")
        and page.count(", rated ") == len(expected)
    )
    answer = site.client.get("/play?bot=1", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fplay%3Fbot%3D1")


def test_an_author_closes_a_bot_to_people_and_opens_it_again(site: Site) -> None:
    ada = Browser(site).sign_up()
    _, bot_id = site.world.playing_bot(owner=Person(site.world.read(existing_user, "ada").id, "ada", Role.AUTHOR))
    link = f"/play?bot={bot_id}"
    ada.get(f"/bots/{bot_id}/upload")
    for may in (False, True):
        ada.submit(f"/bots/{bot_id}/people")
        assert ("Nobody may play against it." in ada.page.text) is not may
        assert (link in site.client.get(f"/bots/{bot_id}", params={"season": 1} if may else {}).text) is may
        assert site.ok(200, site.client.get(f"/v1/bots/{bot_id}"))["plays_people"] is may
    path, stranger = f"/v1/bots/{bot_id}", site.author("bob")
    site.problem(404, site.client.patch(path, json={"plays_people": False}, headers=stranger))
    token = site.sign_in("ada")
    assert not site.ok(200, site.client.patch(path, json={"plays_people": False}, headers=token))["plays_people"]
    assert "let people play against it" in ada.submit("/play", 409, at=f"/play?bot={bot_id}").text


def test_who_leaves_before_it_began_has_not_played(site: Site) -> None:
    _, bot_id = site.world.playing_bot()
    ada = Browser(site).sign_up()
    ada.submit("/play", at=f"/play?bot={bot_id}")
    (exhibition_id,) = site.queue.exhibitions
    assert "ada left before it began" in ada.submit(f"/play/{exhibition_id}/resign").text


def test_who_has_resigned_is_told_so_until_it_is_over(site: Site) -> None:
    ada, job = seated(site)
    ask(site, job, READY)
    path = f"/play/{job.table_id}"
    assert "It is your move." in ada.get(path).text
    page = ada.submit(f"{path}/resign")
    assert "You have resigned; the record" in page.text
    assert not any(form.action.endswith("/resign") for form in page.forms)
    assert "Play against greedy" in page.text
    ada.submit("/play", at="/play?bot=1")
    assert len(site.queue.exhibitions) == 2, "a second seat is taken while the first record is not written yet"


@pytest.mark.parametrize(
    ("name", "asked", "fields", "line"),
    [
        ("yacht-auction", 1, {"bundle": "A", "bid": "5"}, "BID A 5"),
        ("yacht-auction", 1, {"bundle": "B", "bid": " 007 "}, "BID B 7"),
        ("yacht-auction", 3, {"category": "ONE"} | {f"die{place}": "1" for place in range(5)}, "PUT ONE 22233"),
        ("betris-large", 1, {"block": "P5", "chips": "2"}, "BET P5 2"),
        ("betris-large", 2, {f"cell{x}{x}": "1" for x in range(1, 6)}, "PLACE 5 1 1 2 2 3 3 4 4 5 5"),
        ("betris-large", 2, {"pass": "1", "cell11": "1"}, "PLACE 0"),
        ("liars-dice", 1, {"quantity": "3", "face": "4"}, '{"type":"bid","quantity":3,"faceValue":4}'),
        ("liars-dice", 1, {"challenge": "1", "quantity": "x"}, '{"type":"challenge"}'),
    ],
)
def test_fields_become_a_line(name: str, asked: int, fields: dict[str, str], line: str) -> None:
    assert asked_of(name, asked).line(fields) == line


@pytest.mark.parametrize(
    ("name", "asked", "fields", "why"),
    [
        ("yacht-auction", 1, {"bid": "5"}, "choose a bundle"),
        ("yacht-auction", 1, {"bundle": "A\nBID B", "bid": "5"}, "choose a bundle"),
        ("yacht-auction", 1, {"bundle": "A", "bid": "-1"}, "“Your bid” must be a whole number from 0 to 100000"),
        ("yacht-auction", 1, {"bundle": "A"}, "“Your bid” must be a whole number from 0 to 100000"),
        ("yacht-auction", 3, {"category": "ONE", "die0": "1", "die19": "3"}, "tick 5 dice, not 1"),
        ("yacht-auction", 3, {f"die{place}": "1" for place in range(5)}, "choose a category"),
        ("betris-large", 1, {"chips": "2"}, "choose a block"),
        ("betris-large", 1, {"block": "P5", "chips": "99"}, "“Your bet” must be a whole number from 0 to 5"),
        ("betris-large", 2, {"cell99": "1"}, "tick 5 cells, not 0, or pass"),
        (
            "liars-dice",
            1,
            {"quantity": "-1", "face": "2"},
            "“At least this many dice” must be a whole number from 1 to 30",
        ),
        (
            "liars-dice",
            1,
            {"quantity": "3.5", "face": "2"},
            "“At least this many dice” must be a whole number from 1 to 30",
        ),
        ("liars-dice", 1, {"quantity": "3", "face": "²"}, "“Show this face” must be a whole number from 1 to 6"),
    ],
)
def test_an_empty_form_is_refused_in_its_own_words(name: str, asked: int, fields: dict[str, str], why: str) -> None:
    with pytest.raises(IllegalMove) as refused:
        asked_of(name, asked).line(fields)
    assert str(refused.value) == f"That is not possible: {why}."


def asked_of(name: str, asked: int) -> Turn:
    """Return the form for the prompt at exchange `asked` of a recorded match."""
    record = decode((TRANSCRIPTS / f"{name}.jsonl").read_bytes())
    replies = [dict(exchange.replies) for exchange in record.exchanges[:asked]]
    match = unfinished(GAMES[name], record.seats, record.seed, replies)
    seat = next(message.seat for message in match.exchanges[-1].messages if message.limit_ns is not None)
    prompt = match.prompt(seat)
    assert prompt is not None
    return turn_of(name, prompt, scenes_so_far(GAMES[name], match, ["ada", "bob"])[-1].state, seat)


def test_a_game_without_forms_is_played_by_its_protocol() -> None:
    turn = turn_of("another", "MOVE 3", {}, 0)
    assert (turn.kind, turn.line({"line": "GO 4"}), turn.line({})) == ("line", "GO 4", "")
