"""A database and a broker that are spoken to by TLS (docs/how-to/install-by-hand.md): real servers."""

from contextlib import closing
from pathlib import Path

import pytest
import redis
from kombu.exceptions import OperationalError as NotConnected
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from deadheat.api.edge.rates import Rates
from deadheat.cli.operator.doctor import Verdict, check_broker, check_database
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.errors import OverQuota
from deadheat.workers.broker.queue import celery_app, check
from tests.certificates import certified
from tests.deployment import free_port
from tests.league import postgres
from tests.league.ground import settings
from tests.security.test_rates import asking
from tests.workers.conftest import redis_server


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certified(tmp_path)[0]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A certificate that no server here has."""
    (tmp_path / "other").mkdir()
    return certified(tmp_path / "other")[0]


def test_a_league_speaks_to_postgresql_by_tls_to_no_impostor(tmp_path: Path, certificate: Path, other: Path) -> None:
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    port = free_port()
    with postgres.server(certificate, port):
        url = f"postgresql://league@127.0.0.1:{port}/postgres?sslmode={{}}&sslrootcert={{}}"
        chosen = settings(tmp_path, database_url=url.format("verify-full", certificate))
        with closing(Database(chosen)) as database:
            database.migrate()
            with database.transaction() as session:
                told = session.connection().execute(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
                assert told.scalar_one() is True
        assert Verdict.WRONG not in {finding.verdict for finding in check_database(chosen)}
        for mode, trusted in (("verify-full", other), ("disable", certificate)):
            with (
                closing(Database(settings(tmp_path, database_url=url.format(mode, trusted)))) as refused,
                pytest.raises(OperationalError, match=r"certificate verify failed|no encryption"),
            ):
                refused.check()


def test_a_league_speaks_to_redis_by_tls_to_no_impostor(tmp_path: Path, certificate: Path, other: Path) -> None:
    with redis_server(tmp_path, "a-password", certificate) as url:
        chosen = settings(tmp_path, broker_url=url)
        app = celery_app(chosen)
        app.send_task("deadheat.build", (7,))
        with app.connection_for_read() as connection:
            assert connection.SimpleQueue("build").get(timeout=60).payload[0] == [7]
        app.close()
        assert {finding.verdict for finding in check_broker(chosen)} == {Verdict.GOOD}
        one, two = (Rates(Settings(broker_url=url, reads_per_minute=5), lambda: "a secret") for _ in range(2))
        one.write(asking("192.0.2.1"))
        with pytest.raises(OverQuota):  # they count together, so the answer came from Redis
            two.write(asking("192.0.2.1"))
        for bad in (url.replace(str(certificate), str(other)), url.replace("rediss:", "redis:").partition("?")[0]):
            with pytest.raises(redis.exceptions.ConnectionError):
                check(settings(tmp_path, broker_url=bad), 60)
            cut_off = celery_app(settings(tmp_path, broker_url=bad)).connection_for_write()
            with cut_off, pytest.raises(NotConnected):
                cut_off.ensure_connection(max_retries=1)
