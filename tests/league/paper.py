"""A ladder that is kept in memory, without a database."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

from deadheat.league.pairing.ladder import Entrant, Met, Proposal, Terms, propose
from deadheat.league.pairing.pairs import PairKey, pair_key, parts

SEED = b"seed"


@dataclass
class Ladder:
    """A season's ladder: all that `league.service.course.schedule` keeps in the database."""

    terms: Terms = field(default_factory=Terms)
    seed: bytes = SEED
    there: dict[int, Entrant] = field(default_factory=dict)
    series: list[Proposal] = field(default_factory=list)
    games: Counter[PairKey] = field(default_factory=Counter)
    first: Counter[tuple[int, int]] = field(default_factory=Counter)  # matches by (player in seat 0, opponent)
    opponents: dict[int, set[int]] = field(default_factory=dict)
    linked: dict[int, int] = field(default_factory=dict)

    def come(self, version: int, elo: float = 1500, *, placing: bool = True, division: int = 1) -> None:
        waiting_since = len(self.series)
        self.there[version] = Entrant(version, elo, placing, waiting_since, version, division)

    def go(self, version: int) -> None:
        del self.there[version]

    def met(self, version: int) -> Mapping[int, Met]:
        return {
            other: Met(self.games[pair_key(version, other)], 0, self.first[version, other] - self.first[other, version])
            for other in self.opponents.get(version, ())
        }

    def plan(self, wanted: int = 1) -> list[Proposal]:
        self.linked = parts(self.there, (), self.linked)
        entrants = [replace(one, part=self.linked[one.version]) for one in self.there.values()]
        proposals = propose(entrants, self.met, wanted, self.terms, len(self.series), self.seed)
        for proposal in proposals:
            self.series.append(proposal)
            for version in proposal.versions:
                self.there[version] = replace(self.there[version], waiting_since=len(self.series))
            for one, other in permutations(proposal.versions, 2):
                self.opponents.setdefault(one, set()).add(other)
                self.games[pair_key(one, other)] += proposal.matches if one < other else 0
            if len(proposal.versions) == 2:
                one, other = proposal.versions
                self.first[one, other] += (proposal.matches + 1) // 2
                self.first[other, one] += proposal.matches // 2
        self.linked = parts(self.there, (proposal.versions for proposal in proposals), self.linked)
        return proposals

    def parts(self) -> int:
        """Return the number of parts into which the played games divide the players."""
        linked = parts(self.there, (), self.linked)
        return len({linked[version] for version in self.there})
