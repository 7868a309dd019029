"""The decorators of all kernels, and the three ways in which a kernel can run.

    library   machine code that was made when the package was built (core/native.py); Numba is not needed
    jit       compiled by Numba at the first call (core/jit.py): the extra `jit`
    python    plain Python, a thousand times slower: for small inputs, and for tests with real tracebacks

The library is used if one for this machine is installed and, in an editable install, as new as the sources; then Numba
if it is installed; then plain Python. PALMETTE_KERNELS=library|jit|python asks for one of them.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

from palmette.errors import UsageError

LIBRARY, JIT, PYTHON = "library", "jit", "python"

NUMBA = "pip install 'palmette[jit]' (Numba has wheels for Python 3.10 to 3.15 on Linux with glibc, macOS and Windows)"


def _has_numba() -> bool:
    """Whether Numba can be imported, not only found."""
    try:
        importlib.import_module("numba")
    except ImportError:
        return False
    return True


def _asked() -> str:
    """The mode that a variable asks for; empty if none does."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return PYTHON
    wanted = os.environ.get("PALMETTE_KERNELS", "")
    if wanted not in ("", LIBRARY, JIT, PYTHON):
        raise UsageError(f"PALMETTE_KERNELS is {wanted!r}: it can be {LIBRARY}, {JIT} or {PYTHON}")
    return wanted


def _choose() -> str:
    from palmette.kernels.core import native

    wanted = _asked()
    if wanted == LIBRARY and not native.is_usable():
        raise UsageError(f"PALMETTE_KERNELS={LIBRARY}, but {native.why_not()}")
    if wanted == JIT and not _has_numba():
        raise UsageError(f"PALMETTE_KERNELS={JIT} needs Numba: {NUMBA}")
    if wanted:
        return wanted
    if native.is_usable():
        return LIBRARY
    if _has_numba():
        return JIT
    slow = "kernels run as plain Python, a thousand times slower"
    warnings.warn(f"{native.why_not()}; {slow}", RuntimeWarning, stacklevel=2)
    return PYTHON


MODE = _choose()


def check_compiled(work: str) -> None:
    """Long work stops if kernels run as plain Python because nothing else is installed."""
    if MODE == PYTHON and not _asked():
        from palmette.kernels.core.native import why_not

        raise UsageError(f"{work} needs compiled kernels, and {why_not()}: {NUMBA}")


def kernel(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """An entry point that Python calls, listed in registry.py. Its annotations are its types."""
    if MODE == LIBRARY:
        from palmette.kernels.core.native import NativeKernel

        return NativeKernel(py_func)
    if MODE == JIT:
        from palmette.kernels.core.jit import jit_kernel

        return jit_kernel(py_func)
    return _plain(py_func)


def _plain(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """Numbers overflow and divide as in compiled code, without a word."""
    import numpy as np

    @functools.wraps(py_func)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return py_func(*arguments)

    return call


def prepared(function: Callable[..., Any], *arguments: Any) -> Callable[[], None]:
    """A kernel on arguments that stay where they are, for work that is shorter than checking them. Arrays carry what
    changes from call to call, numbers too."""
    prepare = getattr(function, "prepare", None)
    made: Callable[[], None] = functools.partial(function, *arguments) if prepare is None else prepare(*arguments)
    return made


def part(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A piece of a kernel, without a wrapper to call it from Python, which would double the compile time: a test that
    wants it calls it through a kernel of its own."""
    if MODE != JIT:
        return py_func
    from palmette.kernels.core.jit import PART, njit

    made: Callable[..., Any] = njit(**PART)(py_func)
    return made


def inline(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A small piece of an inner loop, always folded into its caller: a call counts references of every array
    it passes, which costs more than the body. Larger pieces are `part`s: folding them all took three times
    as long to compile."""
    if MODE != JIT:
        return py_func
    from palmette.kernels.core.jit import INLINE, njit

    made: Callable[..., Any] = njit(**INLINE)(py_func)
    return made
