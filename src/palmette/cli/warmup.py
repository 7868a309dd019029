"""`palmette warmup`: compile everything ahead, for containers and impatient people."""

from __future__ import annotations

import sys
import time

from palmette.cli.options import Quiet


def warmup(*, quiet: Quiet = False) -> None:
    """Compile everything ahead of the first use.

    Parameters
    ----------
    quiet: bool
        Say nothing.
    """
    from palmette.kernels import compile as compiling
    from palmette.warm import compile_all

    made: list[str] = []

    def compiled(name: str) -> None:
        made.append(name)
        if not quiet:
            print(f"compiling {name}", file=sys.stderr, flush=True)

    compiling.on_compile.append(compiled)
    begun = time.perf_counter()
    compile_all()
    if not quiet:
        folder = compiling.cache_folder() or "nowhere: no folder could be written, each run compiles anew"
        print(f"{len(made)} kernels compiled in {time.perf_counter() - begun:.1f} s; kept in {folder}")
