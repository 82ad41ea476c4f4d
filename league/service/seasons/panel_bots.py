"""The bots of a season's panel, and the points that may be required against it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlmodel import Session, col, select

from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.language import _
from deadheat.league.errors import BadSetting
from deadheat.league.service.bots.bots import is_active
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.seasons.admission import newest_ready
from deadheat.league.tables import Bot, Entry, Season, Team, User


def panel_faults(session: Session, season: Season) -> Iterator[BadSetting]:
    """Yield the reasons why a season cannot have this panel."""
    if not season.panel:
        if season.panel_minimum is not None:
            yield BadSetting("panel_minimum", _("without a panel there are no points"))
        return
    if GAMES[season.game].seats.start > 2:
        yield BadSetting("panel", _("%(game)s cannot be played by two bots", game=season.game))
    unknown = [name for name in season.panel if _named(session, season.game, name) is None]
    if unknown:
        names = ", ".join(unknown)
        house = [name.removeprefix("house/") for name in unknown if name.startswith("house/")]
        command = f"deadheat user house {season.game} {' '.join(house)}"
        yield BadSetting(
            "panel",
            _("there is no bot %(names)s in %(game)s; write AUTHOR/BOT or TEAM/BOT", names=names, game=season.game)
            + (_("; on the server, `%(command)s` uploads house bots", command=command) if house else ""),
        )
    most = season.panel_games * len(season.panel)
    if season.panel_minimum is not None and season.panel_minimum > most:
        said = _("there are only %(points)s against this panel", points=counted(most, "point"))
        yield BadSetting("panel_minimum", said)


def points_needed(season: Season, opponents: int) -> float | None:
    """Return the points needed against that many of the panel's bots, or None without a minimum."""
    if season.panel_minimum is None:
        return None
    return season.panel_minimum * opponents / len(season.panel or ())


def panel_bots(session: Session, season: Season) -> dict[int, int | None]:
    """Return the bots of the panel, each with the version that plays for it (in this season, or else its newest), or
    None if it is retired or has no version.
    """
    found: dict[int, int | None] = {}
    for name in season.panel or ():
        bot = _named(session, season.game, name)
        if bot is None:
            continue
        here = select(Entry.version_id).where(Entry.bot_id == bot.id, taking_part(season.id))
        version_id = session.exec(here).first()
        if not is_active(session, bot):
            version_id = None
        elif version_id is None:
            newest = newest_ready(session, bot.id, None)
            version_id = None if newest is None else newest.id
        found[bot.id] = version_id
    return found


def _named(session: Session, game: str, name: str) -> Bot | None:
    """Return the bot of a game with this owner, an author or a team, and this name."""
    owner, _, bot = name.lower().partition("/")
    of_name = select(Bot).where(Bot.game == game, Bot.name_key == bot)
    by_team = of_name.join(Team, col(Team.id) == Bot.team_id).where(Team.name_key == owner)
    by_author = of_name.join(User, col(User.id) == Bot.owner_id).where(User.name_key == owner)
    return session.exec(by_team).first() or session.exec(by_author).first()
