"""Make the upload; the argument is the folder for it."""

import sys
from pathlib import Path

Path(sys.argv[1], "bot.py").write_bytes(b"print('OK')\n\0\n")
