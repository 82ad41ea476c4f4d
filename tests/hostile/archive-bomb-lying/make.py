"""Like archive-bomb, but small by its own account."""

from making import MIB, raw_zip, upload, zeros

upload("bot.zip", raw_zip([("main.py", zeros(2**32 - MIB), 1000)]))
