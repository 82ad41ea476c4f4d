"""What viewers show of a match agrees with what the rules made of it, scene by scene."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from deadheat.engine.games import GAMES
from deadheat.engine.scenes import DIRECTORS, comeback, document, scenes
from deadheat.engine.scenes.core import moments
from tests.engine.golden import NAMES, every_match, read

pytestmark = pytest.mark.quick


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
