"""What tables name and nobody imports before it is used: `module:name`, the module below `palmette`.

The core reaches what is in a room by such names alone (commands, formats, drawings, clusters), so that it imports none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def loaded(place: str) -> Any:
    """What stands at `module:name`, imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"palmette.{module}"), name)
