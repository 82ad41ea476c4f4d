"""The matches ahead of a bot's next result in a season, and an estimate of the wait.

Theory of operation
-------------------
Machines play for every season, and a series hands in its results only when all of it is over. So the matches ahead of a
bot are those of all series before its first one, in the order in which workers take them, by which seasons take turns
(`league.service.series.turns`), and then its own series. The estimate is a plain quotient: those series, each at its
season's pace in the last hour (`league.service.series.pace`), divided by the number of series in progress, each assumed
to be half over. It foresees no change, such as machines that start or stop, or series let in ahead. There is no
estimate if nothing is being played, or if too few series of a season ahead have ended within the last hour.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, or_, select

from deadheat.engine.figures import counted
from deadheat.engine.language import N_, _, gettext, ngettext
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.records.entries import Entry as EntryInfo
from deadheat.league.records.entries import Waiting
from deadheat.league.service.duels.views import is_at_panel
from deadheat.league.service.seasons.entries import entry_info
from deadheat.league.service.series.capacity import pace
from deadheat.league.service.series.games import HOLDING_SEASONS
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.service.series.turns import in_turns_of_seasons
from deadheat.league.service.views.stoppage import stopped
from deadheat.league.states import ENTERABLE, ON_LADDER, UNFINISHED, JobState, MatchState
from deadheat.league.tables import BotVersion, Match, Participant, Season, Series

LATELY = timedelta(hours=1)
"""The pace is measured on series that ended within this time."""

MOST_AHEAD = 5000
"""The most series ahead that are examined; a longer queue counts as endless."""

NOT_LATELY = N_("The wait is unknown: too few series have ended in the last hour.")
AT_PANEL = N_("It plays the season's panel first, and its next match there is drawn in a moment.")
NOTHING_PLAYED = N_("The wait is unknown: no machine is playing at the moment.")


def waiting(session: Session, season_id: int, bot_id: int, version: int | None = None) -> Waiting:
    """Describe a bot's wait for its next result. Raises NotFound: it is not in that season, or has no such version."""
    entry = entry_info(session, season_id, bot_id)
    season = session.get_one(Season, season_id)
    statement = OWN
    if version is not None:
        known = select(BotVersion.id).where(BotVersion.bot_id == bot_id, BotVersion.number == version)
        version_id = session.exec(known).first()
        if version_id is None:
            raise NotFound("version", version)
        statement = statement.where(Participant.version_id == version_id)
    own = set(session.connection().execute(statement, {"season": season_id, "bot": bot_id}).scalars())
    unfinished: Sequence[Any] = session.connection().execute(LEFT).all()
    played = [series for series in unfinished if series.state is JobState.RUNNING]
    queued = in_turns_of_seasons(session, [series for series in unfinished if series.state is not JobState.RUNNING])
    playing = [series for series in played if series.id in own]
    waits = [series for series in queued if series.id in own]
    ahead = queued[: queued.index(waits[0])] if waits else queued
    before = _matches(ahead)
    if playing or waits:
        seconds = _seconds(session, playing or waits[:1], ahead, played)
        stop = stopped(session)
        expected = "" if stop and seconds is None else _expected(seconds, bool(played))
        sentence = " ".join(filter(None, (_place(_matches(playing), _matches(waits), before), expected, stop)))
        return Waiting(_matches(playing), _matches(waits), before, seconds, over=False, sentence=sentence)
    at_panel = is_at_panel(session, season_id, bot_id, version)
    why_not = "" if at_panel else _no_more(season, entry, version)
    coming = gettext(season.state.holds or AT_PANEL) if at_panel else _undrawn(season, before)
    return Waiting(0, 0, before, None, why_not != "", why_not or coming)


OWN = (
    select(Match.series_id)
    .join(Participant, col(Participant.match_id) == Match.id)
    .where(Match.season_id == bindparam("season"), Match.state == MatchState.SCHEDULED)
    .where(Participant.bot_id == bindparam("bot"))
    .where(col(Participant.finished_at).is_(None), PLANNED)  # implied, and has an index
    .distinct()
)

LEFT = (
    columns(
        *(getattr(Series, name) for name in ("id", "season_id", "state", "started_at", "queued_at", "precedence")),
        func.count(col(Match.id)).label("matches"),
    )
    .join_from(Series, Match, col(Match.series_id) == Series.id)
    .where(col(Series.state).in_(UNFINISHED), col(Match.state) == MatchState.SCHEDULED, PLANNED)
    .where(or_(col(Series.state) == JobState.RUNNING, col(Series.season_id).not_in(HOLDING_SEASONS)))
    .group_by(col(Series.id))
    .order_by(col(Series.queued_at), col(Series.id))
    .limit(MOST_AHEAD)
)
"""The series of all seasons that machines play or may take, with the number of matches left in each. Those that an
author asked for are left out, because they seldom come first and may be private."""


def _matches(series: Sequence[Row[Any]]) -> int:
    return sum(one.matches for one in series)


def _seconds(
    session: Session, own: Sequence[Row[Any]], ahead: Sequence[Row[Any]], played: Sequence[Row[Any]]
) -> int | None:
    """Return the seconds until the first series of `own` ends. They are being played, or it follows `ahead` and
    `played`.
    """
    if not played:
        return None
    at, is_played = now(session), own[0].state is JobState.RUNNING
    wanted = own if is_played else [own[0], *ahead, *played]
    paces = {one: pace(session, one, len(played), at - LATELY) for one in {series.season_id for series in wanted}}
    if not all(found.series for found in paces.values()):
        return None
    took = {series.id: paces[series.season_id].seconds(series.matches) for series in wanted}
    if is_played:
        left: float = min(took[one.id] - (at - one.started_at).total_seconds() for one in own)
        return max(0, round(left))
    work: float = sum(took[one.id] for one in ahead) + sum(took[one.id] / 2 for one in played)
    return round(work / len(played) + took[own[0].id])


def _place(playing: int, planned: int, before: int) -> str:
    if playing:
        now_playing = ngettext(
            "%(count)s of its matches is being played now.", "%(count)s of its matches are being played now.", playing
        )
        return now_playing % {"count": f"{playing:,}"}
    matches = ngettext("%(count)s of its matches is waiting", "%(count)s of its matches are waiting", planned)
    wait = matches % {"count": f"{planned:,}"}
    if not before:
        return _("%(wait)s; nothing is ahead of it.", wait=wait)
    return _("%(wait)s, after %(others)s of other bots.", wait=wait, others=counted(before, "match", "matches"))


def _expected(seconds: int | None, something_played: bool) -> str:
    if seconds is None:
        return gettext(NOT_LATELY if something_played else NOTHING_PLAYED)
    if seconds < 10:
        return _("At the pace of the last hour, its next result is due at any moment.")
    minutes = round(seconds / 60)
    about = _("%(seconds)s s", seconds=seconds) if seconds < 120 else _("%(minutes)s min", minutes=minutes)
    return _("At the pace of the last hour, its next result comes in about %(time)s.", time=about)


def _no_more(season: Season, entry: EntryInfo, version: int | None) -> str:
    """Return the reason why no further result comes by itself, or "" if one may come."""
    if not season.state.goes_on:
        return _("The season is closed, so nothing more is played.")
    if entry.absence is not None:
        return _("It is %(state)s in this season: it gets no more matches.", state=gettext(entry.absence.value))
    if entry.waits_for_panel:
        return _("It has too few points against the season's panel, so it gets no matches.")
    if version is not None and version not in (entry.version, entry.challenger):
        text = _("Version %(version)s gets no more matches: version %(other)s plays in this season.")
        return text % {"version": version, "other": entry.version}
    if entry.rests:
        return _("It is resting, so no more matches are drawn for it: %(why)s", why=entry.rests)
    return ""


def _undrawn(season: Season, before: int) -> str:
    """Describe a bot that takes part and has no match waiting."""
    if season.state.holds:
        return gettext(season.state.holds)
    if season.state in ON_LADDER and not season.ladder:
        return _("It has no matches at present: only evaluations and finals are played in this season.")
    if before:
        text = ngettext(
            "It has no match waiting. %(count)s match of other bots is waiting; more are drawn once it is played.",
            "It has no match waiting. %(count)s matches of other bots are waiting; more are drawn as these are played.",
            before,
        )
        return text % {"count": f"{before:,}"}
    if season.state in ON_LADDER and season.settled_until is not None:
        return _("It has no match waiting: the order is settled, so the ladder plays a series every ten minutes.")
    if season.state not in ENTERABLE:
        return _("It has no matches at present.")
    return _("It has no matches at present; more follow when a bot or a version arrives.")
