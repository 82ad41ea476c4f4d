"""The panel: a season's sample bots, which each version plays as soon as it arrives.

Theory of operation
-------------------
A version arrives when it is ready and its bot is entered. It then plays every bot of the season's panel, unrated and
before anything else is played. Each opponent is a duel; the contest has the terms of that moment, and later changes by
an organiser apply to later arrivals.

With a minimum, a version plays for its entry only when it has the points. Until then the entry keeps its previous
version; an entry without one is stored, but no matches are drawn for it (`Entry.waits_for_panel`). An entry that
follows its bot takes the newest version with the points; otherwise its author chooses one by number, also in advance.

With a test in place of a minimum, all games against the panel together are judged by it, as soon as it has a verdict.
Each bot of the panel plays two games, then all again: the test looks only when every bot has played equally many, so
neither its strong half nor its weak one decides. Such rounds vary less than games drawn by lot, which the test assumes,
so it errs less often than it says. Without a verdict after all games a version has not passed.

* One version of an entry is played at a time: the one chosen by number, or else the newest. The waiting series of an
  older one are dropped; it continues from its results when the newer one is done.
* Matches that the service fails to play, or an organiser voids, are replayed, and a held match keeps the panel open.
* Results stay with the program: another upload of the same program begins with its games.
* A bot of the panel that is retired, or has no version to play, is left out, and the minimum is less in proportion.
  A bot of the panel that enters the season plays the others, and needs no points.
* A version that arrived before the freeze is played to the end and may take over after it. The finals, or the close,
  end unfinished runs without a verdict.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league import sprt
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.errors import BadSetting
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.ratings import Games, Log, Prior, RatingConfig, log_of, performances
from deadheat.league.service.bots.bots import is_active
from deadheat.league.service.contests.life import Progress, end, end_all
from deadheat.league.service.duels import counting
from deadheat.league.service.duels.counting import (
    TESTED,
    Matchup,
    begin_duels,
    duel_of,
    matchups,
    of_program,
    test_terms,
)
from deadheat.league.service.duels.gates import choose_version
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import set_values, touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.seasons.admission import newest_ready
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import ENTERABLE, ContestKind, ContestState
from deadheat.league.tables import Bot, BotVersion, Contest, Entry, Meeting, Season, Series, Team, User
from deadheat.league.words import Outcome


def panel_faults(session: Session, season: Season) -> Iterator[BadSetting]:
    """Yield the reasons why a season cannot have this panel."""
    if not season.panel:
        if season.panel_minimum is not None:
            yield BadSetting("panel_minimum", _("without a panel there are no points"))
        if season.panel_test is not None:
            yield BadSetting("panel_test", _("without a panel there is no test"))
        return
    if season.panel_minimum is not None and season.panel_test is not None:
        yield BadSetting("panel_test", _("either points or a test decides; leave one out"))
    try:
        _test(season)
    except ValueError as error:
        yield BadSetting("panel_test", str(error))
    if GAMES[season.game].seats.start > 2:
        yield BadSetting("panel", _("%(game)s cannot be played by two bots", game=season.game))
    unknown = [name for name in season.panel if bot_named(session, season.game, name) is None]
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
        sentence = _("there are only %(points)s against this panel", points=counted(most, "point"))
        yield BadSetting("panel_minimum", sentence)


def bot_named(session: Session, game: str, name: str) -> Bot | None:
    """Return the bot of a game with this owner, an author or a team, and this name."""
    owner, _, bot = name.lower().partition("/")
    of_name = select(Bot).where(Bot.game == game, Bot.name_key == bot)
    by_team = of_name.join(Team, col(Team.id) == Bot.team_id).where(Team.name_key == owner)
    by_author = of_name.join(User, col(User.id) == Bot.owner_id).where(User.name_key == owner)
    return session.exec(by_team).first() or session.exec(by_author).first()


# Arriving -----------------------------------------------------------------------------------------------------------


RUNS: Any = select(Contest).where(Contest.kind == ContestKind.PANEL).order_by(col(Contest.id))
RUNNING = RUNS.where(Contest.season_id == bindparam("season_id"), Contest.state == ContestState.RUNNING)


def runs(session: Session, *conditions: Any, **given: Any) -> list[Contest]:
    """Return the contests against a panel that meet the conditions, in the order of arrival."""
    return list(session.exec((RUNNING if given else RUNS).where(*conditions), params=given))


def admits(season: Season) -> bool:
    """Say whether a season's panel decides which versions play."""
    return bool(season.panel) and (season.panel_minimum is not None or season.panel_test is not None)


def has_points(run: Contest) -> bool:
    """Say whether the version may play for its entry."""
    return not _is_judged(run) or run.state is ContestState.PASSED


def _is_judged(run: Contest) -> bool:
    return run.terms["minimum"] is not None or "elo0" in run.terms


def arrive(session: Session, season: Season, entry: Entry, version: BotVersion) -> Contest | None:
    """Have a version of the entry play the panel, unless it already has on the present terms. Return None without a
    panel. The caller has locked the season, which accepts versions.
    """
    if not season.panel:
        return None
    mine = runs(session, Contest.entry_id == entry.id, Contest.candidate_id == version.id)[-1:]
    if not mine or mine[0].state is ContestState.ENDED or _is_outdated(session, season, mine[0]):
        return _begin(session, season, entry, version)
    return mine[0]


def choose_in_advance(session: Session, season: Season, entry: Entry, run: Contest | None) -> None:
    """Note the author's choice, so that the version plays as soon as it has the points; None removes a choice."""
    for each in runs(session, Contest.entry_id == entry.id, season_id=season.id):
        each.terms = {**each.terms, "chosen": each is run}
    _set_aside_others(session, season, entry)


def without_points(session: Session, season: Season, bot_id: int) -> set[int]:
    """Return the bot's versions that failed under the season's present terms."""
    versions = col(Contest.candidate_id).in_(select(BotVersion.id).where(BotVersion.bot_id == bot_id))
    newest = {run.candidate_id: run for run in runs(session, versions, Contest.season_id == season.id)}
    stand = (run for run in newest.values() if run.state is ContestState.FAILED)
    return {run.candidate_id for run in stand if not _is_outdated(session, season, run)}


def _begin(session: Session, season: Season, entry: Entry, version: BotVersion) -> Contest:
    assert season.panel, "it has a panel"
    bots, own = _bots(session, season), entry.bot_id
    ids = [version_id for bot_id, version_id in bots.items() if bot_id != own and version_id is not None]
    opponents = [session.get_one(BotVersion, version_id) for version_id in ids]
    needed = {"minimum": None} if own in bots else _needed(season, len(opponents))
    row = begin_duels(
        session,
        season,
        ContestKind.PANEL,
        version,
        opponents,
        season.panel_games,
        entry_id=entry.id,
        terms={"panel": season.panel, "chosen": False, **needed},
        result={"points": None, "elo": None, "se": None, **({"llr": 0.0} if "elo0" in needed else {})},
    )
    _set_aside_others(session, season, entry)
    return row


def _bots(session: Session, season: Season) -> dict[int, int | None]:
    """Return the bots of the panel, each with the version that plays for it (in this season, or else its newest), or
    None if it is retired or has no version.
    """
    chosen: dict[int, int | None] = {}
    for name in season.panel or ():
        bot = bot_named(session, season.game, name)
        if bot is None:
            continue
        here = select(Entry.version_id).where(Entry.bot_id == bot.id, taking_part(season.id))
        version_id = session.exec(here).first()
        if not is_active(session, bot):
            version_id = None
        elif version_id is None:
            newest = newest_ready(session, bot.id, None)
            version_id = None if newest is None else newest.id
        chosen[bot.id] = version_id
    return chosen


def _needed(season: Season, opponents: int) -> dict[str, Any]:
    """Return the terms of the verdict against that many of the panel's bots: the points (None: none), and the test."""
    minimum = season.panel_minimum
    points = None if minimum is None else minimum * opponents / len(season.panel or ())
    return {"minimum": points, **test_terms(Duel(season.panel_games, _test(season)))}


def _test(season: Season) -> sprt.Terms | None:
    """Return the test against a season's panel. Raises ValueError: its bounds make none."""
    if season.panel_test is None:
        return None
    elo0, elo1 = map(float, season.panel_test)
    return sprt.Terms(elo0, elo1)


def _is_outdated(session: Session, season: Season, run: Contest) -> bool:
    """Say whether a failed version may try again, because the season's requirements have changed since."""
    if run.state is not ContestState.FAILED:
        return False
    opponents = session.exec(select(func.count()).where(Meeting.contest_id == run.id)).one()
    here = {name: run.terms[name] for name in ("minimum", *TESTED) if name in run.terms}
    return (run.terms["panel"], run.matches, here) != (season.panel, season.panel_games, _needed(season, opponents))


def _set_aside_others(session: Session, season: Season, entry: Entry) -> None:
    """Drop the waiting series of the entry's other versions, which continue when the version before them is done."""
    running = runs(session, Contest.entry_id == entry.id, season_id=season.id)
    first = {run.id for run in played_first(running)}
    aside = [run.id for run in running if run.id not in first]
    if aside:
        waiting = col(Series.meeting_id).in_(select(Meeting.id).where(col(Meeting.contest_id).in_(aside)))
        detail = "Another version of the bot plays the panel first."
        drop_waiting(session, season.id, Cause.CHALLENGE_OVER, detail, waiting)


# Going on -----------------------------------------------------------------------------------------------------------


def played_first(running: Iterable[Contest]) -> list[Contest]:
    """Return each entry's running panel to be played now: that of the version chosen by number, or of the newest."""
    by_entry: dict[int | None, Contest] = {}
    for run in sorted(running, key=lambda run: (run.terms["chosen"], run.candidate_id)):
        by_entry[run.entry_id] = run
    return sorted(by_entry.values(), key=lambda run: run.id)


def runs_to_play(session: Session, season: Season) -> list[Contest]:
    """Return the runs to be played now, in the order of arrival. Without a panel end them all; unless it decides who
    plays, let every entry play that waits for it.
    """
    if not season.panel:
        end_all(session, season.id, N_("The season no longer has a panel."), ContestKind.PANEL)
    if not admits(season):
        waiting = {"season_id": season.id, "waits_for_panel": True}
        if set_values(session, Entry, where=waiting, waits_for_panel=False):
            session.expire_all()
            touch_log(session, season.id)
    if not season.panel:
        return []
    there = select(Entry.id).where(taking_part(season.id))
    return played_first(runs(session, col(Contest.entry_id).in_(there), season_id=season.id))


def tests_of(session: Session, row: Contest, duels: Sequence[Matchup]) -> dict[int, list[Matchup]]:
    """Return each duel of a run with all of this program against that opponent, also as another upload."""
    every_duel = of_program(session, row.entry_id, ContestKind.PANEL, row.candidate_id)
    every = [test for test in every_duel if test.contest.matches == row.matches]
    return {duel.meeting.id: [test for test in every if test.opponent_id == duel.opponent_id] for duel in duels}


def settle(session: Session, season: Season, run: Contest, room: int) -> Progress:
    """Settle a run. With a test, judge the games against all bots together once each has played equally many, and plan
    two more for each, or those that some bots lack.
    """
    progress = counting.settle(session, season, run, room, tests=tests_of)
    terms = duel_of(run)
    counts = {duel.meeting.id: games for duel, games, _ in progress.duels}
    if terms.test is None or not counts:
        return progress
    if len(progress.tables) < sum(outcome is None for *_, outcome in progress.duels):  # some are being played
        return progress._replace(tables=())
    played = {games.finished for games in counts.values()}
    even = len(played) == 1 or not progress.is_open
    if even:
        outcome, llr = replace(terms, replays=False, games=terms.games * len(counts)).judge(pooled(counts.values()))
        run.result = {**run.result, "llr": llr}
        if outcome is not None:
            judged = [duel._replace(outcome=outcome) for duel in progress.duels]
            return progress._replace(is_open=False, tables=(), duels=judged)
    goal = max(played) + 2 * even
    tables = [
        replace(table, matches=most)
        for table in progress.tables
        if (most := min(table.matches, goal - counts[table.meeting_id].finished)) > 0
    ]
    return progress._replace(tables=tables)


def pooled(counts: Collection[Count]) -> Count:
    """Return the games of several duels as those of one that plays voided and abandoned ones again."""
    names = ("wins", "draws", "losses", "both_failed")
    return Count(**{name: sum(getattr(count, name) for count in counts) for name in names})


def decide(session: Session, season: Season, run: Contest, progress: Progress) -> None:
    """End a run that its games decide. If the version has enough points, or has passed the test, let it play for its
    entry, directly or through the entry's gate.
    """
    points = sum((games.wins + games.draws / 2 for _, games, _ in progress.duels), 0.0)
    minimum, chosen, tested = run.terms["minimum"], run.terms["chosen"], "elo0" in run.terms
    outcomes = {outcome for *_, outcome in progress.duels}
    reached = (minimum is None or points >= minimum) and not (tested and outcomes - {Outcome.STRONGER})
    run.result = {**run.result, "points": points}
    state = ContestState.PASSED if reached else ContestState.FAILED
    undecided = N_("All games have been played without a verdict.") if tested and Outcome.SPENT in outcomes else ""
    if not end(session, run, state, undecided if progress.duels else N_("No bot of the panel could play.")):
        return
    version = session.get_one(BotVersion, run.candidate_id)
    played = sum(games.finished for _, games, _ in progress.duels)
    notices.panel_played(session, run, version, points, played if tested else run.matches * len(progress.duels))
    entry = session.get_one(Entry, run.entry_id)
    newest = entry.follows and (entry.waits_for_panel or run.candidate_id > entry.version_id)
    if not reached or not _is_judged(run) or not (chosen or newest):
        return
    gated = entry.gate is not None and not chosen and not entry.waits_for_panel
    if gated and season.state not in ENTERABLE:  # the gate is closed
        return
    if chosen and not entry.waits_for_panel:
        entry.chosen_at = now(session)
    choose_version(session, season, entry, version, by_gate=not chosen)
    touch_log(session, season.id)


# Performance --------------------------------------------------------------------------------------------------------

MOST_RUNS = 200
"""The season's newest runs whose games determine how strong its panel is: more would take longer and change little."""


def log_of_scores(scores: Iterable[tuple[int, int, tuple[int, int, int]]]) -> Log:
    """Return the games of duels as a log of results, without those that both lost by a fault. Each duel consists of
    its two versions and the first one's wins, draws and losses.
    """
    scores = list(scores)
    ids = sorted({version_id for own, other, _ in scores for version_id in (own, other)})
    place = {version_id: number for number, version_id in enumerate(ids)}
    pairs, ranks = [], []
    for own, other, counts in scores:
        for count, placed in zip(counts, ((1, 2), (1, 1), (2, 1)), strict=True):
            pairs += [(place[own], place[other])] * count
            ranks += [placed] * count
    games = Games(np.array(pairs, np.int64).reshape(-1, 2), np.array(ranks, np.int64).reshape(-1, 2))
    return log_of([str(version_id) for version_id in ids], [games])


def estimate(session: Session, season: Season, changed: Sequence[Contest]) -> None:
    """Compute the performance of these runs from their games and those of the season's newest runs, and store it."""
    newest = RUNS.where(Contest.season_id == season.id).order_by(None).order_by(col(Contest.id).desc())
    by_version = {run.candidate_id: run.id for run in (*session.exec(newest.limit(MOST_RUNS)), *changed)}
    duels = matchups(session, col(Contest.id).in_(by_version.values()))
    opponents = {duel.opponent_id for duel in duels}
    ranking = newest_ranking(session, season.id)
    rows = [] if ranking is None else [*ranking.standings["rows"], *ranking.standings["unranked"]]
    rated = (row for row in rows if row["version_id"] in opponents and row["games"] > 0)
    known = {str(row["version_id"]): Prior(mean_elo=row["elo"], sd_elo=row["se"]) for row in rated}
    scores = ((duel.candidate_id, duel.opponent_id, duel.meeting.score) for duel in duels)
    games = log_of_scores((own, other, (its["wins"], its["draws"], its["losses"])) for own, other, its in scores)
    estimated = performances(games, RatingConfig(), set(map(str, opponents)), known)
    for run in changed:
        own = estimated.get(str(run.candidate_id))
        performance = {"elo": None, "se": None} if own is None else {"elo": own.elo, "se": own.se}
        run.result = {**run.result, **performance}
    session.flush()
