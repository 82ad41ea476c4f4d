"""What agents at tables cost, and what they lose when the site is killed.

    ./scripts/bench tables [--short] [--minutes N]

(a) The share of a processor that an idle site uses: without tables, and with 1,000 matches whose agents think.
(b) CPU time of the API for a turn, the question and its answer, at the beginning and the end of a match of as many
random bots as may play, and of the longest that there can be.
(c) 50 agents play over HTTP while the API is killed every ten seconds. Each answer with a receipt must be in the record
once and as sent, and nobody may be blamed.
(d) Agents behind a line with a round trip of 300 ms, of whose packets 2 % are lost and sent again. They use up to 95 %
of their pace of two seconds for themselves, and nobody may be late.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Queue
from random import Random
from threading import Thread
from typing import Any

from deadheat.cli.server.api_client import Client
from deadheat.engine.core import Reply
from deadheat.engine.games import GAMES
from deadheat.engine.replay import replay
from deadheat.engine.transcript import decode
from deadheat.engine.unfinished import Playing
from deadheat.games.liars_dice.rules import BIDS, HEIGHT, Bid
from deadheat.league.database import Database
from deadheat.league.service.tables import sitting, turns
from tests.benchmarks.agents import PORT, URL, Agents, api, bot, league, make, play
from tests.benchmarks.site import _cpu_ns
from tests.benchmarks.targets import Targets, arguments
from tests.league.world import World

ADDED, TURN = 0.02, 8.0  # processors that 1,000 tables may add; a turn at the end as a multiple of one at the beginning
PACE_SECONDS, ROUND_TRIP_SECONDS = 2.0, 0.3
PLAYED, AGENTS = ("liars-dice", "yacht-auction"), 50


def main() -> int:
    parser = arguments(__doc__, "fewer requests, and half a minute of killing")
    parser.add_argument("--minutes", type=float, default=2.0)
    chosen = parser.parse_args()
    targets = Targets(chosen.short)
    sitting.MOST_TABLES = sitting.TABLES_PER_HOUR = 10_000  # of this process; the API counts as always
    shares = [idle(tables, seconds=8 if chosen.short else 20) for tables in (0, 1_000)]
    added = targets.shown("added", shares[1] - shares[0], most=ADDED, form=".4f")
    print(f"(a) idle: {shares[0]:.4f} processors, with 1,000 tables {shares[1]:.4f}, added {added}\n(b) a turn:")
    for game in sorted(GAMES):
        of_a_turn(targets, game, 5 if chosen.short else 20)
    of_a_turn(targets, "liars-dice", 2, lowest=True)
    killed(targets, 30 if chosen.short else 60 * chosen.minutes)
    far_away(targets, 2 if chosen.short else 8)
    return targets.report()


def idle(tables: int, seconds: float) -> float:
    with league(2) as (world, now, who):
        for number in range(tables):
            make(now, PLAYED[number % 2], who, number.to_bytes(32), [])
        with api(world) as process:
            watched = True
            while watched:  # the time since the tables were made is given back first
                time.sleep(2)
                with now.reading() as session:
                    watched = turns.watch(session) != []
            before, at = _cpu_ns(process), time.monotonic()
            time.sleep(seconds)
            return (_cpu_ns(process) - before) / 1e9 / (time.monotonic() - at)


def of_a_turn(targets: Targets, game: str, times: int, lowest: bool = False) -> None:
    """Measure a turn at the beginning and at the end, and the one that ends the match; `lowest`: in the longest."""
    seats, seed = max(GAMES[game].seats), b"1" * 32
    bots = [lowest_bid if lowest else bot(game, seat) for seat in range(seats)]
    playing = Playing(GAMES[game], seats, seed)
    while (match := playing.so_far()).result is None:
        said = {message.seat: bots[message.seat](message.line) or "" for message in match.exchanges[-1].messages}
        playing.go_on({seat: Reply(said[seat], 0) for seat in match.asked()})
    replies = [{**given} for given in playing.given if given]
    with league(seats) as (world, now, who):
        costs = [_cost(world, now, who, game, seed, replies[:steps], times) for steps in (2, -1, None)]
    first, end, last = costs
    turn = targets.shown(f"{game}, {len(replies)} steps", end / first, most=TURN, form=".2f")
    print(
        f"    {game:14} {len(replies):4} steps: {first:6.2f} ms, at the end {end:6.2f} ms, {turn}; the last {last:6.2f}"
    )


def _cost(
    world: World, now: Database, who: Agents, game: str, seed: bytes, replies: list[dict[int, Reply]], times: int
) -> float:
    """Return the CPU time of the turn after which the replies are these, in milliseconds."""
    seat, reply = next(iter(replies[-1].items()))
    after = max((number for number, given in enumerate(replies[:-1], 1) if seat in given), default=0)
    made = [make(now, game, who, seed, replies[:-1]) for _ in range(times + 1)]
    with api(world) as process, Client(URL, who[seat][1]) as client:
        for table_id in made:  # a process of the site keeps what it replayed for the question before
            client.next_turn(table_id, after)
        costs = []
        for table_id in made:  # the first brings in modules, and prepares statements
            before = _cpu_ns(process)
            client.answer_turn(table_id, client.next_turn(table_id, after).turn, reply.line or "")
            costs.append((_cpu_ns(process) - before) / 1e6)
        return sum(costs[1:]) / times


def lowest_bid(line: str) -> str | None:
    """Answer in Liar's Dice so that a match is as long as it can be."""
    if not line.startswith("{") or "currentBid" not in (view := json.loads(line)):
        return "OK" if line == "READY" else None
    bid = view["currentBid"]
    height = -1 if bid is None else HEIGHT[Bid(bid["quantity"], bid["faceValue"])]
    if height + 1 == len(BIDS):
        return '{"type":"challenge"}'
    return f'{{"type":"bid","quantity":{BIDS[height + 1].quantity},"faceValue":{BIDS[height + 1].face}}}'


def killed(targets: Targets, seconds: float) -> None:
    ends, kills, found, given = time.monotonic() + seconds, 0, Counter[str](), dict[int, dict[int, dict[int, str]]]()
    with league(AGENTS, on_postgresql=True) as (world, now, who), ThreadPoolExecutor(2 * AGENTS) as pool:

        def play_on(first: int) -> None:
            while time.monotonic() < ends:
                game, both = PLAYED[first // 2 % 2], who[first : first + 2]
                table_id = make(now, game, both)
                seats = [pool.submit(play, game, table_id, token) for _, token in both]
                given[table_id] = dict(seat.result() for seat in seats)

        pairs = [pool.submit(play_on, first) for first in range(0, AGENTS, 2)]
        while time.monotonic() < ends:
            with api(world):
                time.sleep(10)
            kills += 1
        with api(world), Client(URL) as client:
            for pair in pairs:
                pair.result()
            for table_id, answers in given.items():
                record = decode(client.download(f"/v1/exhibitions/{table_id}/transcript"))
                compare(record, answers, found)
    print(f"(c) the API was killed {kills} times during {found['answers']} answers in {len(given)} matches")
    for what in ("lost", "doubled", "substituted", "blamed"):
        print(f"    {what:12} {targets.shown(what, found[what], most=0, form='d')}")


def far_away(targets: Targets, pairs: int) -> None:
    found, dice = Counter[str](), Random(1)

    def think() -> None:
        time.sleep(dice.uniform(0.5, 0.95) * PACE_SECONDS)

    with (
        league(2 * pairs) as (world, now, who),
        api(world),
        line() as (url, lost),
        ThreadPoolExecutor(2 * pairs) as pool,
    ):
        tables, playing = [], []
        for first in range(0, 2 * pairs, 2):
            tables.append(table_id := make(now, PLAYED[1], who[first : first + 2], pace_seconds=PACE_SECONDS))
            playing += [
                pool.submit(play, PLAYED[1], table_id, token, url, think) for _, token in who[first : first + 2]
            ]
        answers = sum(len(one.result()[1]) for one in playing)
        with Client(URL) as client:
            for table_id in tables:
                found["late"] += len(decode(client.download(f"/v1/exhibitions/{table_id}/transcript")).result.faults)
    late = targets.shown("late", found["late"], most=0, form="d")
    print(f"(d) 300 ms and 2 % loss: {answers} answers, {sum(lost)} packets lost, {late} seats late")


@contextmanager
def line() -> Iterator[tuple[str, list[bool]]]:
    """Run a relay to the API, and yield its address, with which of its packets were lost."""
    lost, dice, begun = list[bool](), Random(2), Queue[tuple[Any, Any, int]]()

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        loop, waiting = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

        async def deliver() -> None:
            while (each := await waiting.get())[1]:
                await asyncio.sleep(each[0] - loop.time())
                sink.write(each[1])
            sink.close()

        sending = asyncio.create_task(deliver())
        while data := await source.read(1400):
            lost.append(dice.random() < 0.02)
            waiting.put_nowait((loop.time() + ROUND_TRIP_SECONDS * (2.5 if lost[-1] else 0.5), data))
        waiting.put_nowait((0, b""))
        await sending

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            there = await asyncio.open_connection("127.0.0.1", PORT)
            await asyncio.gather(carry(reader, there[1]), carry(there[0], writer))

    async def relay() -> None:
        server, ended = await asyncio.start_server(connected, "127.0.0.1", 0), asyncio.Event()
        begun.put((asyncio.get_running_loop(), ended, server.sockets[0].getsockname()[1]))
        await ended.wait()

    thread = Thread(target=asyncio.run, args=(relay(),))
    thread.start()
    loop, ended, port = begun.get()
    yield f"http://127.0.0.1:{port}", lost
    loop.call_soon_threadsafe(ended.set)
    thread.join()


def compare(record: Any, answers: dict[int, dict[int, str]], found: Counter[str]) -> None:
    """Count what is wrong with a match's record, beside the answers that have receipts."""
    found["blamed"] += len(record.result.faults) + (replay(GAMES[record.game], record) != record)
    for seat, receipts in answers.items():
        steps = [(turn, step) for turn, step, *_ in record.about["turns"][str(seat)]]
        lines = {turn: record.exchanges[step].replies[seat].line for turn, step in steps}
        found["answers"] += len(receipts)
        found["doubled"] += len(steps) - len({step for _, step in steps})
        found["lost"] += len(receipts.keys() - lines.keys())
        found["substituted"] += sum(receipts.get(turn) != line for turn, line in lines.items())


if __name__ == "__main__":
    sys.exit(main())
