"""A match as an environment: `reset`, then `step` for each seat whose turn it is; see the top of `training`."""

import secrets
from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from deadheat.engine.chance import SEED_BYTES, Chance, seeds
from deadheat.engine.core import Game, Reply, Result, Seat, Step
from deadheat.engine.figures import span
from deadheat.engine.games.variants import variant_of
from deadheat.engine.memory import judged
from deadheat.engine.transcript import Exchange, Transcript
from deadheat.training.view import View

Observation = dict[str, Any]
"""``observation``: the numbers of a `View`; ``action_mask``: 1 for each legal action, all 0 out of turn."""

KEPT_REPLIES = 8192  # more than the actions of any game, while the number of other lines is unlimited


class Environment:
    """A series of matches, with the attributes and methods of PettingZoo's AEC environments.

    Agents are ``seat_0``, ``seat_1`` and so on. Seats that are prompted at the same time step one after the other, and
    none observes another's action before all have stepped.
    """

    def __init__(self, game: Game, view: type[View], seats: int | None = None) -> None:
        seats = game.seats.start if seats is None else seats
        if seats not in game.seats:
            raise ValueError(f"{game.name} is played by {span(game.seats)} seats, not {seats}")
        self.game = game
        self.layout = view.layout
        self.actions = view.actions
        self.possible_agents = [f"seat_{seat}" for seat in range(seats)]
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self.metadata = {
            "name": f"{game.name.replace('-', '_')}_v{game.rules_version}",
            "render_modes": ["ansi"],
            "is_parallelizable": len(game.seats) == 1 and seats == 2,  # a duel, in which both always get prompts
        }
        self.render_mode = "ansi"
        self.match_seed = b""
        self._view = view
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._seeds: Iterator[bytes] | None = None
        self._result: Result | None = None
        self._asked: list[Seat] = []
        self._replies: dict[Seat, Reply] = {}

    # Playing ---------------------------------------------------------------------------------------------------------

    def reset(self, seed: int | str | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin the next match, in which all seats have already answered READY.

        `seed` chooses the dice as ``deadheat play --seed`` does: the same seed gives the same matches, of which each
        reset without a seed begins the next. The 32 hexadecimal digits of a match's own seed repeat that match's dice.
        Without any seed, the dice are new in each process. `options` are ignored.
        """
        if seed is not None or self._seeds is None:
            self._seeds = seeds(secrets.token_hex(SEED_BYTES) if seed is None else str(seed))
        self.match_seed = next(self._seeds)
        agents = self.possible_agents
        self.agents = agents.copy()
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        self._result = None
        self._views = [self._view(seat, len(agents)) for seat in range(len(agents))]
        for view in self._views:
            view.begin(self.game)
        self._lines: list[list[str]] = [[] for _ in agents]
        self._past: list[tuple[Step, Mapping[Seat, Reply]]] = []
        self._play = self.game.play(len(agents), Chance(self.match_seed))
        self._ask(next(self._play))
        commands = {message.command for message in self._step.messages}
        assert commands == {"READY"} and len(self._asked) == len(agents), "every game begins by asking all for READY"
        self._replies = dict.fromkeys(range(len(agents)), _reply("OK"))
        self._tell()

    def step(self, action: SupportsIndex | str | None) -> None:
        """Answer for `agent_selection` with the number of an action or a line of the protocol (without newline).

        The rules judge it like a bot's line: an illegal line is a fault of that seat. Once the match is over, step each
        remaining agent with None to remove it. Raises ValueError, changing nothing, if there is no such action or the
        match is over.
        """
        agent = self.agent_selection
        if not self.agents:
            raise ValueError("no match is being played: reset first")
        if self.terminations[agent]:
            self._remove(agent, action)
            return
        seat = self._asked[len(self._replies)]
        view = self._views[seat]
        line = self._line(view, action)
        self._replies[seat] = _reply(line)
        view.reply(line)
        self._lines[seat].clear()
        if len(self._replies) < len(self._asked):
            self.agent_selection = self.possible_agents[self._asked[len(self._replies)]]
        else:
            self._tell()

    def _line(self, view: View, action: SupportsIndex | str | None) -> str:
        if isinstance(action, str):
            if "\n" in action:
                raise ValueError("a reply is one line")
            return action
        if action is None:
            raise ValueError("an agent that is asked needs an action")
        number = index(action)
        if not 0 <= number < self.actions:
            raise ValueError(f"action {number} is not one of 0 to {self.actions - 1}")
        return view.line(number)

    def _tell(self) -> None:
        """Pass all replies to the rules and record the results, until a seat is prompted or the match is over."""
        try:
            while True:
                replies = self._replies
                self._past.append((self._step, replies))
                self._ask(self._play.send(replies))
                if self._asked:
                    self.agent_selection = self.possible_agents[self._asked[0]]
                    return
        except StopIteration as stop:
            self._end(stop.value)

    def _ask(self, step: Step) -> None:
        self._step = step
        self._replies = {}
        prompted = self._asked = []
        lines, views = self._lines, self._views
        for message in step.messages:
            seat, line = message.seat, message.line
            lines[seat].append(line)
            views[seat].hear(line)
            if message.limit_ns is not None:
                prompted.append(seat)

    def _end(self, result: Result) -> None:
        """Reward each seat with the share of the other seats that it beat, minus the share that beat it."""
        self._result = result
        others = len(result.ranks) - 1
        for seat, agent in enumerate(self.agents):
            rank = result.ranks[seat]
            ahead = sum(other > rank for other in result.ranks) - sum(other < rank for other in result.ranks)
            self.rewards[agent] = self._cumulative_rewards[agent] = ahead / others
            self.terminations[agent] = True
            fault = result.faults.get(seat)
            self.infos[agent] = {
                "rank": rank,
                "points": None if result.points is None else float(result.points[seat]),
                "fault": None if fault is None else fault.value,
            }
        self.agent_selection = self.agents[0]

    def _remove(self, agent: str, action: object) -> None:
        if action is not None:
            raise ValueError("the match is over: step with None")
        for kept in (self.rewards, self._cumulative_rewards, self.terminations, self.truncations, self.infos):
            del kept[agent]
        self.agents.remove(agent)
        self.rewards.update(dict.fromkeys(self.agents, 0.0))
        if self.agents:
            self.agent_selection = self.agents[0]

    # Looking ---------------------------------------------------------------------------------------------------------

    @property
    def line(self) -> str:
        """The last line sent to `agent_selection`: its prompt, until the match is over."""
        return self.lines[-1]

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines sent to `agent_selection` since its last reply; the first ones begin with READY."""
        return tuple(self._lines[self._seats[self.agent_selection]])

    def observe(self, agent: str) -> Observation:
        """Return an agent's knowledge by the protocol, and the actions that it may take; see `Observation`."""
        seat = self._seats[agent]
        view = self._views[seat]
        may_act = self._result is None and seat in self._asked and seat not in self._replies
        mask = view.mask() if may_act else np.zeros(self.actions, np.int8)
        return {"observation": view.observation(), "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return `agent_selection`'s observation (None if not `observe`), its reward since its last step, whether the
        match is over, False (a match is never cut short), and info.

        Info is empty until the match is over; then it has ``rank``, ``points`` (None after a forfeit), and ``fault``.
        """
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the agent whose step is next, until all agents are removed or `max_iter` have been yielded."""
        for _ in range(max_iter):
            if not self.agents:
                return
            yield self.agent_selection

    def transcript(self) -> Transcript:
        """Return the finished match for `engine.transcript.encode`: it can be replayed, viewed and verified. Raises
        ValueError if the match is not over.
        """
        if self._result is None:
            raise ValueError("the match is not over")
        game = self.game
        seats = len(self.possible_agents)
        exchanges = tuple(Exchange(step.messages, replies, step.events) for step, replies in self._past)
        return Transcript(
            game.name, game.rules_version, seats, self.match_seed, exchanges, self._result, variant=variant_of(game)
        )

    def render(self) -> str:
        """Return the lines sent to each seat since its last reply."""
        return "\n".join(f"{agent} << {line}" for agent, seat in self._seats.items() for line in self._lines[seat])

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""

    @property
    def num_agents(self) -> int:
        """The number of `agents`."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """The number of `possible_agents`."""
        return len(self.possible_agents)


@lru_cache(maxsize=KEPT_REPLIES)
def _reply(line: str) -> Reply:
    return judged(line, 0)
