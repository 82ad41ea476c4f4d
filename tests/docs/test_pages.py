"""Pages of documentation say what the code does: links, settings, commands, sizes."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from deadheat.api.errors import STATUS
from deadheat.api.pages.texts.markdown import source
from deadheat.engine.core import Fault
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import protocol_of
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.engine.verdicts import VERDICTS
from deadheat.league.config import Settings
from tests.cli.command import ROOT, verbs
from tests.docs.diagrams import DRAWINGS, PICTURES
from tests.docs.settings import (
    COMMANDS,
    EXPORT,
    INDEX,
    METRICS,
    PAGE,
    alerts,
    commands,
    faults,
    index,
    metrics,
    states,
    table,
)

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "games").rglob("*.md"), ROOT / "README.md"])
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and our site make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_authors_find_every_fault_and_every_protocol() -> None:
    text = source("reference/verdicts")
    assert faults() in text, "python -m tests.docs.settings writes it anew"
    assert set(VERDICTS) == set(Fault)
    for game in GAMES:
        page = protocol_of(game)
        assert page is not None
        assert f"(../../games/{page.parent.name}/protocol.md)" in text


@pytest.mark.parametrize("game", GAMES)
def test_a_protocol_promises_no_name_of_a_fault_that_hangs_on_timing(game: str) -> None:
    """C-04: an unasked line is `unexpected` if it comes early enough; otherwise it is taken for the next reply."""
    page = protocol_of(game)
    assert page is not None
    text = page.read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `unexpected` .*$", text, re.MULTILINE)
    assert not re.search("greeting|answer to|reply to", row)
    by_chance = [part for part in re.split(r"\n(?=\* )", text) if "greeting before READY" in part]
    assert len(by_chance) == 1 and {"`unexpected`", "`malformed`"} <= set(re.findall("`[a-z]+`", by_chance[0]))


@pytest.mark.parametrize("game", GAMES)
def test_a_translated_protocol_says_the_same(game: str) -> None:
    english, korean = protocol_of(game), protocol_of(game, "ko")
    assert english is not None and korean is not None and english != korean
    facts = [said(page.read_text(encoding="utf-8")) for page in (english, korean)]
    assert facts[0] == facts[1]


def said(text: str) -> tuple[list[str], ...]:
    """Return what a text's translations keep: samples, code, rulings, links, headings and rows of tables."""
    blocks = "\n".join(re.findall(r"```\n(.*?)```", text, re.DOTALL))
    samples = re.findall(r"^(?:<<|>>|[{.#A-Z]).*", re.sub(r"^\.\.\. .*", "", blocks, flags=re.MULTILINE), re.MULTILINE)
    code = [span for span in re.findall("`[^`\n]+`", text) if span != "`overflow`"]
    parts = (r"\b[A-Z]-\d\d\b", r"\]\(([^)\s]+)\)", r"^#+ ", r"^\|")
    return samples, sorted(code), *(sorted(re.findall(part, text, re.MULTILINE)) for part in parts)


def test_authors_are_told_after_how_many_voids_a_match_is_given_up() -> None:
    assert Settings.model_fields["match_attempts"].default == MATCH_ATTEMPTS == 5
    text = " ".join(source("reference/verdicts").split())
    assert "five void attempts, or two" in text and "up after five void attempts" in text


def test_the_page_of_commands_knows_which_refusals_pass() -> None:
    """Exit code 3 means that the same call may succeed later."""
    passing = {error.__name__ for error, status in STATUS.items() if status == 429 or status >= 500}
    assert {"OverQuota"} <= passing
    assert not passing & {"NotFound", "BadUpload", "NotAllowed"}


@pytest.mark.parametrize(
    ("page", "repeated"),
    [(PAGE, table), (METRICS, metrics), (METRICS, alerts), (EXPORT, states), (COMMANDS, commands), (INDEX, index)],
    ids=lambda found: getattr(found, "name", ""),
)
def test_a_page_repeats_what_the_code_says(page: Path, repeated: Callable[[], str]) -> None:
    assert repeated() in page.read_text(encoding="utf-8"), "python -m tests.docs.settings writes it anew"


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_diagram_shows_what_the_code_says(name: str) -> None:
    assert (PICTURES / name).read_text(encoding="utf-8") == DRAWINGS[name](), "python -m tests.docs.diagrams draws it"


TEMPLATES = ROOT / "dashboards" / "site" / "templates"
COMMAND = re.compile(r"<(code|pre)[^>]*>(?:<code>)?deadheat (.*?)</", re.DOTALL)


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda page: page.name)
def test_a_command_that_a_page_shows_exists(template: Path) -> None:
    """A line by itself (`<pre>`) is complete; within a sentence, only what is written must exist."""
    known = dict(verbs())
    text = re.sub(r"{%.*?%}", "", re.sub(r"{{.*?}}", "1", template.read_text(encoding="utf-8")))
    for element, lines in COMMAND.findall(text):
        for line in lines.split("\ndeadheat "):
            words = line.partition(" -- ")[0].split()  # what follows is another program's
            verb = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
            group = any(name.startswith(f"{verb} ") for name in known)
            assert verb in known or group, line
            if verb not in known:
                continue
            options = {option for parameter in known[verb].params for option in parameter.opts}
            assert options >= {word for word in words if word.startswith("--")}, line
            needed = [one for one in known[verb].params if one.required and one.opts[0].startswith("--")]
            assert element == "code" or all(set(one.opts) & set(words) for one in needed), line


def test_every_column_of_the_leaderboard_is_explained() -> None:
    head = (TEMPLATES / "board.html").read_text(encoding="utf-8").partition("</tr></thead>")[0]
    shown = re.findall(r"<th[^>]*>(?:<abbr[^>]*>)?(?:{{ _\(\"(.*?)\"\) }}|(#|W / D / L))<?", head)
    columns = [(word or sign).replace("%%", "%") for word, sign in shown]
    text = source("why/ratings").partition("A bot is ranked")[0]
    explained = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)[1:]
    assert len(columns) == 13
    assert [column for column in columns if column not in {"Bot", "Author"}] == explained


def test_no_text_claims_a_notice_that_nobody_sends() -> None:
    claims = [path for path in (ROOT / "api").rglob("*.py") if "been notified" in path.read_text(encoding="utf-8")]
    assert claims == []


TEXT = source("how-to/scale").partition("## How large\n")[2]


def test_the_slots_of_each_round_follow_from_its_tables() -> None:
    rounds = re.findall(r"^\| ([\d,]+) tables of (\d+) s in (\d+) min \| ([\d.]+) \| (\d+) \|$", TEXT, re.MULTILINE)
    assert len(rounds) == 3
    for tables, seconds, minutes, busy, planned in rounds:
        needed = int(tables.replace(",", "")) * int(seconds) / (60 * int(minutes))
        assert float(busy) == round(needed, 1)
        assert max(4, math.ceil(2 * needed)) <= int(planned) <= 2 * needed + 4


def test_a_million_matches_need_a_million_times_as_much() -> None:
    assert re.findall(r"\| ([\d.]+) kB.* \| ([\d.]+) GB \|", TEXT) == [(size, size) for size in ("2.7", "7.2", "3.4")]
    ((cpu_ms, minutes),) = re.findall(r"\| ([\d.]+) ms \| (\d+) minutes \|", TEXT)
    assert round(float(cpu_ms) * 1e6 / 1000 / 60) == int(minutes)
    assert "400 matches a second" in TEXT and 1000 / float(cpu_ms) == 400


def test_the_connections_of_the_example_are_allowed() -> None:
    ((slots, machines),) = re.findall(r"enough for (\d+) slots on (\w+) machines and two API processes", TEXT)
    allowed = re.findall(
        r"max_connections=(\d+)", (ROOT / "deploy" / "services" / "postgres" / "entrypoint").read_text()
    )
    assert allowed == ["300"] and f"allows {allowed[0]}," in TEXT
    each = 2 + 2  # with the default of DEADHEAT_EXHIBITIONS
    assert int(slots) + {"five": 5}[machines] * each + 2 * 45 + 3 + 1 + 10 <= int(allowed[0])
