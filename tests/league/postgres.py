"""The tests' own PostgreSQL server, in a temporary folder and reached through a socket."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg

from deadheat.league.storage.schema import SERVICE, WORKER

START_SECONDS = 60
MEMORY_BYTES = 2 * 2**30


@cache
def binaries() -> Path | None:
    """Return the folder of the newest installed server, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    if found:
        return found[-1].parent
    path = shutil.which("initdb")
    return Path(path).parent if path else None


@contextmanager
def server(certificate: Path | None = None, port: int = 5432) -> Iterator[str]:
    """Yield a running server's URL without a database's name, ``postgresql://.../{}?host=...``, for its superuser. The
    roles of the service and of workers exist. With a certificate's
    file, which has its `key.pem` beside it, the server also takes connections to 127.0.0.1, by TLS alone.
    """
    programs = binaries()
    assert programs is not None
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="deadheat-postgres-", dir=_quick_place()))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, user)
        _run(user, programs / "initdb", "-D", folder / "data", "-U", "league", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c synchronous_commit=off"
        options += " -c autovacuum=off"  # it changes plans by chance
        if certificate is not None:
            for name in (certificate, certificate.with_name("key.pem")):
                shutil.copy(name, folder / name.name)
                (folder / name.name).chmod(0o600)
                if os.geteuid() == 0:
                    shutil.chown(folder / name.name, user)
            options += f" -c listen_addresses=127.0.0.1 -c port={port} -c ssl=on"
            options += f" -c ssl_cert_file={folder / certificate.name} -c ssl_key_file={folder / 'key.pem'}"
            (folder / "data" / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        control = (programs / "pg_ctl", "-D", folder / "data", "-w", "-t", str(START_SECONDS))
        _run(user, *control, "-l", folder / "log", "-o", options, "start")
        try:
            url = f"postgresql://league@/{{}}?host={quote(str(folder), safe='')}&port={port}"
            with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
                for role in (SERVICE, WORKER):
                    connection.execute(f"CREATE ROLE {role} LOGIN".encode())
            yield url
        finally:
            _run(user, *control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _quick_place() -> Path | None:
    """Return a folder in memory if it has enough room, because every test has its own database; else None."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > MEMORY_BYTES else None


def _run(user: str, *command: str | Path) -> None:
    options = {"user": user, "group": user} if os.geteuid() == 0 else {}
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
