"""Settings in model files: nested values as they are written today, or the flat ones of version-1 files."""

from __future__ import annotations

from typing import Any, TypeVar

from palmette.errors import ModelError, UsageError
from palmette.options.declare import Options, Value

# What models of files do that are older than an option; for all others it is the default of the option
_BEFORE = {"unicode": "none"}
Settings = TypeVar("Settings", bound=Value)


def unpack_settings(data: dict[str, Any], kind: type[Settings], options: type[Options], file: str) -> Settings:
    """The settings of a model file, checked; ModelError if one is wrong."""
    data = _BEFORE | data
    try:
        if isinstance(data.get("learner"), dict):
            return kind.from_dict(_with_iterations(data))
        from palmette.options.version1 import params_from_version1

        return kind(**params_from_version1(options, data))
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None


def _with_iterations(data: dict[str, Any]) -> dict[str, Any]:
    """Settings of files that call the iterations of L-BFGS passes, with their name of today."""
    learner, passes = data["learner"], data.get("passes")
    if passes is None or "iterations" in learner:
        return data
    from palmette.options.version1 import has_iterations

    if not has_iterations(learner.get("kind"), learner.get("optimiser")):
        return data
    return data | {"passes": None, "learner": learner | {"iterations": passes}}
