"""After a match: what a strong bot would have done at each move of a seat."""

import json
import re
from collections.abc import Generator, Mapping
from functools import cache
from typing import Any, cast

import pytest

from deadheat.engine.advice import ADVISERS, LIMIT_NS, MAX_REPLAYED, Advice, Adviser, Move, Session, advice, seed_of
from deadheat.engine.chance import Chance
from deadheat.engine.core import Message, Reply, Result, Seat, Step
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.scenes import scenes
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.engine.unfinished import Playing
from deadheat.games.liars_dice.rules import BIDS, HEIGHT, Bid
from tests.bots.loading import NewBot, in_process
from tests.engine.players import seed
from tests.lanes import scaled

pytestmark = pytest.mark.quick

TABLES = [("yacht-auction", 2), ("betris-large", 2), ("liars-dice", 2), ("liars-dice", 5)]


def played(game: str, players: list[Player], number: int = 1) -> Transcript:
    found = run_match(GAMES[game], len(players), seed(number), MemoryTransport(players))
    assert found.result.faults == {}
    return found


def session_of(match: Transcript, seat: int, bot: Player) -> Transcript:
    return decode(encode(run_match(Session(match, seat), 1, seed_of(match, seat), MemoryTransport([bot]))))


@cache
def expert(game: str) -> NewBot:
    return in_process(bots_of(game) / ADVISERS[game].bot)


def seeded(bot: Player, number: int) -> Player:
    bot(Message(0, f"ADVISE {number}"))
    return bot


def number_of(match: Transcript, seat: int) -> int:
    asked: list[str] = []

    def listens(message: Message) -> str | None:
        asked.append(message.line)
        return "no" if message.limit_ns else None

    session_of(match, seat, listens)
    return int(asked[0].removeprefix("ADVISE "))


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_expert_that_advises_on_its_own_match_agrees_with_itself_at_every_move(game: str, seats: int) -> None:
    new = expert(game)
    match = played(game, [seeded(new(seat), 7) for seat in range(seats)])
    for seat in range(seats):
        bot = new(0)
        # The bot is asked as `Session` asks it, but draws like the one that played.
        same = session_of(match, seat, lambda message, bot=bot: bot(_drawing(message, 7)))  # type: ignore[misc]
        given = [prompt.reply.line for prompt in same.prompts()]
        own = [prompt.reply.line for prompt in match.prompts() if prompt.message.seat == seat]
        assert given == own
        found = advice(match, seat, same, ADVISERS[game])
        assert len(found) == len(own) - 1  # READY is no move
        assert all(each.agrees for each in found)


def _drawing(message: Message, number: int) -> Message:
    return Message(0, f"ADVISE {number}") if message.line.startswith("ADVISE ") else message


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_expert_whose_seat_plays_otherwise_at_every_move_still_gives_legal_advice(game: str, seats: int) -> None:
    other = in_process(bots_of(game) / "random")
    for number in range(scaled(10, 2)):
        match = played(game, [other(10 * number + seat) for seat in range(seats)], number)
        for seat in range(seats):
            found = advice(match, seat, session_of(match, seat, expert(game)(0)), ADVISERS[game])
            assert len(found) == sum(prompt.message.seat == seat for prompt in match.prompts()) - 1
            assert all(each.advised is not None for each in found)
            assert not all(each.agrees for each in found)


@pytest.mark.parametrize("game", ["yacht-auction", "betris-large"])
def test_after_a_single_other_move_the_expert_plays_on_as_if_it_had_made_it(game: str) -> None:
    new = expert(game)
    adviser, other = new(1), new(2)
    waiting: list[str] = []
    moves = 0

    def deviates(message: Message) -> str | None:
        """Ask the expert, play something else at the third placing or scoring, and tell the expert so."""
        nonlocal moves
        for told in waiting:
            adviser(Message(0, told))
        waiting.clear()
        answer = adviser(message)
        line = None if answer is None else str(answer)
        if line and line.startswith(("PUT", "PLACE")):
            moves += 1
            if moves == 3:
                line = "PLACE 0" if line.startswith("PLACE") else f"PUT ONE {line.split()[2]}"
                waiting.append(f"PLAYED {line}")
        return line

    match = played(game, [deviates, other])
    found = advice(match, 0, session_of(match, 0, new(3)), ADVISERS[game])
    (other_move,) = [each for each in found if not each.agrees]
    assert re.fullmatch("[1-6]{5} as one|pass with [A-Z][1-5]", other_move.played.words)
    assert other_move.round == (4 if game == "yacht-auction" else 3)


def test_the_same_match_and_bot_give_the_same_advice_again() -> None:
    match = played("liars-dice", [in_process(bots_of("liars-dice") / "honest")(seat) for seat in range(3)])
    one, two = (session_of(match, 1, expert("liars-dice")(number)) for number in (1, 2))
    assert encode(one) == encode(two)
    assert number_of(match, 1) != number_of(match, 2)


class Announced:
    """Yacht Auction whose READY says more, as in a game whose seats differ."""

    name, title, rules_version, seats, commands = "yacht-auction", "Announced", 1, range(2, 3), ("READY",)

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        play = GAMES["yacht-auction"].play(seats, chance)
        first = next(play)
        replies = yield Step(tuple(each._replace(line=f"{each.line} FIRST") for each in first.messages))
        step = play.send(replies)
        while True:
            replies = yield step
            try:
                step = play.send(replies)
            except StopIteration as stop:
                return cast("Result", stop.value)


def test_what_a_game_adds_to_ready_is_no_move() -> None:
    players = [expert("yacht-auction")(seat) for seat in range(2)]
    match = run_match(Announced(), 2, seed(1), MemoryTransport(players))
    session = session_of(match, 0, expert("yacht-auction")(0))
    told = [message.line for exchange in session.exchanges for message in exchange.messages]
    assert told[1] == "READY FIRST"
    assert "PLAYED OK" not in told
    assert len(advice(match, 0, session, ADVISERS["yacht-auction"])) == len(list(session.prompts())) - 1


def _toy(prompt: str, line: str, _state: object, _seat: int) -> Move:
    return Move(line, line.split()[1], int(line.split()[2])) if line.startswith("BID") else Move(line, line)


def _asked_of(answer: Player) -> tuple[list[Advice], Transcript]:
    match = played("yacht-auction", [expert("yacht-auction")(seat) for seat in range(2)])
    session = session_of(match, 0, answer)
    return advice(match, 0, session, Adviser("toy", _toy, slack=10**6)), session


def test_an_answer_that_the_rules_refuse_is_no_advice() -> None:
    def cheats(message: Message) -> str | None:
        if message.limit_ns is None:
            return None
        return {"READY": "OK", "SCORE": "PUT YACHT 66666"}.get(message.line, "BID A 100001")

    found, _ = _asked_of(cheats)
    assert [each.advised for each in found] == [None] * len(found)
    assert not any(each.agrees for each in found)


def test_advice_ends_where_the_adviser_fails() -> None:
    def dies(message: Message) -> str | None:
        return {"READY": "OK", "ROLL": "BID A 0"}.get(message.command)

    found, session = _asked_of(dies)
    assert len(found) == 2  # of rounds 1 and 2
    assert session.result.faults
    assert all(message.limit_ns in (None, LIMIT_NS) for step in session.exchanges for message in step.messages)


def test_what_a_seat_failed_at_is_not_asked() -> None:
    def fails(message: Message) -> str | None:
        if message.limit_ns is None:
            return None
        return "OK" if message.line == "READY" else "nonsense"

    match = run_match(GAMES["yacht-auction"], 2, seed(1), MemoryTransport([fails, expert("yacht-auction")(1)]))
    session = session_of(match, 0, expert("yacht-auction")(1))
    assert [prompt.message.line for prompt in session.prompts()] == ["READY"]
    assert advice(match, 0, session, ADVISERS["yacht-auction"]) == []


def test_a_move_is_beside_the_scene_that_shows_what_came_of_it() -> None:
    new = expert("yacht-auction")
    match = played("yacht-auction", [new(0), new(1)])
    told = scenes(match, ["ada", "bob"])
    for each in advice(match, 1, session_of(match, 1, new(0)), ADVISERS["yacht-auction"]):
        assert "bob" in told[each.scene].words


def test_the_longest_match_costs_a_reader_no_more_than_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six bots that always bid as low as is legal play 5,000 exchanges."""
    match = played("liars-dice", [lowest] * 6)
    session = session_of(match, 0, lambda message: HIGHEST if message.limit_ns and message.line != "READY" else "OK")
    replayed: list[int] = []

    def counted(playing: Playing, *_: Any) -> None:
        replayed.append(len(playing.given))

    monkeypatch.setattr(Playing, "objection", counted)
    found = advice(match, 0, session, ADVISERS["liars-dice"])
    assert len(match.exchanges) > 5000
    assert len(found) == len(replayed) >= 50
    assert sum(replayed) <= MAX_REPLAYED


HIGHEST = '{"type":"bid","quantity":30,"faceValue":1}'


def lowest(message: Message) -> str | None:
    if message.limit_ns is None or message.line == "READY":
        return None if message.limit_ns is None else "OK"
    bid = json.loads(message.line)["currentBid"]
    height = -1 if bid is None else HEIGHT[Bid(bid["quantity"], bid["faceValue"])]
    if height + 1 == len(BIDS):
        return '{"type":"challenge"}'
    return json.dumps({"type": "bid", "quantity": BIDS[height + 1].quantity, "faceValue": BIDS[height + 1].face})
