"""deploy/env.example shows every setting with its default, and nothing that is not a setting."""

from __future__ import annotations

from deadheat.league.config import Settings
from tests.conftest import JUDGE_IMAGE
from tests.docs.settings import EXAMPLE, example


def test_the_example_shows_every_setting_with_its_default_and_meaning():
    text = EXAMPLE.read_text(encoding="utf-8")
    assert example(text) == text, "python -m tests.docs.settings writes it anew"
    assert text.count("#DEADHEAT_") == len(Settings.model_fields)


def test_the_example_can_be_used_as_it_is(monkeypatch):
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#DEADHEAT_"):
            name, _, value = line[1:].partition("=")
            monkeypatch.setenv(name, value)
    assert Settings() == Settings.model_construct(image=JUDGE_IMAGE)
