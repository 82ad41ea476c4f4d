#!/usr/bin/env python3
"""The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md."""

import sys

CATEGORIES = "ONE TWO THREE FOUR FIVE SIX CHOICE FOUR_OF_A_KIND FULL_HOUSE SMALL_STRAIGHT LARGE_STRAIGHT YACHT".split()


def total(dice):
    return sum(map(int, dice))


def main():
    dice = ""  # what we hold: five dice, ten between an auction and the scoring after it
    unused = iter(CATEGORIES)
    bundles = {}
    for line in sys.stdin:
        match line.split():
            case ["READY"]:
                print("OK", flush=True)  # without the flush the line would arrive too late
            case ["ROLL", a, b]:  # bid half of the difference for the bundle with more pips
                bundles = {"A": a, "B": b}
                wanted = max(bundles, key=lambda name: total(bundles[name]))
                print(f"BID {wanted} {500 * abs(total(a) - total(b))}", flush=True)
            case ["GET", ours, _, _]:  # the other player's target and bid follow
                dice += bundles[ours]
            case ["SCORE"]:  # the first five dice, in the first category that is unused
                print(f"PUT {next(unused)} {dice[:5]}", flush=True)
                dice = dice[5:]
            case ["FINISH"]:
                return
            # SET says what the other player scored; it expects no answer


main()
