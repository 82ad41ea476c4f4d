"""Renders pages: templates, their filters, and pages kept as bytes.

A page that many people request is rendered at most once a second. Input from strangers passes the templates' escaping
and, if it may contain control or direction marks, the filter `shown`.
"""

import contextlib
import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import to_thread
from fastapi import Request, Response
from fastapi.templating import Jinja2Templates
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape

from deadheat.api.edge.caching import answer
from deadheat.api.pages.pictures.charts import FILTERS
from deadheat.api.services import SITE, Body, Services
from deadheat.engine.core import NS_PER_MS, Fault, Points
from deadheat.engine.figures import STORED, counted, duration, limit, points, seat_number, signed, span, visible
from deadheat.engine.games import GAMES, variants
from deadheat.engine.games.folder import folders, web_address
from deadheat.engine.language import _, gettext, language, ngettext
from deadheat.engine.scenes import DIRECTORS
from deadheat.engine.verdicts import place
from deadheat.league.causes import explained
from deadheat.league.locale import LANGUAGES
from deadheat.league.locale.messages import of_script
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.records.seasons import Season
from deadheat.league.service.seasons.seasons import COUNTED
from deadheat.league.states import FIXED, ON_LADDER, either

_Item = TypeVar("_Item")

MAX_SHOWN = 300


@cache
def templates() -> Jinja2Templates:
    """Return the site's templates, compiled once per process. An undefined name in one is an error, not empty text."""
    own = {"games": PrefixLoader({name: FileSystemLoader(game.path) for name, game in folders().items()})}
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(SITE / "templates"), PrefixLoader(own)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    # The extension adds this method:
    environment.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.globals |= {"_": translated, "gettext": translated, "FIXED": FIXED, "ON_LADDER": ON_LADDER}
    environment.globals |= {"LANGUAGES": LANGUAGES, **_named(language, script_messages, in_words, either)}
    environment.globals |= _named(bot_link, author_link)
    lines = partial(visible, kept="\n\t")
    environment.filters |= {
        "cause": explained,
        "instant": moment,
        "lines": lines,
        "points": grouped_points,
        "word": gettext,
    }
    environment.filters |= _named(
        counted, declared, difference, differences, duration, elo, figure, game_file, game_picture
    )
    environment.filters |= _named(game_style, game_title, limit, minus, ms, number, outcome, paragraph, places, players)
    environment.filters |= _named(seat_number, share, shown, signed, size, to_come, *FILTERS)
    return Jinja2Templates(env=environment)


def _named(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    return {function.__name__: function for function in functions}


def translated(message: str, /, **values: object) -> Markup:
    """Translate a message and insert the escaped values, in a third of the time of the extension's own function."""
    text = gettext(message) % {name: escape(value) for name, value in values.items()}
    return Markup(text)  # noqa: S704  what is inserted was escaped


def everyones(make: Callable[..., str], media_type: str = "text/html") -> Callable[..., Awaitable[Response]]:
    """Turn a function that renders the same page for everyone into a route. The function is called at most once a
    second for the same arguments and language, and the answer is 304 if the client has the page.
    """

    async def route(*, shared: Services, request: Request, **chosen: Any) -> Response:
        key = (make, language(), *chosen.values())
        body = shared.bodies.fresh(key)
        if body is None:
            content = (await to_thread.run_sync(partial(make, shared, **chosen), limiter=shared.showing)).encode()
            digest = hashlib.sha256(content).hexdigest()[:32]
            body = shared.bodies.current(key, digest) or shared.bodies.keep(
                key, Body(digest, f'"{digest}"', content, media_type)
            )
        shared.bodies.remember(request.scope, key)
        return answer(request, body)

    own = inspect.signature(make, eval_str=True).parameters.values()
    parameter = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    route.__signature__ = inspect.Signature([*own, parameter])  # type: ignore[attr-defined]
    return route


def render(shared: Services, name: str, **values: Any) -> str:
    return shared.pages.get_template(name).render(**values)


ROWS = 50


def first_of(
    items: Sequence[_Item], count: int, number: Callable[[Any], int] = attrgetter("id")
) -> tuple[Sequence[_Item], int | None]:
    """Return the first items of a list that was requested with one more, and the number before which the page of older
    items begins, or None if there are none.
    """
    return items[:count], number(items[count - 1]) if len(items) > count else None


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """Return text with control and direction marks spelled out, limited in length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    cut = text[:limit] + ("..." if len(text) > limit else "")
    return visible(cut, "")


def bot_link(bot_id: int, name: str) -> Markup:
    """Return a bot's name as a link to its page. A macro takes five times as long."""
    return Markup(f'<a href="/bots/{bot_id}">{escape(shown(name))}</a>')  # noqa: S704  the name is escaped


def author_link(name: str) -> Markup:
    return Markup(f'<a href="/authors/{quote(name)}">{escape(shown(name))}</a>')  # noqa: S704  quoted, and escaped


def paragraph(text: str, limit: int = 4000) -> str:
    return "\n".join(shown(line, limit) for line in text[:limit].splitlines())


def ms(nanoseconds: float) -> str:
    """Format nanoseconds as milliseconds with about three digits."""
    value = nanoseconds / NS_PER_MS
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def moment(at: datetime) -> Markup:
    """Format an instant as an element: UTC to the minute, which `times.js` converts to the reader's own time."""
    return Markup(f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{at:%Y-%m-%d %H:%M} UTC</time>')  # noqa: S704  figures only


def number(value: int) -> str:
    return f"{value:,}"


def to_come(matches: int) -> str:
    """Format the number of matches to come, as counted by `season_waiting`."""
    return f"{number(COUNTED)}+" if matches > COUNTED else str(matches)


def figure(value: float) -> str:
    """Format a measured figure with about three digits and separated thousands."""
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def grouped_points(value: Points | str) -> str:
    """Format points with separated thousands. Text that is not a number stays unchanged."""
    whole, dot, rest = points(value).partition(".")
    return minus(
        f"{int(whole):,}{dot}{rest}" if whole.removeprefix("-").isdecimal() and whole != "-0" else whole + dot + rest
    )


def minus(figure: str) -> str:
    return f"\N{MINUS SIGN}{figure[1:]}" if figure.startswith("-") else figure


def outcome(match: Match, seat: SeatView) -> str:
    ranks = [other.rank for other in match.seats if other.rank is not None]
    return place(ranks, seat.seat) if len(ranks) == len(match.seats) else ""


def difference(match: Match, seat: SeatView) -> str:
    """Return the points by which a seat was ahead of the only other one; empty with more seats or without points."""
    others = [other.points for other in match.seats if other.seat != seat.seat]
    scores = [Fraction(each) for each in (seat.points, *others) if each is not None and STORED.fullmatch(each)]
    return minus(signed(float(scores[0] - scores[1]))) if len(scores) == len(match.seats) == 2 else ""


def game_title(name: str) -> str:
    """Return a game's title, or its name if this server does not (or no longer) have the game."""
    return gettext(GAMES[name].title) if name in GAMES else name


def differences(season: Season) -> list[str]:
    """Return where the season's game differs from its rules, in the reader's language."""
    try:
        return variants.differences(variants.rules(season.game, season.variant))
    except (KeyError, variants.BadVariant):  # the game or its bounds are unknown here
        return list(season.variant or ())


@cache
def game_picture(name: str) -> str:
    return game_file(name, "picture.svg") or "/static/any-game.svg"


def game_file(name: str, file: str) -> str:
    """Return the address of one of a game's files for browsers, or "" if the game has no such file."""
    return (web_address(name, file) if name in GAMES else None) or ""


def game_style(name: str) -> Markup:
    """Return the style sheet of the game's board, if it has one."""
    address = game_file(name, "board.css")
    return Markup('<link rel="stylesheet" href="{}">').format(address) if address else Markup()


def declared(value: object) -> str:
    """Return a value as a season's file spells it, and a list as its items."""
    if isinstance(value, list):
        return shown(", ".join(map(str, value)), 2000) or _("none")
    return _("none") if value is None else shown(value).lower() if isinstance(value, bool) else shown(str(value))


def players(seats: range) -> str:
    """Return how many people play a game: "2 players", "3 to 6 players"."""
    return _("%(count)s players", count=span(seats))


@cache
def said_by_scripts() -> tuple[str, ...]:
    """Return the messages of the site's scripts: those that they `say`, and the words in documents of matches."""
    paths = [
        *(SITE / "static").glob("*.js"),
        *(path for game in folders().values() for path in game.path.glob("web/*.js")),
    ]
    messages = {message for path in paths for message in of_script(path)}
    return tuple(sorted(messages | {fault.value for fault in Fault} | set(_figures())))


def _figures() -> Iterator[str]:
    """Yield the names of the figures in the charts of matches."""
    for game in DIRECTORS:
        with contextlib.suppress(Exception):  # if one game's scenes fail, others are still shown
            yield DIRECTORS[game].figure


def in_words() -> str:
    """Return the query that requests a viewer's document in the reader's language."""
    return "" if language() == "en" else f"?language={language()}"


def script_messages() -> Markup:
    """Return the scripts' messages in the reader's language, for `say.js`."""
    text = json.dumps({message: gettext(message) for message in said_by_scripts()}, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  no element can begin in it


def elo(value: float) -> str:
    """Format a rating in whole Elo, because further digits would pretend to precision."""
    return f"{value:.0f}"


def size(count_bytes: int) -> str:
    """Format bytes in the largest binary unit that gives at least one, to a tenth."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count_bytes >= 1 << power:
            return f"{round(count_bytes / (1 << power), 1):g} {unit}"
    return _("%(count)s bytes", count=count_bytes)


def places(row: Mapping[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    if low is None:
        return "\u2013"
    return f"{low}\u2013{high}" if low < high else f"{low}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
