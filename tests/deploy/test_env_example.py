"""deploy/env.example shows every setting with its default, and nothing that is not a setting."""

from __future__ import annotations

from pathlib import Path

from league.config import Settings

EXAMPLE = Path(__file__).parents[2] / "deploy" / "env.example"


def test_the_example_shows_every_setting_with_its_default():
    shown = [line[1:] for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.startswith("#DEADHEAT_")]
    defaults = [
        f"DEADHEAT_{name.upper()}={'' if field.default is None else field.default}"
        for name, field in Settings.model_fields.items()
    ]
    assert sorted(shown) == sorted(defaults)


def test_the_example_can_be_used_as_it_is(monkeypatch):
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#DEADHEAT_"):
            name, _, value = line[1:].partition("=")
            monkeypatch.setenv(name, value)
    assert Settings() == Settings.model_construct()
