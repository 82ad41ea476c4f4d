"""The dice of a season's matches: where they come from, and when that is published.

Theory of operation
-------------------
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
"""

from dataclasses import dataclass

from sqlmodel import Session, col, select, update

from deadheat.engine.chance import SECRET_BYTES, SEED_BYTES, commitment, season_seed
from deadheat.league.database import surroundings
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.lookups import PUBLISHED
from deadheat.league.tables import Season
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
