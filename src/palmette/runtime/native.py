"""The runtime in C through ctypes, without NumPy: models that it can use, and sentences one after the other."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernels", "_library")
FINE, FILE, DAMAGED, UNSUPPORTED, INPUT, MEMORY = range(6)
_POINTER, _INT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "open": (_INT, [_TEXT, _POINTER, _POINTER, ctypes.c_size_t]),
    "close": (None, [_POINTER]),
    "labels": (_INT, [_POINTER]),
    "label": (_TEXT, [_POINTER, _INT]),
    "columns": (_INT, [_POINTER]),
    "metadata": (_TEXT, [_POINTER]),
    "sentence_new": (_POINTER, [_POINTER]),
    "sentence_free": (None, [_POINTER]),
    "clear": (None, [_POINTER]),
    "token": (_INT, [_POINTER]),
    "cell": (_INT, [_POINTER, _TEXT, ctypes.c_size_t, ctypes.c_float]),
    "tag": (_INT, [_POINTER, _INT]),
    "message": (_TEXT, [_POINTER]),
    "tokens": (_INT, [_POINTER]),
    "found": (_INT, [_POINTER]),
    "active": (_INT, [_POINTER, _INT]),
    "path": (ctypes.POINTER(_INT), [_POINTER, _INT]),
    "score": (ctypes.c_double, [_POINTER, _INT]),
    "atom": (ctypes.c_ssize_t, [_TEXT, _TEXT, ctypes.c_size_t, _POINTER, ctypes.c_size_t]),
    "unicode": (_TEXT, []),
    "sources": (_TEXT, []),
}


class RuntimeFailure(Exception):
    """What the runtime reports: a code of palmette.h and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def library_path() -> str:
    """Where the shared library of this installation is, if there is one."""
    if sys.platform == "win32":
        return os.path.join(FOLDER, "palmette.dll")
    return os.path.join(FOLDER, "libpalmette.dylib" if sys.platform == "darwin" else "libpalmette.so")


@cache
def library() -> Any:
    """The library; OSError if it cannot be loaded."""
    found = ctypes.CDLL(library_path())
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(found, f"palmette_{name}")
        function.restype, function.argtypes = result, arguments
    return found


class RuntimeModel:
    """A model that is open."""

    def __init__(self, path: str) -> None:
        self._library, handle = library(), _POINTER()
        message = ctypes.create_string_buffer(400)
        code = self._library.palmette_open(os.fsencode(path), ctypes.byref(handle), message, len(message))
        if code:
            raise RuntimeFailure(code, message.value.decode(errors="replace"))
        self._handle = handle
        self._sentence = _POINTER(self._library.palmette_sentence_new(handle))
        self.columns: int = self._library.palmette_columns(handle)
        self.labels = [
            self._library.palmette_label(handle, k).decode() for k in range(self._library.palmette_labels(handle))
        ]

    def metadata(self) -> str:
        """The metadata of the file, as JSON."""
        text: bytes = self._library.palmette_metadata(self._handle)
        return text.decode()

    def lists(
        self, rows: Sequence[Sequence[bytes | tuple[bytes, float]]], nbest: int = 1
    ) -> list[tuple[list[str], float]]:
        """The best label sequences of a sentence, each with its score. Cells are UTF-8; attributes may have values."""
        call, sentence = self._library, self._sentence
        call.palmette_clear(sentence)
        for row in rows:
            self._check(call.palmette_token(sentence))
            for cell in row:
                text, value = (cell, 1.0) if isinstance(cell, bytes) else cell
                self._check(call.palmette_cell(sentence, text, len(text), value))
        self._check(call.palmette_tag(sentence, nbest))
        found, names = call.palmette_found(sentence), self.labels
        paths = (call.palmette_path(sentence, k) for k in range(found))
        return [
            ([names[path[i]] for i in range(len(rows))], call.palmette_score(sentence, k))
            for k, path in enumerate(paths)
        ]

    def numbers(self, rows: Sequence[Sequence[bytes]]) -> list[int]:
        """The number of the label of each row of cells; sentences end at empty rows, which get -1."""
        call, sentence, made = self._library, self._sentence, []
        call.palmette_clear(sentence)
        for row in (*rows, ()):
            if row:
                self._check(call.palmette_token(sentence))
                for cell in row:
                    self._check(call.palmette_cell(sentence, cell, len(cell), 1.0))
                continue
            self._check(call.palmette_tag(sentence, 1))
            n = call.palmette_tokens(sentence)
            made += [*(call.palmette_path(sentence, 0)[:n] if n else ()), -1]
            call.palmette_clear(sentence)
        return made[:-1]

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeFailure(code, self._library.palmette_message(self._sentence).decode(errors="replace"))

    def close(self) -> None:
        """Free the memory; nothing may be called after."""
        self._library.palmette_sentence_free(self._sentence)
        self._library.palmette_close(self._handle)
