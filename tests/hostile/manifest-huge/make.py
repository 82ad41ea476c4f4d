"""Parsed, its dotted key would take hours: that time grows with the square of the length."""

from making import LEGAL, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), ("deadheat.toml", b"a" + b".a" * 500_000 + b" = 1")))
