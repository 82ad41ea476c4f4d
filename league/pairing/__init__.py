"""Who plays whom: pure functions, the same for the same seed.

`ladder` says what is played next, `seating` who sits where, `rounds` and `separation` make finals.
"""

from __future__ import annotations

from league.pairing.ladder import (
    PLACED_GAMES,
    PLACED_SE_ELO,
    Entrant,
    Met,
    Proposal,
    Reason,
    Terms,
    propose,
)
from league.pairing.pairs import PairKey, pair_key, parts
from league.pairing.rounds import NoRound, Round, berger, swiss
from league.pairing.seating import Seating, rotations, seatings, whole_turns
from league.pairing.separation import Gap, share_out

__all__ = [
    "PLACED_GAMES",
    "PLACED_SE_ELO",
    "Entrant",
    "Gap",
    "Met",
    "NoRound",
    "PairKey",
    "Proposal",
    "Reason",
    "Round",
    "Seating",
    "Terms",
    "berger",
    "pair_key",
    "parts",
    "propose",
    "rotations",
    "seatings",
    "share_out",
    "swiss",
    "whole_turns",
]
