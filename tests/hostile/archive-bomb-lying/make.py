"""Like archive-bomb, but it claims to be small."""

from making import MIB, raw_zip, upload, zeros

upload("bot.zip", raw_zip([("main.py", zeros(2**32 - MIB), 1000)]))
