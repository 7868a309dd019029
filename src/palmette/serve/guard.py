"""The outermost layer: who may ask, how large a request may be, how long it may take; headers of every answer.

- `Host`: without a token only addresses, localhost and allowed names, so that a page of another site cannot reach the
  server by a name that its owner points here (DNS rebinding). `Origin`: only this server's own pages.
- A bearer token, if there is one, for all but the static files of the page and `/health`; compared in constant time.
- JSON must be declared as such: browsers send it to another site only after asking, and this server says no.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from palmette.errors import UsageError
from palmette.serve.call import Call, Reply, Scope, error_reply
from palmette.serve.failure import Failure, failure_of
from palmette.serve.limits import Limits
from palmette.serve.metrics import Metrics
from palmette.serve.page.assets import POLICY

logger = logging.getLogger(__name__)
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
LOOPBACK = ("localhost", "127.0.0.1", "::1")
OPEN = ("/", "/docs", "/health", "/favicon.ico")  # need no token
ENDLESS = ("/training/events",)
GONE = "palmette.gone"  # in the scope: a function that is called if nobody waits for the answer any more
CLOSE = {"connection": "close"}


class Rules:
    """Who may ask."""

    def __init__(self, token: str | None = None, hosts: Sequence[str] | None = None) -> None:
        self.token = None if token is None else token.encode()
        self.hosts = None if hosts is None else {_allowed(name) for name in hosts}  # besides addresses; None: any

    def check(self, scope: Scope) -> int:
        """Failure if a request is not allowed; the length of its body as far as it is declared."""
        host = origin = kind = b""
        bearer, length = None, 0
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"content-type":
                kind = value
            elif name == b"authorization":
                bearer = value
            elif name == b"content-length":
                length = int(value) if value.isdigit() and len(value) < 16 else 1 << 60
        if self.hosts is not None and (name := _name_of(host)) not in self.hosts and not _is_address(name):
            raise Failure(403, "the server does not answer under that name: see --allow-host")
        if origin and origin != b"null" and origin.partition(b"://")[2] != host:
            raise Failure(403, "pages of other sites may not ask")
        if origin == b"null":
            raise Failure(403, "pages without an origin may not ask")
        path = scope["path"]
        if self.token is not None and path not in OPEN and not path.startswith("/static/"):
            self._check_token(bearer)
        if scope["method"] == "POST":
            _check_kind(path, kind)
        return length

    def _check_token(self, bearer: bytes | None) -> None:
        scheme, _, given = (bearer or b"").partition(b" ")
        assert self.token is not None
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self.token):
            raise Failure(
                401, "give the token of the server: Authorization: Bearer ...", {"www-authenticate": "Bearer"}
            )


def _allowed(name: str) -> str:
    """A name under which the server may be asked, as `_name_of` gives it; UsageError if no `Host` has that name."""
    if not _is_address(name) and (not name or re.search(r"[\s:/]", name)):
        raise UsageError(
            f"{name!r} cannot be an allowed host: give a name without scheme and port, such as example.org"
        )
    return name.lower()


def _name_of(host: bytes) -> str:
    """The name of a `Host` header, without the port."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        inside, _, rest = text[1:].partition("]")
        return inside if rest.partition(":")[0] == "" and ":" in inside else ""
    return text.partition(":")[0]


def _is_address(name: str) -> bool:
    """Whether a name is an IP address, which cannot be pointed elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_kind(path: str, kind: bytes) -> None:
    wanted = b"text/plain" if path.endswith("/columns") else b"application/json"
    if kind != wanted and kind.partition(b";")[0].strip().lower() != wanted:
        raise Failure(415, f"the content type is {wanted.decode()} here: send it as a header")


class Guard:
    """The application with its checks, as a server runs it."""

    def __init__(self, app: App, rules: Rules, limits: Limits, metrics: Metrics) -> None:
        self.app, self.rules, self.limits, self.metrics = app, rules, limits, metrics
        self.active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: there is none
            await send({"type": "websocket.close", "code": 1008})
            return
        scope["app"] = self
        self.active += 1
        begun = time.perf_counter()
        answer = _Answer(scope, send)
        try:
            if scope["path"] in ENDLESS:
                self.rules.check(scope)
                scope["palmette.body"] = b""
                await self.app(scope, receive, answer)
            else:
                async with asyncio.timeout(self.limits.seconds):
                    scope["palmette.body"] = await self._body(scope, receive)
                    await self.app(scope, receive, answer)
        except TimeoutError:
            if GONE in scope:
                scope[GONE]()
            message = f"not answered within {self.limits.seconds:g} seconds: send fewer tokens, or ask for less"
            if "palmette.body" not in scope:
                message = f"the request was not complete within {self.limits.seconds:g} seconds"
            await self._fail(answer, Failure(408, message, CLOSE))
        except HTTPException as error:
            known = {404: "there is no such address; see /openapi.json", 405: "this address has other methods"}
            await self._fail(
                answer, Failure(error.status_code, known.get(error.status_code, error.detail), error.headers)
            )
        except Exception as error:
            await self._fail(answer, failure_of(error, f"{scope['method']} {scope['path'][:200]!r}"))
        finally:
            self.active -= 1
            self.metrics.request(answer.address(), answer.status, time.perf_counter() - begun)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The body of a request, if it is not too large."""
        most = self.limits.body
        if self.rules.check(scope) > most:
            raise Failure(413, f"the body has more than {most:,} bytes", CLOSE)
        message = await receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            if len(body) > most:
                raise Failure(413, f"the body has more than {most:,} bytes", CLOSE)
            return body
        pieces, size = [body], len(body)
        while message.get("more_body", False):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Failure(400, "the request ended before its body was complete", CLOSE)
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                raise Failure(413, f"the body has more than {most:,} bytes", CLOSE)
        return b"".join(pieces)

    async def _fail(self, answer: _Answer, failure: Failure) -> None:
        """Send an error, unless an answer has begun."""
        if answer.status:
            logger.warning("an answer was cut off: %s", failure)
            return
        if "palmette.body" not in answer.scope:
            failure.headers.setdefault("connection", "close")  # the rest of the body is not read
        try:
            async with asyncio.timeout(self.limits.seconds):
                await send_reply(answer, error_reply(failure))
        except TimeoutError:
            logger.info("a client does not read its answer")


class _Answer:
    """Sends an answer with the headers that all have, and remembers its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope, self.send = scope, send
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *HEADERS]
        await self.send(message)

    def address(self) -> str:
        """What the address is called in the metrics."""
        return str(getattr(self.scope.get("endpoint"), "path", "other"))


async def send_reply(send: Send, made: Reply) -> None:
    """Send a reply, whole or as a stream."""
    if isinstance(made.body, bytes):
        headers = [
            (b"content-type", made.content_type.encode()), (b"content-length", str(len(made.body)).encode()),
            (b"cache-control", b"no-store"), *made.headers,
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": made.status, "headers": headers})
        await send({"type": "http.response.body", "body": made.body})
        return
    headers = [(b"content-type", made.content_type.encode()), (b"cache-control", b"no-store"), *made.headers]
    await send({"type": "http.response.start", "status": made.status, "headers": headers})
    async for piece in made.body:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


Handler = Callable[[Call], Awaitable[Reply]]


class Endpoint:
    """A handler as an application of its own, which the router calls."""

    def __init__(self, path: str, handlers: dict[str, Handler]) -> None:
        self.path, self.handlers = path, handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        handler = self.handlers["GET" if method == "HEAD" else method]
        await send_reply(send, await handler(Call(scope, scope["palmette.body"])))
