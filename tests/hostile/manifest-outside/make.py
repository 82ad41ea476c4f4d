"""A manifest may name only the archive's files."""

from making import LEGAL, upload, zipped

MANIFEST = b'language = "python"\nentry = "../../../../etc/passwd"\n'

upload("bot.zip", zipped(("main.py", LEGAL), ("deadheat.toml", MANIFEST)))
