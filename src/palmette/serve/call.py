"""A request as a handler sees it, and its reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from palmette.serve.failure import Failure

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
Scope = MutableMapping[str, Any]


class Call(NamedTuple):
    """A request whose body has been read."""

    scope: Scope
    body: bytes

    @property
    def params(self) -> dict[str, str]:
        """The variable parts of the address."""
        found: dict[str, str] = self.scope["path_params"]
        return found

    def query(self) -> dict[str, str]:
        try:
            return dict(parse_qsl(self.scope["query_string"].decode("ascii"), max_num_fields=20))
        except ValueError:
            raise Failure(400, "the part of the address after ? cannot be read") from None

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the query, from 0."""
        given = self.query().get(name)
        if given is None:
            return default
        if not (given.isascii() and given.isdigit() and len(given) < 16):
            raise Failure(400, f"{name} is a whole number, and this is {given[:40]!r}")
        return min(int(given), most)


class Reply(NamedTuple):
    """What is sent back."""

    body: bytes | AsyncIterator[bytes]
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def reply(value: Any, status: int = 200) -> Reply:
    """A value as JSON."""
    return Reply(msgspec.json.encode(value, enc_hook=_plain), status)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is not plain data")


def error_reply(failure: Failure) -> Reply:
    headers = tuple((name.encode(), value.encode()) for name, value in failure.headers.items())
    return Reply(msgspec.json.encode({"error": str(failure)}), failure.status, JSON, headers)
