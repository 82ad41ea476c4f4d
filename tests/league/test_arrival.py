"""What machines send that nobody trusts: honest matches are taken, forged ones refused, whatever was forged."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count, islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.core import NS_PER_S, Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.own_time import Evidence
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.league.checking.arrival import Reason, Refused, Stamps, Stated, check, check_series, check_void
from deadheat.league.jobs import MatchJob, MatchOutcome, ProgramRef, SeriesJob
from deadheat.sandbox.box import Exit
from tests.engine import betris_players as betris
from tests.engine import liars_players as liars
from tests.engine import players as yacht
from tests.engine.busy import convicted_on_a_busy_host, on_a_busy_host, with_reply
from tests.engine.players import faulty
from tests.lanes import examples

pytestmark = pytest.mark.quick

LEGAL: dict[str, Callable[[int], Player]] = {
    "yacht-auction": lambda number: yacht.Legal(number, 400_000_000),
    "betris-large": lambda number: betris.Legal(number, 40_000_000),
    "liars-dice": lambda number: liars.Legal(number, 500_000_000),
}
SERIES, NUMBER = 5, 7
OUT = Stamps(1_000 * NS_PER_S, 1_600 * NS_PER_S)
Forgery = tuple[SeriesJob, bytes]


def labels(versions: tuple[int, ...]) -> list[str]:
    return [f"ada/bot{version} v1" for version in versions]


def play(game: str, number: int, attempt: int = 1, late: Answer | str | None = "", match: int = NUMBER) -> Transcript:
    """Play a match as an honest machine does; with `late`, one of its players answers that at its fourth prompt."""
    seats = 2 if game != "liars-dice" else 2 + number % 3
    players = [LEGAL[game](number + seat) for seat in range(seats)]
    if late != "":
        players[number % seats] = faulty(players[number % seats], 3, late)
    about = {"match": match, "series": SERIES, "players": labels(tuple(range(seats)))}
    return run_match(GAMES[game], seats, yacht.seed(number), MemoryTransport(players), about, attempt)


def planned(transcript: Transcript, **changes: Any) -> SeriesJob:
    """Return the plan of the series to whose only match a transcript belongs."""
    seats = tuple(range(transcript.seats))
    programs = {version: ProgramRef(version, label, "", "python") for version, label in enumerate(labels(seats))}
    match = MatchJob(NUMBER, transcript.seed, seats, transcript.attempt)
    return replace(SeriesJob(SERIES, 1, transcript.game, programs, (match,)), **changes)


def arrive(job: SeriesJob, content: bytes, stamps: Stamps = OUT, **stated: Any) -> MatchOutcome:
    return check(job, Stated(NUMBER, content, **stated), stamps)


def refusal(job: SeriesJob, content: bytes, stamps: Stamps = OUT) -> Reason:
    with pytest.raises(Refused) as refused:
        arrive(job, content, stamps)
    return refused.value.reason


# Honest machines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("attempt", [1, 3])
def test_what_an_honest_machine_played_is_taken_as_it_is(game: str, attempt: int) -> None:
    for number in range(5):
        for transcript in (play(game, number, attempt), play(game, number, attempt, Answer(None, 5, Fault.EXITED))):
            exits = {0: Exit(0, None, False, b"x" * 100_000, cpu_ns=5)}
            outcome = arrive(planned(transcript), encode(transcript), exits=exits, finished_at_ns=9**20)
            assert (outcome.result, outcome.attempts[0].cause) == (transcript.result, "played")
            assert outcome.attempts[0].finished_at_ns == OUT.arrived_ns
            assert len(outcome.exits[0].stderr) < 60_000


def test_time_that_a_busy_host_took_and_time_outs_with_their_counters_are_taken() -> None:
    counted = on_a_busy_host(play("yacht-auction", 4))
    assert arrive(planned(counted), encode(counted)).result == counted.result
    late = convicted_on_a_busy_host(play("yacht-auction", 4, late=None))
    evidence: Mapping[str, Any] = arrive(planned(late), encode(late)).attempts[0].evidence
    assert [(timeout["seat"], timeout["signal"]) for timeout in evidence["timeouts"]] == [(0, "pressure")]


# Forged results --------------------------------------------------------------------------------------------------


def rechained(lines: list[Any]) -> bytes:
    """Spell the lines of a transcript with a correct chain of hashes."""
    written: list[bytes] = []
    for line in lines:
        content = {key: line[key] for key in line if key != "prev"} if isinstance(line, dict) else line
        if written and isinstance(content, dict):
            content["prev"] = hashlib.sha256(written[-1]).hexdigest()
        written.append(json.dumps(content, separators=(",", ":")).encode())
    return b"".join(line + b"\n" for line in written)


def parsed(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def edited(change: Callable[[list[dict[str, Any]], Random], object]) -> Callable[[Transcript, Random], Forgery]:
    """Return a forger that changes the lines of an honest transcript and repairs the chain."""

    def forge(honest: Transcript, random: Random) -> Forgery:
        lines = parsed(encode(honest))
        change(lines, random)
        return planned(honest), rechained(lines)

    return forge


def a_move(lines: list[dict[str, Any]], random: Random) -> None:
    answered = [line for line in lines[2:-1] if line["replies"]]
    reply = random.choice(random.choice(answered)["replies"])
    reply[1] = random.choice(["PUT YACHT 77777", "BID A 100001", '{"type":"bid","quantity":99,"faceValue":6}', "PASS"])


def dice(lines: list[dict[str, Any]], random: Random) -> None:
    lines[0]["seed"] = random.randbytes(16).hex()
    lines[0]["commitment"] = hashlib.sha256(bytes.fromhex(lines[0]["seed"])).hexdigest()


def ranks(lines: list[dict[str, Any]], random: Random) -> None:
    given = lines[-1]["ranks"]
    lines[-1]["ranks"] = [*given[1:], given[0]] if len({*given}) > 1 else [1, 2, *given[2:]]


def points(lines: list[dict[str, Any]], random: Random) -> None:
    lines[-1]["points"] = [random.randrange(10**6, 10**7) for _ in lines[-1]["ranks"]]


def a_fault(lines: list[dict[str, Any]], random: Random) -> None:
    lines[-1]["faults"] = {str(random.randrange(len(lines[-1]["ranks"]))): random.choice([*Fault])}


def an_end(lines: list[dict[str, Any]], random: Random) -> None:
    answered = [line for line in lines[2:-2] if line["replies"]]
    reply = random.choice(random.choice(answered)["replies"])
    reply[1], reply[3] = None, random.choice(["exited", "memory", "overflow", "timeout", "illegal", "malformed"])


def order(lines: list[dict[str, Any]], random: Random) -> None:
    place = random.randrange(2, len(lines) - 2)
    lines[place - 1 : place + 1] = lines[place : place - 2 : -1]
    lines[place - 1]["n"], lines[place]["n"] = place - 2, place - 1


def a_line_less(lines: list[dict[str, Any]], random: Random) -> None:
    del lines[random.randrange(1, len(lines))]


def a_line_twice(lines: list[dict[str, Any]], random: Random) -> None:
    place = random.randrange(1, len(lines))
    lines.insert(place, lines[place])


def seats(lines: list[dict[str, Any]], random: Random) -> None:
    for line in lines[1:-1]:
        for item in (*line["messages"], *line["replies"]):
            item[0] = (item[0] + 1) % lines[0]["seats"]
        line["replies"].sort()
    lines[-1]["ranks"] = [*lines[-1]["ranks"][-1:], *lines[-1]["ranks"][:-1]]


def header(name: str, value: Callable[[dict[str, Any]], object]) -> Callable[[list[dict[str, Any]], Random], None]:
    def change(lines: list[dict[str, Any]], random: Random) -> None:
        where = lines[0]["about"] if name in ("match", "series", "players", "person", "turns") else lines[0]
        where[name] = value(where)

    return change


def truncated(honest: Transcript, random: Random) -> Forgery:
    content = encode(honest)
    return planned(honest), content[: random.randrange(len(content))]


def shortened(honest: Transcript, random: Random) -> Forgery:
    kept = random.randrange(1, len(honest.exchanges))
    return planned(honest), encode(replace(honest, exchanges=honest.exchanges[:kept]))


def replayed(honest: Transcript, random: Random) -> Forgery:
    """Send what was played before the attempt was taken away."""
    match = replace(planned(honest).matches[0], attempt=honest.attempt + random.randrange(1, 4))
    return planned(honest, matches=(match,)), encode(honest)


def rotated(honest: Transcript, random: Random) -> Forgery:
    """Send the match of the same deal in which each program had another seat."""
    match = planned(honest).matches[0]
    match = replace(match, seats=(*match.seats[1:], match.seats[0]))
    return planned(honest, matches=(match,)), encode(honest)


def better_dice(honest: Transcript, random: Random) -> Forgery:
    """Play with dice of one's own."""
    return planned(honest), encode(play(honest.game, random.randrange(10**6, 10**9)))


def without_evidence(honest: Transcript, random: Random) -> Forgery:
    late = play(honest.game, random.randrange(10**6), late=None)
    assert Fault.TIMEOUT in late.result.faults.values()
    return planned(late), encode(late)


def half_convicted(honest: Transcript, random: Random) -> Forgery:
    """State a time-out with counters that no referee convicts by."""
    late = play("yacht-auction", 2 * random.randrange(10**6), late=None)
    prompt = late.last_prompt(0)
    assert prompt is not None
    elapsed_ns = prompt.limit_ns + random.randrange(10**9)
    evidence = random.choice(
        [
            Evidence(elapsed_ns),
            Evidence(elapsed_ns, cpu_ns=5, full_ns=0, processors=1, frozen=True),
            Evidence(prompt.limit_ns, cpu_ns=5, full_ns=0, processors=1),
            Evidence(elapsed_ns, cpu_ns=6, full_ns=0, processors=1),
            Evidence(elapsed_ns, cpu_ns=5, full_ns=0, processors=1, throttled_ns=10**18),
        ]
    )
    reply = Reply(None, evidence.wall_ns, Fault.TIMEOUT, 5, 0, evidence.stolen_ns, evidence)
    return planned(late), encode(with_reply(late, prompt.exchange, 0, reply))


FORGERS: dict[str, Callable[[Transcript, Random], Forgery]] = {
    "a move": edited(a_move),
    "dice": edited(dice),
    "better dice": better_dice,
    "ranks": edited(ranks),
    "points": edited(points),
    "a fault": edited(a_fault),
    "an end": edited(an_end),
    "order": edited(order),
    "a line less": edited(a_line_less),
    "a line twice": edited(a_line_twice),
    "seats": edited(seats),
    "truncated": truncated,
    "shortened": shortened,
    "replayed": replayed,
    "rotated": rotated,
    "another match": edited(header("match", lambda about: about["match"] + 1)),
    "another series": edited(header("series", lambda about: about["series"] + 1)),
    "a match that is true": edited(header("match", lambda _: True)),
    "another version": edited(header("players", lambda about: [*about["players"][:-1], "ada/bot1 v2"])),
    "other seats": edited(header("players", lambda about: about["players"][::-1])),
    "a person": edited(header("person", lambda _: 0)),  # whose own time nobody measures
    "an agent": edited(header("turns", lambda _: {"0": 5})),
    "another game": edited(header("game", lambda top: next(name for name in GAMES if name != top["game"]))),
    "another attempt": edited(header("attempt", lambda top: top["attempt"] + 1)),
    "other rules": edited(header("rules", lambda top: top["rules"] + 1)),
    "an older clock": edited(header("clock", lambda _: 1)),
    "a variant": edited(header("variant", lambda _: {"rounds": 3})),
    "a time-out without evidence": without_evidence,
    "a time-out without conviction": half_convicted,
}


def forgeries() -> Iterator[tuple[str, Forgery]]:
    for number in count():
        for game in GAMES:
            honest = play(game, number % 7, 1 + number % 2)
            for name, forge in FORGERS.items():
                yield name, forge(honest, Random(f"{number} {game} {name}"))


def test_1000_of_1000_forged_results_are_refused() -> None:
    taken = []
    for name, (job, content) in islice(forgeries(), 1000):
        try:
            arrive(job, content)
            taken.append(name)
        except Refused:
            pass
    assert not taken


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a move", Reason.RULES),
        ("points", Reason.RULES),
        ("dice", Reason.ANOTHER_MATCH),
        ("replayed", Reason.ANOTHER_MATCH),
        ("rotated", Reason.ANOTHER_MATCH),
        ("truncated", Reason.UNREADABLE),
        ("an older clock", Reason.RELEASE),
        ("a time-out without evidence", Reason.EVIDENCE),
    ],
)
def test_the_reason_says_what_was_forged(name: str, reason: Reason) -> None:
    assert refusal(*FORGERS[name](play("yacht-auction", 2), Random(1))) is reason


MATCHES = [play(game, number, late=late) for game in GAMES for number, late in ((0, ""), (1, Answer(None, 5)))]
MATCHES += [on_a_busy_host(play("yacht-auction", 4)), convicted_on_a_busy_host(play("yacht-auction", 4, late=None))]
STRANGE: tuple[Any, ...] = (None, True, 0, -1, 1, 2**70, 0.5, "", "timeout", "OK", "\udcff", [], {}, [0, "HI", None])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of a JSON value, with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@given(st.sampled_from(MATCHES), st.randoms(use_true_random=False))
@examples(2000)
def test_no_changed_field_of_a_transcript_changes_a_result(honest: Transcript, random: Random) -> None:
    lines = parsed(encode(honest))
    holder, key = random.choice(list(places(lines)))
    value = holder[key]
    near = [value + 1, value - 1, value * 2, -value] if type(value) is int else [*STRANGE]
    holder[key] = random.choice([*near, random.choice(STRANGE), random.choice(lines[-1]["ranks"])])
    job, before = planned(honest), arrive(planned(honest), encode(honest))
    try:
        after = arrive(job, rechained(lines))
    except Refused:
        return
    same = ("result", "comeback", "rules_version", "match_id")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert [(each.seat, each.fault, each.command, each.why) for each in after.faults] == [
        (each.seat, each.fault, each.command, each.why) for each in before.faults
    ]


# What a machine says about a whole series -----------------------------------------------------------------------


def series(*numbers: int) -> tuple[SeriesJob, list[Stated]]:
    played = [play("yacht-auction", number, match=NUMBER + number) for number in numbers]
    matches = tuple(MatchJob(NUMBER + number, each.seed, (0, 1)) for number, each in zip(numbers, played, strict=True))
    sent = [Stated(match.match_id, encode(each)) for match, each in zip(matches, played, strict=True)]
    return planned(played[0], matches=matches), sent


def test_the_first_matches_of_a_series_count_and_no_others() -> None:
    job, sent = series(0, 1, 2)
    assert [outcome.match_id for outcome in check_series(job, sent[:2], OUT)] == [7, 8]
    for lie in (sent[1:], sent[::-1], [sent[0], sent[2]], [*sent, sent[0]], [sent[0], sent[0]]):
        with pytest.raises(Refused, match="which are not the first of") as refused:
            check_series(job, lie, OUT)
        assert refused.value.reason.proves
    with pytest.raises(Refused, match="none of this series"):
        check(job, Stated(99, sent[0].transcript), OUT)


def test_a_void_attempt_follows_what_was_played_and_says_nothing_about_a_seat() -> None:
    job, sent = series(0, 1)
    void = check_void(job, sent[:1], 8, "container-died", "x" * 9999, OUT)
    assert (void.result, void.attempts[0].evidence, len(void.attempts[0].detail)) == (None, {}, 500)
    assert check_void(job, [], 7, "ZeroDivisionError", "", OUT).attempts[0].cause == "unknown"
    for played, match, cause in (([], 8, "engine"), (sent, 8, "engine"), ([], 7, "played"), ([], 7, "season-closed")):
        with pytest.raises(Refused):
            check_void(job, played, match, cause, "", OUT)


def test_replies_last_no_longer_than_their_series_was_out() -> None:
    job, sent = series(0, 1)
    alone_ns = [sum(p.reply.elapsed_ns for p in decode(each.transcript).prompts()) for each in sent]
    just = Stamps(OUT.claimed_ns, OUT.claimed_ns + sum(alone_ns))
    check_series(job, sent, just)
    short = replace(just, arrived_ns=OUT.claimed_ns + max(alone_ns))
    for each in sent:
        check(job, each, short)
    with pytest.raises(Refused, match="of replies in a series which was out for at most") as refused:
        check_series(job, sent, short)
    assert refused.value.reason is Reason.STAMPS and not refused.value.reason.proves


@pytest.mark.parametrize(
    "end",
    [
        Exit(0, 9, False, b""),
        Exit(None, None, False, b""),
        Exit(256, None, False, b""),
        Exit(None, -9, False, b""),
        Exit(0, None, False, b"", cpu_ns=2**63),
        Exit(0, None, False, b"", peak_memory_bytes=-1),
    ],
)
def test_an_end_that_no_program_has_is_refused(end: Exit) -> None:
    transcript = play("yacht-auction", 0)
    for exits in ({0: end}, {2: Exit(0, None, False, b"")}):
        with pytest.raises(Refused, match="ends like that"):
            arrive(planned(transcript), encode(transcript), exits=exits)
