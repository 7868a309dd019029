"""Running the application: in the foreground until a signal ends it, or in a thread of another program."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this needs uvicorn: pip install 'palmette[serve]'", name=error.name) from None

from palmette.errors import UsageError
from palmette.serve.app import Application
from palmette.serve.protocol import MOST_HEAD, limited_protocol

BACKLOG = 1024  # connections that wait to be accepted
KEEP_ALIVE = 75  # seconds that an idle connection stays open
GRACE = 5  # seconds beyond the time limit of requests that a stopping server waits for them


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; UsageError if there can be none."""
    listener = None
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, number)  # TCP by name: asyncio sends small answers at once only then
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        return listener
    except OSError as error:
        if listener is not None:
            listener.close()
        hint = "; choose another --port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise UsageError(f"cannot listen at {host}:{port}: {error.strerror or error}{hint}") from None


def address_of(listener: socket.socket, host: str) -> str:
    """The address to type."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Tells the application first when it is to stop, so that endless answers end; a signal ends it in peace."""

    def __init__(self, app: Application, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.application, self.ready = app, ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready()

    async def shutdown(self, sockets: Any = None) -> None:
        self.application.service.stopping.set()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _server(app: Application, ready: Callable[[], None]) -> _Server:
    config = uvicorn.Config(
        app, http=limited_protocol(app.limits, app.service.in_flight),
        ws="none", interface="asgi3", lifespan="on", log_config=None,
        log_level="error", access_log=False, proxy_headers=False, server_header=False, timeout_keep_alive=KEEP_ALIVE,
        h11_max_incomplete_event_size=2 * MOST_HEAD,  # the protocol refuses before that, in words
        timeout_graceful_shutdown=int(app.limits.seconds) + GRACE,
    )  # fmt: skip
    return _Server(app, config, ready)


def serve(app: Application, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Answer requests until SIGINT or SIGTERM; what has begun is finished first."""

    def begun() -> None:
        gc.collect()
        gc.freeze()  # models and modules are not garbage
        ready()

    _server(app, begun).run([listener])


class Running(NamedTuple):
    """A server in a thread."""

    address: str
    stop: Callable[[], None]  # waits until it has stopped


def start_in_background(app: Application, host: str = "127.0.0.1", port: int = 0) -> Running:
    """Serve in a thread, while the program does something else; port 0 chooses a free one."""
    listener = listening(host, port)
    started = threading.Event()
    server = _server(app, started.set)

    def run() -> None:
        try:
            asyncio.run(server.serve([listener]))
        finally:
            started.set()

    thread = threading.Thread(target=run, daemon=True, name="palmette-serve")
    thread.start()
    started.wait(30)

    def stop() -> None:
        server.should_exit = True
        thread.join(app.limits.seconds + GRACE + 5)

    return Running(address_of(listener, host), stop)
