"""Open the seasons of a league for tests, enter bots in them, change their states, and rank them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deadheat.league import sprt
from deadheat.league.config import REFIT_SECONDS
from deadheat.league.pairing.duel import Duel
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import leaderboard, publish, refit, seasons_to_publish, seasons_to_refit
from deadheat.league.service.seasons.entries import enter, entry_info
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import SeasonState
from tests.league.people import GAME, People


def at_gate(elo0: float = 0, elo1: float = 100, games: int = 200, alpha: float = 0.05) -> Callable[[], Duel]:
    """Return the terms of a promotion gate, by default those for authors who say nothing else."""
    return lambda: Duel(games, sprt.Terms(elo0, elo1, alpha=alpha))


class Seasons(People):
    def season(
        self, bots: int = 2, *, game: str = GAME, divisions: Sequence[tuple[str, int | None]] = (), **chosen: Any
    ) -> int:
        """Open a season with `bots` bots. By default, series have two games and each pair plays four."""
        chosen = {"series_length": 2, "games_per_pair": 4} | chosen
        made = partial(self._season, bots, game, divisions, chosen)
        return self.repeated(made, "season", bots, game, *divisions, *chosen.items())

    def _season(self, bots: int, game: str, divisions: Sequence[tuple[str, int | None]], chosen: dict[str, Any]) -> int:
        with self.db.transaction() as session:
            season_id = create_season(
                session, self.boss, game=game, name=f"season {next(self._numbers)}", divisions=divisions, **chosen
            ).id
            set_season_state(session, self.boss, season_id, SeasonState.OPEN)
        for _ in range(bots):
            self.entrant(season_id, game=game)
        return season_id

    def entrant(self, season_id: int, name: str = "", **chosen: Any) -> tuple[Person, int]:
        """Enter a bot with one ready version in a season; it follows its author's newest version."""
        owner, bot_id = self.bot(name, **chosen)
        self.write(enter, owner, season_id, bot_id)
        return owner, bot_id

    def plays(self, season_id: int, bot_id: int) -> int:
        """Return the number of the version with which a bot plays in a season."""
        return self.read(entry_info, season_id, bot_id).version

    def playing_bot(self, name: str = "", game: str = GAME, owner: Person | None = None) -> tuple[Person, int]:
        """Make a bot and enter it, alone, in a season, so that people may play against it."""
        owner, bot_id = self.bot(name, game, owner)
        self.write(enter, owner, self.season(0, game=game), bot_id)
        return owner, bot_id

    def set_state(self, season_id: int, *states: SeasonState, force: bool = False) -> None:
        """Set a season's states one after the other, as an organiser."""
        for state in states:
            self.write(set_season_state, self.boss, season_id, state, force=force)

    def publish(self, season_id: int) -> None:
        """Close a season, whatever is open in it, and publish its final standings."""
        self.set_state(season_id, SeasonState.CLOSED, force=True)
        assert self.write(publish, season_id)

    def rank(self, season_id: int) -> bool:
        """Rank a season again after the pause between two rankings; return whether there was anything to do."""
        self.clock.turn(REFIT_SECONDS)
        return self.write(refit, season_id)

    def ranking(self, season_id: int) -> list[dict[str, Any]]:
        return list(self.read(leaderboard, season_id).standings["rows"])

    def settle_rankings(self) -> None:
        """Update and publish all rankings that are due, without playing."""
        self.clock.turn(REFIT_SECONDS)
        for season_id in self.write(seasons_to_refit):
            self.write(refit, season_id)
        for season_id in self.write(seasons_to_publish):
            self.write(publish, season_id)
