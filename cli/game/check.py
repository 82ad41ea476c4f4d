"""`deadheat game check`: all checks of a game that need no knowledge of its rules, within a minute."""

import contextlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from gettext import NullTranslations
from math import comb, sqrt
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any
from xml.etree import ElementTree as ET

import typer
from rich.console import Console
from rich.text import Text

from deadheat.cli.author.matches import Looked
from deadheat.cli.console import REFUSED, USAGE, fail, harmless
from deadheat.cli.local.bots import HOUSE
from deadheat.cli.local.page import save
from deadheat.cli.local.watch import match_page
from deadheat.cli.output import Output, says
from deadheat.cli.replays import pages
from deadheat.cli.replays.pages import VIEWS
from deadheat.engine.advice import ADVISERS
from deadheat.engine.chance import seeds
from deadheat.engine.check import check_game, fuzz_replies
from deadheat.engine.core import Fault, Message
from deadheat.engine.games.folder import SETTING, GameFolder, Parts, folders, house_bots, problems
from deadheat.engine.games.forms import Form, Unfilled
from deadheat.engine.language import reading
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.scenes import DIRECTORS, document, scenes_so_far
from deadheat.engine.transcript import Transcript
from deadheat.engine.trial import Bot, NotConforming
from deadheat.engine.unfinished import Unfinished, unfinished

RANDOM = "random"

NewBot = Callable[[int], Bot]
"""A function that creates a bot for the match or the seat with this number."""

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The game's folder, with its __init__.py.")]


def opened(folder: Path) -> GameFolder:
    """Return the game of a folder. End the command with a sentence if it has none that can be played."""
    if not (folder / "__init__.py").is_file():
        fail(f"{folder} has no __init__.py: name the folder that holds the game", USAGE)
    mine = str(folder.absolute())
    others = (each for each in os.environ.get(SETTING, "").split(os.pathsep) if each not in {"", mine})
    os.environ[SETTING] = os.pathsep.join([mine, *others])
    games = [game for game in folders().values() if game.path.resolve() == folder.resolve()]
    if not games:
        fail(next((problem for problem in problems() if mine in problem), f"no game was found in {folder}"))
    return games[0]


def bot_class(folder: Path) -> Any:
    """Return the object named `Bot` in the Python bot of this folder."""
    name = f"bot_{folder.parent.name}_{folder.name}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, folder / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bot


def _seated(bot: Bot) -> Player:
    """Return a bot in the form that the in-memory transport requires."""

    def play(message: Message) -> str | None:
        return None if message.line == "FINISH" else bot.answer(message.line + "\n")

    return play


def random_matches(game: GameFolder, new_bot: NewBot, seed: str, each: int = 1) -> Sequence[Transcript]:
    dice = seeds(seed)
    matches = []
    for seats in game.rules.seats:
        for number in range(each):
            players = [_seated(new_bot(100 * number + seat)) for seat in range(seats)]
            about = {"players": [f"{RANDOM} {seat}" for seat in range(1, seats + 1)]}
            matches.append(run_match(game.rules, seats, next(dice), MemoryTransport(players), about))
    return matches


GAMES, FEWEST = 40, 4
"""The number of games in the house bots' tournament, and the fewest per table."""
TOURNAMENT_SECONDS = 30
BROWSER_SECONDS = 20
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TERMINAL_WIDTH = 80


class _Advice(str):
    """A complaint that need not be fixed. All others must be."""

    __slots__ = ()


FORMS: Mapping[str, Mapping[str, Form]] = Parts("forms", "FORMS")
TRAINING: Mapping[str, Any] = Parts("training", "VIEW")


def _protocol(game: GameFolder, folder: Path) -> Iterator[str]:
    """Check the page for bot authors: it must name every prompt and every way to lose."""
    page = folder / "protocol.md"
    if not page.is_file():
        yield "there is no protocol.md: describe every line with its limit, and every fault, for bot authors"
        return
    text = page.read_text(encoding="utf-8")
    for command in game.rules.commands:
        if command not in text:
            yield f"protocol.md does not mention the prompt {command}"
    missing = [fault for fault in Fault if fault not in text]
    if missing:
        yield f"protocol.md does not explain the fault {', '.join(missing)}"


def scenes(game: GameFolder, matches: Sequence[Transcript]) -> Iterator[str]:
    """Check every scene of some matches: it must have words, a state that is JSON, and a figure for each seat."""
    name = game.rules.name
    if name not in DIRECTORS:
        yield _Advice("there is no scenes.py with a DIRECTOR: viewers see every event as it is in the transcript")
        return
    for match in matches:
        shown = document(match, [f"bot {seat}" for seat in range(match.seats)])
        if json.loads(json.dumps(shown)) != shown:
            yield "a scene's state is not JSON: use lists instead of tuples, and only texts as keys"
        for scene in shown["scenes"]:
            if not scene["words"].strip() or "{" in scene["words"]:
                yield f"a scene says {scene['words']!r}: say in a sentence what happened"
                return
            if scene["figures"] and len(scene["figures"]) != match.seats:
                yield f"a scene of {match.seats} seats has {len(scene['figures'])} figures instead of one for each seat"
                return


def _terminal(game: GameFolder, matches: Sequence[Transcript]) -> Iterator[str]:
    """Draw some matches in a terminal of ordinary width."""
    view = VIEWS.get(game.rules.name)
    if view is None:
        yield _Advice("there is no terminal.py with a VIEW: `deadheat replay` shows words without a board")
        return
    for match in matches:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            console = Console(width=TERMINAL_WIDTH, file=nowhere, record=True)
            for page in pages.pages(match, view):
                console.print(page.content)
        longest = max(console.export_text().splitlines(), key=len, default="")
        if len(longest) > TERMINAL_WIDTH:
            yield f"a line of the terminal's board is {len(longest)} characters long: {longest[:60]!r}..."
            return


def _forms(game: GameFolder, folder: Path, matches: Sequence[Transcript]) -> Iterator[str]:
    """Make a person's form for every prompt of some matches, and check for its macro."""
    offered = FORMS.get(game.rules.name)
    commands = [command for command in game.rules.commands if command != "READY"]
    missing = commands if offered is None else [command for command in commands if command not in offered]
    if missing:
        yield _Advice(f"forms.py has no form for {', '.join(missing)}: people type lines of the protocol")
    kinds: set[str] = set()
    for match in matches if offered else ():
        replies = [exchange.replies for exchange in match.exchanges]
        for number in range(1, len(replies)):
            so_far = unfinished(game.rules, match.seats, match.seed, replies[:number])
            for message in so_far.exchanges[-1].messages:
                if offered and message.limit_ns is not None and message.command in offered:
                    yield from _form(game, offered[message.command], so_far.seen_by(message.seat), message, kinds)
    page = folder / "turns.html"
    if kinds and not page.is_file():
        yield _Advice("there is no turns.html: people type lines of the protocol, whatever forms.py offers")
    elif kinds:
        text = page.read_text(encoding="utf-8")
        yield from (
            f"turns.html has no macro {kind}(offer, complaint), which forms.py asks for"
            for kind in sorted(kinds)
            if not re.search(rf"{{%-?\s*macro\s+{re.escape(kind)}\s*\(", text)
        )


def _form(game: GameFolder, form: Form, seen: Unfinished, message: Message, kinds: set[str]) -> Iterator[str]:
    names = [str(seat) for seat in range(len(seen.exchanges[0].messages))]  # every seat is sent READY
    state = scenes_so_far(game.rules, seen, names)[-1].state
    turn = form(message.line, state, message.seat)
    kinds.add(turn.kind)
    if json.loads(json.dumps(turn.offer)) != turn.offer:
        cure = "use lists instead of tuples, and only texts as keys"
        yield f"the offer of the form for {message.command} is not JSON: {cure}"
    with contextlib.suppress(Unfilled):  # expected, because the form is empty; any other exception is a crash
        turn.line({})


def _training(game: GameFolder) -> Iterator[str]:
    """Play some matches as a learning program does: there must always be an action, and every action must be legal."""
    if game.rules.name not in TRAINING:
        yield _Advice("there is no training.py with a VIEW: programs cannot learn the game")
        return
    import numpy as np

    import deadheat

    env = deadheat.env(game.rules.name)
    chance = random.Random(0)  # noqa: S311  not for secrets
    for seed in range(3):
        env.reset(seed=seed)
        for _ in env.agent_iter():
            observed, _, over, _, info = env.last()
            assert observed is not None
            if over:
                if info["fault"]:
                    yield f"an action that the mask of training.py allows ends in a fault: {info['fault']}"
                    return
                env.step(None)
                continue
            legal = np.flatnonzero(observed["action_mask"]).tolist()
            if not legal:
                yield f"training.py allows no action at {env.line!r}"
                return
            env.step(chance.choice(legal))


def _browser(game: GameFolder, folder: Path, match: Transcript) -> Iterator[str]:
    """Draw a match in a browser, if there is one, and read what it has drawn and any errors."""
    board = folder / "web" / "board.js"
    if not board.is_file():
        yield _Advice("there is no web/board.js: browsers show words without a board")
        return
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        yield _Advice("web/board.js was not checked: no Chromium was found on the PATH")
        return
    with tempfile.TemporaryDirectory(prefix="deadheat-game-", ignore_cleanup_errors=True) as work:
        file = Path(work) / "match.html"
        save(file, match_page(Looked(game.rules.name, match)))
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work}/profile"]
        command += ["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", file.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BROWSER_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            yield f"the browser has not drawn web/board.js within {BROWSER_SECONDS} s"
            return
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    for line in errors[:3]:
        yield f"the browser complains: {line.partition('] ')[2][:200]}"
    _, _, shown = done.stdout.partition(f'data-board="{game.rules.name}"')
    _, stage, drawn = shown.partition('data-part="stage">')
    if not stage or drawn.startswith("</div>"):
        yield "web/board.js drew nothing"


def names(game: GameFolder, folder: Path) -> Iterator[str]:
    """Check that the house bots named in the folder exist, and that its pictures can be read."""
    bots = house_bots(game.rules.name)
    adviser = ADVISERS.get(game.rules.name)
    named = [("the panel", bot) for bot in game.panel] + ([("advice.py", adviser.bot)] if adviser else [])
    for who, bot in named:
        if bot not in bots:
            yield f"{who} names the house bot {bot}, which is not in bots"
    for picture in sorted((folder / "web").glob("*.svg")):
        try:
            ET.fromstring(picture.read_bytes())  # noqa: S314  the operator's own file
        except ET.ParseError as error:
            yield f"web/{picture.name} is not an SVG picture: {error}"


def tournament(game: GameFolder, folder: Path) -> Iterator[str]:
    """Let the house bots play a seeded tournament as programs: no faults, none below random, and one above it."""
    bots = house_bots(game.rules.name)
    seats = game.rules.seats.start
    if len(bots) < seats:
        yield f"bots holds {len(bots)} of the {seats} bots that a match needs: write one that is stronger than random"
        return
    tables = comb(len(bots), seats)
    with tempfile.TemporaryDirectory(prefix="deadheat-game-", ignore_cleanup_errors=True) as work:
        command = [sys.executable, "-m", "deadheat.cli.main", "tournament", game.rules.name]
        command += [f"{HOUSE}{bot}" for bot in bots]
        command += ["--games", str(max(FEWEST, GAMES // tables)), "--seed", "check", "--sandbox", "local"]
        command += ["--keep", "none", "--folder", f"{work}/results", "--json"]
        around = {**os.environ, SETTING: str(folder.absolute()), "DEADHEAT_LOCK_DIR": work}
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=around) as running:
            try:
                output, errors = running.communicate(timeout=TOURNAMENT_SECONDS)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)  # interrupt it; the games played so far count
                output, errors = running.communicate()
    games = [played for played in map(json.loads, output.splitlines()) if "players" in played]
    for played in games:
        played["players"] = [player.removeprefix(HOUSE) for player in played["players"]]
    if not games:
        yield f"the house bots have played no game within {TOURNAMENT_SECONDS} s: {errors.strip()[-600:]}"
        return
    faults = Counter((played["players"][each["seat"]], each["fault"]) for played in games for each in played["faults"])
    for (bot, fault), count in sorted(faults.items()):
        yield f"the house bot {bot} commits the fault {fault} in {count} of {len(games)} games"
    yield from _order(games, [bot for bot in bots if bot != RANDOM])


def _order(games: Sequence[Mapping[str, Any]], bots: Sequence[str]) -> Iterator[str]:
    """Compare each bot with random: its share of their games, and twice the standard error of that share."""
    stronger = False
    for bot in bots:
        ranks = [dict(zip(game["players"], game["ranks"], strict=True)) for game in games]
        both = [(rank[bot], rank[RANDOM]) for rank in ranks if bot in rank and RANDOM in rank]
        if not both:
            yield f"{bot} has not met random within {TOURNAMENT_SECONDS} s: it is too slow to be a house bot"
            continue
        share = sum((mine < theirs) + (mine == theirs) / 2 for mine, theirs in both) / len(both)
        error = 1 / sqrt(len(both))
        stronger |= share - error >= 0.5
        if share + error < 0.5:
            yield f"the house bot {bot} is weaker than random: it takes {share:.0%} of {len(both)} games"
    if not stronger:
        yield f"no house bot is clearly stronger than random in {len(games)} games: write one"


def _crash(error: Exception) -> str:
    """Name the exception that a module of the game raised, and its place in the folder."""
    trace = error.__traceback__
    where = ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if "deadheat" not in file.parts or "games" in file.parts:
            where = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"it raises {type(error).__name__}: {error}{f' ({where})' if where else ''}"


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
            complaints.append(_crash(error))
        grave = any(not isinstance(each, _Advice) for each in complaints)
        failed |= grave
        answer = {"part": part, "right": not grave, "complaints": complaints}
        yield Output(answer, _lines(part, complaints, grave, time.monotonic() - began))
        if grave and part == "rules":
            break  # every other part depends on the rules
    answer = {"game": game.rules.name, "right": not failed}
    verdict = "something must be fixed" if failed else "all in order"
    yield Output(answer, f"{game.rules.title}: {verdict}.", REFUSED if failed else 0)


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
    yield "scenes", lambda: scenes(game, matches)
    yield "terminal", lambda: _terminal(game, matches)
    yield "browser", lambda: _browser(game, folder, matches[0])
    yield "forms", lambda: _forms(game, folder, matches[:1])
    yield "training", lambda: _training(game)
    yield "protocol", lambda: _protocol(game, folder)
    yield "translations", lambda: translations(game, matches[0])
    yield "names", lambda: names(game, folder)
    yield "bots", lambda: tournament(game, folder)


def _lines(part: str, complaints: list[str], grave: bool, seconds: float) -> Iterator[Text]:
    mark, style = ("wrong", "red") if grave else ("right", "green")
    yield Text.assemble((f"{mark:6}", style), f" {part}, {seconds:.1f} s")
    for each, times in Counter(complaints).items():
        lead = "advice: " if isinstance(each, _Advice) else ""
        yield harmless(f"       {lead}{each}{f' ({times} times)' if times > 1 else ''}")


LETTER = re.compile(r"%\(\w+\)s|[A-Za-z]")
PROSE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")


def translations(game: GameFolder, match: Transcript) -> Iterator[str]:
    """Look for texts that a reader of another language sees in English, which is advice, and for wrong translations."""
    with reading(_Unreadable()):
        scenes = document(match, [str(seat) for seat in range(match.seats)])["scenes"]
    untold = [scene["words"] for scene in scenes if PROSE.search(scene["words"])]
    if untold:
        yield _Advice(f"every reader sees this in English: {untold[0]!r}; look texts up with `_`")
    try:
        from deadheat.league.locale import LANGUAGES, place
        from deadheat.league.locale.messages import PLACEHOLDER, of_game
    except ImportError:
        yield _Advice("translations were not checked: deadheat[server] is not installed")
        return
    texts = {text if isinstance(text, str) else text[0] for text in of_game(game)}
    for language in LANGUAGES.keys() - {"en"}:
        path = game.translations(language)
        own = _translated(path, language) if path.is_file() else {}
        missing = sorted(texts - own.keys() - _translated(place(language), language).keys())
        where = path.relative_to(game.path)
        if missing and not path.is_file():
            count = len(missing)
            yield _Advice(f"there is no {where}: {count} texts are in English for readers of {LANGUAGES[language]}")
            continue
        yield from (_Advice(f"{where} has no translation of {text!r}") for text in missing)
        for text, translated in own.items():
            if sorted(PLACEHOLDER.findall(text)) != sorted(PLACEHOLDER.findall(translated)):
                yield f"{where} translates {text!r} with different placeholders"


class _Unreadable(NullTranslations):
    """A language whose words have no letters, so any text with letters was not looked up."""

    def gettext(self, message: str) -> str:
        return LETTER.sub(lambda match: match[0] if len(match[0]) > 1 else "-", message)

    def ngettext(self, singular: str, plural: str, count: int) -> str:
        return self.gettext(singular if count == 1 else plural)


def _translated(path: Path, language: str) -> dict[str, str]:
    """Return a catalogue's translated messages. For those with a count, return the first form and its translation."""
    from deadheat.league.locale import read

    texts = {}
    for message in read(path, language):
        text, translated = (each if isinstance(each, str) else each[0] for each in (message.id, message.string or ""))
        if text and translated and not message.fuzzy:
            texts[text] = translated
    return texts
