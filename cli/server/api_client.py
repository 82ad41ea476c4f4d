"""A server's HTTP API as a Python class, for the command itself and for your own programs.

    with Client("http://127.0.0.1:8080", token) as league:
        for match in league.matches(bot=7, limit=20):
            print(match.id, match.state)

Every method makes one request (an iterator: one per page) and raises `Refused` with the server's own sentence. Nothing
here prints, prompts or reads the environment, except for its proxies.

`cli.server.wire` says what is retried and what is trusted. An answer must have a form that this client knows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from warnings import warn

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, core_schema

from deadheat.cli.server.wire import Refused, Wire
from deadheat.league.records import Record
from deadheat.league.records.bots import Bot, BuildLog, NewToken, Notice, Team, User, Version
from deadheat.league.records.contests import Contest, ContestDetail, Evaluation, EvaluationDetail, EvaluationPairing
from deadheat.league.records.entries import AskedChallenge, Challenge, Entry, PanelResult, Waiting
from deadheat.league.records.hosts import Workers
from deadheat.league.records.matches import EndingView, Match, MatchDetail, Timeouts
from deadheat.league.records.rankings import Leaderboard
from deadheat.league.records.rulings import Announcement, Appeal, AuditRecord, Rejudged, RuledOn
from deadheat.league.records.tables import Receipt, TableTurn, TableView

if TYPE_CHECKING:
    from deadheat.league.records.seasons import Declared, Forecast, Season, SeasonDetail

__all__ = ["Client", "Refused"]

MAX_ANSWER_BYTES = 64 * 1024 * 1024  # the largest answers are transcripts, at most this size; a page is a hundredth
MAX_JSON_BYTES = 16 * 1024 * 1024  # a ranking of 20,000 bots; JSON takes up to 24 times as much memory
PAGE = 100
BOUNDS = frozenset({"ge", "le", "min_length", "max_length"})

Shape = TypeVar("Shape")
Body = Mapping[str, Any]


class Client:
    """The API as methods. Every method raises `Refused`."""

    def __init__(self, server: str, token: str = "") -> None:
        self._wire = Wire(server, token)
        self.server = self._wire.server
        self.has_token = bool(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server."""
        self._wire.close()

    # --- Your account.

    def sign_up(self, name: str, password: str, code: str = "") -> User:
        """Create an author; `code` is the invitation, if one is needed."""
        return self._ask(User, "POST", "/v1/users", json={"name": name, "password": password, "code": code})

    def issue_token(self, name: str, password: str, label: str = "token") -> NewToken:
        """Issue a new access token."""
        body = {"name": name, "password": password, "label": label}
        return self._ask(NewToken, "POST", "/v1/tokens", json=body)

    def revoke_token(self, token_id: int) -> None:
        """Revoke one of your tokens."""
        self.call("DELETE", f"/v1/tokens/{token_id}")

    def me(self) -> User:
        """Return the token's owner."""
        return self._ask(User, "GET", "/v1/users/me")

    def inbox(self, *, unread: bool = False, limit: int | None = None) -> Iterator[Notice]:
        """Yield your notices, newest first."""
        yield from self._pages(Notice, "/v1/inbox", limit, unread=unread)

    def mark_read(self, up_to: int) -> int:
        """Mark your notices up to that id as read, and return how many are unread."""
        return _read(int, _of(self.call("POST", "/v1/inbox/read", json={"up_to": up_to}), "unread"))

    # --- Agents at tables.

    def open_tables(self) -> list[TableView]:
        """Return the tables at which a seat is open, the newest first."""
        return self._items(TableView, "/v1/tables")

    def make_table(self, body: Body) -> TableView:
        """Make a table: `game`, `seats`, and the `name` and `model` of your agent."""
        return self._ask(TableView, "POST", "/v1/tables", json=body)

    def queue(self, body: Body) -> TableView:
        """Seat your agent at an open table of a game, or at a new one: `game`, `name` and `model`."""
        return self._ask(TableView, "POST", "/v1/tables/queue", json=body)

    def queue_for_season(self, /, season_id: int, body: Body) -> TableView:
        """Seat your agent for a rated match in a season of agents: its `name` and `model`."""
        return self._ask(TableView, "POST", f"/v1/seasons/{season_id}/table", json=body)

    def join_table(self, /, table_id: int, body: Body) -> TableView:
        """Take the first open seat for your agent: its `name` and `model`."""
        return self._ask(TableView, "POST", f"/v1/tables/{table_id}/seat", json=body)

    def next_turn(self, /, table_id: int, after: int = 0) -> TableTurn:
        """Wait for your agent's next question after that turn, at most 25 seconds."""
        return self._ask(TableTurn, "GET", f"/v1/tables/{table_id}/next", params={"after": after})

    def answer_turn(self, /, table_id: int, turn: int, line: str) -> Receipt:
        """Answer your agent's question of that number."""
        return self._ask(Receipt, "POST", f"/v1/tables/{table_id}/turns/{turn}", json={"line": line})

    def leave_table(self, /, table_id: int) -> TableView:
        """Leave a table, and lose the match."""
        return self._ask(TableView, "POST", f"/v1/tables/{table_id}/resign")

    # --- Bots and their versions.

    def bots(self) -> list[Bot]:
        """Return your bots and those of your teams."""
        return self._items(Bot, "/v1/bots")

    def own_bot(self, game: str, name: str) -> Bot:
        """Return your bot of that name, created if it is new."""
        for bot in self.bots():
            if bot.game == game and bot.name.lower() == name.lower():
                return bot
        return self._ask(Bot, "POST", "/v1/bots", json={"game": game, "name": name})

    def change_bot(self, /, bot_id: int, **change: Any) -> Bot:
        """Change `name`, `description`, `retired`, `plays_people` or `team_id` (None: no team, only its creator)."""
        return self._ask(Bot, "PATCH", f"/v1/bots/{bot_id}", json=change)

    def upload(self, bot_id: int, filename: str, content: bytes, season: int = 0) -> Version:
        """Upload a new version, which will be built. `season`: the bot enters it once the version is ready; 0: none."""
        path, wish = f"/v1/bots/{bot_id}/versions", _given({"season": season})
        return self._ask(Version, "POST", path, params=wish, files={"file": (filename, content)})

    def versions(self, bot_id: int) -> list[Version]:
        """Return the newest hundred versions, newest first."""
        return self._items(Version, f"/v1/bots/{bot_id}/versions")

    def panels(self, bot_id: int, *, version: int | None = None) -> list[PanelResult]:
        """Return the results of your bot's versions (or of one) against the panels of their seasons, newest first."""
        return self._items(PanelResult, f"/v1/bots/{bot_id}/panels", version=version)

    def version(self, bot_id: int, number: int) -> Version:
        """Return one version as it is now."""
        return self._ask(Version, "GET", f"/v1/bots/{bot_id}/versions/{number}")

    def lend_version(self, bot_id: int, number: int, *, lendable: bool = True) -> Version:
        """Let a version play on lent machines, whose owners can read it, or no longer."""
        return self._ask(Version, "PATCH", f"/v1/bots/{bot_id}/versions/{number}", json={"lendable": lendable})

    def build_log(self, bot_id: int, number: int) -> BuildLog:
        """Return what the build and the trial match printed."""
        return self._ask(BuildLog, "GET", f"/v1/bots/{bot_id}/versions/{number}/log")

    def source(self, bot_id: int, number: int) -> bytes:
        """Return the uploaded file, byte for byte."""
        return self.download(f"/v1/bots/{bot_id}/versions/{number}/source")

    def trial(self, bot_id: int, number: int) -> bytes:
        """Return the transcript of a version's qualifying match, passed or failed, as JSON Lines."""
        return self.download(f"/v1/bots/{bot_id}/versions/{number}/trial")

    # --- Seasons and entries.

    def seasons(self, author: str = "", results: bool = False) -> list[Season]:
        """Return seasons, newest first: all, those an author has entered, or those in which a match has ended."""
        return self._items(_seasons().Season, "/v1/seasons", author=author, results=results)

    def season(self, season_id: int) -> SeasonDetail:
        """Return one season with its progress."""
        season: SeasonDetail = self._ask(_seasons().SeasonDetail, "GET", f"/v1/seasons/{season_id}")
        return season

    def create_season(self, body: Body) -> Season:
        """Create a scheduled season; organisers only."""
        season: Season = self._ask(_seasons().Season, "POST", "/v1/seasons", json=body)
        return season

    def change_season(self, season_id: int, body: Body) -> Season:
        """Change a season's settings, state or both; organisers only."""
        season: Season = self._ask(_seasons().Season, "PATCH", f"/v1/seasons/{season_id}", json=body)
        return season

    def season_file(self, season_id: int) -> str:
        """Return the file that declares a season as it is, as TOML; organisers only."""
        with doubting():
            return self.download(f"/v1/seasons/{season_id}/file").decode()

    def apply_season_file(
        self, document: str, season_id: int = 0, preview: bool = False, bots: int | None = None
    ) -> Declared:
        """Change a season to what a file declares (0: create one), or only preview that; organisers only.

        `bots`: how many the preview's forecast assumes.
        """
        method, path = ("PUT", f"/v1/seasons/{season_id}/file") if season_id else ("POST", "/v1/season-files")
        body = {"document": document, "preview": preview, **({"bots": bots} if bots else {})}
        declared: Declared = self._ask(_seasons().Declared, method, path, json=body)
        return declared

    def season_forecast(self, season_id: int, bots: int | None = None) -> Forecast:
        """Forecast whether there are enough machines for a season's timetable; organisers only.

        `bots`: how many the forecast assumes.
        """
        path, params = f"/v1/seasons/{season_id}/forecast", _given({"bots": bots})
        forecast: Forecast = self._ask(_seasons().Forecast, "GET", path, params=params)
        return forecast

    def invited(self, season_id: int) -> list[str]:
        """List who may enter a season for invited authors; organisers only."""
        return self._items(str, f"/v1/seasons/{season_id}/invitations")

    def invite_to_season(self, season_id: int, author: str) -> None:
        """Add an author to that list."""
        self.call("PUT", f"/v1/seasons/{season_id}/invitations/{author}")

    def uninvite_from_season(self, season_id: int, author: str) -> None:
        """Remove an author from that list."""
        self.call("DELETE", f"/v1/seasons/{season_id}/invitations/{author}")

    def leaderboard(self, season_id: int) -> Leaderboard:
        """Return the newest ranking of a season."""
        return self._ask(Leaderboard, "GET", f"/v1/seasons/{season_id}/leaderboard")

    def enter(self, season_id: int, bot_id: int, body: Body | None = None) -> Entry:
        """Enter a bot, or choose which version plays and behind which gate."""
        return self._ask(Entry, "PUT", f"/v1/seasons/{season_id}/entries/{bot_id}", json=body or {})

    def entries(self, season_id: int) -> Iterator[Entry]:
        """Yield the entries of a season by bot, including those taken out."""
        yield from self._pages(Entry, f"/v1/seasons/{season_id}/entries")

    def assign_division(self, season_id: int, bot_id: int, division: int) -> Entry:
        """Put an entry into a division; organisers only."""
        body = {"division": division}
        return self._ask(Entry, "PATCH", f"/v1/seasons/{season_id}/entries/{bot_id}", json=body)

    def challenges(self, season_id: int, bot_id: int) -> list[Challenge]:
        """Return versions at the entry's gate, newest first."""
        return self._items(Challenge, f"/v1/seasons/{season_id}/entries/{bot_id}/challenges")

    def waiting(self, season_id: int, bot_id: int, version: int | None = None) -> Waiting:
        """Return how long a bot or a version waits for its next result in a season, or why no further one comes."""
        path = f"/v1/seasons/{season_id}/entries/{bot_id}/waiting"
        return self._ask(Waiting, "GET", path, params={} if version is None else {"version": version})

    def change_entry(self, season_id: int, bot_id: int, verb: str, body: Body | None = None) -> None:
        """Apply `verb`: withdraw, rejoin; for organisers, with a reason: disqualify, withdraw, reinstate."""
        self.call("POST", f"/v1/seasons/{season_id}/entries/{bot_id}/{verb}", **({"json": body} if body else {}))

    def export(self, season_id: int, table: str, form: str) -> Iterator[bytes]:
        """Yield a season's table as a file, in pieces. `form` is jsonl or csv."""
        yield from self._wire.pieces("GET", f"/v1/seasons/{season_id}/export/{table}.{form}")

    def public_source(self, season_id: int, version_id: int) -> bytes:
        """Return the upload of a version whose source a season has published."""
        return self.download(f"/v1/seasons/{season_id}/sources/{version_id}")

    # --- Contests: evaluations, challenges and others.

    def challenge(self, body: Body) -> AskedChallenge:
        """Ask for unrated matches: `season_id`, `bot_id`, `games`; one or more of `opponent_id`, `opponent_ids` and
        `top`; optional: `version`, `opponent_version`, `test` (`elo0`, `elo1`), `private`.
        """
        return self._ask(AskedChallenge, "POST", "/v1/challenges", json=body)

    def begin_evaluation(self, season_id: int, body: Body) -> EvaluationDetail:
        """Begin one now: `format`; optional: `rounds`, `matches`, `name`, `counts`. Organisers only."""
        return self._ask(EvaluationDetail, "POST", f"/v1/seasons/{season_id}/evaluations", json=body)

    def contests(self, season_id: int, *, kind: str | None = None, limit: int | None = None) -> Iterator[Contest]:
        """Yield a season's contests of any or one kind that everybody may see, newest first."""
        yield from self._pages(Contest, f"/v1/seasons/{season_id}/contests", limit, kind=kind)

    def own_contests(self, *, kind: str | None = None, season: int = 0, limit: int | None = None) -> Iterator[Contest]:
        """Yield the challenges, gates and panels of your bots, newest first."""
        yield from self._pages(Contest, "/v1/contests", limit, kind=kind, season=season)

    def contest(self, number: int, kind: str | None = None) -> ContestDetail:
        """Return one contest with its results. With a `kind`, `number` is what addresses of that kind have."""
        return self._ask(ContestDetail, "GET", f"/v1/contests/{number}", params={"kind": kind} if kind else {})

    def contest_round(self, contest_id: int, number: int) -> list[EvaluationPairing]:
        """Return the pairings of a round."""
        return self._items(EvaluationPairing, f"/v1/contests/{contest_id}/rounds/{number}")

    def contest_matches(self, contest_id: int, *, limit: int | None = None) -> Iterator[Match]:
        """Yield a contest's matches, newest first."""
        yield from self._pages(Match, f"/v1/contests/{contest_id}/matches", limit)

    def cancel_contest(self, contest_id: int) -> ContestDetail:
        """End a challenge of your bot, or an evaluation as an organiser."""
        return self._ask(ContestDetail, "POST", f"/v1/contests/{contest_id}/cancel")

    def resume_contest(self, contest_id: int) -> ContestDetail:
        """Continue a cancelled evaluation; organisers only."""
        return self._ask(ContestDetail, "POST", f"/v1/contests/{contest_id}/resume")

    def own_challenges(self, *, season: int = 0, limit: int | None = None) -> Iterator[AskedChallenge]:
        """Former name; see `own_contests`."""
        yield from self._pages(AskedChallenge, _former("/v1/challenges"), limit, season=season)

    def asked_challenge(self, challenge_id: int) -> AskedChallenge:
        """Former name; see `contest`."""
        return self._ask(AskedChallenge, "GET", _former(f"/v1/challenges/{challenge_id}"))

    def challenge_matches(self, challenge_id: int, *, limit: int | None = None) -> Iterator[Match]:
        """Former name; see `contest_matches`."""
        yield from self._pages(Match, _former(f"/v1/challenges/{challenge_id}/matches"), limit)

    def stop_challenge(self, challenge_id: int) -> AskedChallenge:
        """Former name; see `cancel_contest`."""
        return self._ask(AskedChallenge, "POST", _former(f"/v1/challenges/{challenge_id}/stop"))

    def evaluations(self, season_id: int, *, limit: int | None = None) -> Iterator[Evaluation]:
        """Former name; see `contests`."""
        yield from self._pages(Evaluation, _former(f"/v1/seasons/{season_id}/evaluations"), limit)

    def evaluation(self, evaluation_id: int) -> EvaluationDetail:
        """Former name; see `contest`."""
        return self._ask(EvaluationDetail, "GET", _former(f"/v1/evaluations/{evaluation_id}"))

    def evaluation_round(self, evaluation_id: int, number: int) -> list[EvaluationPairing]:
        """Former name; see `contest_round`."""
        return self._items(EvaluationPairing, _former(f"/v1/evaluations/{evaluation_id}/rounds/{number}"))

    def cancel_evaluation(self, evaluation_id: int) -> EvaluationDetail:
        """Former name; see `cancel_contest`."""
        return self._ask(EvaluationDetail, "POST", _former(f"/v1/evaluations/{evaluation_id}/cancel"))

    def resume_evaluation(self, evaluation_id: int) -> EvaluationDetail:
        """Former name; see `resume_contest`."""
        return self._ask(EvaluationDetail, "POST", _former(f"/v1/evaluations/{evaluation_id}/resume"))

    # --- Matches.

    def matches(
        self,
        *,
        season: int = 0,
        bot: int = 0,
        lost: bool = False,
        state: str = "",
        finished_since: datetime | None = None,
        late: str = "",
        game: str = "",
        command: str = "",
        machine: int = 0,
        limit: int | None = None,
    ) -> Iterator[Match]:
        """Yield matches, newest first; 0 and "" match any. `lost`: those in which the bot was not first.
        `finished_since` selects those that ended then or later, latest end first; `late`, those with late answers.
        """
        chosen = {"season": season, "bot": bot, "lost": lost, "state": state}
        chosen |= {"late": late, "game": game, "command": command, "machine": machine}
        since = finished_since and finished_since.isoformat()
        yield from self._pages(Match, "/v1/matches", limit, finished_since=since, **chosen)

    def timeouts(self, *, season: int = 0, over: str = "day") -> Timeouts:
        """Return the late answers of a season, or (0) of the league, over the time up to now."""
        return self._ask(Timeouts, "GET", "/v1/timeouts", params=_given({"over": over, "season": season}))

    def match(self, match_id: int) -> MatchDetail:
        """Return one match with its attempts and response times."""
        match = self._ask(MatchDetail, "GET", f"/v1/matches/{match_id}")
        if match.id != match_id:  # files are named by it
            raise _strange(f"match {match.id} instead of {match_id}")
        return match

    def transcript(self, match_id: int) -> bytes:
        """Return the transcript of a finished match as JSON Lines."""
        return self.download(f"/v1/matches/{match_id}/transcript")

    def endings(self, match_id: int) -> list[EndingView]:
        """Return how your bots ended in a match, with their stderr."""
        return self._items(EndingView, f"/v1/matches/{match_id}/logs")

    def rule_on_match(self, match_id: int, verb: str, reason: str) -> RuledOn:
        """Apply `verb` to a match: void or restore; organisers only."""
        return self._ask(RuledOn, "POST", f"/v1/matches/{match_id}/{verb}", json={"reason": reason})

    def rejudge(self, match_id: int, reason: str) -> Rejudged:
        """Void a match and replay it; organisers only."""
        return self._ask(Rejudged, "POST", f"/v1/matches/{match_id}/rejudge", json={"reason": reason})

    def held(self) -> list[MatchDetail]:
        """Return matches that wait for an organiser; organisers only."""
        return self._items(MatchDetail, "/v1/held-matches")

    def decide(self, match_id: int, seat: int, reason: str) -> None:
        """Decide that a seat loses a held match; organisers only."""
        self.call("POST", f"/v1/matches/{match_id}/decide", json={"seat": seat, "reason": reason})

    def leave(self, match_id: int, reason: str) -> None:
        """Leave a held match unplayed; organisers only."""
        self.call("POST", f"/v1/matches/{match_id}/leave", json={"reason": reason})

    # --- Appeals, announcements, the audit log.

    def appeal(self, match_id: int, text: str) -> Appeal:
        """Appeal a match of your bot."""
        return self._ask(Appeal, "POST", f"/v1/matches/{match_id}/appeals", json={"text": text})

    def appeals(self, *, season: int = 0, state: str = "") -> Iterator[Appeal]:
        """Yield appeals, newest first: your own, or all for organisers."""
        yield from self._pages(Appeal, "/v1/appeals", season=season, state=state)

    def rule(self, appeal_id: int, body: Body) -> Appeal:
        """Decide an appeal; organisers only."""
        return self._ask(Appeal, "POST", f"/v1/appeals/{appeal_id}/ruling", json=body)

    def announce(self, body: Body) -> Announcement:
        """Publish an announcement to everyone; organisers only."""
        return self._ask(Announcement, "POST", "/v1/announcements", json=body)

    def take_down(self, announcement_id: int) -> None:
        """Remove an announcement; organisers only."""
        self.call("DELETE", f"/v1/announcements/{announcement_id}")

    def audit(
        self, subject: str = "", *, oldest_first: bool = False, limit: int | None = None
    ) -> Iterator[AuditRecord]:
        """Yield the audit log: who decided what, and why."""
        yield from self._pages(AuditRecord, "/v1/audit", limit, subject=subject, oldest_first=oldest_first)

    def note_archive(self, season_id: int, sha256: str) -> None:
        """Record the hash of a closed season's archive in the audit log. Organisers only."""
        self.call("POST", f"/v1/seasons/{season_id}/archives", json={"sha256": sha256})

    # --- Teams, and the machines that play.

    def teams(self) -> list[Team]:
        """Return the teams that you are in or invited to."""
        return self._items(Team, "/v1/teams")

    def create_team(self, name: str) -> Team:
        """Create a team with you as captain."""
        return self._ask(Team, "POST", "/v1/teams", json={"name": name})

    def invite_to_team(self, team_id: int, name: str) -> Team:
        """Invite somebody to a team; captains only."""
        return self._ask(Team, "POST", f"/v1/teams/{team_id}/invitations", json={"name": name})

    def join_team(self, team_id: int) -> Team:
        """Accept an invitation to a team."""
        return self._ask(Team, "POST", f"/v1/teams/{team_id}/join")

    def leave_team(self, team_id: int, name: str) -> Team:
        """Leave a team, decline an invitation, or as captain remove a member."""
        return self._ask(Team, "DELETE", f"/v1/teams/{team_id}/members/{name}")

    def hand_over_team(self, team_id: int, captain: str) -> Team:
        """Make another member captain of your team."""
        return self._ask(Team, "PATCH", f"/v1/teams/{team_id}", json={"captain": captain})

    def workers(self) -> Workers:
        """Return the machines that play; organisers only."""
        return self._ask(Workers, "GET", "/v1/workers")

    # --- Requests.

    def call(self, /, method: str, path: str, **arguments: Any) -> Any:
        """Make one request of any kind and return the JSON of the answer, or None if it has no body."""
        content = self.download(path, method, MAX_JSON_BYTES, **arguments)
        try:
            return TypeAdapter(Any).validate_json(content) if content else None
        except ValidationError:
            raise _strange("not JSON") from None

    def download(
        self, /, path: str, method: str = "GET", most_bytes: int = MAX_ANSWER_BYTES, **arguments: Any
    ) -> bytes:
        """Return the body of an answer. Raises Refused if it is larger."""
        body = bytearray()
        for piece in self._wire.pieces(method, path, **arguments):
            body += piece
            if len(body) > most_bytes:
                raise _strange(f"over {most_bytes} bytes")
        return bytes(body)

    def _ask(self, shape: type[Shape], method: str, path: str, **arguments: Any) -> Shape:
        return _read(shape, self.call(method, path, **arguments))

    def _items(self, shape: type[Shape], path: str, **chosen: Any) -> list[Shape]:
        return [_read(shape, item) for item in _items(self.call("GET", path, params=_given(chosen)))]

    def _pages(self, shape: type[Shape], path: str, limit: int | None = None, **chosen: Any) -> Iterator[Shape]:
        """Yield the items of all pages, but at most `limit`."""
        query = _given(chosen | {"limit": min(limit or PAGE, PAGE)})
        given = 0
        while True:
            page = self.call("GET", path, params=query)
            for item in _items(page):
                if given == limit:
                    return
                given += 1
                yield _read(shape, item)
            following = _of(page, "next")
            if not following or given == limit:
                return
            query["cursor"] = following


def _former(path: str) -> str:
    """Return the path that a method of a former name asks for, and warn its caller."""
    warn("a former name of the client: the next release no longer has it", DeprecationWarning, stacklevel=3)
    return path


def _seasons() -> Any:
    """Import the records of seasons. Their settings take longer than all other records, and few commands need them."""
    from deadheat.league.records import seasons

    return seasons


def _given(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen parameters in the form of a query, without empty ones."""
    return {name: "true" if value is True else value for name, value in chosen.items() if value}


def _of(answer: Any, name: str) -> Any:
    if not isinstance(answer, dict) or name not in answer:
        raise _strange(f"no {name!r}")
    return answer[name]


def _items(answer: Any) -> list[Any]:
    return _read(list[Any], _of(answer, "items"))


def _read(shape: type[Shape], value: Any) -> Shape:
    try:
        answer: Shape = _reader(cast("Hashable", shape)).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise _strange(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if isinstance(answer, Record):
        answer.__dict__["said"] = value
    return answer


@cache
def _reader(shape: Any) -> SchemaValidator:
    return SchemaValidator(_open(TypeAdapter(shape).core_schema))


def _open(schema: Any) -> Any:
    """Loosen a schema for servers of other versions: an unknown enumeration value stays text, a missing nullable field
    is null, and the server alone checks bounds.
    """
    if isinstance(schema, list):
        return [_open(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    opened = {name: _open(part) for name, part in schema.items() if isinstance(part, dict) or name not in BOUNDS}
    match schema.get("type"):
        case "enum":
            known = {name: part for name, part in opened.items() if name != "ref"}
            text, ref = core_schema.str_schema(), schema.get("ref")
            return core_schema.union_schema([known, text], mode="left_to_right", ref=ref)
        case "nullable":
            return core_schema.with_default_schema(opened, default=None)
        case "model":  # the class would validate with its own schema, not with the loosened one
            made = opened["cls"].model_construct
            return core_schema.no_info_after_validator_function(lambda read: made(**read[0]), opened["schema"])
    return opened


@contextmanager
def doubting() -> Iterator[None]:
    """Refuse the answers that a block reads, without knowing their form, if it stumbles over them."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _strange(f"{type(error).__name__}: {error}") from error


def _strange(what: str) -> Refused:
    return Refused(0, "strange", f"this is not an answer of a Deadheat server that this command knows ({what})")
