"""A person who plays against a bot while the cluster is disturbed, in a browser without scripts, with patience.

A missing page is requested again and a form that was not accepted is sent again; a person can do no more, and must not
need to. No two answers are the same line (no two bids, no two categories), so the transcript shows whether
each accepted answer is in it once and in order, and no other.
"""

import contextlib
import random
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import httpx

from deadheat.engine.core import Fault
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, decode
from deadheat.league.causes import Cause
from deadheat.league.service.tables import viewing
from deadheat.league.service.tables.viewing import TableInfo
from deadheat.league.states import NOT_OVER, TableState
from tests.api.browser import PAGE, Form, Read
from tests.cluster.cluster import PASSWORD, PORT, Cluster

PATIENCE_SECONDS = 240.0
"""Longer than every disturbance, and what may follow it, for one page or one move."""

LOOK_SECONDS = 0.5
"""The page's own polling interval."""

THINK_SECONDS = 1.0
LEAVES = 0.3
"""The share of matches that the person does not play to the end."""

PATH = re.compile(r"/play/\d+")
COMPLAINT = re.compile(r'role="alert">([^<]*)')
GO_ON = re.compile(r'href="(/play/\d+)">continue it')

Told = TypeVar("Told")


@dataclass
class Seat:
    """One match with its answers: `sent` may have arrived, `taken` has. `leaves_at`: after so many moves."""

    path: str
    leaves_at: int | None
    sent: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    left: bool = False

    @property
    def number(self) -> int:
        return int(self.path.removeprefix("/play/"))


class Guest:
    """Plays one match after another against the same bot; each disturbance has another person."""

    def __init__(self, cluster: Cluster, bot_id: int, chance: random.Random) -> None:
        self._cluster, self._bot_id, self._chance = cluster, bot_id, random.Random(chance.random())

    @contextlib.contextmanager
    def plays(self) -> Iterator[None]:
        """Sit at the table during a block; the match in progress at its end is the last one."""
        machine = self._cluster.machine("api2")  # the uploader uses the other API
        self._http = httpx.Client(base_url=f"http://{machine.address}:{PORT}", headers=PAGE, timeout=15)
        self._seats: list[Seat] = []
        self._waits: list[tuple[float, float]] = []
        self._failed: BaseException | None = None
        self._calm_at = float("inf")
        self._is_asked = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()
        self._is_asked.wait(PATIENCE_SECONDS)
        yield
        self._calm_at = time.monotonic()

    def is_done(self) -> bool:
        """Return whether the last match is over, for the league too. Raises what went wrong in any."""
        if self._failed is not None:
            raise self._failed
        if self._thread.is_alive():
            return False
        self._http.close()
        with self._cluster.database.reading() as session:
            return all(viewing.table_info(session, seat.number).state not in NOT_OVER for seat in self._seats)

    @property
    def worst_wait_seconds(self) -> float:
        """Return the longest time from a move, or from sitting down, to the next question, outages included."""
        return max(end - begin for begin, end in self._waits)

    @property
    def worst_wait_afterwards_seconds(self) -> float:
        """Return the worst wait in seconds, counted from the end of the disturbance's cause."""
        return max(max(0.0, end - max(begin, self._calm_at)) for begin, end in self._waits)

    def told(self) -> str:
        moves = sum(len(seat.taken) for seat in self._seats)
        waits = f"{self.worst_wait_seconds:4.1f} s, {self.worst_wait_afterwards_seconds:4.1f} s of that afterwards"
        return f"a person made {moves} moves in {len(self._seats)} matches and waited at worst {waits}"

    def wrong(self) -> list[str]:
        """Return what is wrong with any match: no accepted move may be lost, doubled or invented."""
        return [sentence for seat in self._seats for sentence in self._wrong(seat)]

    def _wrong(self, seat: Seat) -> Iterator[str]:
        number = seat.number
        with self._cluster.database.reading() as session:
            info = viewing.table_info(session, number)
        if info.state is TableState.ABANDONED and seat.left and info.cause == Cause.LEFT:
            return
        if info.state is not TableState.DONE:
            yield f"exhibition {number} is {info.state}: {info.cause}"
            return
        said, faults = self._recorded(info)
        if not set(seat.taken) <= set(said) <= set(seat.sent) or said != [line for line in seat.sent if line in said]:
            yield f"exhibition {number} has the answers {said}; taken were {seat.taken}, sent {seat.sent}"
        if faults != ({info.seat: Fault.EXITED} if seat.left else {}):
            yield f"exhibition {number} has faults {faults}; the person {'left' if seat.left else 'stayed'}"

    def _recorded(self, info: TableInfo) -> tuple[list[str | None], dict[int, Fault]]:
        """Return what the person answered, and who failed how."""
        assert info.transcript_sha256 is not None
        record = decode(self._cluster.blobs.get(info.transcript_sha256, MAX_TRANSCRIPT_BYTES))
        lines = (prompt.reply.line for prompt in record.prompts() if prompt.message.seat == info.seat)
        return [line for line in lines if line not in (None, "OK")], dict(record.result.faults)

    # --- What the person does.

    def _play(self) -> None:
        try:
            self._sign_up(f"guest-{secrets.token_hex(4)}")
            while self._calm_at > time.monotonic():
                self._match()
        except BaseException as error:  # noqa: BLE001  the thread that waits raises it
            self._failed = error
        finally:
            self._is_asked.set()

    def _match(self) -> None:
        wants_at = time.monotonic()
        leaves_at = self._chance.randrange(2, 20) if self._chance.random() < LEAVES else None
        seat = Seat(self._insist(self._sit), leaves_at)
        self._seats.append(seat)
        while (form := self._next(seat)) is not None:
            self._waits.append((wants_at, time.monotonic()))
            self._is_asked.set()
            if self._calm_at > time.monotonic():
                time.sleep(self._chance.uniform(0, THINK_SECONDS))
            wants_at = time.monotonic()
            self._insist(partial(self._answer, seat, form))
        self._waits.append((wants_at, time.monotonic()))

    def _sign_up(self, name: str) -> None:
        page = self._insist(lambda: self._page("/sign-up"))
        self._post("/sign-up", {**_form(page, "/sign-up").fields, "name": name, "password": PASSWORD})

    def _sit(self) -> str:
        """Take a seat, or return to the one taken when no answer arrived. Return its path."""
        page = self._page(f"/play?bot={self._bot_id}")
        if page.open_match:
            return page.open_match
        path = self._post("/play", _form(page, "/play").fields)
        assert PATH.fullmatch(path), f"the seat is at {path!r}"
        return path

    def _next(self, seat: Seat) -> Form | None:
        """Return the form to fill in, or None if the match is over."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_at:
            page = self._insist(lambda: self._page(seat.path))
            forms = {form.action: form for form in page.forms}
            if f"{seat.path}/resign" not in forms:
                return None
            if seat.path in forms:
                return forms[seat.path]
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"nothing was asked at {seat.path} for {PATIENCE_SECONDS:g} s")

    def _answer(self, seat: Seat, form: Form) -> None:
        fields = dict(form.fields)
        if len(seat.taken) == seat.leaves_at:
            seat.left = True
            self._post(f"{seat.path}/resign", {"csrf": fields["csrf"]})
            return
        if "category" in fields:
            dice = dict(list(form.boxes.items())[:5])
            fields |= dice
            line = f"PUT {fields['category']} {''.join(dice.values())}"
        else:
            fields |= {"bundle": "A", "bid": fields["turn"]}
            line = f"BID A {fields['turn']}"
        assert line not in seat.taken, f"at {seat.path} a move was asked for again that was taken: {line}"
        if line not in seat.sent:
            seat.sent.append(line)
        self._post(seat.path, fields)
        seat.taken.append(line)

    # --- What the person's browser does.

    def _insist(self, act: Callable[[], Told]) -> Told:
        """Repeat an act for as long as the cluster is disturbed."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return act()
            except (Struck, httpx.HTTPError) as error:
                if time.monotonic() > give_up_at:
                    raise AssertionError(f"not within {PATIENCE_SECONDS:g} s") from error
                time.sleep(LOOK_SECONDS)

    def _page(self, path: str) -> "Page":
        answer = _sound(self._http.get(path))
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return Page(answer.text)

    def _post(self, path: str, fields: Mapping[str, str]) -> str:
        """Return the address of the redirect, or "" if the answer is the page of a match that has just ended."""
        headers = {"Origin": str(self._http.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        answer = _sound(self._http.post(path, data=dict(fields), headers=headers))
        if answer.status_code == 303:
            return answer.headers["location"]
        said = COMPLAINT.search(answer.text)
        assert answer.status_code == 200 and said is None, f"{path}: {answer.status_code} {said and said[1]}"
        return ""


class Struck(Exception):
    """The site says that it cannot at the moment."""


class Page(Read):
    """A page of the site; `open_match`: the path of the person's open match, if linked there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = GO_ON.search(text)
        self.open_match = found[1] if found else ""


def _sound(answer: httpx.Response) -> httpx.Response:
    if answer.status_code >= 500 or answer.status_code == 429:
        raise Struck(f"{answer.request.url}: {answer.status_code}")
    return answer


def _form(page: Page, action: str) -> Form:
    return next(form for form in page.forms if form.action == action)
