"""The dice of a season's matches: where they come from, and when they may be shown.

Where they come from
--------------------
When a season opens, a secret is drawn, and its SHA-256 is published at once with the season and in the audit log. Every
seed follows from the secret and the number of a deal (`engine.chance.season_seed`); deals are numbered 1, 2, 3 ... as
they are planned, and no number is skipped or used twice. So once the pairings are known, nobody can choose the dice,
not even the operator. The secret is published with the standings, when nothing is left to be played: then anybody can
recompute all seeds (`league.verification.fairness`).

After a restore, the numbers since the back-up are skipped, because people may have seen their dice; the audit log
records this.

Unrated matches at an author's request have seeds that are drawn one by one, without numbers (`drawn_dice`). So they
reveal nothing about rated deals, or about the number of other requests.

People who can read the database know the secret and can foresee the dice. They must be trusted not to reveal them, and
not to arrange pairings to suit dice that they know.

When they may be shown
----------------------
Dice and moves of a match may be shown once every match that uses the dice is over, and the season's transcripts are
public. Where a game's hands are private (`engine.games.same_deals`), the rotations of a deal share one secret seed,
hence one commitment, and lie in different series (`league.service.series.planning`), which end at different times and
on different machines. A reader of the first rotation's record would know every hand of the rotations still to be
played. So a match is *withheld* while another match with its commitment is scheduled: its players and winner are shown,
because ratings follow from them, but nothing that reveals hands. That is its seed, its transcript and everything
derived from it, the words of a fault, a bot's stderr, and the match itself in progress.

A season may also withhold all its matches until its final standings are published (`Season.transcripts`). A bot's
owners can still read its stderr.

Every access checks `withheld`; there is no second rule. A match that is played, abandoned or dropped is over and no
longer withholds others, and a replay by a ruling gets its own dice (`league.service.rulings.rulings`), so nothing is
withheld once it has been shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, literal_column, null
from sqlmodel import Session, col, exists, func, select, update

from deadheat.engine.chance import SECRET_BYTES, SEED_BYTES, commitment, season_seed
from deadheat.league.database import surroundings
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.lookups import PUBLISHED
from deadheat.league.states import MatchState, TranscriptsFrom
from deadheat.league.tables import Match, RatingSnapshot, Season
from deadheat.league.verification import fairness

SKIPPED = 1_000_000
"""The least number of deals that a restore skips: more than any season plans between two back-ups."""


@dataclass(frozen=True, slots=True)
class Dice:
    """A seed with its number in its season, or None if it was drawn separately."""

    deal: int | None
    seed: bytes


def commit_to_dice(session: Session, season: Season) -> str:
    """Draw the secret of a season that opens for the first time, and return its commitment, to be published at once."""
    assert season.secret is None and season.deals == 0
    season.secret = surroundings(session).entropy(SECRET_BYTES)
    return commitment(season.secret)


def deal_dice(session: Session, season_id: int, count: int) -> list[Dice]:
    """Return the dice of the season's next deals; in a season without a secret, draw the seeds now."""
    taken = (
        update(Season)
        .where(col(Season.id) == season_id, col(Season.secret).is_not(None))
        .values(deals=Season.deals + count)
        .returning(col(Season.secret), col(Season.deals))
        .execution_options(synchronize_session=False)
    )
    row = session.exec(taken).first()
    if row is None:
        return drawn_dice(session, count)
    secret, last = row
    return [Dice(deal, season_seed(secret, deal)) for deal in range(last - count + 1, last + 1)]


def drawn_dice(session: Session, count: int) -> list[Dice]:
    """Draw that many seeds now, independent of the season's secret."""
    entropy = surroundings(session).entropy
    return [Dice(None, entropy(SEED_BYTES)) for _ in range(count)]


def skip_dice(session: Session) -> None:
    """Skip the numbers that seasons may have used since the restored back-up. The number skipped beyond `SKIPPED` is
    random, so that a back-up restored twice does not reach the same numbers.
    """
    for season in session.exec(select(Season).where(col(Season.secret).is_not(None), col(Season.id).not_in(PUBLISHED))):
        last = season.deals
        season.deals += SKIPPED + int.from_bytes(surroundings(session).entropy(3), "big")
        record(session, SYSTEM, fairness.SKIPPED, f"season/{season.id}", {"after": last, "to": season.deals})


FOR_WITHHOLDING = ("season_id", "commitment", "state")
"""The columns of `Match`, besides its id, that `withheld` reads."""


def withheld(session: Session, matches: Sequence[Match | Row[Any]]) -> set[int]:
    """Return the ids of the matches whose dice and moves are not public yet. They may also be rows of these columns."""
    if not matches:
        return set()
    params = {"season_ids": sorted({match.season_id for match in matches}), "commitments": _commitments(matches)}
    rows = session.connection().execute(WITHHELD, params).all()
    silent = {row.silent_id for row in rows}
    return _in_use(matches, rows) | {match.id for match in matches if match.season_id in silent}


SILENT = select(Season.id).where(
    Season.transcripts == TranscriptsFrom.CLOSED,
    ~exists().where(col(RatingSnapshot.season_id) == Season.id, col(RatingSnapshot.final).is_(True)),
)
"""Seasons that publish their transcripts with the final standings, which are not published yet."""


def dice_in_use(session: Session, matches: Sequence[Match | Row[Any]]) -> set[int]:
    """Return the ids of the matches that share their dice with another match that is not over."""
    return _in_use(matches, session.connection().execute(STILL_TO_PLAY, {"commitments": _commitments(matches)}))


def _commitments(matches: Sequence[Match | Row[Any]]) -> list[str]:
    return sorted({match.commitment for match in matches})


def _in_use(matches: Sequence[Match | Row[Any]], rows: Iterable[Any]) -> set[int]:
    still_to_play = {row.commitment: row.scheduled for row in rows}
    return {
        match.id for match in matches if still_to_play.get(match.commitment, 0) > (match.state is MatchState.SCHEDULED)
    }


STILL_TO_PLAY = (
    select(Match.commitment, func.count().label("scheduled"), null().label("silent_id"))
    .where(col(Match.state) == literal_column(f"'{MatchState.SCHEDULED}'"))  # word for word as in the index
    .where(col(Match.commitment).in_(bindparam("commitments", expanding=True)))
    .group_by(col(Match.commitment))
)
_AMONG_SILENT = SILENT.where(col(Season.id).in_(bindparam("season_ids", expanding=True)))
WITHHELD = STILL_TO_PLAY.union_all(_AMONG_SILENT.with_only_columns(null(), null(), col(Season.id)))
