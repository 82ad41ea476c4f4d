"""Options, commands, wildcards, names that other systems reserve or confuse, and a mode that would lend rights. One of
them is the bot's first file, so its name goes through the manifest, the build and the start.
"""

import stat

from making import LEGAL, entry, upload, zipped

FIRST = "$(touch ..;id)\" |&`id`* 'or' %s {0}.py"
OTHERS = (
    *("-rf", "--checkpoint-action=exec=id", "@response", "~", "*", "$HOME", "con", "nul.txt", "trailing.", "trailing "),
    *("Case.py", "case.py", "caf\u00e9.txt", "cafe\u0301.txt", "\U0001f3b2.txt", ".hidden/.git/config"),
    *("deadheat.toml.bak", "x" * 255, "/".join("d" * 31) + "/deep"),
)
MANIFEST = f"language = 'python'\nentry = '''{FIRST}'''\n"
LENDER = entry("lender", stat.S_IFREG | 0o6755)

odd = [(name, b"") for name in OTHERS]
upload("bot.zip", zipped((FIRST, LEGAL), ("deadheat.toml", MANIFEST.encode()), (LENDER, b"#!/bin/sh\n"), *odd))
