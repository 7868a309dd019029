"""Settings in model files."""

from __future__ import annotations

from typing import Any, TypeVar

from palmette.errors import ModelError, UsageError
from palmette.options.declare import Value

GONE = ("dual_rounds", "lock_free")  # removed options, in files written before
Settings = TypeVar("Settings", bound=Value)


def unpack_settings(data: dict[str, Any], kind: type[Settings], file: str) -> Settings:
    """The settings of a model file, checked; ModelError if one is wrong."""
    known = {name: value for name, value in data.items() if name not in GONE}
    if known.get("combine") == "dual":
        known["combine"] = "joint"  # the same maximum, by exact search
    try:
        return kind.from_dict(known)
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None
