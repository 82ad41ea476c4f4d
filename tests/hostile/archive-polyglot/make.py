"""Nobody reads what stands before the last zip."""

from making import LEGAL, upload, zipped

bait = zipped(("main.py", b"raise SystemExit('the wrong archive')"), ("deadheat.toml", b"language = 'c'"))

upload("bot.zip", b"#!/bin/sh\necho the wrong program >&2\nexit 1\n" + bait + zipped(("main.py", LEGAL)))
