"""Settings in model files."""

from __future__ import annotations

from typing import Any, TypeVar

from palmette.errors import ModelError, UsageError
from palmette.options.declare import Value

Settings = TypeVar("Settings", bound=Value)


def unpack_settings(data: dict[str, Any], kind: type[Settings], file: str) -> Settings:
    """The settings of a model file, checked; ModelError if one is wrong."""
    try:
        return kind.from_dict(data)
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None
