"""The formats of tournaments: a further one is a module with its rules, and a line here."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from deadheat.league.pairing.figures import Figure
from deadheat.league.pairing.knockout import Knockout
from deadheat.league.pairing.round_robin import RoundRobin
from deadheat.league.pairing.swiss import Swiss
from deadheat.league.pairing.tournament import Rules


class EvaluationFormat(StrEnum):
    """The format of an evaluation, or of a stage of the finals."""

    rules: Rules

    def __new__(cls, word: str, rules: Rules = Rules()) -> Self:  # noqa: B008
        """Create a member whose value is the word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.rules = rules
        return member

    SWISS = "swiss", Swiss()  # each round pairs equal scores
    ROUND_ROBIN = "round-robin", RoundRobin()  # everybody meets everybody once
    KNOCKOUT = "knockout", Knockout()  # the loser is out; only as a stage


USUAL: Mapping[EvaluationFormat, tuple[Figure, ...]] = {form: form.rules.usual for form in EvaluationFormat}
"""What breaks ties in each format, in order, unless an organiser chose others."""
