"""The lines of long tables: of a leaderboard, a season's participants and a bot's opponents. With templates they took
four times as long, a third of a page's cost.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from deadheat.api.pages.pictures.charts import Trend, fault_bar, interval, result_bar, spark, trend_line
from deadheat.api.pages.render import author_link, bot_link, elo, number, places, share, shown
from deadheat.engine.figures import Bar, counted
from deadheat.engine.language import _, gettext
from deadheat.league.records.entries import Entry
from deadheat.league.service.views.careers import Opponent

Row = Mapping[str, Any]


def line(
    season_id: int, row: Row, bar: Bar, way: Trend | None, times: Row | None, lead: int | None, second: bool
) -> Markup:
    """Return the line of a bot. `times`: its response times, if any; `lead`: how many wrong results its lead over the
    next survives, if that is known; `second`: whether the table has a column for the second model's ratings, instead of
    one for leads.
    """
    author = _text(row["author"])
    team = _note(_text(row["team"])) if row["team"] else ""
    spread = _note(f"± {elo((row['high'] - row['low']) / 2)}")
    return _line(
        f'<td class="number">{_rank(row)}</td><td class="number strong">{places(row)}</td>',
        f'<th scope="row"><a href="/bots/{row["bot_id"]}">{_text(row["bot"])}</a>{_note(_version(row))}</th>',
        f'<td class="author"><a href="/authors/{quote(row["author"])}">{author}</a>{team}</td>',
        f'<td class="number strong" data-elo>{elo(row["elo"])}</td>',
        f'<td class="interval">{interval(row, bar)}{spread}</td>',
        f'<td class="number">{elo(row["plackett_luce"]) if second else "" if lead is None else lead}</td>',
        f"<td>{trend_line(way) if way else ''}</td>",
        *_results(season_id, row),
        f"<td>{spark(times['bars'], times['p99']) if times else ''}</td>",
    )


def entered(entry: Entry, row: Row | None) -> Markup:
    """Return the line of a participant. `row`: its row of the ranking, if it has a place."""
    takes_part = gettext(entry.absence.value) if entry.absence else _("rests") if entry.rests else _("yes")
    return _line(
        f'<th scope="row">{bot_link(entry.bot_id, entry.bot)}{_note(f"v{entry.version}")}</th>',
        f"<td>{author_link(entry.author)}</td><td>{_text(entry.team or '')}</td>",
        f'<td class="number">{_rank(row) if row else ""}</td>',
        f"<td>{escape(takes_part)}</td>",
    )


def met(bot_id: int, other: Opponent) -> Markup:
    matches = counted(other.matches, "match", "matches")
    about = escape(_("%(matches)s against %(bot)s", matches=matches, bot=shown(other.bot)))
    path = f"/bots/{bot_id}/matches?opponent={other.bot_id}"
    return _line(
        f'<th scope="row">{bot_link(other.bot_id, other.bot)}</th><td>{author_link(other.author)}</td>',
        f'<td class="number"><a href="{path}" aria-label="{about}">{other.matches}</a></td>',
        *(f'<td class="number">{count}</td>' for count in (other.won, other.drawn, other.lost)),
        f'<td class="number">{other.won + other.drawn / 2:g}</td>',
        f"<td>{100 * other.share:.0f} %{result_bar(other.won, other.drawn, other.lost)}</td>",
    )


def _line(*cells: str) -> Markup:
    return Markup(f"<tr>{''.join(cells)}</tr>\n")  # noqa: S704  in the cells, what people wrote is escaped


def _text(value: object) -> Markup:
    return escape(shown(value))


def _note(text: str) -> str:
    return f' <span class="note">{text}</span>'


def _rank(row: Row) -> str:
    if row["rank"] is None:
        return f'<abbr title="{escape(_("no game that counts yet"))}">\N{EN DASH}</abbr>'
    return f"{row['rank']}{'=' if row['tied'] else ''}"


def _version(row: Row) -> str:
    finalist = f" · {escape(_('finalist'))}" if row["finalist"] else ""
    return f"v{row['version']} {_text(row['language'])}{finalist}"


def _results(season_id: int, row: Row) -> Iterator[str]:
    games, faults = row["games"], row["timeouts"] + row["other_faults"]
    before = _note(escape(_("of %(count)s", count=number(row["bot_games"])))) if row["bot_games"] > games else ""
    yield f'<td class="number">{number(games)}{before}</td>'
    ways = (row["wins"], row["draws"], row["losses"])
    yield f"<td>{' / '.join(map(str, ways))}{result_bar(*ways) if games else ''}</td>"
    if faults:
        of_all = (
            f"{_note(share(faults, row['finished']))}{fault_bar(row)}" if "finished" in row else ""
        )  # old rankings: unknown
        text = f"{row['timeouts']} + {row['other_faults']}</a>{of_all}"
        yield f'<td><a class="fault" href="/bots/{row["bot_id"]}?season={season_id}#faults">{text}</td>'
    else:
        yield "<td>0</td>"
