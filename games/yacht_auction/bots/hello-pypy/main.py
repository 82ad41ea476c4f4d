#!/usr/bin/env pypy3
"""The smallest Yacht Auction bot that plays a legal match, in the Python that PyPy knows (3.9: no `match` yet).

PyPy is chosen by deadheat.toml. The rules are in games/yacht_auction/protocol.md.
"""

import sys

CATEGORIES = "ONE TWO THREE FOUR FIVE SIX CHOICE FOUR_OF_A_KIND FULL_HOUSE SMALL_STRAIGHT LARGE_STRAIGHT YACHT".split()


def total(dice):
    return sum(map(int, dice))


def main():
    dice = ""  # what we hold: five dice, ten between an auction and the scoring after it
    unused = iter(CATEGORIES)
    bundles = {}
    for line in sys.stdin:
        command, *words = line.split()
        if command == "READY":
            print("OK", flush=True)  # without the flush the line would arrive too late
        elif command == "ROLL":  # bid half of the difference for the bundle with more pips
            bundles = dict(zip("AB", words))
            a, b = map(total, words)
            print(f"BID {'A' if a >= b else 'B'} {500 * abs(a - b)}", flush=True)
        elif command == "GET":  # GET A B 500: we got A; the other player wanted B and bid 500
            dice += bundles[words[0]]
        elif command == "SCORE":  # the first five dice, in the first category that is unused
            print(f"PUT {next(unused)} {dice[:5]}", flush=True)
            dice = dice[5:]
        elif command == "FINISH":
            return
        # SET says what the other player scored; it expects no answer


main()
