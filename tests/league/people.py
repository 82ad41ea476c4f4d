"""People in a league for tests, and their bots."""

from functools import partial
from hashlib import sha256 as sha256_of

from deadheat.league.service.bots.bots import Upload, add_version, create_bot
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, claim_build, finish_build
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import create_team, invite_to_team, join_team
from deadheat.league.service.people.users import sign_up
from tests.league.ground import Ground

GAME = "yacht-auction"
SHA = "a" * 64


class People(Ground):
    def author(self, name: str = "") -> Person:
        with self.db.transaction() as session:
            return sign_up(session, name or f"author{next(self._numbers)}", "a long enough password")

    def team(self, captain: Person, *members: Person, name: str = "lovelace") -> int:
        team_id = self.write(create_team, captain, name).id
        for member in members:
            self.write(invite_to_team, captain, team_id, member.name)
            self.write(join_team, member, team_id)
        return team_id

    def upload(self, owner: Person, bot_id: int, content: str = "", language: str = "python") -> int:
        """Upload a version that waits to be built; "" stands for content that nobody has uploaded yet."""
        sha256 = sha256_of((content or f"upload {next(self._uploads)}").encode()).hexdigest()
        return self.write(add_version, owner, bot_id, Upload("bot.py", 10, sha256, language, "main.py")).id

    def building(self, version_id: int, worker: str = "builder") -> BuildJob:
        job = self.worked(claim_build, version_id, worker)
        assert job is not None
        return job

    def build(self, version_id: int, reason: str = "", program: str = "") -> None:
        """Build a version, into `program` or (if "") a new program; if there is a `reason`, the build fails with it."""
        sha256 = sha256_of((program or f"built {version_id}").encode()).hexdigest()
        outcome = BuildOutcome(None, reason, "log") if reason else BuildOutcome(sha256, "", "log")
        assert self.worked(finish_build, self.building(version_id), outcome)

    def version(self, owner: Person, bot_id: int, reason: str = "", program: str = "", language: str = "python") -> int:
        version_id = self.upload(owner, bot_id, language=language)
        self.build(version_id, reason, program)
        return version_id

    def bot(self, name: str = "", game: str = GAME, owner: Person | None = None) -> tuple[Person, int]:
        made = partial(self._bot, name, game, owner)
        return made() if owner else self.repeated(made, "bot", name, game)

    def _bot(self, name: str, game: str, owner: Person | None) -> tuple[Person, int]:
        owner = owner or self.author()
        with self.db.transaction() as session:
            bot_id = create_bot(session, owner, game, name or f"bot{next(self._numbers)}").id
        self.version(owner, bot_id)
        return owner, bot_id
