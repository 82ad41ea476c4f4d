"""What a model reads before it plays is enough to play: its commands are run as they stand."""

import json
import re
import subprocess
from typing import Any

import pytest

from deadheat.api.routes import tables
from deadheat.engine.games import GAMES
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.rulings import closing
from tests.api.served import served
from tests.api.sheet import decide
from tests.api.site import Site

BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


class Reader:
    """Runs the commands of the page in one shell's environment, and sets what the page says to set."""

    def __init__(self, text: str, **known: str) -> None:
        self.blocks = BLOCK.findall(text)
        self.known = {"PATH": "/usr/local/bin:/usr/bin:/bin", **known}

    def run(self, number: int, **known: str) -> Any:
        """Run a block's commands, with these values in place of the page's examples, and return the last answer."""
        self.known |= known
        told = b""
        for line in self.blocks[number].splitlines():
            if not line.startswith("export "):
                told = subprocess.run(["bash", "-c", line], env=self.known, stdout=-1, timeout=30, check=True).stdout
        return json.loads(told)


def test_whoever_follows_the_page_plays_a_game_to_its_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WAIT_SECONDS", 0.0)
    with served(site.app) as address:
        text = site.client.get("/skill.md").text.replace("http://league", address)
        assert len(text.split()) < 600
        readers = [Reader(text, LEAGUE=address, GAME="liars-dice") for _ in range(4)]
        rules, account, _token, queue, _table, wait, answer, leave = range(len(readers[0].blocks))
        assert "myDice" in readers[0].run(rules)["content"]
        for number, reader in enumerate(readers):
            token = reader.run(account, NAME=f"reader{number}", PASSWORD="a-long-secret-of-yours")["token"]
            table = reader.run(queue, TOKEN=token)["id"]
            reader.known |= {"TABLE": str(table), "TURN": "0"}
        readers[3].run(leave)
        while (told := [reader.run(wait) for reader in readers])[0]["state"] == "running":
            for reader, turn in zip(readers, told, strict=True):
                if turn["prompt"] is not None:
                    line = json.dumps(decide(json.loads(turn["prompt"])))
                    receipt = reader.run(answer, TURN=str(turn["turn"]), ANSWER=json.dumps({"line": line}))
                    assert receipt["recorded_at"], receipt
        assert [turn["state"] for turn in told] == ["done"] * 4
        assert [turn["seat"] for turn in told] == [0, 1, 2, 3] and told[0]["ranks"][3] == 4
        assert told[0]["fault"] is None and told[3]["fault"] == "exited"


def test_the_page_begins_with_a_game_that_bots_play_and_names_no_address_of_others_for_long(site: Site) -> None:
    told = site.client.get("/skill.md", headers={"host": "elsewhere.example"})
    assert told.headers["cache-control"] == "no-store", "caches would tell everybody to send tokens there"
    assert f"export GAME={next(iter(GAMES))}\n" in told.text and "2 to 2" not in told.text and "--json" not in told.text
    last = [*GAMES][-1]
    bot_id = site.world.write(create_bot, site.world.write(closing.house), last, "greedy").id
    site.world.version(site.world.write(closing.house), bot_id)
    text = site.client.get("/skill.md").text
    assert f"export GAME={last}\n" in text and text.count("without bots of ours") == len(GAMES) - 1
    known = site.beside(site_url="https://league.example").client.get("/skill.md")
    assert "cache-control" not in known.headers and "https://league.example" in known.text


def test_a_map_of_the_site_leads_somewhere(site: Site) -> None:
    text = site.client.get("/llms.txt").text
    addresses = re.findall(r"\(http://league([^)]*)\)", text)
    assert len(text.splitlines()) <= 40 and len(addresses) > 12
    for address in addresses:
        assert site.client.get(address).status_code == 200, address
