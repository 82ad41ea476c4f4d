"""A small league full of secrets that can be recognised wherever they turn up.

Ada is the author whose data is requested. Bob plays against her and has secrets that only he may see (and
organisers, where he appealed). Carl has nothing to do with either.
"""

import dataclasses
import html
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from sqlmodel import col, select, update

from deadheat.engine.core import Fault, Message, Reply, Result
from deadheat.engine.transcript import Exchange, Transcript, encode
from deadheat.league.causes import NOT_CHECKED, Cause
from deadheat.league.database import now
from deadheat.league.jobs import AttemptRecord, Failure, FaultRecord, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.service.course.planning import plan
from deadheat.league.service.course.schedule import go_on
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, claim_build, finish_build, give_back_build
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people.access import look_up
from deadheat.league.service.people.channels import add_webhook
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.series.hosts import host_seen, record_check
from deadheat.league.service.tables import sitting
from deadheat.league.states import ContestKind, Role, TokenKind
from deadheat.league.tables import GameTable, Match, Notice, Season, Series, Token, User
from deadheat.league.words import NoticeKind
from deadheat.sandbox.box import Exit
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.api.test_matches import transcript
from tests.league.conftest import execute
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.people import GAME
from tests.league.world import release_series

NAMES = {"stranger": "carl", "owner": "ada", "organiser": "olga", "admin": "root"}
ROLES = ("anonymous", *NAMES)
_, *STAFF = Role
BY_RANK = [STAFF[-1].value, *(pytest.param(role.value, marks=pytest.mark.all) for role in STAFF[:-1])]
"""The highest role may see and do all that the others may; `test_access` asks every route in every role."""

GENEROUS = {"reads_per_minute": 10**6, "sign_ins_per_minute": 10**6, "sign_ups_per_hour": 10**6}


def planted(what: str, who: str) -> str:
    """Return a text that names its kind and owner and occurs nowhere by accident."""
    return f"planted-{what}-{who}"


class PlantedLeague:
    """The site, the people who ask, what may be requested (`named`), and what must not be revealed (`secrets`)."""

    def __init__(self, folder: Path, server_url: str = "") -> None:
        """On SQLite, or on the PostgreSQL server at that URL, which has a migrated database `template`."""
        self.folder = folder
        self._server = server_url
        if server_url:
            execute(server_url, "CREATE DATABASE planted TEMPLATE template")
        self.site = Site(folder, database_url=server_url and server_url.format("planted"), **GENEROUS)
        self.secrets: dict[str, str] = {}
        self.tokens: dict[str, dict[str, str]] = {"anonymous": {}}
        self.browsers = {"anonymous": Browser(self.site)}
        self.named: dict[str, object] = {"name": "bob", "password": "a long enough password"}
        self._people()
        self._webhook()
        self._builds("ada")
        self._builds("bob")
        self._season()
        self._appeals()
        self._exhibition()
        self._deal()
        self._challenge()
        self._evaluation()
        with self.site.world.db.reading() as session:
            for season in session.exec(select(Season)):
                if season.secret is not None:
                    self.secrets[f"dice of season {season.id}"] = season.secret.hex()
        self._read_newest()
        self._what_the_database_keeps()
        if server_url:
            self.site.world.close()
            execute(server_url, "CREATE DATABASE copy TEMPLATE planted")
            return
        self._copy = sqlite3.connect(":memory:", check_same_thread=False)
        with sqlite3.connect(self._file) as present:
            present.backup(self._copy)

    def close(self) -> None:
        if not self._server:
            self._copy.close()
        self.site.close()

    def restore(self) -> None:
        """Restore the league as it was before the first request."""
        if self._server:
            self.site.world.close()
            execute(self._server, "DROP DATABASE planted WITH (FORCE)")
            execute(self._server, "CREATE DATABASE planted TEMPLATE copy STRATEGY FILE_COPY")
        else:
            with sqlite3.connect(self._file) as present:
                self._copy.backup(present)
        self.site.app.state.services.bodies._kept.clear()

    def found_in(self, answer: httpx.Response) -> frozenset[str]:
        """Return the names of the secrets in an answer's body and headers."""
        heads = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        told = heads + html.unescape(answer.content.decode("utf-8", "replace"))
        return frozenset(name for name, secret in self.secrets.items() if secret in told)

    @property
    def _file(self) -> Path:
        return self.folder / "deadheat.sqlite3"

    def _people(self) -> None:
        site = self.site
        for name in (*NAMES.values(), "bob", "planted-guest", "planted-mate"):
            site.author(name)
        with site.world.db.transaction() as session:
            for staff in STAFF:
                set_role(session, NAMES[staff], staff)
        for role, name in NAMES.items():
            self.tokens[role] = site.sign_in(name)
            self.browsers[role] = Browser(site).sign_in(name)
            self.secrets[f"token of {name}"] = self.tokens[role]["Authorization"].split()[1]
            self.secrets[f"session of {name}"] = self.browsers[role].client.cookies["deadheat"]
        ada = self.tokens["owner"]
        self.named["team_id"] = site.ok(201, site.client.post("/v1/teams", json={"name": "lovelace"}, headers=ada))[
            "id"
        ]
        for name in ("bob", "planted-mate"):
            path = f"/v1/teams/{self.named['team_id']}/invitations"
            site.ok(200, site.client.post(path, json={"name": name}, headers=ada))
        site.ok(200, site.client.post(f"/v1/teams/{self.named['team_id']}/join", headers=site.sign_in("bob")))
        self.secrets["invited to ada's team"] = "planted-mate"
        self.named["idle"] = site.bot(ada, "idle")

    def _builds(self, who: str) -> None:
        """Upload three versions of a bot in no season: one is ready, one is broken, and one fails because of us."""
        site = self.site
        headers = site.sign_in(who)
        self.named[f"bot of {who}"] = bot_id = site.bot(headers, f"bot-of-{who}")
        for secret in ("source", "filename", "log", "reason", "try", "trial", "label"):
            self.secrets[f"{secret} of {who}"] = planted(secret, who)
        body = {"name": who, "password": "a long enough password", "label": planted("label", who)}
        labelled = site.ok(201, site.client.post("/v1/tokens", json=body))
        self.secrets[f"labelled token of {who}"] = labelled["token"]
        self.named[f"token of {who}"] = labelled["id"]
        source = f"# {planted('source', who)}\n".encode()
        trial = encode(Transcript(GAME, 1, 2, b"s" * 32, (), Result((1, 2), (5, 3)), {"trial": planted("trial", who)}))
        for number in (1, 2, 3):
            answer = site.upload(headers, bot_id, source * number, f"{planted('filename', who)}.py")
            version_id = site.ok(202, answer)["id"]
            with site.world.db.transaction() as session:
                job = claim_build(session, version_id, "builder")
                assert isinstance(job, BuildJob)
                log = planted("log", who)
                if number == 1:
                    outcome = BuildOutcome(site.blobs.put(b"program"), "", log, site.blobs.put(trial))
                    assert finish_build(session, job, outcome)
                elif number == 2:
                    outcome = BuildOutcome(None, planted("reason", who), log, site.blobs.put(trial))
                    assert finish_build(session, job, outcome)
                else:
                    give_back_build(
                        session, job.version_id, job.attempt, "w1", Failure("no-engine", planted("try", who))
                    )

    def _season(self) -> None:
        """Create a season with one finished series, and one that waits with its seeds."""
        site = self.site
        season_id = site.world.season(0, series_length=2, games_per_pair=4, unrated_games=50)
        self.named["season_id"] = season_id
        for who in ("ada", "bob"):
            path = f"/v1/seasons/{season_id}/entries/{self.named[f'bot of {who}']}"
            body: dict[str, object] = {"version": 1, "gate": {"games": 2}} if who == "ada" else {"version": 1}
            site.ok(200, site.client.put(path, json=body, headers=site.sign_in(who)))
        boss = site.organiser()
        site.ok(200, site.client.put(f"/v1/seasons/{season_id}/invitations/planted-guest", headers=boss))
        self.secrets["invited to the season"] = "planted-guest"
        season = {"game": GAME, "name": "Later", "closes_at": "2099-01-01T00:00:00Z"}
        self.named["later"] = site.ok(201, site.client.post("/v1/seasons", json=season, headers=boss))["id"]
        hear = {"title": "Hear", "text": "hear"}
        told = site.ok(201, site.client.post("/v1/announcements", json=hear, headers=boss))
        self.named["announcement_id"] = told["id"]
        series, *_ = site.world.tick()
        self._failure_of_ours(series)
        job = site.world.claim(series)
        assert job is not None
        site.world.tick()
        outcomes = [dataclasses.replace(won(match), exits=exits(job, match)) for match in job.matches]
        outcomes[0] = dataclasses.replace(outcomes[0], transcript_sha256=site.blobs.put(transcript(job)))
        outcomes[1] = abandoned(job.matches[1])
        assert site.world.finish(job, outcomes)
        for who in ("ada", "bob"):
            self.secrets[f"stderr of {who}"] = planted("stderr", who)
        self.named["match_id"] = job.matches[0].match_id
        for seat, version in enumerate(job.matches[0].seats):
            self.named["seat of ada" if "bot-of-ada" in job.programs[version].label else "seat of bob"] = seat
        with site.world.db.transaction() as session:
            refit(session, season_id)
            record_check(session, site.world.host, {"kernel": planted("report", "host")}, (), 0)
        self.secrets["report of a host"] = planted("report", "host")

    def _failure_of_ours(self, series_id: int) -> None:
        """Plant a library's message with an address, and the name of a machine, which then falls silent."""
        world = self.site.world
        for secret in ("words", "machine"):
            self.secrets[f"{secret} of a failure"] = planted(secret, "a failure")
        worker = f"{planted('machine', 'a failure')}:17"
        job = world.claim(series_id, worker)
        assert job is not None
        with world.db.transaction() as session:
            said = f'connection to server at "10.20.30.40" failed: {planted("words", "a failure")}'
            unfit: dict[str, object] = {Cause.HOST_UNFIT: [f"{NOT_CHECKED}: {said}", "The clock counts in ticks."]}
            void = AttemptRecord(1, 2, "engine", said, unfit)
            tried = [MatchOutcome(job.matches[0].match_id, None, None, attempts=(void,))]
            release_series(session, job, worker, Failure("OperationalError", said), tried)
        assert world.claim(series_id, worker) is not None
        world.clock.turn(world.settings.lease_seconds + 1)
        with world.db.transaction() as session:
            sweep(session)
        with world.db.transaction() as session:
            host_seen(session, world.host)

    def _appeals(self) -> None:
        for who in ("ada", "bob"):
            self.secrets[f"appeal of {who}"] = planted("appeal", who)
            path, body = f"/v1/matches/{self.named['match_id']}/appeals", {"text": planted("appeal", who)}
            answer = self.site.client.post(path, json=body, headers=self.site.sign_in(who))
            self.named[f"appeal of {who}"] = self.site.ok(201, answer)["id"]

    def _deal(self) -> None:
        """Play a deal of Liar's Dice whose first rotation ends by a fault while the others wait, so it is held."""
        site, game = self.site, "liars-dice"
        world = site.world
        season_id = world.season(0, game=game, seats=3, series_length=3, games_per_pair=3)
        owners = [Person(number, who, Role.AUTHOR) for who, number in self._numbers("ada", "bob").items()]
        for owner in (*owners, world.author("dave")):
            _, bot_id = world.bot(f"dice-of-{owner.name}", game, owner)
            self.named[f"dice of {owner.name}"] = bot_id
            with world.db.transaction() as session:
                enter(session, owner, season_id, bot_id)
        with world.db.transaction() as session:
            planned = go_on(session, season_id)
        first, second, third = (world.claim(series_id) for series_id in planned)
        assert first is not None and second is not None and third is not None
        (match,) = first.matches
        for secret in ("stderr", "lines", "fault"):
            self.secrets[f"{secret} of a deal"] = planted(secret, "a deal")
        exchange = Exchange((Message(0, planted("lines", "a deal"), 5),), {0: Reply(None, 6, Fault.TIMEOUT)})
        record = Transcript(game, 99, 3, match.seed, (exchange,) * 3, Result((2, 1, 1), None, {0: Fault.TIMEOUT}))
        sha256 = self.secrets["transcript of a deal"] = site.blobs.put(encode(record))
        said = FaultRecord(0, Fault.ILLEGAL, "TURN", 1.0, planted("fault", "a deal"))
        outcome = dataclasses.replace(
            forfeited(match, 0),
            transcript_sha256=sha256,
            faults=(said,),
            exits={
                seat: Exit(0, None, False, planted("stderr", "a deal").encode(), cpu_ns=5, peak_memory_bytes=6)
                for seat in range(3)
            },
        )
        assert world.finish(first, [outcome])
        self.named |= {"season of deals": season_id, "held": match.match_id}
        with world.db.transaction() as session:
            refit(session, season_id)

    def _challenge(self) -> None:
        """Let Ada challenge Bob's bot in private: one match ends by Bob's fault, and another waits."""
        site = self.site
        ada = self.tokens["owner"]
        body = {"season_id": self.named["season_id"], "bot_id": self.named["bot of ada"], "games": 4, "private": True}
        asked = site.client.post("/v1/challenges", json=body | {"opponent_id": self.named["bot of bob"]}, headers=ada)
        self.named["challenge_id"] = self.named["contest_id"] = site.ok(201, asked)["id"]
        self.play_challenges("a challenge")

    def play_challenges(self, what: str) -> None:
        """Play the next series of every challenge; its words, addresses and hashes are secrets."""
        world = self.site.world
        for secret in ("words", "stderr"):
            self.secrets[f"{secret} of {what}"] = planted(secret, what)
        for series_id in world.tick():
            job = world.claim(series_id)
            assert job is not None and world.row(Series, series_id).meeting_id is not None
            outcomes = []
            for match in job.matches:
                seat = next(seat for seat, version in enumerate(match.seats) if "bob" in job.programs[version].label)
                said = FaultRecord(seat, Fault.TIMEOUT, "ROLL", 1.0, planted("words", what))
                record = Transcript(GAME, 1, 2, match.seed, (), Result((1, 2), (5, 3)))
                self.secrets[f"transcript {match.match_id} of {what}"] = sha256 = self.site.blobs.put(encode(record))
                self.secrets[f"match {match.match_id} of {what}"] = f'<a href="/matches/{match.match_id}"'
                outcome = dataclasses.replace(forfeited(match, seat), transcript_sha256=sha256, faults=(said,))
                text = planted("stderr", what).encode()
                ends = {place: Exit(0, None, False, text, cpu_ns=5, peak_memory_bytes=6) for place in range(2)}
                outcomes.append(dataclasses.replace(outcome, exits=ends))
                self.named["private"] = match.match_id
            assert world.finish(job, outcomes)

    def _webhook(self) -> None:
        """Give Ada a webhook; its secret must not be shown again."""
        with self.site.world.db.transaction() as session:
            ada = look_up(session, self.secrets["token of ada"], TokenKind.TOKEN).person
            made, secret = add_webhook(session, ada, f"https://a.example/{planted('webhook', 'ada')}")
        self.named["channel_id"] = made.id
        self.secrets["webhook of ada"], self.secrets["secret of a webhook"] = planted("webhook", "ada"), secret

    def _read_newest(self) -> None:
        """Have all notices read that are newer than Ada's one with a reason, so that every page shows that one."""
        with self.site.world.db.transaction() as session:
            broken = select(Notice.id).where(Notice.kind == NoticeKind.VERSION_BROKEN).order_by(col(Notice.id)).limit(1)
            session.exec(update(Notice).where(col(Notice.id) > session.exec(broken).one()).values(read_at=now(session)))

    def _evaluation(self) -> None:
        """Begin an evaluation; the series of its first round wait."""
        body = {"format": "swiss", "rounds": 2}
        path = f"/v1/seasons/{self.named['season_id']}/evaluations"
        begun = self.site.client.post(path, json=body, headers=self.tokens["organiser"])
        self.named["evaluation_id"] = self.site.ok(201, begun)["id"]
        with self.site.world.db.transaction() as session:
            assert plan(session, lock_season(session, int(str(self.named["season_id"]))), ContestKind.EVALUATION)

    def _numbers(self, *names: str) -> dict[str, int]:
        with self.site.world.db.reading() as session:
            found = {user.name: user.id for user in session.exec(select(User))}
        return {name: found[name] for name in names}

    def _exhibition(self) -> None:
        """Seat Ada at a table with Bob's bot."""
        with self.site.world.db.transaction() as session:
            ada = look_up(session, self.secrets["token of ada"], TokenKind.TOKEN).person
            bot_id = self.named["bot of bob"]
            assert isinstance(bot_id, int)
            self.named["exhibition_id"] = found = sitting.take_seat(session, ada, bot_id)
            self.secrets["seed of the exhibition"] = session.get_one(GameTable, found).seed.hex()
            agents = sitting.open_table(session, ada, GAME, ("me", "open"), sitting.Agent("agent"))
            self.named["table_id"] = agents
            self.secrets["seed of the table"] = session.get_one(GameTable, agents).seed.hex()

    def _what_the_database_keeps(self) -> None:
        """Collect unused seeds, and the stored forms of passwords and tokens."""
        with self.site.world.db.reading() as session:
            deals = {match.seed for match in session.exec(select(Match).where(Match.id == self.named["held"]))}
            told = {match.seed for match in session.exec(select(Match).where(Match.state == "done"))} - deals
            hidden = [match for match in session.exec(select(Match)) if match.seed not in told]
            assert {match.state for match in hidden} == {"scheduled", "abandoned", "done"}
            for match in hidden:
                self.secrets[f"seed of match {match.id}"] = match.seed.hex()
            self.named["waiting"] = next(match.id for match in hidden if match.state == "scheduled")
            pairing_seed = session.get_one(Season, self.named["season_id"]).pairing_seed
            assert pairing_seed is not None
            self.secrets["pairing seed"] = pairing_seed.hex()
            for row in session.exec(select(Token)):
                self.secrets[f"hash of token {row.id}"] = row.sha256
            hashes = [user.password_hash for user in session.exec(select(User)) if user.password_hash]
        assert all(found.startswith("$argon2id$") for found in hashes)
        self.secrets["password hashes"] = "$argon2id$"


def exits(job: SeriesJob, match: MatchJob) -> dict[int, Exit]:
    """Return exits in which each bot wrote its author's planted text to stderr."""
    authors = ["ada" if "bot-of-ada" in job.programs[version].label else "bob" for version in match.seats]
    return {
        seat: Exit(0, None, False, planted("stderr", who).encode(), cpu_ns=5, peak_memory_bytes=6)
        for seat, who in enumerate(authors)
    }


def ask(
    league: PlantedLeague, role: str, method: str, path: str, json: object, form: Mapping[str, str] | None, file: bool
) -> httpx.Response:
    """Send one request in `role`: to the API with a token, to a page with a session and a form's token."""
    files = {"file": ("bot.py", b"print()\n")} if file else None
    if path.startswith(("/v1/", "/api/")) or path in {"/healthz", "/readyz", "/metrics"}:
        return league.site.client.request(method, path, json=json, files=files, headers=league.tokens[role])
    browser = league.browsers[role]
    if method == "GET":
        return browser.client.get(path, headers={"Accept": "text/html"})
    token = "" if role == "anonymous" else browser.get("/account").token
    return browser.client.post(path, data={"csrf": token, **(form or {})}, files=files, headers=OURS)
