"""The handlers of correction sessions."""

from __future__ import annotations

import asyncio

import msgspec

from palmette.serve.call import Call, Reply, reply
from palmette.serve.failure import Failure
from palmette.serve.service import Service
from palmette.serve.session import CorrectionSession, uncorrectable
from palmette.serve.types import (
    Confirmed,
    Corrections,
    CorrectionsRequest,
    Count,
    PickRequest,
    RetrainRequest,
)

MOST_LISTED = 1000


class CorrectionHandlers:
    """What the page and programs do with corrections."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def session(self, call: Call) -> CorrectionSession:
        """The session of the model that a request names."""
        name = call.params["name"]
        served = self.service.registry.slot(name).served
        found = self.service.sessions.get(name)
        if found is None:
            raise Failure(409, uncorrectable(served, None) or "corrections are not kept")
        return found

    async def pick(self, call: Call) -> Reply:
        session = self.session(call)
        request = msgspec.json.decode(call.body or b"{}", type=PickRequest)
        served, limits = session.served, self.service.limits
        corrected = session.journal.all()
        return reply(
            await self.service.in_thread(call, lambda _: session.picker.pick(served, request, corrected, limits))
        )

    async def add(self, call: Call) -> Reply:
        """Keep corrections; the answer comes when they are on the disk."""
        session = self.session(call)
        given = msgspec.json.decode(call.body, type=CorrectionsRequest).corrections
        self.service.limits.check_sizes([len(one.tokens) for one in given])
        given = [session.in_labels(one, f"correction {k + 1}") for k, one in enumerate(given)]
        session.check(given)
        ids = await asyncio.to_thread(session.journal.add, given)
        return reply(Confirmed(ids=ids, corrections=len(session.journal)), 201)

    async def listed(self, call: Call) -> Reply:
        session = self.session(call)
        after, limit = call.number("after", 0, 1 << 40), call.number("limit", MOST_LISTED, MOST_LISTED)
        return reply(Corrections(corrections=session.journal.part(after, limit), total=len(session.journal)))

    async def delete(self, call: Call) -> Reply:
        session = self.session(call)
        if not await asyncio.to_thread(session.journal.delete, call.params["id"]):
            raise Failure(404, f"there is no correction {call.params['id'][:100]!r}")
        return reply(Count(corrections=len(session.journal)))

    async def file(self, call: Call) -> Reply:
        """All corrections as a file to keep."""
        session = self.session(call)
        name, data = await self.service.in_thread(call, lambda _: session.file())
        disposition = f'attachment; filename="{name}"'.encode()
        return Reply(data, content_type="text/plain; charset=utf-8", headers=((b"content-disposition", disposition),))

    async def save(self, call: Call) -> Reply:
        session = self.session(call)
        return reply(await self.service.in_thread(call, lambda _: session.save()))

    async def retrain(self, call: Call) -> Reply:
        session = self.session(call)
        session.retrain(msgspec.json.decode(call.body or b"{}", type=RetrainRequest))
        return reply(session.retraining.state(), 202)

    async def retrain_state(self, call: Call) -> Reply:
        return reply(self.session(call).retraining.state())

    async def stop_retrain(self, call: Call) -> Reply:
        session = self.session(call)
        await asyncio.to_thread(session.retraining.stop)
        return reply(session.retraining.state())
