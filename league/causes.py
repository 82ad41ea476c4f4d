"""The causes that end an attempt, and what follows from each.

For the operator, the database keeps everything about a failure of the service: a library's message, including
addresses, paths and names of machines. Everything that leaves the league is filtered here. Details are public only for
causes whose details we write ourselves, about what was measured or decided (`Cause.told`); a fixed sentence replaces
those of all others, including unknown ones. Measurements (`evidence`) are public as they are, except for a machine's
reasons not to judge, if they are among them.

A row keeps its cause as a word. `Cause(word)` accepts any word: one that is not listed here, such as the class of an
exception or another version's cause, is `Cause.UNKNOWN`.
"""

from collections.abc import Collection, Mapping
from enum import Flag, StrEnum, auto
from typing import Any, Self

from deadheat.engine.language import N_, gettext


class Trait(Flag):
    """Properties of a cause."""

    TOLD = auto()  # we write its details ourselves, and they are public
    BLAMELESS = auto()  # the job would have succeeded elsewhere or later, so the attempt does not count against it
    MACHINE = auto()  # the machine cannot play at present, so it gets no work until it is checked
    CONDEMNS = auto()  # a watch on the machine fired, so the machine is unfit until its check passes
    BY_BOTS = auto()  # a bot may have caused it, although it counts against no series
    DROPPED = auto()  # the job was no longer needed
    LASTING = auto()  # the machine does not recover by itself, so a worker that starts there ends at once
    HOPELESS = auto()  # the next attempt there would fail too, so a command that plays ends at once


class Cause(StrEnum):
    """A stable word for why an attempt ended, with a phrase for people, its traits, and a sentence that replaces
    private details.
    """

    phrase: str
    traits: Trait
    sentence: str

    def __new__(cls, word: str, phrase: str = "", traits: Trait = Trait(0), sentence: str = "") -> Self:  # noqa: B008
        """Create a member whose value is the word."""
        cause = str.__new__(cls, word)
        cause._value_ = word
        cause.phrase, cause.traits, cause.sentence = phrase, traits, sentence
        return cause

    # The attempt became the result.
    PLAYED = "played", N_("played"), Trait.TOLD

    # The machine that played it failed.
    HOST_MEMORY = "host-memory", N_("the machine ran out of memory"), Trait.TOLD
    HOST_UNKNOWN = "host-unknown", N_("nothing shows whether the bot was kept from running"), Trait.TOLD
    WATCH_ENDED = "watch-ended", N_("the bot got almost no processor time"), Trait.TOLD | Trait.CONDEMNS
    HOST_STARVED = "host-starved", N_("the machine was overloaded"), Trait.TOLD  # of builds; of matches until 2026-11
    REFEREE_LATE = "referee-late", N_("the referee was late"), Trait.TOLD
    HOST_UNFIT = (  # also a key in a match's evidence: why its machine should not have judged it
        "host-unfit",
        N_("the machine was unfit to judge"),
        Trait.TOLD | Trait.BLAMELESS,
        N_("A machine was found unfit to judge: it could not be checked."),
    )

    MACHINE_LIED = (
        "machine-lied",
        N_("what the machine sent was refused"),
        Trait.BLAMELESS,
        N_("What a machine sent did not follow from the rules, so none of it counts."),
    )

    # The container engine, or one of its containers, failed.
    ENGINE = (
        "engine",
        N_("the container engine failed"),
        Trait.BLAMELESS | Trait.MACHINE | Trait.BY_BOTS,
        N_("The container engine of a machine failed."),
    )
    NO_ENGINE = (
        "no-engine",
        N_("the container engine did not answer"),
        Trait.BLAMELESS | Trait.MACHINE | Trait.HOPELESS,
        N_("A machine's container engine did not answer."),
    )
    NO_IMAGE = (
        "no-image",
        N_("the machine lacked the image"),
        Trait.BLAMELESS | Trait.MACHINE | Trait.HOPELESS,
        N_("A machine lacked the image for its boxes."),
    )
    NO_RUNTIME = (
        "no-runtime",
        N_("the machine lacked the runtime"),
        Trait.BLAMELESS | Trait.MACHINE | Trait.HOPELESS | Trait.LASTING,
        N_("A machine's container engine lacked the right runtime."),
    )
    CONTAINER_DIED = "container-died", N_("a container died"), Trait.TOLD
    CONTAINER_STUCK = (
        "container-stuck",
        N_("a container stopped accepting orders"),
        Trait(0),
        N_("A container stopped accepting orders."),
    )
    NO_START = "no-start", N_("the program could not be started"), Trait.HOPELESS, N_("A program could not be started.")

    # One of our own bots made a mistake.
    HOUSE_BOT = "house-bot", N_("one of our own bots failed"), Trait.TOLD
    REFERENCE_BOT = "reference-bot", N_("one of our reference bots failed"), Trait.TOLD

    # Another part of the service failed.
    BLOBS_AWAY = (
        "blobs-away",
        N_("the store could not be reached"),
        Trait.BLAMELESS,
        N_("Nothing could be stored or fetched."),
    )
    BLOB_DAMAGED = (
        "BlobDamaged",
        N_("the copy in the store is damaged"),
        Trait(0),
        N_("The store's copy of a program is damaged."),
    )
    BLOB_MISSING = (
        "BlobMissing",
        N_("the program is missing from the store"),
        Trait(0),
        N_("A program is missing from the store."),
    )
    DATABASE_AWAY = (
        "database-away",
        N_("the database could not be reached"),
        Trait.BLAMELESS,
        N_("The database was unavailable."),
    )
    LEASE_EXPIRED = "lease-expired", N_("the worker stopped reporting"), Trait(0), N_("The worker stopped reporting.")
    WORKER_STOPPED = "worker-stopped", N_("the worker was stopped, and handed it back"), Trait.TOLD | Trait.BLAMELESS

    # The job was no longer needed, which is not a failure.
    ENTRY_ABSENT = "entry-absent", N_("a bot had left the season"), Trait.TOLD | Trait.DROPPED
    CHALLENGE_OVER = "challenge-over", N_("its challenge was over"), Trait.TOLD | Trait.DROPPED
    EVALUATION_OVER = "evaluation-over", N_("its evaluation was over"), Trait.TOLD | Trait.DROPPED
    FINALS_BEGAN = "finals-began", N_("the finals began"), Trait.TOLD | Trait.DROPPED
    SEASON_CLOSED = "season-closed", N_("the season was closed"), Trait.TOLD | Trait.DROPPED

    # A person's match was not played to its end.
    NO_WORKER = "no-worker", N_("no worker was free in time")
    LEFT = "left", N_("the person left before it began")
    RESIGNED = "resigned", N_("the person resigned")  # while no worker had the match

    UNKNOWN = "unknown", N_("the service failed"), Trait(0), N_("The service failed; its log says how.")

    @classmethod
    def _missing_(cls, value: object) -> Self:  # noqa: ARG003  enum's own signature
        return cls.UNKNOWN

    @classmethod
    def having(cls, trait: Trait) -> frozenset[Self]:
        """Return all causes with this trait."""
        return frozenset(cause for cause in cls if trait in cause.traits)


BLAMELESS = Cause.having(Trait.BLAMELESS)
"""Causes that say nothing about the job. The job waits until they have passed, however long that takes. Any other
failure may be the job's own, so the job is abandoned after some attempts."""

ELSEWHERE = BLAMELESS | Cause.having(Trait.CONDEMNS)
"""Causes after which another attempt on the same machine is useless."""

DROPPED = Cause.having(Trait.DROPPED)
"""Causes of series that were not played because they were no longer needed."""

NOT_CHECKED = "It could not be checked"
"""The beginning of a machine's reason not to judge if the check itself failed; the engine's message follows."""


def explained(word: str) -> str:
    """Return a recorded cause for people: its phrase, and the word in brackets."""
    return f"{gettext(Cause(word).phrase)} ({word})"


def told(word: str, detail: str) -> str:
    """Return the public detail of an attempt that was recorded with this cause and detail."""
    cause = Cause(word)
    if Trait.TOLD in cause.traits and NOT_CHECKED not in detail:
        return detail
    return cause.sentence or Cause.UNKNOWN.sentence


def told_reasons(reasons: Collection[str]) -> tuple[str, ...]:
    """Return the public reasons why a machine should not judge."""
    return tuple(f"{NOT_CHECKED}." if reason.startswith(NOT_CHECKED) else reason for reason in reasons)


def told_evidence(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public part of an attempt's recorded evidence."""
    if Cause.HOST_UNFIT not in evidence:
        return dict(evidence)
    return {**evidence, Cause.HOST_UNFIT: list(told_reasons(evidence[Cause.HOST_UNFIT]))}


def told_findings(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the findings that an appeal's author may read (see `league.service.rulings.appeals.review`). Until 2026-11
    they included a copy of the ledger's attempts.
    """
    if "attempts" not in findings:
        return dict(findings)
    attempts = [
        {**row, "detail": told(row["cause"], row["detail"]), "evidence": told_evidence(row["evidence"])}
        for row in findings["attempts"]
    ]
    return {**findings, "attempts": attempts}
