"""Who plays whom: pure functions, the same for the same seed."""

from __future__ import annotations

from league.pairing.ladder import propose
from league.pairing.pairs import PairKey, pair_key
from league.pairing.rounds import NoRound, Round, berger, swiss
from league.pairing.separation import Gap, share_out, unseparated

__all__ = [
    "Gap",
    "NoRound",
    "PairKey",
    "Round",
    "berger",
    "pair_key",
    "propose",
    "share_out",
    "swiss",
    "unseparated",
]
