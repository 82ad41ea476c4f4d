"""The directory is the larger half of its megabytes, and would take fifty in memory."""

from making import EMPTY, raw_zip, upload

upload("bot.zip", raw_zip((f"{number:x}.py", EMPTY, 0) for number in range(100_000)))
