"""Structured prediction on CPUs: taggers, chunkers and entity recognisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["HMM", "Hypergraph", "Reading", "Tagger", "__version__", "load_demo"]

if TYPE_CHECKING:
    from palmette.demo_data import load_demo
    from palmette.hmm import HMM
    from palmette.hypergraph import Hypergraph
    from palmette.tagger import Tagger
    from palmette.text.read import Reading

_HOMES = {
    "HMM": "palmette.hmm",
    "Hypergraph": "palmette.hypergraph",
    "Reading": "palmette.text.read",
    "Tagger": "palmette.tagger",
    "load_demo": "palmette.demo_data",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `palmette --help` does not wait for Numba."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")
