"""`palmette warmup`: compile everything ahead, for containers and impatient people."""

from __future__ import annotations

import sys
import time

from palmette.cli.options import Flag, Quiet, say


def warmup(*, clean: Flag = False, quiet: Quiet = False) -> None:
    """Compile everything ahead of the first use.

    Parameters
    ----------
    clean: bool
        First throw away all that was compiled before, by other versions too.
    quiet: bool
        Say nothing.
    """
    from palmette.cli.compile_all import compile_all, throw_away
    from palmette.kernels.core import compile as compiling

    if clean:
        files, size = throw_away(compiling.cache_folder())
        say(quiet)(f"threw away {files:,} files, {size / 1e6:.1f} MB")
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
