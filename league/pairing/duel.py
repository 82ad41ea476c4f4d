"""When a duel is decided, and which games come next: two versions that play a limited number of unrated games.

A duel is played in series, one after the other. After each, its sequential test (`league.sprt`, trinomial), if it has
one, looks at all finished games; without a verdict a duel ends once its games are spent. A game that both versions lost
by their own fault counts for neither, and so does one that an organiser voided.

Where hands are hidden, a test counts pairs (pentanomial): each deal is played from both seats, in two series. A pair of
which one game does not count is left out whole. The other game alone would bring back the luck of the deal, and half a
pair has no place among the five scores. Why the game does not count (we failed, an organiser's ruling, both bots' own
fault) favours neither side.

A duel that `replays` has no test: games that were voided or could not be played are played again, from the same side.
"""

from dataclasses import dataclass

from deadheat.league import sprt
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.words import Outcome

OF_TEST = {sprt.Verdict.ACCEPT: Outcome.STRONGER, sprt.Verdict.REJECT: Outcome.NOT_STRONGER}


@dataclass(frozen=True, slots=True)
class Count:
    """The games of a duel from the candidate's side. `abandoned`: those that we failed to play, or that were dropped.
    `begun`: those that the candidate began, without voided ones.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    both_failed: int = 0
    voided: int = 0  # by organisers
    abandoned: int = 0
    begun: int = 0
    pairs: tuple[int, ...] = ()  # complete ones by score, the worst first

    @property
    def finished(self) -> int:
        """Games with a result that stands."""
        return self.wins + self.draws + self.losses + self.both_failed

    @property
    def spent(self) -> int:
        """Games that a duel without replays does not play again."""
        return self.finished + self.voided


@dataclass(frozen=True, slots=True)
class Duel:
    """The terms of a duel: at most so many `games`, and the `test` that may end it earlier. `paired`: each deal is
    played from both seats, and the test counts pairs.
    """

    games: int
    test: sprt.Terms | None = None
    replays: bool = False
    paired: bool = False

    def judge(self, count: Count) -> tuple[Outcome | None, float]:
        """Return the outcome so far (None: it continues), and the test's log-likelihood ratio (0 without one)."""
        if self.replays:
            return (Outcome.SPENT if count.finished >= self.games else None), 0.0
        llr = 0.0
        if self.test is not None:
            state = sprt.test(count.pairs if self.paired else (count.losses, count.draws, count.wins), self.test)
            llr = state.llr
            if state.verdict in OF_TEST:
                return OF_TEST[state.verdict], llr
        if count.spent + self.paired >= self.games:  # one game is no pair
            return Outcome.SPENT, llr
        return (Outcome.UNPLAYABLE if count.abandoned >= self.games else None), llr

    def draw(self, count: Count, planned: int, series_length: int) -> tuple[int, bool]:
        """Return the number of games of the next series, and whether the candidate has the first seat in the first one;
        then they take turns. `planned`: the games planned so far. Seats change with every game, across series; with
        replays, both sides have finally begun equally often, or the candidate once more.
        """
        if not self.replays:
            length = min(series_length, self.games - count.spent)
            return whole_turns(length, 2) if self.paired else length, planned % 2 == 0
        ahead = 2 * count.begun - count.finished  # how many more games the candidate has begun
        length = 1 if abs(ahead) > 1 else min(series_length, self.games - count.finished)  # of one side: catch up
        return length, ahead <= 0
