"""One entry, nearly as large as zip's old format can state."""

from making import MIB, raw_zip, upload, zeros

SIZE_BYTES = 2**32 - MIB

upload("bot.zip", raw_zip([("main.py", zeros(SIZE_BYTES), SIZE_BYTES)]))
