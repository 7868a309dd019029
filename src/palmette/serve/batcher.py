"""Requests that arrive together are decoded together, and none waits for others to come.

A request joins those that wait. Once the event loop has read what is there, all that wait are decoded in one call: at
once if that is short, else on a thread; meanwhile others may gather. Compiled code runs without the GIL, so several
threads decode long batches at the same time; in short ones they would mostly wait for the GIL. A request that is the
only one in the whole server does not even wait for the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence, Sized
from concurrent.futures import Executor
from typing import Any, NamedTuple

from palmette.errors import PalmetteError
from palmette.serve.failure import Failure

INLINE = 5e-3  # seconds: a thread that has the GIL keeps it as long
MOST = 20_000  # tokens of a batch
FORGET = 0.2  # share of the newest measurement in the estimate of a token's time


class Waiting(NamedTuple):
    """A request that waits."""

    sentences: list[list[Any]]
    text: bool  # words of a text, as opposed to tokens that were given
    n_tokens: int
    future: asyncio.Future[Any] | None


class InFlight:
    """The tasks of the server, one per request that has begun; none if it does not tell."""

    tasks: Sized = ()

    @property
    def only_one(self) -> bool:
        return len(self.tasks) == 1


Decode = Callable[[list[list[Any]], bool], Any]
"""From sentences, and whether they are words of a text, to an object with a row per sentence that `part` cuts."""


class Batcher:
    """Gathers requests for one model. `decode` returns lists that are as long as the sentences it gets."""

    def __init__(
        self,
        decode: Decode,
        cut: Callable[[Any, int, int], Any],
        executor: Executor,
        *,
        threads: int,
        most_waiting: int,
        in_flight: InFlight | None = None,
    ) -> None:
        self.decode, self.cut, self.executor = decode, cut, executor
        self.threads, self.most_waiting = threads, most_waiting
        self.in_flight = in_flight or InFlight()
        self.waiting: deque[Waiting] = deque()
        self.running = 0  # batches on threads
        self.planned = False
        self.per_token: float | None = None  # seconds; the first batch goes to a thread
        self.batches = 0
        self.batched = 0  # requests in them

    async def submit(self, sentences: list[list[Any]], text: bool, n_tokens: int) -> Any:
        """What `decode` finds for the sentences of one request."""
        if len(self.waiting) >= self.most_waiting:
            raise Failure(429, f"{len(self.waiting)} requests are waiting: come again later", {"retry-after": "1"})
        if self.in_flight.only_one and not self.waiting and self._is_quick(n_tokens):
            self.batches += 1
            self.batched += 1
            (found,) = self._decoded([Waiting(sentences, text, n_tokens, None)], n_tokens)
            try:
                if isinstance(found, BaseException):
                    raise found
                return found
            finally:
                del found  # an error would hold this frame, and with it the request
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self.waiting.append(Waiting(sentences, text, n_tokens, future))
        if not self.planned:
            self.planned = True
            loop.call_soon(self._start, loop)
        try:
            return await future
        finally:
            del future  # an error that it holds would hold this frame

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Decode those that wait, unless all threads are busy: then the next one that ends does it."""
        self.planned = False
        while self.waiting and self.running < self.threads:
            batch, tokens = self._taken()
            if not batch:
                continue
            self.batches += 1
            self.batched += len(batch)
            if self._is_quick(tokens):
                self._deliver(batch, self._decoded(batch, tokens))
                continue
            self.running += 1
            done = loop.run_in_executor(self.executor, self._decoded, batch, tokens)
            done.add_done_callback(lambda found, batch=batch: self._finished(loop, batch, found))  # type: ignore[misc]

    def _is_quick(self, tokens: int) -> bool:
        """Whether decoding is too short for a thread."""
        return self.per_token is not None and tokens * self.per_token < INLINE

    def _taken(self) -> tuple[list[Waiting], int]:
        """Requests of the same kind that are decoded together; those that nobody waits for any more are dropped."""
        batch: list[Waiting] = []
        tokens = 0
        while self.waiting and (not batch or (tokens < MOST and self.waiting[0].text == batch[0].text)):
            one = self.waiting.popleft()
            if one.future is not None and not one.future.done():
                batch.append(one)
                tokens += one.n_tokens
        return batch, tokens

    def _decoded(self, batch: Sequence[Waiting], tokens: int) -> list[Any]:
        """The result of each request, or its error. One bad request does not spoil the others."""
        begun = time.thread_time()  # a busy machine does not make a model slow
        try:
            found = self.decode([sentence for one in batch for sentence in one.sentences], batch[0].text)
        except PalmetteError as error:
            if len(batch) == 1:
                return [error.with_traceback(None)]  # whose frames hold the request
            return [self._decoded([one], one.n_tokens)[0] for one in batch]
        except Exception as error:
            return [error] * len(batch)
        if tokens:
            took = (time.thread_time() - begun) / tokens
            before = took if self.per_token is None else self.per_token
            self.per_token = before + FORGET * (took - before)
        made, first = [], 0
        for one in batch:
            last = first + len(one.sentences)
            made.append(self.cut(found, first, last))
            first = last
        return made

    def _finished(self, loop: asyncio.AbstractEventLoop, batch: list[Waiting], found: asyncio.Future[Any]) -> None:
        self.running -= 1
        error = None if found.cancelled() else found.exception()
        results = [error or Failure(429, "the server is stopping")] * len(batch)
        self._deliver(batch, results if found.cancelled() or error is not None else found.result())
        self._start(loop)

    @staticmethod
    def _deliver(batch: Sequence[Waiting], results: Sequence[Any]) -> None:
        for one, result in zip(batch, results, strict=True):
            if one.future is None or one.future.done():
                continue
            if isinstance(result, BaseException):
                one.future.set_exception(result)
            else:
                one.future.set_result(result)
