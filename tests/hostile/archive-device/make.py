"""A block device, by the bits that a Unix packer leaves for its mode."""

import stat

from making import LEGAL, entry, upload, zipped

upload("bot.zip", zipped(("main.py", LEGAL), (entry("disk", stat.S_IFBLK | 0o666), b"")))
