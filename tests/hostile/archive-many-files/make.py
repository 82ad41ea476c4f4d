"""Of its megabytes the directory is the larger half: read into memory, it would be fifty of them."""

from making import EMPTY, raw_zip, upload

upload("bot.zip", raw_zip((f"{number:x}.py", EMPTY, 0) for number in range(100_000)))
