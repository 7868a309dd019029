"""`palmette warmup`: compile all kernels ahead of the first use, as for container images."""

from __future__ import annotations

import logging
import time

from palmette.cli.command import Command, OutputOptions
from palmette.options.declare import option

logger = logging.getLogger(__name__)


class Warmup(OutputOptions, Command):
    """Compile all kernels ahead of the first use."""

    clean: bool = option(default=False, help="First delete everything that was compiled before, by other versions too.")

    def run(self) -> None:
        from palmette.cli.compile_all import compile_all, throw_away
        from palmette.cli.output import library_muted
        from palmette.kernels.core import compile as compiling

        if self.clean:
            files, size = throw_away(compiling.cache_folder())
            logger.info("deleted %s files, %.1f MB", f"{files:,}", size / 1e6)
        made: list[str] = []

        def compiled(name: str) -> None:
            made.append(name)
            logger.info("compiling %s", name)

        compiling.on_compile.append(compiled)
        begun = time.perf_counter()
        with library_muted():
            compile_all()
        if not self.quiet:
            folder = compiling.cache_folder() or "no folder: none could be written, each run compiles again"
            print(f"{len(made)} kernels compiled in {time.perf_counter() - begun:.1f} s; kept in {folder}")
