"""What is told of a match: verdicts, bots' notes, and the moment that decided it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from deadheat.engine.core import NS_PER_MS, Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.own_time import Evidence
from deadheat.engine.scenes import DIRECTORS, comeback, deciding_scene, document, scenes
from deadheat.engine.scenes.core import Scene, moments
from deadheat.engine.transcript import Prompt
from deadheat.engine.verdicts import Note, Taken, evidence_words, hint, notes, past_deadline, slowest, took, used
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.games.yacht_auction.scenes import _lit
from tests.engine.busy import COUNTED, INSIDE, LATE_NS, TAKEN_NS, on_a_busy_host, taken, with_reply
from tests.engine.golden import NAMES, every_match, read

pytestmark = pytest.mark.quick


CALM, BUSY = read("yacht-auction"), read("yacht-auction-busy")


def test_the_golden_transcript_of_a_busy_host_is_that_of_a_calm_one_with_its_times() -> None:
    assert on_a_busy_host(CALM) == BUSY


def prompt_of(number: int) -> Prompt:
    return next(p for p in BUSY.prompts() if (p.exchange, p.message.seat) == (number, 0))


def test_a_reply_past_the_deadline_is_told_apart_from_one_inside_it() -> None:
    assert [p.exchange for p in BUSY.prompts() if past_deadline(p)] == [COUNTED]
    assert used(prompt_of(COUNTED)) == (500 * NS_PER_MS + LATE_NS - TAKEN_NS) / (500 * NS_PER_MS) == 0.96
    assert took(prompt_of(COUNTED).reply) == "480 ms (the host took 150 ms more)"
    assert not any(map(past_deadline, CALM.prompts()))
    assert took(Reply("OK", 7 * NS_PER_MS)) == "7.0 ms"


def test_a_timeout_did_not_count() -> None:
    late = prompt_of(COUNTED)
    assert not past_deadline(late._replace(reply=late.reply._replace(line=None, fault=Fault.TIMEOUT)))


def test_what_the_host_took_is_added_up() -> None:
    found = Taken.of(BUSY.prompts())
    assert found == Taken(TAKEN_NS + LATE_NS, 2, 1)
    assert found.sentence == "The host took 280 ms from 2 replies; 1 counted past the deadline."
    assert (Taken.of(CALM.prompts()), Taken().sentence) == (Taken(), "")
    assert found + found == Taken(2 * (TAKEN_NS + LATE_NS), 4, 2)


def test_the_slowest_answers_are_so_by_own_time() -> None:
    """The answer from which the host took more than a whole limit is the faster one of two."""
    limit_ns = prompt_of(INSIDE).limit_ns
    reply = taken(prompt_of(INSIDE).reply, 3 * limit_ns, full_ns=3 * limit_ns - 450 * NS_PER_MS)
    assert [prompt.exchange for prompt in slowest(with_reply(BUSY, INSIDE, 0, reply), 0, 2)] == [COUNTED, INSIDE]


def test_the_hint_weighs_processor_time_against_own_time() -> None:
    late = prompt_of(COUNTED)
    missed = late._replace(reply=late.reply._replace(line=None, fault=Fault.TIMEOUT))
    assert hint(Fault.TIMEOUT, missed) == (
        "90.0 ms of CPU time within 480 ms, not counting 150 ms that the host took: "
        "it was waiting for something, or had answered without a newline or a flush."
    )


def test_evidence_says_who_took_what() -> None:
    took_ms = {"cpu_ns": 400, "full_ns": 200, "steal_ns": 20, "frozen_ns": 30, "referee_ns": 40, "unseen_ns": 50}
    evidence = Evidence(900 * NS_PER_MS, **{name: ms * NS_PER_MS for name, ms in took_ms.items()})  # type: ignore[arg-type]
    assert evidence_words({"limit_ns": 500 * NS_PER_MS, **evidence.as_dict()}) == (
        "limit 500 ms, 900 ms passed, 630 ms of it your program's own, 270 ms taken from it by the host (it waited "
        "200 ms for a processor, the hypervisor took 20.0 ms, its container was stopped for 30.0 ms, the referee "
        "waited 40.0 ms to write the prompt, the answer may have waited unread for 50.0 ms), 400 ms of CPU time used"
    )
    nothing = Evidence(510 * NS_PER_MS, cpu_ns=3 * NS_PER_MS, full_ns=NS_PER_MS // 10)
    assert evidence_words(nothing.as_dict()).endswith("3.0 ms of CPU time used")


def test_evidence_of_older_ledgers_is_still_told() -> None:
    """It does not say who took what."""
    old = {"seat": 0, "limit_ns": 5_000_000, "wall_ns": 9_000_000, "stolen_ns": 2_000_000, "signal": "pressure"}
    assert evidence_words(old) == "limit 5 ms, 9.0 ms passed, 2.0 ms taken from it by the host"


def test_viewers_get_own_time_and_what_was_taken() -> None:
    (answer,) = {a for scene in scenes(BUSY, NAMES[:2]) for a in scene.answers if a.stolen_ms == TAKEN_NS / NS_PER_MS}
    assert (answer.seat, answer.elapsed_ms, answer.limit_ms) == (0, 630, 500)
    assert '"stolen_ms": 150.0' in json.dumps(document(BUSY, NAMES[:2]))


@pytest.mark.parametrize("name", ["yacht-auction", "betris-large", "liars-dice", "liars-dice-six", "betris-large-bank"])
def test_each_answer_has_its_scene(name: str) -> None:
    """Numbered and unnumbered notes, one for each answer, point to the scene that shows that answer."""
    transcript = read(name)
    told = scenes(transcript, NAMES)
    for seat in range(transcript.seats):
        prompts = [p for p in transcript.prompts() if p.message.seat == seat and p.message.command != "READY"]
        numbered = "".join(f"# note {n}: answer {n}\n" for n in range(1, len(prompts) + 1))
        plain = "".join(f"# note answer {n}\n" for n in range(1, len(prompts) + 1))
        found = notes(numbered, transcript, told, seat)
        assert (notes(plain, transcript, told, seat), len(found)) == (found, len(prompts))
        for note, prompt in zip(found, prompts, strict=True):
            assert note.scene is not None
            shown = told[note.scene]
            if shown.fault is None and shown.round is not None:
                times = [(a.seat, a.command, a.elapsed_ms) for a in shown.answers]
                assert (seat, prompt.message.command, round(prompt.reply.elapsed_ns / 1e6, 3)) in times


@pytest.mark.parametrize(
    "stderr",
    [
        "# note only one\n",  # ambiguous: there are many answers
        "# note 0: before the first\n",
        "# note 26: after the last\n",
        "# note 999999: far after it\n",
        "".join("# note same\n" for _ in range(25)) + "# note one too many\n",
        "".join("# note same\n" for _ in range(24)) + "\n[... 99 bytes left out ...]\n",
    ],
)
def test_what_cannot_be_told_belongs_to_no_move(stderr: str) -> None:
    transcript = read("yacht-auction")  # 24 answers of each seat after READY
    found = notes(stderr, transcript, scenes(transcript, NAMES), 0)
    assert found and {note.scene for note in found} == {None}


def test_other_lines_are_no_notes() -> None:
    transcript = read("yacht-auction")
    stderr = "# notes 1: x\n#note x\n # note 1: indented\ndebug # note x\n# note\n# note 2:\n# note 3: kept \n"
    assert [note.text for note in notes(stderr, transcript, scenes(transcript, NAMES), 0)] == ["2:", "kept"]
    assert notes("", transcript, scenes(transcript, NAMES), 0) == []
    assert Note(None, "2:") in notes(stderr, transcript, scenes(transcript, NAMES), 0)


Told = Sequence[tuple[int | None, Sequence[float | None]]]


def decided(told: Told, ranks: Sequence[int], fault_at: int | None = None) -> int:
    scenes = [Scene("", {}, round=number, fault=0 if at == fault_at else None) for at, (number, _) in enumerate(told)]
    return deciding_scene(scenes, [figures for _, figures in told], ranks)


LEADS: Told = [
    (1, (0, 0)),
    (1, (9, 0)),  # seat 0 acts first, and seems to lead
    (1, (9, 12)),
    (2, (10, 12)),
    (2, (15, 12)),  # ahead from the end of this round on; this scene contributed most
    (2, (15, 14)),
    (3, (30, 14)),  # a larger step, but the seat already led
    (3, (30, 28)),
    (None, (30, 28)),
]


@pytest.mark.parametrize(
    ("told", "ranks", "scene"),
    [
        (LEADS, (1, 2), 4),
        ([(number, (b, a)) for number, (a, b) in LEADS], (2, 1), 4),
        ([(1, (1, 0)), (1, (2, 0)), (2, (7, 0)), (3, (8, 0)), (None, (8, 0))], (1, 2), 2),  # always ahead
        ([(1, (5, 0)), (2, (5, 5)), (3, (6, 6)), (None, (6, 6))], (1, 1), 1),  # a draw: the largest change
        ([(1, (0, 0)), (2, (0, 0)), (None, (0, 0))], (1, 1), 2),  # nothing happened
        ([(1, (None, None)), (1, (5, None)), (1, (5, 2)), (None, (5, 2))], (1, 2), 2),
        ([(1, (3, 3, 3)), (2, (3, 3, 2)), (3, (3, 2, 2)), (None, (3, 2, 2))], (1, 2, 3), 2),
        ([(1, ()), (2, ()), (None, ())], (1, 2), 2),  # a game without a figure
        ([(None, (0, 0))], (1, 2), 0),
    ],
)
def test_it_is_the_step_that_made_the_lead_for_good(told: Told, ranks: Sequence[int], scene: int) -> None:
    assert decided(told, ranks) == scene


def test_a_duel_is_decided_by_its_fault_and_a_table_is_not() -> None:
    assert decided(LEADS, (2, 1), fault_at=7) == 7
    table: Told = [(1, (3, 3, 3)), (2, (3, 0, 3)), (3, (3, 0, 2)), (None, (3, 0, 2))]
    assert decided(table, (1, 3, 2), fault_at=1) == 2


@pytest.mark.parametrize(
    ("category", "dice", "lit"),
    [
        ("ONE", "11245", "11"),
        ("SIX", "16266", "666"),
        ("FIVE", "11234", ""),
        ("CHOICE", "53142", "12345"),
        ("FOUR_OF_A_KIND", "42444", "4444"),
        ("FOUR_OF_A_KIND", "44444", "4444"),
        ("FOUR_OF_A_KIND", "44422", ""),
        ("FULL_HOUSE", "23232", "22233"),
        ("SMALL_STRAIGHT", "63345", "3456"),
        ("SMALL_STRAIGHT", "12346", "1234"),
        ("LARGE_STRAIGHT", "65432", "23456"),
        ("LARGE_STRAIGHT", "12346", ""),
        ("YACHT", "33333", "33333"),
    ],
)
def test_the_dice_that_make_a_category_are_lit(category: str, dice: str, lit: str) -> None:
    assert _lit(category, dice, CATEGORIES[category](dice)) == lit


@every_match
def test_every_match_becomes_a_document_of_whole_scenes(name: str) -> None:
    transcript = read(name)
    made = document(transcript, NAMES[: transcript.seats])
    assert (json.loads(json.dumps(made)), made["names"]) == (made, list(NAMES[: transcript.seats]))
    assert all(scene["words"] for scene in made["scenes"])
    assert len({frozenset(scene["state"]) for scene in made["scenes"]}) == 1, "each scene has the whole state"
    told = [scene["fault"] for scene in made["scenes"] if scene["fault"] is not None]
    assert sorted(told) == sorted(transcript.result.faults)
    exchanges = [scene["exchange"] for scene in made["scenes"]]
    assert exchanges == sorted(exchanges)


@every_match
def test_every_answer_but_that_to_ready_is_shown_once(name: str) -> None:
    """An answer is shown with the event that it led to. Several answers can lead to one event."""
    transcript = read(name)
    told = [(scene, answer) for scene in scenes(transcript, NAMES) for answer in scene.answers]
    shown = {(a.seat, a.command, a.elapsed_ms) for scene, a in told if a.command != "READY" and scene.fault is None}
    given = {(p.message.seat, p.message.command, round(p.reply.elapsed_ns / 1e6, 3)) for p in transcript.prompts()}
    assert shown <= given
    places = [(scene.exchange, answer.seat) for scene, answer in told]
    assert len(places) == len(set(places)), "none stands with two events"
    assert all(command == "READY" or transcript.result.faults for _, command, _ in given - shown)


@every_match
def test_a_comeback_is_the_winners_largest_deficit_at_the_end_of_a_round_on_the_chart(name: str) -> None:
    transcript = read(name)
    ranks, made = transcript.result.ranks, document(transcript, NAMES[: transcript.seats])
    if transcript.game == "liars-dice" or transcript.result.faults:
        assert comeback(transcript) is None
        return
    ends = {scene["round"]: scene["figures"] for scene in made["scenes"] if scene["round"] is not None}
    assert comeback(transcript) == max(0, *(one[ranks.index(2)] - one[ranks.index(1)] for one in ends.values()))


def test_a_match_that_nobody_won_or_of_other_rules_has_no_comeback() -> None:
    won = read("yacht-auction")
    assert comeback(won) is not None
    assert comeback(replace(won, result=replace(won.result, ranks=(1, 1)))) is None
    assert comeback(replace(won, rules_version=won.rules_version + 1)) is None


def test_the_last_scene_of_yacht_auction_has_the_final_sheets() -> None:
    transcript = read("yacht-auction")
    *_, final = transcript.events()
    last = scenes(transcript, NAMES)[-1].state
    assert (last["totals"], last["money"], last["bonus"]) == (final["total"], final["bids"], final["bonus"])
    assert all(len(sheet) == 12 for sheet in last["sheets"])


def test_the_last_scene_of_betris_has_the_final_boards() -> None:
    transcript = read("betris-large")
    final: Any = list(transcript.events())[-1]
    last = scenes(transcript, NAMES)[-1].state
    assert [len(board) for board in last["boards"]] == final["cells"] == last["filled"]
    assert (last["totals"], last["square"], last["chips"]) == (final["total"], final["square"], final["chips"])
    assert last["bank_ms"] == [bank // 1_000_000 for bank in final["bank_ns"]]


def test_the_last_scene_of_liars_dice_has_the_places_and_the_dice_left() -> None:
    for name in ("liars-dice", "liars-dice-six", "liars-dice-example"):
        transcript = read(name)
        *_, final = transcript.events()
        last = scenes(transcript, NAMES[: transcript.seats])[-1].state
        assert (last["counts"], [place or 1 for place in last["places"]]) == (final["counts"], final["ranks"])


@every_match
def test_a_scene_is_not_changed_by_those_after_it(name: str) -> None:
    transcript = read(name)
    names = NAMES[: transcript.seats]
    one_by_one = [
        json.dumps(scene.as_json()) for scene in DIRECTORS[transcript.game].scenes(moments(transcript), names)
    ]  # written before the next one is made
    assert one_by_one == [json.dumps(scene.as_json()) for scene in scenes(transcript, names)[:-1]]


@every_match
def test_the_figures_change_once_for_all_seats_that_answered_at_once(name: str) -> None:
    transcript = read(name)
    told = document(transcript, NAMES[: transcript.seats])["scenes"]
    changed = [new["exchange"] for old, new in pairwise(told) if old["figures"] != new["figures"]]
    assert len(changed) == len(set(changed))
    director = DIRECTORS[transcript.game]
    ends = [scene for scene, after in pairwise([*told, {"exchange": None}]) if scene["exchange"] != after["exchange"]]
    assert [scene["figures"] for scene in ends] == [list(director.figures(scene["state"])) for scene in ends]


def test_a_lead_within_a_round_of_simultaneous_answers_decides_nothing() -> None:
    """The first seat's 65,000 points of round 5 are drawn before the second's 15,000, which the same step brought."""
    made = document(read("yacht-auction-example"), NAMES[:2])
    opens = made["scenes"][made["opens"]]
    assert (opens["round"], opens["figures"]) == (5, [127112, 101000])
    assert opens["state"]["last"] == [1, "SMALL_STRAIGHT"]


@every_match
def test_a_match_under_other_rules_is_told_event_by_event_and_names_no_picture(name: str) -> None:
    """The picture of a game could not draw what its director did not make."""
    transcript = read(name)
    made = document(replace(transcript, rules_version=99), NAMES[: transcript.seats])
    assert (made["game"], made["board"]) == ("", {})
    assert [scene["words"] for scene in made["scenes"]][-1] == scenes(transcript, NAMES)[-1].words
    assert made["scenes"][0]["state"] == next(iter(transcript.events()))
    assert document(transcript, NAMES)["game"] == transcript.game


@pytest.mark.parametrize("name", ["yacht-auction", "betris-large", "liars-dice"])
def test_a_match_without_an_event_has_its_end_alone(name: str) -> None:
    transcript = read(name)
    silent = tuple(exchange._replace(events=()) for exchange in transcript.exchanges)
    made = document(replace(transcript, exchanges=silent), NAMES[: transcript.seats])
    assert ([scene["state"] for scene in made["scenes"]], made["opens"]) == ([{}], 0)


def test_every_registered_game_has_a_director() -> None:
    assert set(DIRECTORS) == set(GAMES)
