"""PostgreSQL (a primary and a standby that may take its place) and Redis, on machines of `tests.cluster.network`."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.network import SUBNET, Machine
from tests.league import postgres

ADDRESS = f"{SUBNET}.200"
"""The database's address, which moves to the promoted machine."""

START_SECONDS = 60
USER = "postgres"
REDIS_BYTES = "64mb"


class Primary:
    """PostgreSQL on one machine, without fsync: these disks lose no power, only their processes do."""

    def __init__(self, machine: Machine) -> None:
        binaries = postgres.binaries()
        assert binaries is not None
        self.machine, self._binaries = machine, binaries
        self.data, self._socket = machine.folder / "postgres", machine.folder / "socket"
        for folder in (self.data, self._socket):
            folder.mkdir()
            machine.do("chown", USER, folder)

    def create(self, *options: str) -> None:
        self._program("initdb", "-D", self.data, "-U", "league", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all league {SUBNET}.0/24 trust\nhost replication league {SUBNET}.0/24 trust\n")
        self._options = ["fsync=off", "listen_addresses=*", "max_connections=200", *options]
        self.start()
        self.machine.do("ip", "address", "add", f"{ADDRESS}/24", "dev", "eth0")

    def follow(self, primary: "Primary") -> None:
        """Become a standby that has every commit before the league hears of it."""
        source = f"host={primary.machine.address} user=league application_name=standby"
        self._program("pg_basebackup", "-d", source, "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self.data.chmod(0o700)
        self._options = ["fsync=off", "listen_addresses=*", "max_connections=200"]
        self.start()
        primary.set("synchronous_standby_names", "standby")
        until("the standby follows", lambda: "sync" in primary.ask("SELECT sync_state FROM pg_stat_replication"))

    def start(self) -> None:
        settings = [part for option in self._options for part in ("-c", option)]
        place = ["-c", f"unix_socket_directories={self._socket}"]
        self.machine.start("postgres", self._binaries / "postgres", "-D", self.data, *place, *settings, user=USER)
        until("PostgreSQL answers", self._answers)

    def stop(self, mode: str = "fast") -> None:
        """`fast` breaks off what runs; `immediate` is a crash."""
        self._program("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")
        self.machine.started.pop("postgres").wait(START_SECONDS)

    def promote(self) -> None:
        """Take the primary's place and address. The caller has removed the primary, and then makes the other machines
        forget where the address was (`Network.forget_addresses`).
        """
        self._program("pg_ctl", "-D", self.data, "-w", "promote")
        self.machine.do("ip", "address", "add", f"{ADDRESS}/24", "dev", "eth0")

    def set(self, name: str, value: str) -> None:
        """Change a setting while it runs."""
        self.ask(f"ALTER SYSTEM SET {name} = '{value}'")
        self.ask("SELECT pg_reload_conf()")

    def ask(self, statement: str, database: str = "postgres") -> str:
        """Query it without the network, and return the answer as text."""
        return self._program("psql", "-h", self._socket, "-U", "league", "-d", database, "-Atc", statement)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("SELECT 1"))
        except AssertionError:
            return False

    def _program(self, name: str, *arguments: str | Path) -> str:
        return self.machine.do(self._binaries / name, *arguments, user=USER)


class Redis:
    """Redis on one machine; it keeps nothing on disk, so a restart loses every message."""

    def __init__(self, machine: Machine, password: str) -> None:
        self.machine, self.password = machine, password
        self.start()

    def start(self) -> None:
        options = {
            "bind": "0.0.0.0",
            "requirepass": self.password,
            "save": "",
            "appendonly": "no",
            "maxmemory": REDIS_BYTES,
            "maxmemory-policy": "volatile-lru",
        }
        self.machine.start(
            "redis", "redis-server", *(part for key, value in options.items() for part in (f"--{key}", value))
        )
        until("Redis answers", lambda: self._cli("ping") == "PONG")

    def kill(self) -> None:
        self.machine.kill("redis-server")
        self.machine.started.pop("redis").wait(START_SECONDS)

    def do(self, *command: str) -> str:
        answer = self._cli(*command)
        assert "ERR" not in answer, answer
        return answer

    def _cli(self, *command: str) -> str:
        done = subprocess.run(
            ["redis-cli", "-h", self.machine.address, *command],
            env={**os.environ, "REDISCLI_AUTH": self.password},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()


def until(what: str, true: Callable[[], object], seconds: float = START_SECONDS) -> float:
    """Wait for a condition, and return after how many seconds it held."""
    began_at = time.monotonic()
    while not true():
        waited = time.monotonic() - began_at
        assert waited < seconds, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - began_at
