"""Only builds make tars; tests/sandbox shows what is refused there."""

import tarfile

from making import LEGAL, member, tarred, upload

upload(
    "bot.zip",
    tarred(
        [
            (member("main.py"), LEGAL),
            (member("memory", tarfile.CHRTYPE), b""),
            (member("pipe", tarfile.FIFOTYPE), b""),
            (member("hard", tarfile.LNKTYPE, link="/etc/shadow"), b""),
            (member("lender", mode=0o6755), b"#!/bin/sh\n"),
        ]
    ),
)
