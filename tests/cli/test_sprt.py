"""`deadheat sprt`: as text, as JSON, and with arguments that make no test."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import assert_one_sentence, invoke, succeeded


def test_it_says_the_ratio_and_the_verdict() -> None:
    done = succeeded(invoke("sprt", "--elo0", "0", "--elo1", "2", "--counts", "365,16618,36229,16974,390"))
    assert done.stdout == (
        "LLR 2.25 in [-2.94, 2.94] after 141,152 games, score 50.14 %\nUndecided: more games are needed.\n"
    )


def test_json_has_the_same() -> None:
    arguments = ["--elo0", "0", "--elo1", "50", "--model", "logistic", "--counts", "50,20,130", "--json"]
    found = json.loads(invoke("sprt", *arguments).stdout)
    assert found.keys() == {"verdict", "llr", "lower", "upper", "games", "score"}
    assert (found["verdict"], found["games"], found["score"]) == ("accept", 200, 0.7)
    assert found["llr"] > found["upper"]


def test_bounds_below_zero_and_other_shares_of_errors() -> None:
    done = invoke("sprt", "--elo0", "-5", "--elo1", "0", "--alpha", "0.1", "--counts", "900, 100, 500")
    assert "H1 is rejected: the difference is -5 rather than 0 Elo." in done.stdout and "[-2.89, 2.25]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--elo0", "0", "--elo1", "5", "--counts", "1,2"), "counts are three numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", "1,2,x"), "counts are whole numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", "1,-2,3"), "counts are whole numbers"),
        (("--elo0", "0", "--elo1", "5", "--counts", ""), "counts are whole numbers"),
        (("--elo0", "5", "--elo1", "5", "--counts", "1,2,3"), "elo0 must be below elo1"),
        (("--elo0", "nan", "--elo1", "5", "--counts", "1,2,3"), "elo0 must be below elo1"),
        (("--elo0", "0", "--elo1", "5", "--beta", "1", "--counts", "1,2,3"), "alpha and beta must"),
    ],
)
def test_what_makes_no_test_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert_one_sentence(invoke("sprt", *arguments), sentence)
