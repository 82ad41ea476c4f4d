"""Only names of the archive's own files are taken."""

from making import LEGAL, upload, zipped

MANIFEST = b'language = "python"\nentry = "../../../../etc/passwd"\n'

upload("bot.zip", zipped(("main.py", LEGAL), ("deadheat.toml", MANIFEST)))
