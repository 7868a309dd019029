"""Structured prediction on CPUs: taggers, chunkers and entity recognisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Reading", "Tagger", "__version__", "load_demo"]

if TYPE_CHECKING:
    from palmette.demo_data import load_demo
    from palmette.tagger import Tagger
    from palmette.text.read import Reading


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `palmette --help` does not wait for Numba."""
    if name == "Tagger":
        from palmette.tagger import Tagger

        return Tagger
    if name == "load_demo":
        from palmette.demo_data import load_demo

        return load_demo
    if name == "Reading":
        from palmette.text.read import Reading

        return Reading
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")
