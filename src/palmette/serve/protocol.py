"""Connections with limits: how many there are, in all and per client, how long and how large the head of a request may
be. What the body may be is checked in guard.py, once the head is there."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from palmette.serve.batcher import InFlight
from palmette.serve.limits import Limits

MOST_HEAD = 1 << 16  # bytes


class Heads:
    """Whether the head of a request is being read, as a parser tells."""

    in_head: bool = False
    head_bytes: int = 0

    def head_begun(self) -> None:
        self.in_head, self.head_bytes = True, 0

    def head_ended(self) -> None:
        self.in_head = False


def parsing_protocol() -> Any:
    """uvicorn's protocol with a parser in C (httptools) or, where that is not installed, in Python (h11)."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError as error:
        if error.name != "httptools":
            raise
        return _parsing_in_python()

    class ParsingInC(Heads, HttpToolsProtocol):
        def on_message_begin(self) -> None:
            self.head_begun()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.head_ended()
            super().on_headers_complete()

    return ParsingInC


def _parsing_in_python() -> Any:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class ParsingInPython(Heads, H11Protocol):
        def handle_events(self) -> None:
            super().handle_events()
            if self.conn.their_state is not h11.IDLE or not self.conn.trailing_data[0]:
                self.head_ended()
            elif not self.in_head:  # a part of one has come
                self.head_begun()

    return ParsingInPython


class LimitedProtocol(parsing_protocol()):  # type: ignore[misc]
    """HTTP 1.1; slow and endless heads of requests are refused."""

    limits: Limits
    in_flight: InFlight
    per_client: Counter[str]  # connections by address

    head_bytes: int
    late: asyncio.TimerHandle | None = None
    address = ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.per_client[self.address] += 1
        self.in_flight.tasks = self.tasks
        if len(self.connections) > self.limits.connections:
            self._refuse(b"429 Too Many Requests", "too many connections: come again later")
            return
        if self.per_client[self.address] > self.limits.client_connections:
            self._refuse(b"429 Too Many Requests", "too many connections from one address: come again later")
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.per_client[self.address] -= 1
        if not self.per_client[self.address]:
            del self.per_client[self.address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.in_head:
            self.head_bytes += len(data)
        super().data_received(data)
        if not self.in_head:
            return
        self.head_bytes = self.head_bytes or len(data)
        if self.head_bytes > MOST_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", f"the head has more than {MOST_HEAD:,} bytes")
        elif self.late is None:
            self._wait()

    def head_ended(self) -> None:
        super().head_ended()
        self._stop_waiting()

    def _wait(self) -> None:
        self.late = self.loop.call_later(self.limits.seconds, self._too_late)

    def _stop_waiting(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None

    def _too_late(self) -> None:
        self.late = None
        if self.in_head:
            self._refuse(b"408 Request Timeout", f"the head was not complete within {self.limits.seconds:g} seconds")
        else:
            self.transport.close()

    def _refuse(self, status: bytes, message: str) -> None:
        body = b'{"error":"' + message.encode() + b'"}'
        self.transport.write(
            b"HTTP/1.1 " + status + b"\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: "
            + str(len(body)).encode() + b"\r\n\r\n" + body
        )  # fmt: skip
        self.transport.close()


def limited_protocol(limits: Limits, in_flight: InFlight) -> type[LimitedProtocol]:
    """The protocol with these limits; `in_flight` gets to know the tasks of its server."""
    own = {"limits": limits, "in_flight": in_flight, "per_client": Counter()}
    return type("OwnProtocol", (LimitedProtocol,), own)
