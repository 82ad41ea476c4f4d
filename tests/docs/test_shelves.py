"""The shelves are complete: every page has its place, its title, few enough words, and a way to what it says."""

import re
from itertools import pairwise

import pytest

from deadheat.api.pages.texts.markdown import DOCS, MERGED, MOVED, PAGES, SHELVES, anchors, headings, source

GENERATED = {"reference/commands", "reference/settings", "reference/metrics"}
MOST_WORDS = 1_200
MOST_WORDS_TO_START = 250
"""A quick start is one screen: so many words, plus its commands."""

BLOCK = re.compile(r"^ *```.*?^ *```$|^ {4,}\S[^\n]*$", re.MULTILINE | re.DOTALL)
TRANSLATIONS = sorted(path.relative_to(DOCS).as_posix().removesuffix(".ko.md") for path in DOCS.rglob("*.ko.md"))

pytestmark = pytest.mark.quick


def test_every_page_stands_on_a_shelf() -> None:
    there = {
        path.relative_to(DOCS).as_posix().removesuffix(".md")
        for folder in {page.partition("/")[0] for page in PAGES}
        for path in (DOCS / folder).glob("*.md")
        if not path.stem.endswith(".ko")
    }
    assert there == set(PAGES)
    assert len(PAGES) == sum(len(shelf.pages) for shelf in SHELVES), "no page stands on two"
    assert {path.name for path in DOCS.glob("*.md")} == {"README.md", "decisions.md"}
    assert set(MOVED.values()) <= set(PAGES)


@pytest.mark.parametrize("former", MERGED)
def test_a_former_page_leads_to_a_part_of_one_that_is_there(former: str) -> None:
    page, _, part = MERGED[former].partition("#")
    assert former not in PAGES
    assert not part or part in anchors([words for _level, words in headings(source(page))])


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_skips_no_level_of_headings(page: str) -> None:
    found = headings(source(page))
    assert found[0] == ("h1", PAGES[page])
    levels = [int(level[1]) for level, _ in found]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("page", sorted(set(PAGES) - GENERATED))
def test_a_page_can_be_read_in_one_go(page: str) -> None:
    words = len(BLOCK.sub("", source(page)).split())
    assert words <= (MOST_WORDS_TO_START if page.startswith("start/") else MOST_WORDS)


@pytest.mark.parametrize("page", sorted(set(PAGES) - GENERATED - {"reference/glossary"}))
def test_a_page_leads_to_the_glossary(page: str) -> None:
    assert "glossary.md#" in source(page)


@pytest.mark.parametrize("page", TRANSLATIONS)
def test_a_translation_has_the_same_parts_and_commands(page: str) -> None:
    english, korean = source(page), source(page, "ko")
    korean = korean.replace(f"]({page.rpartition('/')[2]}.md#", "](#")  # GitHub knows only the English names of parts
    assert [level for level, _ in headings(english)] == [level for level, _ in headings(korean)]
    for same in (r"^```.*?^```$", r"\]\(([^)\s]+)\)", r"^ {4}\S[^\n]*$"):
        kept = [sorted(re.findall(same, text, re.MULTILINE | re.DOTALL)) for text in (english, korean)]
        assert kept[0] == kept[1]
