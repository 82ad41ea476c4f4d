"""Contests, in the form in which people read them.

One record (`league.records.contests`) describes every kind. What earlier releases called evaluations, challenges and
panel results are views of it, for the addresses of `/v1` that still have them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, func, or_, select

from deadheat.engine.figures import counted
from deadheat.engine.language import N_, _
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.pairing.formats import USUAL, EvaluationFormat
from deadheat.league.pairing.tournament import Placed
from deadheat.league.ratings import RatingConfig, performances
from deadheat.league.ratings.table import NORMAL_95
from deadheat.league.records import contests as records
from deadheat.league.records import from_row
from deadheat.league.records.contests import Course, EvaluationPairing, EvaluationStanding
from deadheat.league.records.entries import PanelOpponent
from deadheat.league.service.contests.life import matches_of, numbered, running
from deadheat.league.service.duels.counting import duel_of, matchups
from deadheat.league.service.duels.panels import log_of_scores, played_first, runs
from deadheat.league.service.evaluations.beginning import due
from deadheat.league.service.evaluations.playing import drawn, meetings, points_of, standings_of, with_players
from deadheat.league.service.evaluations.views import bracket_of, seats_of
from deadheat.league.service.ground import lookups
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.series.privacy import may_see_games_of
from deadheat.league.service.series.turns import ASKED_SHARE
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import (
    EVALUATIONS,
    HOLDING,
    ON_LADDER,
    UNFINISHED,
    ContestKind,
    ContestState,
    JobState,
    Precedence,
)
from deadheat.league.tables import (
    Bot,
    BotVersion,
    Contest,
    ContestPlayer,
    Entry,
    Match,
    Meeting,
    MeetingPlayer,
    Participant,
    Season,
    Series,
    Team,
    User,
)
from deadheat.league.timetable import timetable
from deadheat.league.words import Outcome

TOP = 10
"""How many bots' courses are shown together."""

NO_FIGURES: dict[str, Any] = {figure.name: None for figures in USUAL.values() for figure in figures}
"""No tie-break figures, in any format."""

COURSE = 100
"""The number of evaluations that a course covers."""

# Lists --------------------------------------------------------------------------------------------------------------

PUBLIC = or_(
    col(Contest.kind).in_(EVALUATIONS), (col(Contest.kind) == ContestKind.REQUEST) & col(Contest.private).is_(False)
)
"""The condition on `Contest` that everybody may see it. The others, among them gates, whose terms are their authors',
are seen by those who may see a private match of theirs: the bot's owners, and organisers without a bot in the season.
"""


def contests(
    session: Session, *conditions: Any, before: int | None = None, after: int | None = None, limit: int = 50
) -> list[records.Contest]:
    """Return the contests that meet the conditions on `Contest`, the newest first; `before`: only older ones. `after`:
    only newer ones, the oldest first.
    """
    statement = ROWS.where(*conditions)
    if after is None:
        statement = lookups.newest_first(statement, Contest.id, before, limit)
    else:
        statement = statement.where(col(Contest.id) > after).order_by(col(Contest.id)).limit(limit)
    return [records.Contest(**fields) for fields in _fields(session, session.connection().execute(statement).all())]


def of_season(
    session: Session, season_id: int, kinds: Collection[ContestKind], *, before: int | None = None, limit: int = 50
) -> list[records.Contest]:
    """Return a season's contests of these kinds that everybody may see, the newest first. Raises NotFound."""
    existing(session, Season, season_id)
    here = (col(Contest.season_id) == season_id, col(Contest.kind).in_(kinds), PUBLIC)
    return contests(session, *here, before=before, limit=limit)


def at_gate(session: Session, season_id: int, bot_id: int, limit: int, *, running: bool) -> list[records.Contest]:
    """Return a bot's duels at its gate in a season, the newest first; those that are over, or also the `running`."""
    entry = select(Entry.id).where(Entry.season_id == season_id, Entry.bot_id == bot_id)
    here = [col(Contest.kind) == ContestKind.GATE, col(Contest.entry_id).in_(entry)]
    return contests(session, *here, *([] if running else [col(Contest.state) != ContestState.RUNNING]), limit=limit)


def at_panels(session: Session, bot_id: int, version: int | None = None) -> list[records.Contest]:
    """Return the newest hundred contests of a bot, or of one version, against panels, the newest first."""
    own = select(BotVersion.id).where(BotVersion.bot_id == bot_id)
    own = own if version is None else own.where(BotVersion.number == version)
    return contests(session, Contest.kind == ContestKind.PANEL, col(Contest.candidate_id).in_(own), limit=100)


def played_for(person: Person) -> Any:
    """Return the condition on `Contest` that its candidate is a bot of this person."""
    own = select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(owned_by(person))
    return col(Contest.candidate_id).in_(own)


_PLAYERS = select(func.count()).where(col(ContestPlayer.contest_id) == col(Contest.id))
_ROUND = select(func.coalesce(func.max(Meeting.round), 0)).where(col(Meeting.contest_id) == col(Contest.id))
ROWS: Any = (
    columns(
        *Contest.__table__.c,  # type: ignore[attr-defined]
        func.coalesce(col(Contest.former_id), col(Contest.id)).label("known_as"),
        col(Season.name).label("season"),
        col(Season.game),
        col(Season.seats),
        col(User.name).label("asker"),
        _PLAYERS.scalar_subquery().label("players"),
        _ROUND.scalar_subquery().label("round"),
    )
    .join_from(Contest, Season, col(Season.id) == col(Contest.season_id))
    .join(User, col(User.id) == col(Contest.asker_id), isouter=True)
)
_NO_DUEL = dict.fromkeys(("elo0", "elo1", "llr", "lower", "upper", "minimum", "elo", "low", "high"))
_NO_SCORE = {"planned": 0, "wins": 0, "draws": 0, "losses": 0, "waits": ""}


def _fields(session: Session, rows: Sequence[Any]) -> Iterable[dict[str, Any]]:
    """Yield the fields of the records of these contests, which are rows of `ROWS`."""
    duels = [row.id for row in rows if row.kind not in EVALUATIONS]
    field, met = defaultdict[int, list[records.ContestVersion]](list), defaultdict[int, list[Meeting]](list)
    for row in session.connection().execute(FIELDS, {"contests": duels}) if duels else ():
        field[row.contest_id].append(records.ContestVersion(*row[1:]))
    for meeting in session.exec(select(Meeting).where(col(Meeting.contest_id).in_(duels))) if duels else ():
        met[meeting.contest_id].append(meeting)
    names = records.Contest.__dataclass_fields__.keys()
    for row in rows:
        values: dict[str, Any] = {"versions": field[row.id], **_NO_DUEL, **_NO_SCORE}
        values |= {name: getattr(row, name) for name in names & {*row._fields}}
        if row.kind not in EVALUATIONS:
            duels_of, duel = met[row.id], duel_of(row)
            values |= {name: sum(meeting.score[name] for meeting in duels_of) for name in ("wins", "draws", "losses")}
            values |= {"planned": sum(meeting.planned for meeting in duels_of), "paired": duel.paired}
            values["waits"] = _waits(session, row, duels_of)
            if duel.test is not None:
                llr = row.result["llr"] if row.kind is ContestKind.PANEL else duels_of[0].score["llr"]
                values |= {"llr": None if _own_tests(row.kind, len(duels_of)) else llr}
                values |= {"elo0": duel.test.elo0, "elo1": duel.test.elo1}
                values["lower"], values["upper"] = duel.test.bounds
        if row.kind is ContestKind.PANEL:
            elo = row.result["elo"]
            values |= {"minimum": row.terms["minimum"]} | ({} if elo is None else _interval(elo, row.result["se"]))
        yield values


FIELDS = (
    columns(
        *(col(ContestPlayer.contest_id), col(Bot.id), col(Bot.name), col(BotVersion.number), col(BotVersion.id)),
        col(User.name),
    )
    .join_from(ContestPlayer, BotVersion, col(BotVersion.id) == ContestPlayer.version_id)
    .join(Bot, col(Bot.id) == ContestPlayer.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(ContestPlayer.contest_id).in_(bindparam("contests", expanding=True)))
    .order_by(col(ContestPlayer.contest_id), col(ContestPlayer.seed))
)


def _own_tests(kind: ContestKind, opponents: int) -> bool:
    """Say whether each opponent has a test of its own."""
    return kind is ContestKind.REQUEST and opponents > 1


def _waits(session: Session, row: Any, met: Sequence[Meeting]) -> str:
    """Say what the next match of a request, or of a panel, waits for."""
    if row.state is ContestState.RUNNING and row.kind is ContestKind.PANEL:
        of_entry = runs(session, Contest.entry_id == row.entry_id, Contest.state == ContestState.RUNNING)
        first_one = row.id in {run.id for run in played_first(of_entry)}
        return "" if first_one else _("Another version of the bot plays the panel first.")
    if row.state is not ContestState.RUNNING or row.kind is not ContestKind.REQUEST:
        return ""
    open_ones = select(Series).where(col(Series.meeting_id).in_([meeting.id for meeting in met]))
    open_ones = open_ones.where(col(Series.state).in_(UNFINISHED))
    theirs = session.exec(open_ones.order_by(col(Series.state).desc(), col(Series.queued_at))).first()
    if theirs is not None and theirs.state is JobState.RUNNING:
        return ""
    if stop := stopped(session):
        return stop
    if theirs is None:
        of_season = running(session, row.season_id, ContestKind.REQUEST)
        first = next(each for each in of_season if each.asker_id == row.asker_id)
        if first.id != row.id:
            number = first.public_id
            return _("It waits until challenge %(number)s is over, which was asked for earlier.", number=number)
        return _("Its next matches are planned in a moment.")
    asked_for = (Series.state == JobState.QUEUED, Series.precedence == Precedence.ASKED)
    earlier = select(func.count()).where(*asked_for, Series.queued_at < theirs.queued_at)
    place = _("It is next in line for a slot.")
    if before := session.exec(earlier).one():
        place = _("It waits for a slot, behind %(before)s.", before=counted(before, "unrated series", "unrated series"))
    return f"{place} " + _(
        "Rated matches go first, but one slot in %(share)s is kept for unrated ones once they have waited a minute.",
        share=ASKED_SHARE,
    )


def coming(session: Session, season_id: int) -> list[tuple[str, datetime]]:
    """Return each line of the timetable that has a next time, as a sentence with that time, the soonest first."""
    season = existing(session, Season, season_id)
    if season.state not in (*HOLDING, *ON_LADDER):
        return []
    lines = ((line.words, line.next_due(now(session))) for line in timetable(season.evaluations))
    return sorted(((words, at) for words, at in lines if at is not None), key=lambda line: line[1])


def overdue(session: Session, season_id: int) -> datetime | None:
    """Return the time at which an evaluation that has not begun was due; None if none is due."""
    season = existing(session, Season, season_id)
    next_due = due(session, season) if season.state in ON_LADDER else None
    return None if next_due is None else next_due[0]


def courses(session: Session, season_id: int, bot_ids: Collection[int] | None = None) -> list[Course]:
    """Return the places of these bots, or of the first `TOP`, in the newest `COURSE` completed evaluations of a season,
    the best first. Empty if fewer than two are completed.
    """
    done = select(Contest).where(Contest.season_id == season_id, Contest.state == ContestState.DONE)
    rows = session.exec(done.order_by(col(Contest.number).desc()).limit(COURSE)).all()
    if len(rows) < 2:
        return []
    if bot_ids is None:  # those of the newest; if it has fewer, bots of earlier evaluations follow
        first: dict[int, None] = {}
        for row in rows:
            best = select(ContestPlayer.bot_id).where(ContestPlayer.contest_id == row.id)
            first.update(dict.fromkeys(session.exec(best.order_by(col(ContestPlayer.place)).limit(TOP))))
            if row.kind is not ContestKind.STAGE or len(first) >= TOP:
                break
        bot_ids = list(first)[:TOP]
    statement = (
        columns(col(ContestPlayer.bot_id), col(Bot.name), col(Contest.number), col(ContestPlayer.place))
        .join_from(ContestPlayer, Contest, col(Contest.id) == col(ContestPlayer.contest_id))
        .join(Bot, col(Bot.id) == col(ContestPlayer.bot_id))
        .where(col(Contest.id).in_([row.id for row in rows]), col(ContestPlayer.bot_id).in_(bot_ids))
        .order_by(col(Contest.number))
    )
    paths: dict[int, tuple[str, list[tuple[int, int]]]] = {}
    for number, name, evaluation_number, place in session.connection().execute(statement):
        assert place is not None, "the evaluation is done"
        paths.setdefault(number, (name, []))[1].append((evaluation_number, place))
    return [Course(bot, paths[bot][0], tuple(paths[bot][1])) for bot in bot_ids if bot in paths]


# One contest --------------------------------------------------------------------------------------------------------


def must_see(session: Session, viewer: Person | None, number: int, kind: ContestKind | None = None) -> Contest:
    """Return a contest that the viewer may see, by its number or by the one in the addresses of its kind. Raises
    NotFound with the same sentence, whether there is none or others see it.
    """
    here = col(Contest.id) == number if kind is None else numbered(kind, number)
    row = session.exec(select(Contest).where(here)).first()
    everybody = session.exec(select(Contest.id).where(here, PUBLIC)).first() is not None
    if row is None or not (everybody or may_see_games_of(session, viewer, row.id)):
        raise NotFound("challenge" if kind is ContestKind.REQUEST else N_("contest"), number)
    return row


def _difference(versions: Sequence[records.ContestVersion], opponents: Sequence[PanelOpponent]) -> dict[str, float]:
    """Return the performance of a candidate, measured from the mean of its opponents; none before a game."""
    own, *others = (version.version_id for version in versions)
    scores = ((one.wins, one.draws, one.losses) for one in opponents)
    games = log_of_scores((own, other, score) for other, score in zip(others, scores, strict=True))
    performance = performances(games, RatingConfig(), set(map(str, others)), {}).get(str(own)) if games.games else None
    return {} if performance is None else _interval(performance.elo - RatingConfig().centre_elo, performance.se)


def _interval(elo: float, se: float) -> dict[str, float]:
    return {"elo": elo, "low": elo - NORMAL_95 * se, "high": elo + NORMAL_95 * se}


Keep = Callable[[Hashable, Hashable, Callable[[], Any]], Any]
"""Returns what the third argument makes, or made earlier for the same key and version."""


def contest(
    session: Session,
    contest_id: int,
    versions: Collection[int] | None = None,
    *,
    skip: int = 0,
    limit: int | None = None,
    keep: Keep = lambda _key, _version, make: make(),
) -> records.ContestDetail:
    """Return a contest, which the caller may see, with its results: the places after the first `skip`. `versions`: only
    those. `keep` may cache the standings so far. Raises NotFound.
    """
    row = existing(session, Contest, contest_id)
    shown = session.connection().execute(ROWS.where(col(Contest.id) == contest_id)).one()
    (fields,) = _fields(session, [shown])
    if row.kind not in EVALUATIONS:
        opponents = opponents_of(session, [contest_id], fields["versions"])[contest_id]
        if row.kind is not ContestKind.PANEL:
            fields |= _difference(fields["versions"], opponents)
        return records.ContestDetail(**fields, standings=[], bracket=[], opponents=opponents)
    placed = _final(session, row, versions, skip, limit)
    if placed is None:
        since = 1 if row.format is EvaluationFormat.ROUND_ROBIN else shown.round
        version = (since, *session.connection().execute(SO_FAR, {"evaluation": row.id, "since": since}).one())
        so_far = keep(("standings", row.id), version, lambda: _so_far(session, row, since, keep))
        there = [standing for standing in so_far if versions is None or standing.player in versions]
        placed = there[skip:][:limit]
    seats, standings = seats_of(session, row.id, [each.player for each in placed]), []
    for each in placed:
        seat, author, gone = seats[each.player]
        known = {"place": each.place, "seed": each.seed, "author": author, "gone": gone}
        standings.append(from_row(EvaluationStanding, seat, **known, **{**NO_FIGURES, **each.figures}))
    return records.ContestDetail(**fields, standings=standings, bracket=bracket_of(session, row), opponents=[])


def _so_far(session: Session, row: Contest, since: int, keep: Keep) -> list[Placed]:
    """Compute the standings. The round `since` is still being drawn or played; the meetings before it do not change."""
    earlier = keep(("met", row.id), since, lambda: meetings(session, row.id, until=since - 1))
    return standings_of(session, row, [*earlier, *meetings(session, row.id, since)])


def _final(
    session: Session, row: Contest, versions: Collection[int] | None, skip: int, limit: int | None
) -> list[Placed] | None:
    """Return the standings as stored at the end of the evaluation, or None if they were not stored."""
    connection, mine = session.connection(), {"evaluation": row.id}
    if connection.execute(KEPT, mine).first() is None:
        return None
    places = PLACES if versions is None else PLACES.where(col(ContestPlayer.version_id).in_(versions))
    return [Placed(*values) for values in connection.execute(places.offset(skip).limit(limit), mine)]


_MINE = col(ContestPlayer.contest_id) == bindparam("evaluation")
SO_FAR = columns(
    select(func.count())
    .where(Meeting.contest_id == bindparam("evaluation"), Meeting.round >= bindparam("since"), col(Meeting.settled))
    .scalar_subquery(),
    select(func.count(col(ContestPlayer.gone_after))).where(_MINE).scalar_subquery(),
)
"""What the standings so far depend on: settled meetings do not change, nothing is drawn before everything drawn earlier
is settled, and a bot that was taken out does not come back.
"""
KEPT = columns(col(ContestPlayer.version_id)).where(_MINE, col(ContestPlayer.figures).is_not(None)).limit(1)
PLACES = (
    columns(*(getattr(ContestPlayer, name) for name in ("version_id", "seed", "place", "figures")))
    .where(_MINE)
    .order_by(col(ContestPlayer.place))
)


def versions_named(session: Session, evaluation_id: int, named: str) -> set[int]:
    """Return the versions of the field with `named` in the name of their bot, author or team."""
    statement = (
        select(ContestPlayer.version_id)
        .join(Bot, col(Bot.id) == ContestPlayer.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .join(Team, col(Team.id) == Bot.team_id, isouter=True)
        .where(ContestPlayer.contest_id == evaluation_id, lookups.named(named))
    )
    return set(session.exec(statement).all())


def pairings(
    session: Session,
    contest_id: int,
    number: int | None,
    versions: Collection[int] | None = None,
    *,
    skip: int = 0,
    limit: int | None = None,
) -> tuple[list[EvaluationPairing], int]:
    """Return the pairings of a round, or of all drawn rounds (None), in the order of rounds and boards: those after the
    first `skip`, and the total number. `versions`: only theirs. Raises NotFound.
    """
    row = existing(session, Contest, contest_id)
    shown, number_of_all = _shown(number is not None, versions is not None)
    wanted = {"evaluation": row.id, "round": number, "versions": list(versions or ())}
    listed = drawn(session, shown, **wanted, skip=skip, most=NO_LIMIT if limit is None else limit)
    many: int = session.connection().execute(number_of_all, wanted).scalar_one()
    seated = {player for meeting in listed for player in meeting.players}
    seats = {version: seat.seat for version, seat in seats_of(session, row.id, seated).items()}
    by_now = points_of(session, row.season_id, [meeting for meeting in listed if meeting.points is None])
    matches = matches_of(session, [meeting.id for meeting in listed])
    rows = []
    for meeting in listed:
        points = by_now[meeting.id] if meeting.points is None else meeting.points
        seating = [seats[player] for player in meeting.players]
        pairing = EvaluationPairing(
            round=meeting.round,
            board=meeting.board,
            first=seating[0],
            second=seating[1] if len(seating) > 1 else None,
            first_points=points[0],
            second_points=points[1] if len(points) > 1 else 0.0,
            seats=seating,
            points=[*points],
            settled=meeting.points is not None,
            match_ids=matches.get(meeting.id, []),
        )
        rows.append(pairing)
    return rows, many


NO_LIMIT = 2**31 - 1


@cache
def _shown(of_round: bool, of_versions: bool) -> tuple[Any, Any]:
    """Return the statements for meetings, and for their number."""
    which = [col(Meeting.contest_id) == bindparam("evaluation")]
    if of_round:
        which.append(col(Meeting.round) == bindparam("round"))
    if of_versions:
        theirs = col(MeetingPlayer.version_id).in_(bindparam("versions", expanding=True))
        which.append(exists().where(col(MeetingPlayer.meeting_id) == col(Meeting.id), theirs))
    page = select(Meeting.id).where(*which).order_by(col(Meeting.round), col(Meeting.board))
    page = page.offset(bindparam("skip", type_=Integer)).limit(bindparam("most", type_=Integer))
    return with_players(col(Meeting.id).in_(page)), select(func.count()).select_from(Meeting).where(*which)


def opponents_of(
    session: Session, contest_ids: Sequence[int], versions: Iterable[records.ContestVersion]
) -> dict[int, list[PanelOpponent]]:
    """Return how the candidates of these duels fared against each opponent. `versions`: all in these contests."""
    duels = matchups(session, col(Contest.id).in_(contest_ids))
    ids = [matchup.meeting.id for matchup in duels]
    of = {version.version_id: version for version in versions}
    failed: Any = (
        select(Series.meeting_id, Participant.version_id, func.count())
        .join(Match, col(Match.series_id) == Series.id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(col(Series.meeting_id).in_(ids), col(Participant.fault).is_not(None))
        .group_by(col(Series.meeting_id), col(Participant.version_id))
    )
    faults = {(duel, version): count for duel, version, count in session.exec(failed)}
    matches = matches_of(session, ids)
    among = Counter(matchup.contest.id for matchup in duels)
    opponents: dict[int, list[PanelOpponent]] = defaultdict(list)
    for matchup in duels:
        met, row = matchup.meeting.score, matchup.contest
        score = {name: met[name] for name in ("wins", "draws", "losses")}
        alone = not _own_tests(row.kind, among[row.id])
        opponent = from_row(
            PanelOpponent,
            of[matchup.opponent_id],
            points=score["wins"] + score["draws"] / 2,
            faults=faults.get((matchup.meeting.id, matchup.candidate_id), 0),
            opponent_faults=faults.get((matchup.meeting.id, matchup.opponent_id), 0),
            match_ids=matches.get(matchup.meeting.id, []),
            llr=None if alone or not row.terms else met["llr"],
            outcome=None if alone or "outcome" not in met else Outcome(met["outcome"]),
            **score,
        )
        opponents[matchup.contest.id].append(opponent)
    return opponents
