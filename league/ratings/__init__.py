"""Ratings as a pure function of a log of results, with honest errors.

Theory of operation
-------------------
`rate` turns a `Log` into a `RatingTable`. Nothing is updated in place, so the order in which results arrive does not
matter, and removing a result and restoring it restores every figure.

* **Log** (`log`). A game is its players by seat and their ranks, and may name a group: the games that share their dice.
  Equal lines are counted, lines and names are sorted. Everything else follows from this canonical form, so the order of
  the log cannot even change the last bit; the SHA-256 of the form names the log.
* **Strengths** (`bradley_terry`). i beats j with probability 1 / (1 + exp(s_j - s_i)) (Bradley and Terry 1952); a draw
  is half a win. A table of three or more players counts as its ordered pairs. By the prior (`prior`), a
  strength is normal around the centre, an earlier season's rating, or the previous version. The maximum of the
  posterior is found by Newton's method (`linear`). The shown rating is Elo: `ELO_PER_NAT` x s + centre.
* **Errors** (`errors`). They follow from the curvature of the posterior, corrected for what is not
  binomial: draws vary less, and the pairs of one table, or the games of one deal, are not independent. They are errors
  of the distance to the field.
* **Places** (`table`). Ranks come from 1,000 draws of all strengths together, seeded by the log's hash.
* **Performance** (`table`): a version by its games against a season's panel alone.
* **Leads** (`leads`). How many wrong results the distance to the next place survives.
* Beside it: Plackett and Luce's model as a second opinion (`plackett_luce`), and how well the ratings describe the
  results at all (`quality`).

`table` puts the parts together; `log` also reads logs from files. Readers find the method in docs/why/ratings.md.
"""

from deadheat.league.ratings.bradley_terry import NoRating
from deadheat.league.ratings.log import Games, Log, log_of
from deadheat.league.ratings.prior import ELO_PER_NAT, Prior, RatingConfig, carried
from deadheat.league.ratings.table import Performance, Place, Rating, RatingTable, performances, rate

__all__ = [
    "ELO_PER_NAT",
    "Games",
    "Log",
    "NoRating",
    "Performance",
    "Place",
    "Prior",
    "Rating",
    "RatingConfig",
    "RatingTable",
    "carried",
    "log_of",
    "performances",
    "rate",
]
