"""The evidence of an attempt at a match, for the ledger."""

from deadheat.engine.verdicts import Taken
from deadheat.sandbox.arena import Played


def evidence(played: Played) -> dict[str, object]:
    """Return the ledger's evidence of a match: for every time-out, and for time that the host took from its bots."""
    taken = Taken.of(played.transcript.prompts())
    facts = {"timeouts": [*played.convictions], "stolen_ns": taken.stolen_ns, "past_deadline": taken.past_deadline}
    return {name: value for name, value in facts.items() if value}
