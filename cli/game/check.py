"""`deadheat game check`: all checks of a game that need no knowledge of its rules, within a minute."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from gettext import NullTranslations
from pathlib import Path

from rich.text import Text

from deadheat.cli.console import REFUSED, harmless
from deadheat.cli.game import looks
from deadheat.cli.game.looks import Advice
from deadheat.cli.game.opening import RANDOM, Folder, bot_class, opened, random_matches
from deadheat.cli.output import Output, says
from deadheat.engine.check import check_game
from deadheat.engine.fuzz import fuzz_replies
from deadheat.engine.games.folder import GameFolder
from deadheat.engine.language import reading
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript
from deadheat.engine.trial import NotConforming

SPOILT = 500
"""The number of spoilt replies with which the rules are tested; each takes some 10 ms."""

Look = tuple[str, Callable[[], Iterable[str]]]


@says
def check(folder: Folder) -> Iterator[Output]:
    """Check a game's folder: its rules, leaks, bad replies, bots, pages and boards. Exit code 1 if anything is wrong.

    It takes less than a minute, and says what to fix. It cannot know whether these are the rules that you want.
    """
    game = opened(folder)
    failed = False
    for part, look in _parts(game, folder):
        began = time.monotonic()
        complaints: list[str] = []
        try:
            complaints.extend(look())
        except NotConforming as wrong:
            complaints.append(str(wrong))
        except Exception as error:  # noqa: BLE001  whatever a game's module raises is what we are looking for
            complaints.append(looks.crash(error))
        grave = any(not isinstance(each, looks.Advice) for each in complaints)
        failed |= grave
        answer = {"part": part, "right": not grave, "complaints": complaints}
        yield Output(answer, _lines(part, complaints, grave, time.monotonic() - began))
        if grave and part == "rules":
            break  # every other part depends on the rules
    answer = {"game": game.rules.name, "right": not failed}
    said = "something must be fixed" if failed else "all in order"
    yield Output(answer, f"{game.rules.title}: {said}.", REFUSED if failed else 0)


def _parts(game: GameFolder, folder: Folder) -> Iterator[Look]:
    random = folder / "bots" / RANDOM / "main.py"
    if not random.is_file():
        yield "rules", lambda: [f"there is no {random}: every game needs a random bot, with which it is checked"]
        return
    new_bot = bot_class(random.parent)

    def rules() -> Iterable[str]:
        check_game(game.rules, new_bot)
        return ()

    yield "rules", rules
    too_kind = ["the rules accepted every spoilt reply"]
    yield "replies", lambda: () if fuzz_replies(game.rules, new_bot, SPOILT) else too_kind
    matches = random_matches(game, new_bot, "check", 2)
    yield "scenes", lambda: looks.scenes(game, matches)
    yield "terminal", lambda: looks.terminal(game, matches)
    yield "browser", lambda: looks.browser(game, folder, matches[0])
    yield "forms", lambda: looks.forms(game, folder, matches[:1])
    yield "training", lambda: looks.training(game)
    yield "protocol", lambda: looks.protocol(game, folder)
    yield "translations", lambda: translations(game, matches[0])
    yield "names", lambda: looks.names(game, folder)
    yield "bots", lambda: looks.tournament(game, folder)


def _lines(part: str, complaints: list[str], grave: bool, seconds: float) -> Iterator[Text]:
    mark, style = ("wrong", "red") if grave else ("right", "green")
    yield Text.assemble((f"{mark:6}", style), f" {part}, {seconds:.1f} s")
    for each, times in Counter(complaints).items():
        lead = "advice: " if isinstance(each, looks.Advice) else ""
        yield harmless(f"       {lead}{each}{f' ({times} times)' if times > 1 else ''}")


LETTER = re.compile(r"%\(\w+\)s|[A-Za-z]")
PROSE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")


def translations(game: GameFolder, match: Transcript) -> Iterator[str]:
    """Look for texts that a reader of another language sees in English, which is advice, and for wrong translations."""
    with reading(_Unreadable()):
        scenes = document(match, [str(seat) for seat in range(match.seats)])["scenes"]
    untold = [scene["words"] for scene in scenes if PROSE.search(scene["words"])]
    if untold:
        yield Advice(f"every reader sees this in English: {untold[0]!r}; look texts up with `_`")
    try:
        from deadheat.league.locale import LANGUAGES
        from deadheat.league.locale.messages import of_game
    except ImportError:
        yield Advice("translations were not checked: deadheat[server] is not installed")
        return
    texts = {text if isinstance(text, str) else text[0] for text in of_game(game)}
    for language in LANGUAGES.keys() - {"en"}:
        yield from _of_language(game, language, texts)


class _Unreadable(NullTranslations):
    """A language whose words have no letters, so any text with letters was not looked up."""

    def gettext(self, message: str) -> str:
        return LETTER.sub(lambda found: found[0] if len(found[0]) > 1 else "-", message)

    def ngettext(self, one: str, more: str, count: int) -> str:
        return self.gettext(one if count == 1 else more)


def _of_language(game: GameFolder, language: str, texts: set[str]) -> Iterator[str]:
    from deadheat.league.locale import LANGUAGES, place
    from deadheat.league.locale.messages import PLACEHOLDER

    path = game.translations(language)
    own = _translated(path, language) if path.is_file() else {}
    missing = sorted(texts - own.keys() - _translated(place(language), language).keys())
    where = path.relative_to(game.path)
    if missing and not path.is_file():
        yield Advice(f"there is no {where}: {len(missing)} texts are in English for readers of {LANGUAGES[language]}")
        return
    yield from (Advice(f"{where} has no translation of {text!r}") for text in missing)
    for text, told in own.items():
        if sorted(PLACEHOLDER.findall(text)) != sorted(PLACEHOLDER.findall(told)):
            yield f"{where} translates {text!r} with different placeholders"


def _translated(path: Path, language: str) -> dict[str, str]:
    """Return a catalogue's translated messages. For those with a count, return the first form and its translation."""
    from deadheat.league.locale import read

    found = {}
    for message in read(path, language):
        text, told = (each if isinstance(each, str) else each[0] for each in (message.id, message.string or ""))
        if text and told and not message.fuzzy:
            found[text] = told
    return found
