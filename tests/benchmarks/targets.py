"""Arguments and targets of the benchmarks. Each figure is printed beside its target; misses are listed at the end."""

import argparse
import sys
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

SLACK = 1.1
"""How far a short run may fall behind a ratio: it measures less, often while other work is running."""


def arguments(about: str | None, short: str) -> argparse.ArgumentParser:
    """Define the arguments of a benchmark: `--short`, and what `short` says about it."""
    prog = f"./scripts/bench {Path(sys.argv[0]).stem}"
    parser = argparse.ArgumentParser(prog, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help=short)
    return parser


@dataclass
class Targets:
    """The targets of one run. A `short` run must not fall behind what has been reached, which may miss the target."""

    short: bool = False
    missed: list[str] = field(default_factory=list)

    def shown(
        self,
        what: str,
        figure: float,
        least: float = -inf,
        most: float = inf,
        form: str = ".3f",
        reached: float | None = None,
    ) -> str:
        """Return the figure with its target as text. `reached` replaces `most` in a short run."""
        if self.short and reached is not None:
            most = reached
        if least == -inf and most == inf:
            return f"{figure:{form}}"
        wanted = f">= {least:g}" if most == inf else f"<= {most:g}" if least == -inf else f"{least:g} to {most:g}"
        slack = SLACK if self.short else 1
        met = least / slack <= figure <= most * slack
        if not met:
            self.missed.append(f"{what}: {figure:{form}}, wanted {wanted}")
        return f"{figure:{form}} ({wanted}){'' if met else ' MISSED'}"

    def report(self) -> int:
        """Print what was missed; return the exit code."""
        met = "Every target was reached, or missed by less than a tenth." if self.short else "Every target was reached."
        print(met if not self.missed else "MISSED:")
        for sentence in self.missed:
            print(f"  {sentence}")
        return int(bool(self.missed))
