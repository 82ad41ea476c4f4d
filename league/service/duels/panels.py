"""The panel: a season's sample bots, which each version plays as soon as it arrives.

Theory of operation
-------------------
A version arrives when it is ready and its bot is entered. It then plays every bot of the season's panel, both sides in
turn, before anything else is played (`league.service.series.turns`). Such matches are never rated. Each opponent is a
duel; a `PanelRun` holds them together, with the terms of that moment: who is in the panel, how many games, and how many
points are needed. Later changes by an organiser apply to later arrivals.

With a minimum, a version plays for its entry only when it has the points. Until then the entry keeps its previous
version; an entry without one is stored, but no matches are drawn for it (`Entry.waits_for_panel`). An entry that
follows its bot takes the newest version with the points; otherwise its author chooses one by number, also in advance.

* One version of an entry is played at a time: the one chosen by number, or else the newest. The waiting series of an
  older one are dropped; it continues from its results when the newer one is done.
* Matches that the service fails to play, or an organiser voids, are replayed, and a held match keeps the panel open.
* Results stay with the program: another upload of the same program begins with its games.
* A bot of the panel that is retired, or has no version to play, is left out, and the minimum is less in proportion.
  A bot of the panel that enters the season plays the others, and needs no points.
* A version that arrived before the freeze is played to the end and may take over after it. The finals, or the close,
  end unfinished runs without a verdict.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.errors import BadSetting
from deadheat.league.pairing.duel import Duel
from deadheat.league.ratings import Games, Log, Prior, RatingConfig, log_of, performances
from deadheat.league.service.bots.bots import is_active
from deadheat.league.service.duels.counting import Kind, end_duel, new_duel, same_program
from deadheat.league.service.duels.gates import choose_version
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import move, set_values, touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.seasons.admission import newest_ready
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import ENTERABLE, ChallengeState
from deadheat.league.tables import Bot, BotVersion, Challenge, Entry, PanelRun, Season, Series, Team, User

log = logging.getLogger(__name__)


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


def _named(session: Session, game: str, name: str) -> Bot | None:
    """Return the bot of a game with this owner, an author or a team, and this name."""
    owner, _, bot = name.lower().partition("/")
    of_name = select(Bot).where(Bot.game == game, Bot.name_key == bot)
    by_team = of_name.join(Team, col(Team.id) == Bot.team_id).where(Team.name_key == owner)
    by_author = of_name.join(User, col(User.id) == Bot.owner_id).where(User.name_key == owner)
    return session.exec(by_team).first() or session.exec(by_author).first()


# Arriving -----------------------------------------------------------------------------------------------------------


def arrive(session: Session, season: Season, entry: Entry, version: BotVersion) -> PanelRun | None:
    """Have a version of the entry play the panel, unless it already has on the present terms. Return None without a
    panel. The caller has locked the season, which accepts versions.
    """
    if not season.panel:
        return None
    newest = select(PanelRun).where(PanelRun.season_id == season.id, PanelRun.version_id == version.id)
    run = session.exec(newest.order_by(col(PanelRun.id).desc()).limit(1)).first()
    if run is None or run.state is ChallengeState.ENDED or _is_outdated(session, season, run):
        return _begin(session, season, entry, version)
    return run


def has_points(run: PanelRun | None) -> bool:
    """Say whether a version may play for its entry. `run`: the result of `arrive`."""
    return run is None or run.minimum is None or run.state is ChallengeState.PASSED


def choose_in_advance(session: Session, season: Season, entry: Entry, run: PanelRun | None) -> None:
    """Note the author's choice, so that the version plays as soon as it has the points; None removes a choice."""
    set_values(session, PanelRun, col(PanelRun.entry_id) == entry.id, chosen=False)
    if run is not None:
        set_values(session, PanelRun, col(PanelRun.id) == run.id, chosen=True)
    session.expire_all()
    _set_aside_others(session, season, entry)


def without_points(session: Session, season: Season, bot_id: int) -> set[int]:
    """Return the bot's versions that failed under the season's present terms."""
    failed = select(PanelRun).join(BotVersion, col(BotVersion.id) == PanelRun.version_id)
    failed = failed.where(PanelRun.season_id == season.id, BotVersion.bot_id == bot_id)
    newest = {run.version_id: run for run in session.exec(failed.order_by(col(PanelRun.id)))}
    stand = (run for run in newest.values() if run.state is ChallengeState.FAILED)
    return {run.version_id for run in stand if not _is_outdated(session, season, run)}


def _begin(session: Session, season: Season, entry: Entry, version: BotVersion) -> PanelRun:
    assert season.panel, "it has a panel"
    bots, own = _bots(session, season), entry.bot_id
    opponents = [version_id for bot_id, version_id in bots.items() if bot_id != own and version_id is not None]
    run = PanelRun(
        season_id=season.id,
        entry_id=entry.id,
        version_id=version.id,
        panel=season.panel,
        games=season.panel_games,
        minimum=None if own in bots else _points_needed(season, len(opponents)),
        created_at=now(session),
    )
    session.add(run)
    session.flush()
    for opponent in opponents:
        new_duel(session, season, version.id, opponent, Duel(season.panel_games), panel_id=run.id)
    _set_aside_others(session, season, entry)
    return run


def _bots(session: Session, season: Season) -> dict[int, int | None]:
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


def _points_needed(season: Season, opponents: int) -> float | None:
    """Return the points needed against that many of the panel's bots, or None without a minimum."""
    if season.panel_minimum is None:
        return None
    return season.panel_minimum * opponents / len(season.panel or ())


def _is_outdated(session: Session, season: Season, run: PanelRun) -> bool:
    """Say whether a failed version may try again, because the season's requirements have changed since."""
    if run.state is not ChallengeState.FAILED:
        return False
    opponents = session.exec(select(func.count()).where(col(Challenge.panel_id) == run.id)).one()
    return (run.panel, run.games, run.minimum) != (season.panel, season.panel_games, _points_needed(season, opponents))


def _set_aside_others(session: Session, season: Season, entry: Entry) -> None:
    """Drop the waiting series of the entry's other versions, which continue when the version before them is done."""
    running = session.exec(RUNNING.where(PanelRun.entry_id == entry.id), params={"season_id": season.id}).all()
    first = {run.id for run in played_first(running).values()}
    aside = [run.id for run in running if run.id not in first]
    if aside:
        waiting = col(Series.challenge_id).in_(select(Challenge.id).where(col(Challenge.panel_id).in_(aside)))
        detail = "Another version of the bot plays the panel first."
        drop_waiting(session, season.id, Cause.CHALLENGE_OVER, detail, waiting)


# Going on -----------------------------------------------------------------------------------------------------------

RUNNING = (
    select(PanelRun)
    .where(PanelRun.season_id == bindparam("season_id"), PanelRun.state == ChallengeState.RUNNING)
    .order_by(col(PanelRun.id))
)


def played_first(runs: Iterable[PanelRun]) -> dict[int, PanelRun]:
    """Return each entry's running panel to be played now: that of the version chosen by number, or of the newest."""
    found: dict[int, PanelRun] = {}
    for run in runs:
        other = found.setdefault(run.entry_id, run)
        if (run.chosen, run.version_id) > (other.chosen, other.version_id):
            found[run.entry_id] = run
    return found


def runs_to_play(session: Session, season: Season) -> list[PanelRun]:
    """Return the runs to be played now, in the order of arrival. Without a panel end them all; without a minimum let
    every entry play that waits for points.
    """
    if not season.panel:
        end_panels(session, season.id, N_("The season no longer has a panel."))
    if not season.panel or season.panel_minimum is None:
        waiting = {"season_id": season.id, "waits_for_panel": True}
        if set_values(session, Entry, where=waiting, waits_for_panel=False):
            session.expire_all()
            touch_log(session, season.id)
    if not season.panel:
        return []
    here = RUNNING.join(Entry, col(Entry.id) == PanelRun.entry_id).where(taking_part(season.id))
    running = session.exec(here, params={"season_id": season.id})
    return sorted(played_first(running).values(), key=lambda run: run.id)


def opponents(session: Session, run_id: int) -> Sequence[Challenge]:
    """Return the duels of a run."""
    return session.exec(OPPONENTS, params={"run_id": run_id}).all()


OPPONENTS = select(Challenge).where(Challenge.panel_id == bindparam("run_id")).order_by(col(Challenge.id))


def begun(session: Session, season_id: int) -> set[int | None]:
    """Return the runs with planned games."""
    going_on = (Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING)
    at_panel = select(Challenge.panel_id).where(*going_on, Kind.PANEL.condition)
    return set(session.exec(at_panel.where(Challenge.games_planned > 0).distinct()))


def tests(session: Session, run: PanelRun, duels: Sequence[Challenge]) -> dict[int, list[Challenge]]:
    """Return, for each duel of a run, all of this program against that opponent, also as another upload."""
    alike = (Challenge.season_id == run.season_id, Challenge.games_limit == run.games, Kind.PANEL.condition)
    uploads = col(Challenge.candidate_id).in_(same_program(session, run.version_id))
    by_opponent: dict[int, list[Challenge]] = defaultdict(list)
    for row in session.exec(select(Challenge).where(*alike, uploads)):
        by_opponent[row.incumbent_id].append(row)
    return {duel.id: by_opponent[duel.incumbent_id] for duel in duels}


def decide(session: Session, season: Season, run: PanelRun) -> None:
    """End a run whose games are all played. If the version has enough points, let it play for its entry, directly or
    through the entry's gate.
    """
    duels = opponents(session, run.id)
    points = sum(duel.wins + duel.draws / 2 for duel in duels)
    reached = run.minimum is None or points >= run.minimum
    state = ChallengeState.PASSED if reached else ChallengeState.FAILED
    if not _end(session, run, state, "" if duels else N_("No bot of the panel could play."), points):
        return
    notices.panel_played(session, run, run.games * len(duels))
    entry = session.get_one(Entry, run.entry_id)
    newest = entry.follows and (entry.waits_for_panel or run.version_id > entry.version_id)
    if not reached or run.minimum is None or not (run.chosen or newest):
        return
    gated = entry.gate is not None and not run.chosen and not entry.waits_for_panel
    if gated and season.state not in ENTERABLE:  # the gate is closed
        return
    if run.chosen and not entry.waits_for_panel:
        entry.chosen_at = now(session)
    choose_version(session, season, entry, session.get_one(BotVersion, run.version_id), by_gate=not run.chosen)
    touch_log(session, season.id)


def end_panels(session: Session, season_id: int, reason: str) -> None:
    """End all runs against the season's panel without a verdict."""
    for run in session.exec(RUNNING, params={"season_id": season_id}).all():
        _end(session, run, ChallengeState.ENDED, reason)


def _end(session: Session, run: PanelRun, state: ChallengeState, reason: str, points: float | None = None) -> bool:
    """End a run and its duels. Return False if it was over."""
    ended = {"reason": reason, "points": points, "ended_at": now(session)}
    if not move(session, PanelRun, run.id, ChallengeState.RUNNING, state, **ended):
        return False
    session.refresh(run)
    for duel in opponents(session, run.id):
        end_duel(session, duel, ChallengeState.ENDED, reason or "All its games have been played.")
    version = session.get_one(BotVersion, run.version_id)
    data = {"bot": version.bot_id, "version": version.number, "points": points, "minimum": run.minimum}
    record(session, SYSTEM, f"panel-{state.value}", f"season/{run.season_id}", {**data, "reason": reason})
    log.info("panel run %d %s", run.id, state.value)
    return True


# Performance --------------------------------------------------------------------------------------------------------

MOST_RUNS = 200
"""The season's newest runs whose games determine how strong its panel is: more would take longer and change little."""


def log_of_scores(scores: Iterable[tuple[int, int, tuple[int, int, int]]]) -> Log:
    """Return the games of duels as a log of results, without those that both lost by a fault. Each duel consists of
    its two versions and the first one's wins, draws and losses.
    """
    scores = list(scores)
    ids = sorted({version_id for one, other, _ in scores for version_id in (one, other)})
    place = {version_id: number for number, version_id in enumerate(ids)}
    pairs, ranks = [], []
    for one, other, counts in scores:
        for count, placed in zip(counts, ((1, 2), (1, 1), (2, 1)), strict=True):
            pairs += [(place[one], place[other])] * count
            ranks += [placed] * count
    games = Games(np.array(pairs, np.int64).reshape(-1, 2), np.array(ranks, np.int64).reshape(-1, 2))
    return log_of([str(version_id) for version_id in ids], [games])


def estimate(session: Session, season: Season, runs: Collection[PanelRun]) -> None:
    """Compute the performance of these runs from their games and those of the season's newest runs, and store it."""
    newest = select(PanelRun).where(PanelRun.season_id == season.id).order_by(col(PanelRun.id).desc())
    by_version = {run.version_id: run for run in (*session.exec(newest.limit(MOST_RUNS)), *runs)}
    found = select(Challenge).where(col(Challenge.panel_id).in_([run.id for run in by_version.values()]))
    duels = session.exec(found.order_by(col(Challenge.id))).all()
    opponents = {duel.incumbent_id for duel in duels}
    known = _rated_in_season(session, season, opponents)
    games = log_of_scores((row.candidate_id, row.incumbent_id, (row.wins, row.draws, row.losses)) for row in duels)
    estimated = performances(games, RatingConfig(), set(map(str, opponents)), known)
    for run in runs:
        own = estimated.get(str(run.version_id))
        run.elo, run.se = (None, None) if own is None else (own.elo, own.se)
    session.flush()


def _rated_in_season(session: Session, season: Season, version_ids: Collection[int]) -> dict[str, Prior]:
    """Return the ratings of those versions that have played in the season, by its newest ranking."""
    snapshot = newest_ranking(session, season.id)
    if snapshot is None:
        return {}
    rows = [*snapshot.standings["rows"], *snapshot.standings["unranked"]]
    rated = (row for row in rows if row["version_id"] in version_ids and row["games"] > 0)
    return {str(row["version_id"]): Prior(mean_elo=row["elo"], sd_elo=row["se"]) for row in rated}
