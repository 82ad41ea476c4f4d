"""What people type into the search, and the page that they look for. Written down before the search was built."""

import pytest

from deadheat.api.pages.texts.search import matching

LOOKED_FOR = {
    # From people who did not know the site (../shared/WORDS.md):
    "quick start": "start/author",
    "getting started": "start/author",
    "tutorial": "start/author",
    "glossary": "reference/glossary",
    "confidence interval": "why/ratings",
    "python libraries": "how-to/upload",
    "reset password": "how-to/inbox-and-appeals#reset-a-password",
    "forgot password": "how-to/inbox-and-appeals#reset-a-password",
    "how to change password": "how-to/inbox-and-appeals#reset-a-password",
    "timeout why": "reference/verdicts",
    "delete account": "how-to/inbox-and-appeals#leave",
    # Others:
    "elo": "why/ratings",
    "sprt": "reference/glossary#sequential-test",
    "what is own time": "why/own-time",
    "why did I lose": "reference/verdicts",
    "memory limit": "how-to/upload#where-your-bot-runs-and-its-limits",
    "supported languages": "how-to/upload#choose-a-language",
    "backup": "how-to/back-up",
    "restore database": "how-to/back-up",
    "ban user": "how-to/abuse#ban-an-account",
    "discord webhook": "how-to/inbox-and-appeals#webhooks-and-e-mail",
    "curl": "how-to/use-in-ci#with-curl-alone",
    "github actions": "how-to/use-in-ci",
    "reinforcement learning": "how-to/train",
    "how do I add a new game?": "how-to/add-a-game",
    "exit codes": "reference/commands#exit-codes",
    "nginx": "how-to/install#put-a-proxy-with-tls-in-front",
    "environment variables": "reference/settings",
    "withdraw my bot": "how-to/in-a-season#withdraw",
    "deadheat submit": "reference/commands#submit",
    "prometheus": "how-to/monitor#set-up-prometheus",
    "appeals": "how-to/inbox-and-appeals#appeal",
    "upgrading": "how-to/back-up#upgrade",
    "swiss tournament": "why/matchmaking#finals",
    "cheating": "why/walls-around-a-bot#covert-channels",
}
ALSO = 3
"""Among so many results the page has to be: a screen of a phone."""


@pytest.mark.parametrize("asked", LOOKED_FOR)
def test_a_search_finds_what_people_look_for(asked: str) -> None:
    wanted = f"/docs/{LOOKED_FOR[asked]}"
    found = [hit.section.address for hit in matching(asked)[:ALSO]]
    assert any(address == wanted or address.partition("#")[0] == wanted for address in found), found


def test_a_search_marks_whole_words_and_none_inside_others() -> None:
    for hit in matching("to store a password"):
        assert "s<mark>to</mark>re" not in hit.words


@pytest.mark.parametrize("asked", ["", "  ", "?", "the", "how to", "(", "[a-z", "\\", "%"])
def test_any_text_can_be_searched_for(asked: str) -> None:
    assert isinstance(matching(asked), list)


def test_what_is_on_no_page_is_not_found() -> None:
    assert matching("qqxyzzy") == []
