"""The client's methods as coroutines, and its iterators as asynchronous ones.

    async with AsyncClient("http://127.0.0.1:8080", token) as league:
        async for match in league.matches(bot=7, limit=20):
            print(match.id, match.state)

Each request runs in a thread (`asyncio.to_thread`), so several can wait at once: `asyncio.gather` sends many, as many
at a time as the event loop's default executor has threads. A cancelled call ends at once for its caller; its request
continues in its thread until it is answered or timed out.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from deadheat.cli.server.api_client import Client

Given = ParamSpec("Given")
Item = TypeVar("Item")
Result = TypeVar("Result")


def _awaited(
    method: Callable[Concatenate[Client, Given], Result],
) -> "Callable[Concatenate[AsyncClient, Given], Coroutine[Any, Any, Result]]":
    @wraps(method)
    async def call(self: "AsyncClient", /, *args: Given.args, **given: Given.kwargs) -> Result:
        return await asyncio.to_thread(method, self.client, *args, **given)

    return call


def _iterated(
    method: Callable[Concatenate[Client, Given], Iterator[Item]],
) -> "Callable[Concatenate[AsyncClient, Given], AsyncIterator[Item]]":
    @wraps(method)
    async def walk(self: "AsyncClient", /, *args: Given.args, **given: Given.kwargs) -> AsyncIterator[Item]:
        items = method(self.client, *args, **given)
        while single := await asyncio.to_thread(_next, items):
            yield single[0]

    return walk


def _next(items: Iterator[Item]) -> tuple[Item] | None:
    """Return the next item, or None after the last, because a thread cannot pass StopIteration to a coroutine."""
    for item in items:
        return (item,)
    return None


class AsyncClient:
    """The methods of `Client`, to be awaited, and its iterators, for `async for`."""

    def __init__(self, server: str, token: str = "") -> None:
        self.client = Client(server, token)
        self.server = self.client.server
        self.has_token = self.client.has_token

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    close = _awaited(Client.close)
    sign_up = _awaited(Client.sign_up)
    issue_token = _awaited(Client.issue_token)
    revoke_token = _awaited(Client.revoke_token)
    me = _awaited(Client.me)
    inbox = _iterated(Client.inbox)
    mark_read = _awaited(Client.mark_read)
    open_tables = _awaited(Client.open_tables)
    make_table = _awaited(Client.make_table)
    queue = _awaited(Client.queue)
    queue_for_season = _awaited(Client.queue_for_season)
    join_table = _awaited(Client.join_table)
    next_turn = _awaited(Client.next_turn)
    answer_turn = _awaited(Client.answer_turn)
    leave_table = _awaited(Client.leave_table)
    bots = _awaited(Client.bots)
    own_bot = _awaited(Client.own_bot)
    change_bot = _awaited(Client.change_bot)
    upload = _awaited(Client.upload)
    versions = _awaited(Client.versions)
    panels = _awaited(Client.panels)
    version = _awaited(Client.version)
    lend_version = _awaited(Client.lend_version)
    build_log = _awaited(Client.build_log)
    source = _awaited(Client.source)
    trial = _awaited(Client.trial)
    seasons = _awaited(Client.seasons)
    season = _awaited(Client.season)
    create_season = _awaited(Client.create_season)
    change_season = _awaited(Client.change_season)
    season_file = _awaited(Client.season_file)
    apply_season_file = _awaited(Client.apply_season_file)
    season_forecast = _awaited(Client.season_forecast)
    invited = _awaited(Client.invited)
    invite_to_season = _awaited(Client.invite_to_season)
    uninvite_from_season = _awaited(Client.uninvite_from_season)
    leaderboard = _awaited(Client.leaderboard)
    enter = _awaited(Client.enter)
    entries = _iterated(Client.entries)
    assign_division = _awaited(Client.assign_division)
    challenges = _awaited(Client.challenges)
    waiting = _awaited(Client.waiting)
    change_entry = _awaited(Client.change_entry)
    export = _iterated(Client.export)
    public_source = _awaited(Client.public_source)
    challenge = _awaited(Client.challenge)
    begin_evaluation = _awaited(Client.begin_evaluation)
    contests = _iterated(Client.contests)
    own_contests = _iterated(Client.own_contests)
    contest = _awaited(Client.contest)
    contest_round = _awaited(Client.contest_round)
    contest_matches = _iterated(Client.contest_matches)
    cancel_contest = _awaited(Client.cancel_contest)
    resume_contest = _awaited(Client.resume_contest)
    own_challenges = _iterated(Client.own_challenges)
    asked_challenge = _awaited(Client.asked_challenge)
    challenge_matches = _iterated(Client.challenge_matches)
    stop_challenge = _awaited(Client.stop_challenge)
    evaluations = _iterated(Client.evaluations)
    evaluation = _awaited(Client.evaluation)
    evaluation_round = _awaited(Client.evaluation_round)
    cancel_evaluation = _awaited(Client.cancel_evaluation)
    resume_evaluation = _awaited(Client.resume_evaluation)
    matches = _iterated(Client.matches)
    match = _awaited(Client.match)
    timeouts = _awaited(Client.timeouts)
    transcript = _awaited(Client.transcript)
    endings = _awaited(Client.endings)
    rule_on_match = _awaited(Client.rule_on_match)
    rejudge = _awaited(Client.rejudge)
    held = _awaited(Client.held)
    decide = _awaited(Client.decide)
    leave = _awaited(Client.leave)
    appeal = _awaited(Client.appeal)
    appeals = _iterated(Client.appeals)
    rule = _awaited(Client.rule)
    announce = _awaited(Client.announce)
    take_down = _awaited(Client.take_down)
    audit = _iterated(Client.audit)
    note_archive = _awaited(Client.note_archive)
    teams = _awaited(Client.teams)
    create_team = _awaited(Client.create_team)
    invite_to_team = _awaited(Client.invite_to_team)
    join_team = _awaited(Client.join_team)
    leave_team = _awaited(Client.leave_team)
    hand_over_team = _awaited(Client.hand_over_team)
    workers = _awaited(Client.workers)
    call = _awaited(Client.call)
    download = _awaited(Client.download)
