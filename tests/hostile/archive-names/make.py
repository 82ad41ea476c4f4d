"""Names that look like others to an author or an operator."""

from making import LEGAL, entry, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), (entry("innocent\u202eyp.exe"), b""), (entry("a\nb\x1b[2J"), b"")))
