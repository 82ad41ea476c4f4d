"""A test of the quick lane fails if it reaches out of its process."""

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.pure import Impure, release, watch


def connects() -> None:
    with socket.socket() as opened:
        opened.connect(("127.0.0.1", 9))


@pytest.mark.parametrize(
    "act",
    [
        connects,
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: os.system("true"),
        os.fork,
        lambda: sqlite3.connect(":memory:"),
    ],
)
def test_a_pure_test_may_not(act: Callable[[], object]) -> None:
    watch()
    with pytest.raises(Impure):
        act()
    assert release()


def test_a_pair_of_sockets_within_the_process_is_pure() -> None:
    watch()
    for end in socket.socketpair():
        end.close()
    assert release() == []
