"""A few hundred kilobytes as they are sent, sixteen megabytes of source, gigabytes of syntax tree."""

from making import upload, zipped

source = b"x = [" + b",".join(b"%d" % (number % 1000) for number in range(8_000_000)) + b"]\n"

upload("bot.zip", zipped(("main.py", source[:16_000_000] + b"]\n")))
