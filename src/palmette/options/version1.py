"""Settings of version-1 model files, where the options of all learners lay side by side under older names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palmette.options.assemble import assemble, flat_name
from palmette.options.declare import Options
from palmette.options.learners import LEARNERS
from palmette.options.search import Beam
from palmette.options.states import LabelHistory, Latent

_DEFAULTS_THEN = {"probperc": {"rate": 0.2, "rate_schedule": "falling"}}  # those that are others now
_RENAMED = {"candidates": "nbest", "share": "tied_update"}


def params_from_version1(owner: type[Options], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of `owner` (ChainOptions, TreeOptions, LatentOptions) from the flat settings of a version-1 file."""
    old = {_RENAMED.get(name, name): value for name, value in settings.items()}
    if old.get("update") in ("always", "errors"):  # an early name of `when`
        old["when"] = old.pop("update")
    kind = old.get("learner", "perceptron")
    if has_iterations(kind, old.get("optimiser")) and old.get("passes") is not None:
        old["iterations"] = old.pop("passes")  # one name for both then
    wanted = {flat_name(option) for option in owner.__options__.values()}
    if isinstance(kind, str) and kind in LEARNERS:
        wanted |= set(LEARNERS[kind].__options__)
    if old.get("search") == "beam" or "search" not in old:
        wanted |= {flat_name(option) for option in Beam.__options__.values()}
    if _is_latent(owner, old.get("latent")):
        wanted |= {flat_name(option) for option in Latent.__options__.values()}
    if old.get("label_history") is not None:
        wanted |= {flat_name(option) for option in LabelHistory.__options__.values()}
    found = {name: value for name, value in old.items() if name in wanted and not _is_open(name, value)}
    if "rate" in found and found["rate"] is None:
        del found["rate"]  # the default of its learner
    then = _DEFAULTS_THEN.get(kind, {}) if isinstance(kind, str) else {}
    return assemble(owner, then | found)


def has_iterations(kind: object, optimiser: object) -> bool:
    """Whether a stored learner is one that is trained by L-BFGS; optimiser: None if it has no such option."""
    made = LEARNERS.get(kind) if isinstance(kind, str) else None
    return made is not None and "iterations" in made.__options__ and optimiser in (None, "lbfgs")


def _is_latent(owner: type[Options], latent: Any) -> bool:
    if "latent" in owner.__options__:  # of a classifier it is an option of its own
        return False
    return isinstance(latent, dict) or (isinstance(latent, int) and latent > 1)


def _is_open(name: str, value: Any) -> bool:
    """Whether a value only says that nothing was chosen."""
    return value is None and name in ("rate", "beam", "update", "nbest", "label_history", "mavg_every")
