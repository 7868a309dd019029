"""The application: routes behind the guard, with what runs in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

try:
    from starlette.routing import Router
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this needs Starlette: pip install 'palmette[serve]'", name=error.name) from None

from palmette.errors import UsageError
from palmette.serve.guard import LOOPBACK, Guard, Rules
from palmette.serve.limits import Limits
from palmette.serve.registry import Source, named_models
from palmette.serve.routes import routes
from palmette.serve.service import Service
from palmette.serve.training import TrainingLog


class Application(Guard):
    """The server's application; `service` is what it works with."""

    service: Service


def create_app(
    models: Sequence[str] = (),
    *,
    source: Source | None = None,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = LOOPBACK,
    threads: int | None = None,
    training: TrainingLog | None = None,
) -> Application:
    """An ASGI application that serves model files (`FILE` or `NAME=FILE`), or those of a `source`. token: what requests
    must have; hosts: the names under which it may be asked besides its addresses, None for any; training: a log to
    show."""
    if token is not None and not (token := token.strip()):
        raise UsageError("the token is empty: give one by --token or $PALMETTE_TOKEN, or unset both to serve without")
    limits = limits or Limits()
    source = source or Source(named_models(list(models)))
    service = Service(source, limits, threads=threads, training=training)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch())
        try:
            yield
        finally:
            service.stopping.set()
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            await asyncio.to_thread(service.close)

    router = Router(routes(service), redirect_slashes=False, lifespan=lifespan)
    made = Application(router, Rules(token, hosts), limits, service.metrics)
    made.service = service
    return made
