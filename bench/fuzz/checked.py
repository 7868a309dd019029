"""Kernels as plain Python in which every index is checked, for the processes of the fuzz.

NumPy refuses an index beyond the end of an array, and takes a negative one from the end, where hand-written vector code
would read before the array. So the source of the kernels is changed when it is imported: `a[i]` becomes `a[_at(i)]`,
and `_at` refuses negative numbers.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

KERNELS = re.compile(r"palmette\.(\w+\.)?kernels\.")  # of the core and of rooms
NAME = "_checked_index"


def checked_index(index: Any) -> Any:
    """The index; IndexError if it is negative."""
    if isinstance(index, int | np.integer) and index < 0:
        raise IndexError(f"the index {index} is negative")
    return index


class _Check(ast.NodeTransformer):
    """`a[i, j]` becomes `a[_checked_index(i), _checked_index(j)]`, inside of functions; constants stay."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [_Inside().visit(statement) for statement in node.body]
        return node


class _Inside(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.target = self.visit(node.target)
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [_called(one) for one in node.slice.elts]
        else:
            node.slice = _called(node.slice)
        return node


def _called(index: ast.expr) -> ast.expr:
    """The index in a call of the check. Bounds of slices are indices too; numbers in the source were written so."""
    if isinstance(index, ast.Slice):
        index.lower = None if index.lower is None else _called(index.lower)
        index.upper = None if index.upper is None else _called(index.upper)
        return index
    written = ast.UnaryOp | ast.Constant | ast.Starred
    return index if isinstance(index, written) else ast.Call(ast.Name(NAME, ast.Load()), [index], [])


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """From the source: what is kept in __pycache__ has no checks."""
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(_Check().visit(ast.parse(self.get_data(path), path)))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[NAME] = checked_index
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target) if KERNELS.match(fullname) else None
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(fullname, found.loader.path)
        return found


def check_indices() -> None:
    """Check every index of the kernels that are imported from now on, if they run as plain Python."""
    if os.environ.get("PALMETTE_KERNELS") == "python" and not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
