"""Each module would say so and end the build."""

from making import LEGAL, upload, zipped

CAUGHT = b"import os, sys\nos.write(2, b'the build ran this\\n')\nif 'main' not in sys.argv[0]: os._exit(1)\n"
NAMES = ("compileall", "py_compile", "struct", "importlib/__init__", "sitecustomize", "usercustomize")

upload("bot.zip", zipped(("main.py", LEGAL), *((f"{name}.py", CAUGHT) for name in NAMES)))
