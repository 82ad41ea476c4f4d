"""Unpacked in this order, the second entry would be written into /etc."""

from making import LEGAL, link, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), link("data", "/"), ("data/etc/motd", b"hello\n")))
