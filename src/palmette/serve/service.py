"""What the server knows and does: models, their batchers, threads, metrics; and the handlers that ask a model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from palmette import __version__
from palmette.serve.answers import Labels, Wanted, label, tagger_answer
from palmette.serve.batcher import Batcher, InFlight
from palmette.serve.call import TEXT, Call, Reply, reply
from palmette.serve.columns import labelled_columns
from palmette.serve.failure import Failure
from palmette.serve.guard import GONE
from palmette.serve.inputs import inputs_of
from palmette.serve.limits import Limits
from palmette.serve.metrics import Labels as MetricLabels
from palmette.serve.metrics import Metrics
from palmette.serve.other_answers import answer
from palmette.serve.page_parts import VIEWS, PageFiles, page_model_of
from palmette.serve.registry import Registry, Slot, Source
from palmette.serve.served import Served
from palmette.serve.session import CorrectionSession, sessions_of, uncorrectable, untrainable
from palmette.serve.training import TrainingLog
from palmette.serve.types import Health, Overview, Request

T = TypeVar("T")
SMALL = 1 << 16  # bytes of a request that is read on the event loop
WATCH = 1.0  # seconds between looks at the files of models
_REQUEST = msgspec.json.Decoder(Request)


class Service:
    """One server: its models, threads and counts."""

    def __init__(
        self, source: Source, limits: Limits, *, threads: int | None = None, training: TrainingLog | None = None
    ) -> None:
        self.limits = limits
        self.threads = threads or os.cpu_count() or 1
        self.registry = Registry(source)
        self.metrics = Metrics()
        self.executor = ThreadPoolExecutor(self.threads, thread_name_prefix="palmette")
        self.busy = 0  # calls that wait for a thread or have one
        self.stopping = asyncio.Event()
        self.training = training
        self.views = VIEWS
        self.sessions: dict[str, CorrectionSession] = sessions_of(self.registry)
        self.page_files = PageFiles(self.registry.files)
        self.in_flight = InFlight()
        self.batchers = {
            name: Batcher(
                _decoder(slot), _cut, self.executor, threads=self.threads, most_waiting=limits.waiting,
                in_flight=self.in_flight,
            )
            for name, slot in self.registry.slots.items()
        }  # fmt: skip

    # Running

    async def watch(self) -> None:
        """Load files that were replaced, until the server stops."""
        while not self.stopping.is_set():
            try:
                await asyncio.wait_for(self.stopping.wait(), WATCH)
            except TimeoutError:
                await asyncio.to_thread(self.registry.refresh)

    def close(self) -> None:
        """End what runs in the background."""
        self.stopping.set()
        for session in self.sessions.values():
            session.close()
        self.executor.shutdown(wait=False, cancel_futures=True)

    async def in_thread(self, call: Call, work: Callable[[Wanted], T]) -> T:
        """Run something on a thread; Failure if too much waits already. Work that nobody waits for looks at
        `wanted` and ends."""
        if self.busy >= self.threads + self.limits.waiting:
            raise Failure(429, f"{self.busy} requests are waiting: come again later", {"retry-after": "1"})
        wanted = Wanted()

        def gone() -> None:
            wanted.gone = True

        call.scope[GONE] = gone
        self.busy += 1
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self.executor, _unless_gone, work, wanted)
        future.add_done_callback(lambda _: self._done())
        try:
            return await future
        finally:
            del future  # an error that it holds would hold this frame, and with it the request

    def _done(self) -> None:
        self.busy -= 1

    # Asking a model

    async def ask(self, call: Call) -> Reply:
        """Labels, trees or classes of what a request has."""
        slot = self.registry.slot(call.params["name"])
        if len(call.body) > SMALL:
            return await self.in_thread(call, lambda wanted: self._answered(slot, call.body, wanted))
        request = _REQUEST.decode(call.body)
        served = slot.served
        if served.kind != "tagger" or not request.plain:
            return await self.in_thread(call, lambda wanted: self._encoded(served, request, wanted))
        inputs = inputs_of(request, self.limits)
        if inputs.parts is not None:
            served.check_text()
        batcher = self.batchers[served.name]
        found, served = await batcher.submit(inputs.sentences, inputs.parts is not None, inputs.n_tokens)
        self.metrics.work(served.name, len(inputs.sentences), inputs.n_tokens)
        return Reply(msgspec.json.encode(tagger_answer(served, request, inputs, found)))

    def _answered(self, slot: Slot, body: bytes, wanted: Wanted) -> Reply:
        return self._encoded(slot.served, _REQUEST.decode(body), wanted)

    def _encoded(self, served: Served, request: Request, wanted: Wanted) -> Reply:
        found = answer(served, request, self.limits, wanted)
        sizes = [len(getattr(one, "labels", None) or getattr(one, "words", ()) or ()) for one in found.sentences]
        self.metrics.work(served.name, len(sizes), sum(sizes))
        return Reply(msgspec.json.encode(found))

    async def columns(self, call: Call) -> Reply:
        """Text columns with the label as one more column."""
        name = call.params.get("name") or call.query().get("model")
        slot = self.registry.slot(name) if name else self.registry.first()
        served = slot.served
        made = await self.in_thread(call, lambda wanted: labelled_columns(served, call.body, self.limits, wanted))
        return Reply(made, content_type=TEXT)

    async def view(self, call: Call) -> Reply:
        """A view of the page."""
        served = self.registry.slot(call.params["name"]).served
        work = self.views.get(call.params["view"])
        if work is None:
            raise Failure(404, f"there is no view {call.params['view'][:100]!r}; there are: {', '.join(self.views)}")
        request = msgspec.json.decode(call.body or b"{}", type=dict[str, Any])
        self._check_view(request)

        def viewed(wanted: Wanted) -> Reply:
            filled = self.page_files.filled(served, request)
            return reply(work(page_model_of(served, self.registry), filled))

        return await self.in_thread(call, viewed)

    def _check_view(self, request: dict[str, Any]) -> None:
        """Failure if a view would be of too many tokens."""
        most = self.limits.view_tokens
        text, lines = request.get("text"), request.get("lines")
        given = [request.get(name) for name in ("tokens", "rows", "items", "words")]
        n = max((len(one) for one in given if isinstance(one, list)), default=0)
        if isinstance(lines, str):
            n = max(n, lines.count("\n") + 1)
        if isinstance(text, str):
            n = max(n, len(text.split()), len(text) // 20)
        if n > most:
            raise Failure(413, f"a view of {n:,} tokens, and at most {most:,} are allowed")
        words = [word for one in (text, lines) if isinstance(one, str) for word in one.split()]
        if any(len(word) > self.limits.word for word in [*words, *_strings(given)]):
            raise Failure(413, f"a word of more than {self.limits.word:,} characters")

    # Looking at the server

    async def models(self, call: Call) -> Reply:
        rows = [self._description(name) for name in self.registry.slots]
        return reply(Overview(models=rows, views=list(self.views), version=__version__))

    async def model(self, call: Call) -> Reply:
        self.registry.slot(call.params["name"])
        return reply(self._description(call.params["name"]))

    def _description(self, name: str) -> Any:
        slot = self.registry.slots[name]
        session = self.sessions.get(name)
        n = 0 if session is None else len(session.journal)
        served = slot.served
        return served.description(
            list(self.registry.files[name]), n, reload_error=slot.reload_error,
            uncorrectable=uncorrectable(served, session), untrainable=untrainable(served),
        )  # fmt: skip

    async def view_names(self, call: Call) -> Reply:
        return reply({"views": list(self.views)})

    async def health(self, call: Call) -> Reply:
        generations = {name: slot.served.generation for name, slot in self.registry.slots.items()}
        return reply(
            Health(status="stopping" if self.stopping.is_set() else "ok", version=__version__, models=generations)
        )

    async def show_metrics(self, call: Call) -> Reply:
        rows: list[tuple[str, str, MetricLabels, float]] = []
        for name, batcher in self.batchers.items():
            own = (("model", name),)
            rows.append(("batches_total", "Batches that were decoded.", own, batcher.batches))
        for name, batcher in self.batchers.items():
            rows.append(("batched_requests_total", "Requests in batches.", (("model", name),), batcher.batched))
        for name, slot in self.registry.slots.items():
            own = (("model", name),)
            rows.append(("model_generation", "1, and 1 more per replacement.", own, slot.served.generation))
        for name, session in self.sessions.items():
            rows.append(("corrections", "Corrections that are kept.", (("model", name),), len(session.journal)))
        rows.append(("waiting", "Calls that wait for a thread or have one.", (), self.busy))
        return Reply(self.metrics.text(rows).encode(), content_type="text/plain; version=0.0.4; charset=utf-8")

    # A training that runs in the same process

    async def training_records(self, call: Call) -> Reply:
        return reply(self._training().after(call.number("after", 0, 1 << 40)))

    async def training_events(self, call: Call) -> Reply:
        return Reply(self._training().events(self.stopping), content_type="text/event-stream")

    def _training(self) -> TrainingLog:
        if self.training is None:
            raise Failure(404, "no training runs in this process; see /models/{name}/retrain")
        return self.training


def _strings(given: Any) -> Iterator[str]:
    """All texts in plain data."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, (list, dict)):
        for one in given if isinstance(given, list) else [*given, *given.values()]:
            yield from _strings(one)


def _unless_gone(work: Callable[[Wanted], T], wanted: Wanted) -> T:
    wanted.check()
    return work(wanted)


def _decoder(slot: Slot) -> Callable[[list[list[Any]], bool], tuple[Labels, Served]]:
    def decode(sentences: list[list[Any]], text: bool) -> tuple[Labels, Served]:
        served = slot.served
        if served.kind != "tagger":  # it took the place of the tagger that the request was for
            raise Failure(409, f"{served.name} is a {served.kind} now: send the request again")
        return label(served, sentences, text), served

    return decode


def _cut(found: tuple[Labels, Served], first: int, last: int) -> tuple[Labels, Served]:
    (labels, scores, sentences), served = found
    return Labels(labels[first:last], scores[first:last], sentences[first:last]), served
