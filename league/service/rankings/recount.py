"""Recomputes a stored ranking from the log in the database, and a season's dice from its secret, and compares them."""

from sqlmodel import Session, col, select

from deadheat.league.service.ground.steps import existing
from deadheat.league.service.rankings.ranking import ranking
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.tables import AuditRecord, Match, Participant, Season
from deadheat.league.verification.comparison import Recount, differences, model_of
from deadheat.league.verification.fairness import Dealt, DiceCheck, check_dice, told


def recount(session: Session, season_id: int) -> Recount:
    """Compare the newest ranking with the one that its configuration gives for the present log. Raises NotFound."""
    season = existing(session, Season, season_id)
    stored = leaderboard(session, season_id)
    due = season.log_serial != season.rated_serial and not stored.final
    if stored.snapshot_id is None:
        return Recount(season_id, None, None, 0, (), due)
    try:
        config = model_of(stored.config)
    except ValueError as error:
        return Recount(season_id, stored.snapshot_id, stored.log_sha256, 0, (f"The ranking was {error}.",), due)
    made = ranking(session, season_id, config)
    found = differences(
        {"log_sha256": stored.log_sha256, "config": stored.config, **stored.standings},
        {"log_sha256": made.log_sha256, "config": made.config, **made.standings},
    )
    return Recount(season_id, stored.snapshot_id, made.log_sha256, made.standings["totals"]["rated"], found, due)


def dice_check(session: Session, season_id: int) -> DiceCheck:
    """Say whether the season's dice are those to which it committed. Raises NotFound."""
    info = season_info(session, season_id)
    about = select(AuditRecord.action, AuditRecord.data).where(AuditRecord.subject == f"season/{season_id}")
    season = told(info.game, info.dice_commitment, info.dice_secret, session.exec(about.order_by(col(AuditRecord.id))))
    of_it = Match.season_id == season_id
    seated = select(Participant.match_id, Participant.version_id).join(Match).where(of_it)
    seats: dict[int, tuple[int, ...]] = {}
    for match_id, version in session.exec(seated.order_by(col(Participant.match_id), col(Participant.seat))):
        seats[match_id] = (*seats.get(match_id, ()), version)
    rows = session.exec(select(Match).where(of_it).order_by(col(Match.id)))
    dealt = (
        Dealt(row.id, row.deal, row.commitment, row.seed.hex(), seats[row.id], row.asked is not None) for row in rows
    )
    return check_dice(season, dealt)
