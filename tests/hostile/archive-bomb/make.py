"""One entry, nearly as large as a zip of the old format can be."""

from making import MIB, raw_zip, upload, zeros

SIZE_BYTES = 2**32 - MIB

upload("bot.zip", raw_zip([("main.py", zeros(SIZE_BYTES), SIZE_BYTES)]))
