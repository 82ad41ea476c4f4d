"""What init answers, and what somebody who has taken it over might."""

import socket

import pytest

from deadheat.sandbox.box import Limits, SandboxError
from deadheat.sandbox.containers import Confined


def heard(answer: str, *pieces: bytes, ended: bool = True) -> tuple[list[str], bytes]:
    """Return what a box hears that gets these pieces, after which init ends or is silent."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        box = Confined(Limits(), None)
        box._answers = ours.fileno()
        for piece in pieces:
            theirs.send(piece)  # all of them fit into the socket
        if ended:
            theirs.shutdown(socket.SHUT_WR)
        return box._hear(answer, 0.0 if not ended else 60.0)


def test_an_answer_may_come_in_pieces() -> None:
    assert heard("started", b"started\n") == (["started"], b"")
    assert heard("told", b"told 0\n") == (["told", "0"], b"")
    assert heard("done", b"do", b"ne S 9 1", b"2\nfirst\nse", b"cond") == (["done", "S", "9", "12"], b"first\nsecond")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([], "a box ended unexpectedly"),
        ([b"failed: fork: no"], "init said b'failed: fork: no' instead"),
        ([b"told 0\n"], "init said b'told 0' instead"),
        ([b"done E 0 5\nbut"], "init said b'done E 0 5' instead"),
        ([b"done E 0 %d\n" % 10**9], "instead"),
        ([b"done E 0 " + b"9" * 9000 + b"\n"], "instead"),
        ([b"done X 0 0\n"], "instead"),
        ([b"done \xff\n"], "instead"),
        ([b"x" * 70_000, b"x" * 70_000], "instead"),
        ([b"\n"], "a box ended unexpectedly"),
    ],
)
def test_anything_else_is_the_failure_of_the_box(said: list[bytes], why: str) -> None:
    with pytest.raises(SandboxError) as caught:
        heard("done", *said)
    assert caught.value.cause == "container-died" and why in caught.value.detail


def test_so_is_silence() -> None:
    with pytest.raises(SandboxError, match="did not answer within") as caught:
        heard("done", b"done E 0 1\n", ended=False)
    assert caught.value.cause == "container-stuck"
