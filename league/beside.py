"""The sentences about the figures beside a ranking, from the JSON of a ranking or of `deadheat rate`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deadheat.engine.language import N_, gettext
from deadheat.league.states import Ranks

NORMAL_95 = 1.96


TALLIES = {
    Ranks.PLACEMENT: N_(
        "Wins, draws and losses count against each other bot at a table: a match of four bots adds three."
    ),
    Ranks.WINS: N_("Wins are matches won alone, draws are first places shared, losses are all the others."),
}


def tally(config: Mapping[str, Any], second: Iterable[float | None]) -> str:
    """Explain the column W / D / L if a table has three seats or more. Only then are there the ratings `second` by
    Plackett and Luce's model; with two seats, the column needs no explanation.
    """
    return gettext(TALLIES[Ranks(config["ranks"])]) if any(rating is not None for rating in second) else ""


def sentences(fit: Mapping[str, Any], seats: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the sentences about the fit and the seats. `fit` and `seats` are in the form of
    `league.ratings.quality.Fit` and `league.ratings.quality.SeatEffect`.
    """
    said = []
    if fit["chi2_per_dof"] is not None:
        said.append(f"Fit: chi-squared {fit['chi2_per_dof']:.2f} per degree of freedom ({fit['degrees']}).")
    if fit["cyclic_share"] is not None:
        said.append(f"Cycles: {100 * fit['cyclic_share']:.1f} % of {fit['triads']} triads.")
    for effect in seats:
        worths = (f"{elo:+.0f} ± {NORMAL_95 * se:.0f}" for elo, se in zip(effect["elo"], effect["se_elo"], strict=True))
        said.append(f"Seats at tables of {effect['seats']}, in Elo: {', '.join(worths)}.")
    return said
