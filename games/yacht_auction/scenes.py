"""Yacht Auction: two bundles of dice, two secret bids, two score sheets that fill up.

State: ``bundles`` {A, B} or null; ``bids`` [{target, bid, received, change}, ...] or null, and ``coin``; for each seat
``hands`` (dice), ``sheets`` {category: {dice, lit, points}} (the first ``lit`` of the dice score), ``bonus``, ``money``
(net bids) and ``totals``; ``last`` [seat, category] of the scoring just shown, or null.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.engine.core import Event
from deadheat.engine.language import N_, _
from deadheat.engine.scenes.core import Director, Figures, Moment, Row, Scene, at_fault, fault_words
from deadheat.games.yacht_auction.rules import BASIC, CATEGORIES, LAST_BIDDING, ROUNDS, Player


def scenes(moments: Iterator[Moment], names: Sequence[str]) -> Iterator[Scene]:
    """See `engine.scenes.Director`."""
    table = _Table()
    for moment in moments:
        event = moment.event
        if event["type"] == "final":
            break
        words = table.show(event, names)
        yield Scene(words, table.state(), table.round, moment.exchange, moment.answers, at_fault(event))


def _totals(state: Mapping[str, Any]) -> Figures:
    return list(state["totals"])


def _sheet(events: Sequence[Event]) -> Iterator[Row]:
    final: Any = events[-1]
    scored: dict[object, Any] = {(e["seat"], e["category"]): e for e in events if e["type"] == "score"}
    for category in CATEGORIES:
        entries = [scored.get((seat, category)) for seat in (0, 1)]
        cells = [f"{event['dice']} {event['points']:7,d}" if event else "-" for event in entries]
        yield _(NAMES[category]), cells, [event["points"] if event else 0 for event in entries]
        if category == list(BASIC)[-1]:
            yield _("bonus"), [f"{points:,}" for points in final["bonus"]], final["bonus"]
    for label, name in ((_("bids"), "bids"), (_("total"), "total")):
        yield label, [f"{points:,}" for points in final[name]], final[name]


DIRECTOR = Director(scenes, figure="points", figures=_totals, sheet=_sheet)


class _Table:
    """The state of a match: the dice on the table and both sheets."""

    def __init__(self) -> None:
        self.players = (Player(), Player())
        self.used: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.bundles: dict[str, str] = {}
        self.bids: list[dict[str, Any]] | None = None
        self.coin = False
        self.auctioned = False  # since the last scoring
        self.last: list[object] | None = None
        self.round: int | None = None

    def show(self, event: Event, names: Sequence[str]) -> str:
        """Apply one event and describe it."""
        self.round = event.get("round", self.round)  # type: ignore[assignment]
        self.last = None
        match event["type"]:
            case "roll":
                self.bundles, self.bids, self.auctioned = {"A": str(event["a"]), "B": str(event["b"])}, None, True
                return _("Bundle A is %(a)s, bundle B is %(b)s.", a=_spaced(event["a"]), b=_spaced(event["b"]))
            case "auction":
                return self._auction(event, names)
            case "score":
                return self._score(event, names)
            case _:
                if self.round == LAST_BIDDING and all(len(sheet) == LAST_BIDDING - 1 for sheet in self.used):
                    self.round = ROUNDS  # the last round does not begin with an auction
                return fault_words(event, names)

    def _auction(self, event: Any, names: Sequence[str]) -> str:
        self.bids, lines = [], []
        for seat, player in enumerate(self.players):
            target, bid, received = event["targets"][seat], event["bids"][seat], event["received"][seat]
            change = event["changes"][seat]
            player.dice += self.bundles[received]
            player.bids += change
            self.bids.append({"target": target, "bid": bid, "received": received, "change": change})
            words = {"bot": names[seat], "bid": f"{bid:,}", "target": target, "received": received}
            words["change"] = f"{change:+,}".replace("-", "\u2212") if change else _("for nothing")
            lines.append(_("%(bot)s bids %(bid)s for %(target)s and gets %(received)s (%(change)s)", **words))
        self.coin = event["coin"]
        return f"{'; '.join(lines)}{_('; the coin decides') if self.coin else ''}."

    def _score(self, event: Any, names: Sequence[str]) -> str:
        seat, category, dice = event["seat"], event["category"], event["dice"]
        if seat == 0 and not self.auctioned:  # the last round has no auction
            self.bundles, self.bids = {}, None
        self.auctioned = self.auctioned and seat == 0
        points = self.players[seat].score(category, dice)
        lit = _lit(category, dice, points)
        rest = sorted((Counter(dice) - Counter(lit)).elements())
        self.used[seat][category] = {"dice": "".join([*lit, *rest]), "lit": len(lit), "points": points}
        self.last = [seat, category]
        return _(
            "%(bot)s puts %(dice)s on %(category)s: %(points)s points, %(total)s in all.",
            bot=names[seat],
            dice=_spaced(dice),
            category=_(NAMES[category]),
            points=f"{points:,}",
            total=f"{self.players[seat].total:,}",
        )

    def state(self) -> dict[str, Any]:
        """Return a copy of the state."""
        return {
            "bundles": dict(self.bundles) or None,
            "bids": self.bids,
            "coin": self.coin and self.bids is not None,
            "hands": ["".join(sorted(player.dice)) for player in self.players],
            "sheets": [dict(sheet) for sheet in self.used],
            "bonus": [player.bonus for player in self.players],
            "money": [player.bids for player in self.players],
            "totals": [player.total for player in self.players],
            "last": self.last,
        }


NAMES = {
    **dict(zip(BASIC, (N_("one"), N_("two"), N_("three"), N_("four"), N_("five"), N_("six")), strict=True)),
    "CHOICE": N_("choice"),
    "FOUR_OF_A_KIND": N_("four of a kind"),
    "FULL_HOUSE": N_("full house"),
    "SMALL_STRAIGHT": N_("small straight"),
    "LARGE_STRAIGHT": N_("large straight"),
    "YACHT": N_("yacht"),
}
"""The categories' names for people; `web/board.js` has the same names."""

_FACES = "123456"
_FOUR = 4


def _lit(category: str, dice: str, points: int) -> str:
    """Return the dice that score in the category, sorted; none if they score nothing."""
    if points == 0:
        return ""
    if category in BASIC:
        face = _FACES[[*BASIC].index(category)]
        return face * dice.count(face)
    if category == "FOUR_OF_A_KIND":
        return _FOUR * max(dice, key=dice.count)
    if category == "SMALL_STRAIGHT":
        runs = (_FACES[start : start + _FOUR] for start in (0, 1, 2))
        return next(run for run in runs if set(run) <= set(dice))
    return "".join(sorted(dice))


def _spaced(dice: object) -> str:
    return " ".join(str(dice))
