"""`palmette warmup`: compile all kernels ahead of the first use, if they are not in the package as machine code."""

from __future__ import annotations

import time

from palmette.cli.command import Command, OutputOptions
from palmette.errors import UsageError, counted
from palmette.options.declare import option


class Warmup(OutputOptions, Command):
    """Compile the kernels ahead of their first use, where the package has no machine code for them. A usual
    installation has it, and there is nothing to do; otherwise the extra `jit` is needed."""

    clean: bool = option(default=False, help="First delete everything that was compiled before, by other versions too.")

    def run(self) -> None:
        from palmette.kernels.core.compile import JIT, LIBRARY, MODE
        from palmette.kernels.core.native import why_not
        from palmette.kernels.registry import KERNELS, find_kernel

        if MODE == LIBRARY:
            self._print(f"nothing to compile: all {len(KERNELS)} kernels are in the package as machine code")
            return
        if MODE != JIT:
            raise UsageError(f"kernels cannot be compiled here: {why_not()}")
        from palmette.kernels.core.jit import cache_folder, throw_away

        if self.clean:
            files, size = throw_away(cache_folder())
            self._print(f"deleted {counted(files, 'file')}, {size / 1e6:.1f} MB")
        begun, compiled = time.perf_counter(), 0
        for number, name in enumerate(KERNELS, 1):
            compiled += find_kernel(name).compile(f"{number} of {len(KERNELS)}")
        folder = cache_folder() or "no folder: none could be written, each run compiles again"
        self._print(f"{counted(compiled, 'kernel')} compiled in {time.perf_counter() - begun:.1f} s; kept in {folder}")

    def _print(self, text: str) -> None:
        if not self.quiet:
            print(text)
