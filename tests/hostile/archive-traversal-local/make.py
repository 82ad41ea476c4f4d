"""Readers differ in which name they believe; ours demands that both agree."""

from making import LEGAL, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), ("good.py", b"")).replace(b"good.py", b"../x.py", 1))
