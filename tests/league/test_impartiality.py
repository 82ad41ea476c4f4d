"""No organiser judges a match of their own bot while another can; otherwise the log says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deadheat.league.errors import OwnMatch
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import invite_to_team, join_team
from deadheat.league.service.rulings import appeals, closing, impartiality, operators, rulings
from deadheat.league.service.seasons import bot_changes, entries
from deadheat.league.states import Role, SeasonState
from deadheat.league.words import Remedy
from tests.league.world import World


class Judged:
    """A match between an organiser's bot and an author's or (if `teamed`) a team's; the author appeals."""

    def __init__(self, world: World, *, teamed: bool = False) -> None:
        self.world = world
        self.season = world.season(0, series_length=1, games_per_pair=1)
        self.boss = world.boss
        self.author, self.bots = world.author("ada"), []
        for owner in (self.boss, self.author):
            _, bot_id = world.bot(owner=owner)
            self.bots.append(bot_id)
            if teamed and owner is self.author:
                self.team = world.team(owner)
                world.write(bot_changes.change_bot, owner, bot_id, team_id=self.team)
            world.write(entries.enter, owner, self.season, bot_id)
        job = world.claimed()
        assert world.finish(job)
        self.match = job.matches[0].match_id
        self.appeal = world.write(appeals.open_appeal, self.author, self.match, "no", {"verified": True}).id

    def organiser(self, name: str = "carol") -> Person:
        person = self.world.author(name)
        self.world.write(operators.set_role, name, Role.ORGANISER)
        return Person(person.id, name, Role.ORGANISER)

    def said(self) -> list[dict[str, Any]]:
        log = self.world.read(audit_log, subject=f"match/{self.match}")
        return [json.loads(entry.data) for entry in log]


@pytest.fixture
def judged(world: World) -> Judged:
    return Judged(world)


def test_another_organiser_decides(judged: Judged) -> None:
    world, match = judged.world, judged.match
    other = judged.organiser()
    before = judged.said()
    for ruling in (rulings.void_match, rulings.restore_match, rulings.rejudge_match):
        assert "another organiser" in world.refused(OwnMatch, ruling, judged.boss, match, "mine")
    for uphold in (True, False):
        world.refused(OwnMatch, appeals.rule, judged.boss, judged.appeal, uphold=uphold, ruling="mine")
    assert judged.said() == before, "what is refused leaves nothing behind"
    world.write(appeals.rule, other, judged.appeal, uphold=True, ruling="right", remedy=Remedy.VOID)
    voided, ruled, _ = judged.said()
    assert (voided["own_bot"], ruled["own_bot"]) == (False, False)


def test_the_only_organiser_decides_and_everyone_is_told(judged: Judged) -> None:
    judged.world.write(appeals.rule, judged.boss, judged.appeal, uphold=False, ruling="no")
    assert judged.world.write(rulings.void_match, judged.boss, judged.match, "mine")
    for record in judged.said()[:2]:
        assert record["own_bot"] is True
        assert record["remark"] == impartiality.ALONE


def test_an_organiser_whose_account_is_closed_is_no_other_one(judged: Judged) -> None:
    judged.world.write(closing.close_account, judged.organiser())
    assert judged.world.write(rulings.void_match, judged.boss, judged.match, "mine")


def test_an_organiser_in_a_team_that_plays_in_the_match_is_no_other_one(world: World) -> None:
    judged = Judged(world, teamed=True)
    mate = judged.organiser("mate")
    world.write(invite_to_team, judged.author, judged.team, "mate")
    world.write(join_team, mate, judged.team)
    assert world.write(rulings.void_match, judged.boss, judged.match, "nobody else could")
    assert world.write(rulings.restore_match, mate, judged.match, "nor here")
    judged.organiser("neutral")
    world.refused(OwnMatch, rulings.void_match, mate, judged.match, "now there is one")


def test_an_organiser_without_a_bot_in_the_match_decides_alone(judged: Judged) -> None:
    assert judged.world.write(rulings.void_match, judged.organiser(), judged.match, "fair")
    judged.world.write(set_season_state, judged.boss, judged.season, SeasonState.FROZEN)
    assert judged.said()[0]["own_bot"] is False
