"""A league whose bots are really built by a worker's code, from uploads as authors send them."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from sqlmodel import col, select

from deadheat.league.service.bots.bots import accept, add_version, create_bot
from deadheat.league.states import VersionState
from deadheat.league.tables import Attempt, BotVersion
from deadheat.workers.build import build_version
from tests.league.people import GAME
from tests.workers.conftest import WorkingWorld


class BuildingWorld(WorkingWorld):
    """A league with a real builder."""

    def add(self, filename: str, content: bytes, game: str = GAME) -> int:
        owner = self.author()
        sha256 = hashlib.sha256(content).hexdigest()
        upload = accept(io.BytesIO(content), filename, sha256, self.settings, self.context.blobs)
        with self.db.transaction() as session:
            bot_id = create_bot(session, owner, game, f"bot{next(self._numbers)}").id
            return add_version(session, owner, bot_id, upload).id

    def built(self, filename: str, content: bytes | str, game: str = GAME) -> BotVersion:
        """Upload and build a version. Repeat a build whose trial match this host was too busy to judge."""
        version_id = self.add(filename, content if isinstance(content, bytes) else content.encode(), game)
        build_version(self.context, version_id)
        while self.built_version(version_id).state is VersionState.UPLOADED:
            assert self.causes(version_id)[-1] in ("watch-ended", "host-unknown", "host-starved")
            build_version(self.context, version_id)
        return self.built_version(version_id)

    def causes(self, version_id: int) -> list[str]:
        with self.db.reading() as session:
            of_version = col(Attempt.version_id) == version_id
            return list(session.exec(select(Attempt.cause).where(of_version).order_by(col(Attempt.id))).all())

    def built_version(self, version_id: int) -> BotVersion:
        with self.db.reading() as session:
            return session.get_one(BotVersion, version_id)


def zipped(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def sources(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}
