"""Checks what the league committed to in public: that a season's dice were fixed before anybody knew who would play,
and the audit log's hash chain. The functions are pure, so anybody can check a server's exports.

`league.service.series.deals` says what is checked and what must be trusted.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from deadheat.engine.chance import commitment, season_seed
from deadheat.engine.figures import plural
from deadheat.engine.games import same_deals
from deadheat.league.records.rulings import AuditRecord

MOST_DIFFERENCES = 20
"""The most differences listed for a season's dice or figures."""

SKIPPED = "season-dice-skipped"
"""The audit log's action for numbers that a restore left out (`league.service.series.deals.skip_dice`)."""

BY_THEMSELVES = (
    "The seeds were drawn one by one as matches were planned. There is only the host's word that nobody chose them."
)


@dataclass(frozen=True, slots=True)
class Told:
    """The public facts about a season's dice, including those in the audit log. `announced`: commitments. `skipped`:
    pairs of numbers; a restored back-up skipped all after the first, up to and including the second.
    """

    commitment: str | None
    secret: str | None
    announced: tuple[str, ...] = ()
    skipped: tuple[tuple[int, int], ...] = ()
    game: str = ""


@dataclass(frozen=True, slots=True)
class Dealt:
    """A match's dice. `seed` (hexadecimal) is None until it may be shown. `seats`: the version in each seat. `asked`:
    an author asked for it, so it is not rated and its seed does not belong to the season.
    """

    match_id: int
    deal: int | None
    commitment: str
    seed: str | None
    seats: tuple[int, ...] = ()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class DiceCheck:
    """A check's result. `sentence`: the answer if nothing is wrong; `differences`: what is wrong, in a bounded
    number of sentences.
    """

    sentence: str
    differences: tuple[str, ...]


def told(game: str, commitment_hex: str | None, secret: str | None, records: Iterable[tuple[str, str]]) -> Told:
    """Return a season's published facts about its dice; `records`: action and data (JSON) of its audit records."""
    changes = [(action, json.loads(data)) for action, data in records]
    opened = [data.get("dice_commitment") for action, data in changes if action == "season-open"]
    skipped = [(data["after"], data["to"]) for action, data in changes if action == SKIPPED]
    return Told(commitment_hex, secret, tuple(value for value in opened if value is not None), tuple(skipped), game)


def check_dice(season: Told, matches: Iterable[Dealt]) -> DiceCheck:
    """Recompute every seed of a season from its secret, if that is published. Otherwise check what is visible."""
    dealt = list(matches)
    wrong = tuple(islice(_wrong(season, dealt), MOST_DIFFERENCES))
    return DiceCheck(_sentence(season, dealt), wrong)


def wrong_seed(season: Told, match: Dealt) -> str | None:
    """Return the error in one match's dice, as a clause, or None if there is none or it cannot be known yet."""
    if season.commitment is None or (match.asked and match.deal is None):
        return None
    if match.deal is None:
        return "has a seed that was drawn separately although its season has a secret"
    if season.secret is None:
        return None
    seed = season_seed(_bytes(season.secret), match.deal) if match.deal > 0 else b""
    if commitment(seed) != match.commitment or match.seed not in (None, seed.hex()):
        return f"does not have the dice that follow from the season's secret for number {match.deal}"
    return None


def wrong_secret(season: Told) -> str | None:
    if season.secret is not None and commitment(_bytes(season.secret)) != season.commitment:
        return "The season's secret is not the one that it was committed to."
    return None


def _bytes(secret: str) -> bytes:
    """Return the secret's bytes; empty if the text is not a secret, because no season can be committed to that."""
    try:
        return bytes.fromhex(secret)
    except ValueError:
        return b""


def _wrong(season: Told, dealt: list[Dealt]) -> Iterator[str]:
    if tuple(filter(None, [season.commitment])) != season.announced:
        yield "The season's commitment to its dice is not the one in the audit log's record of its opening."
    if (wrong := wrong_secret(season)) is not None:
        yield wrong
    for match in dealt:
        if (clause := wrong_seed(season, match)) is not None:
            yield f"Match {match.match_id} {clause}."
    used: dict[int, list[Dealt]] = {}
    for match in dealt:
        if match.deal is None:
            continue
        before = used.setdefault(match.deal, [])
        rotated = same_deals(season.game) and all(  # a deal of the same versions in other seats
            sorted(match.seats) == sorted(other.seats) and match.seats != other.seats for other in before
        )
        if before and not rotated:
            yield f"Match {match.match_id} has the same dice as match {before[0].match_id}."
        before.append(match)
    numbers = {match.deal for match in dealt if match.deal is not None}
    if (left_out := _left_out(sorted(numbers), dict(season.skipped))) is not None:
        yield f"Dice number {left_out} of the season was never used, and later ones were."


def _left_out(numbers: Sequence[int], skipped: Mapping[int, int]) -> int | None:
    last = 0
    for number in numbers:
        while number != last + 1 and skipped.get(last, 0) > last:
            last = skipped[last]
        if number != last + 1:
            return last + 1
        last = number
    return None


def _sentence(season: Told, dealt: list[Dealt]) -> str:
    if season.commitment is None:
        return BY_THEMSELVES if dealt else "No dice have been drawn yet."
    if season.secret is None:
        return "The dice follow from a secret that is published with the final standings; nobody can check them before."
    rated = [match for match in dealt if not match.asked]
    seeds, matches = plural(len({match.deal for match in rated}), "seed"), plural(len(rated), "match", "matches")
    skips = f" {plural(len(season.skipped), 'restored back-up')} left numbers out." if season.skipped else ""
    return f"The dice follow from the secret that the season opened with: {seeds} of {matches}.{skips}"


GENESIS = "0" * 64
"""The previous hash of the first record."""


def record_sha256(record: AuditRecord) -> str:
    """Return the `sha256` that a record must have: that of its other fields' canonical JSON, without the number."""
    fields = {
        "at": record.at,
        "actor": record.actor,
        "action": record.action,
        "subject": record.subject,
        "data": record.data,
        "prev": record.prev_sha256,
    }
    return hashlib.sha256(canonical(fields).encode()).hexdigest()


def canonical(value: Mapping[str, object]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
