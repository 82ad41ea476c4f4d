"""The panel: a season's sample bots, which each version plays as soon as it arrives.

Theory of operation
-------------------
A version arrives when it is ready and its bot is entered. It then plays every bot of the season's panel, both sides in
turn, before anything else is played (`league.service.series.turns`). Such matches are never rated. Each opponent is a
challenge (`league.service.seasons.challenges`); a `PanelRun` holds them together, with the terms of that moment: who is
in the panel, how many games, and how many points are needed. Later changes by an organiser apply to later arrivals.

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

`plan_panels` reads the database each time and does what can be done next. The season is locked meanwhile, so two
schedulers do nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam
from sqlmodel import Session, col, func, select

from deadheat.engine.language import N_
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.steps import move, set_values, touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.seasons.challenges import Count, add_games, counts_of, end_challenge, in_play, judge, total
from deadheat.league.service.seasons.gates import choose_version, same_program
from deadheat.league.service.seasons.panel_bots import panel_bots, points_needed
from deadheat.league.service.seasons.panel_results import estimate, played_first
from deadheat.league.service.series.capacity import open_series_bound
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import ENTERABLE, UNFINISHED, ChallengeState, Precedence, Purpose
from deadheat.league.tables import BotVersion, Challenge, Entry, PanelRun, Season, Series

log = logging.getLogger(__name__)

NOBODY_THERE = N_("No bot of the panel could play.")


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


def end_panels(session: Session, season_id: int, reason: str) -> None:
    """End all runs against the season's panel."""
    for run in session.exec(RUNNING, params={"season_id": season_id}).all():
        _end(session, run, ChallengeState.ENDED, reason)


RUNNING = select(PanelRun).where(PanelRun.season_id == bindparam("season_id"), PanelRun.state == ChallengeState.RUNNING)


def plan_panels(session: Session, season: Season) -> list[int]:
    """Decide the runs that can be decided, plan the next series of the others, and return the new series."""
    if not season.panel:
        end_panels(session, season.id, N_("The season no longer has a panel."))
    if not season.panel or season.panel_minimum is None:
        _let_all_play(session, season)
    if not season.panel:
        return []
    made: list[int] = []
    changed: list[PanelRun] = []
    through: list[tuple[PanelRun, Sequence[Challenge]]] = []
    current = played_first(_running(session, season)).values()
    if not current:
        return made
    room, begun = _room(session, season), _begun(session, season)
    for run in sorted(current, key=lambda run: run.id):  # in the order of arrival
        if room <= 0 and run.id not in begun:
            continue
        challenges = _challenges(session, run.id)
        before = [_score(challenge) for challenge in challenges]
        wanted = _count(session, season, run, challenges)
        if [_score(challenge) for challenge in challenges] != before:
            changed.append(run)
        if wanted is None:
            through.append((run, challenges))
            continue
        for challenge, count in wanted[: max(0, room)]:
            made += _plan(session, season, challenge, count)
            room -= 1
    if changed:
        estimate(session, season, changed)
    for run, challenges in through:
        _decide(session, season, run, challenges)
    return made


# Beginning ----------------------------------------------------------------------------------------------------------


def _begin(session: Session, season: Season, entry: Entry, version: BotVersion) -> PanelRun:
    assert season.panel, "it has a panel"
    bots, own = panel_bots(session, season), entry.bot_id
    opponents = [version_id for bot_id, version_id in bots.items() if bot_id != own and version_id is not None]
    run = PanelRun(
        season_id=season.id,
        entry_id=entry.id,
        version_id=version.id,
        panel=season.panel,
        games=season.panel_games,
        minimum=None if own in bots else points_needed(season, len(opponents)),
        created_at=now(session),
    )
    session.add(run)
    session.flush()
    session.add_all(
        Challenge(
            season_id=season.id,
            panel_id=run.id,
            candidate_id=version.id,
            incumbent_id=opponent,
            games_limit=season.panel_games,
            created_at=run.created_at,
        )
        for opponent in opponents
    )
    session.flush()
    _set_aside_others(session, season, entry)
    return run


def _is_outdated(session: Session, season: Season, run: PanelRun) -> bool:
    """Say whether a failed version may try again, because the season's requirements have changed since."""
    if run.state is not ChallengeState.FAILED:
        return False
    opponents = session.exec(select(func.count()).where(col(Challenge.panel_id) == run.id)).one()
    return (run.panel, run.games, run.minimum) != (season.panel, season.panel_games, points_needed(season, opponents))


def _set_aside_others(session: Session, season: Season, entry: Entry) -> None:
    """Drop the waiting series of the entry's other versions, which continue when the version before them is done."""
    running = _running(session, season, entry)
    first = {run.id for run in played_first(running).values()}
    aside = [run.id for run in running if run.id not in first]
    if aside:
        waiting = col(Series.challenge_id).in_(select(Challenge.id).where(col(Challenge.panel_id).in_(aside)))
        detail = "Another version of the bot plays the panel first."
        drop_waiting(session, season.id, Cause.CHALLENGE_OVER, detail, waiting)


# Going on -----------------------------------------------------------------------------------------------------------


def _running(session: Session, season: Season, entry: Entry | None = None) -> Sequence[PanelRun]:
    running = select(PanelRun).join(Entry, col(Entry.id) == PanelRun.entry_id)
    running = running.where(PanelRun.season_id == season.id, PanelRun.state == ChallengeState.RUNNING)
    running = running.where(taking_part(season.id) if entry is None else Entry.id == entry.id)
    return session.exec(running.order_by(col(PanelRun.id))).all()


def _room(session: Session, season: Season) -> int:
    """Return the number of panel series for which there is room, independent of the ladder and of evaluations."""
    playing = select(func.count()).select_from(Series)
    playing = playing.where(Series.season_id == season.id, col(Series.state).in_(UNFINISHED))
    return open_series_bound(session) - session.exec(playing.where(Series.purpose == Purpose.PANEL)).one()


def _begun(session: Session, season: Season) -> set[int | None]:
    """Return the runs with planned games. Matches are read only for these, and for as many others as have room."""
    going_on = (Challenge.season_id == season.id, Challenge.state == ChallengeState.RUNNING)
    at_panel = select(Challenge.panel_id).where(*going_on, col(Challenge.panel_id).is_not(None))
    return set(session.exec(at_panel.where(Challenge.games_planned > 0).distinct()))


def _challenges(session: Session, run_id: int) -> Sequence[Challenge]:
    of_it = select(Challenge).where(Challenge.panel_id == run_id)
    return session.exec(of_it.order_by(col(Challenge.id))).all()


def _score(challenge: Challenge) -> tuple[int, int, int]:
    return challenge.wins, challenge.draws, challenge.losses


def _count(
    session: Session, season: Season, run: PanelRun, challenges: Sequence[Challenge]
) -> list[tuple[Challenge, Count]] | None:
    """Record a run's score. Return the opponents whose next series may be planned, or None if all games are played."""
    tests = _tests(session, run, challenges)
    everything = [test for several in tests.values() for test in several]
    counts = counts_of(session, season.id, everything)
    ids = [test.id for test in everything]
    playing = set(session.exec(select(Challenge.id).where(col(Challenge.id).in_(ids), in_play())))
    found = [(challenge, total(challenge, tests[challenge.id], counts)) for challenge in challenges]
    for challenge, count in found:
        judge(session, challenge, count)
    left = [(challenge, count) for challenge, count in found if count.finished < challenge.games_limit]
    if not left:
        return None
    return [one for one in left if playing.isdisjoint(test.id for test in tests[one[0].id])]


def _tests(session: Session, run: PanelRun, challenges: Sequence[Challenge]) -> Mapping[int, list[Challenge]]:
    """Return, for each opponent, the challenges of this program against it, also as another upload."""
    at_panel = (Challenge.season_id == run.season_id, col(Challenge.panel_id).is_not(None))
    alike = select(Challenge).where(*at_panel, Challenge.games_limit == run.games)
    alike = alike.where(col(Challenge.candidate_id).in_(same_program(session, run.version_id)))
    by_opponent: dict[int, list[Challenge]] = {}
    for row in session.exec(alike).all():
        by_opponent.setdefault(row.incumbent_id, []).append(row)
    return {challenge.id: by_opponent[challenge.incumbent_id] for challenge in challenges}


def _plan(session: Session, season: Season, challenge: Challenge, count: Count) -> list[int]:
    """Plan the next series so that finally both sides have begun equally often, or the candidate once more."""
    wanted = challenge.games_limit - count.finished
    ahead = count.begun - (count.finished - count.begun)  # how many more games the candidate has begun
    length = 1 if abs(ahead) > 1 else min(season.series_length, wanted)  # games of one side were lost: catch up
    return add_games(session, season, challenge, length, candidate_begins=ahead <= 0, precedence=Precedence.PANEL)


def _decide(session: Session, season: Season, run: PanelRun, challenges: Sequence[Challenge]) -> None:
    """End a run whose games are all played, and let the version play if it has enough points."""
    points = sum(challenge.wins + challenge.draws / 2 for challenge in challenges)
    reached = run.minimum is None or points >= run.minimum
    state = ChallengeState.PASSED if reached else ChallengeState.FAILED
    reason = "" if challenges else NOBODY_THERE
    if not _end(session, run, state, reason, points):
        return
    notices.panel_played(session, run, run.games * len(challenges))
    entry = session.get_one(Entry, run.entry_id)
    newest = entry.follows and (entry.waits_for_panel or run.version_id > entry.version_id)
    if reached and run.minimum is not None and (run.chosen or newest):
        _take_over(session, season, entry, run)


def _take_over(session: Session, season: Season, entry: Entry, run: PanelRun) -> None:
    """Let the version play for its entry, directly or through the entry's gate, which is closed in a frozen season."""
    gated = entry.gate is not None and not run.chosen and not entry.waits_for_panel
    if gated and season.state not in ENTERABLE:
        return
    if run.chosen and not entry.waits_for_panel:
        entry.chosen_at = now(session)
    choose_version(session, season, entry, session.get_one(BotVersion, run.version_id), by_gate=not run.chosen)
    touch_log(session, season.id)


def _end(session: Session, run: PanelRun, state: ChallengeState, reason: str, points: float | None = None) -> bool:
    """End a run and its challenges. Return False if it was over."""
    ended = {"reason": reason, "points": points, "ended_at": now(session)}
    if not move(session, PanelRun, run.id, ChallengeState.RUNNING, state, **ended):
        return False
    session.refresh(run)
    for challenge in _challenges(session, run.id):
        end_challenge(session, challenge, ChallengeState.ENDED, reason or "All its games have been played.")
    version = session.get_one(BotVersion, run.version_id)
    data = {"bot": version.bot_id, "version": version.number, "points": points, "minimum": run.minimum}
    record(session, SYSTEM, f"panel-{state.value}", f"season/{run.season_id}", {**data, "reason": reason})
    log.info("panel run %d %s", run.id, state.value)
    return True


def _let_all_play(session: Session, season: Season) -> None:
    """Let every entry play that waits for points against the panel."""
    waiting = {"season_id": season.id, "waits_for_panel": True}
    if set_values(session, Entry, where=waiting, waits_for_panel=False):
        session.expire_all()
        touch_log(session, season.id)
