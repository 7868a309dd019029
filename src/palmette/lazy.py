"""What is named in one place and imported when it is first used.

Tables name it as `module:name`, the module below `palmette`. The core reaches what is in a room by such names alone
(commands, formats, drawings, clusters), so that it imports none. The door of a folder, its `__init__.py`, has the names
that other folders and tests use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def loaded(place: str) -> Any:
    """What stands at `module:name`, imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"palmette.{module}"), name)


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package. Its names stand in it once, as the imports of its `if TYPE_CHECKING:`,
    which type checkers read; each is imported when it is asked for."""

    @cache
    def modules() -> dict[str, str]:
        import ast

        source: Any = sys.modules[package].__loader__
        imports = [node for node in ast.walk(ast.parse(source.get_source(package))) if isinstance(node, ast.ImportFrom)]
        own = [node for node in imports if node.module is not None and node.module.startswith(f"{package}.")]
        return {each.name: str(node.module) for node in own for each in node.names}

    def get(name: str) -> Any:
        # The import of a module of the package asks for its name first: that is not worth reading the source
        if name.startswith("__") or find_spec(f"{package}.{name}") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    return get, lambda: sorted(modules())
