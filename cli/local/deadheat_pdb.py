"""pdb for a bot whose input is a match: it talks to the terminal instead. `replay --into` puts it into Python's path.

`breakpoint()` calls `set_trace`; ``python3 -m deadheat_pdb main.py`` debugs a bot from its first line on, and stops
where it crashes.
"""

import pdb  # noqa: T100  what this is about
import sys
from bdb import BdbQuit
from pathlib import Path
from traceback import print_exc

TERMINAL = Path("/dev/tty")


class TerminalPdb(pdb.Pdb):
    """A debugger that reads its commands from the terminal and answers there."""

    def __init__(self) -> None:
        super().__init__(stdin=TERMINAL.open(), stdout=TERMINAL.open("w"))


def set_trace() -> None:
    """Stop in the caller's frame."""
    TerminalPdb().set_trace(sys._getframe(1))  # noqa: SLF001  as pdb's own does


def main() -> None:
    """Debug the program named by the first argument."""
    del sys.argv[0]
    program = Path(sys.argv[0]).resolve()
    sys.path[0] = str(program.parent)
    debugger = TerminalPdb()
    try:
        code = compile(program.read_bytes(), str(program), "exec")
        debugger.run(code, {"__name__": "__main__", "__file__": str(program)})
    except (BdbQuit, SystemExit):
        pass
    except BaseException as error:  # noqa: BLE001  the bot's, whatever it is
        print_exc()
        debugger.reset()
        debugger.interaction(None, error.__traceback__)


if __name__ == "__main__":
    main()
