"""What a server keeps of requests that failed: nothing."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from serve_cases import client, folder

from palmette import Tagger
from palmette.serve import Limits, create_app


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/models/chunk", {"text": "a " * 60_000}, 413),  # read in a thread
        ("/models/chunk", {"sentences": [["one column"]]}, 422),  # in a batch
        ("/models/chunk", {"sentences": [["one column"]], "nbest": 2}, 422),
        ("/models/chunk/view/trellis", {"text": "a", "allowed": {"9": "X"}}, 422),
        ("/models/chunk/pick", {"sentences": [["one column"]]}, 422),
        ("/models/chunk", None, 408),  # a body that does not come
    ],
)
def test_a_request_that_fails_is_let_go_at_once(path: str, body: Any, status: int) -> None:
    """No cycle of error, frame and future holds it until the garbage collector comes."""
    app = create_app([str(folder() / "chunk.palm")], limits=Limits(seconds=0.01 if body is None else 30.0))
    data = json.dumps(body).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]

    async def once() -> int:
        async def receive() -> Any:
            if body is None:
                await asyncio.sleep(60)
            return {"type": "http.request", "body": data, "more_body": False}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": path, "root_path": "", "query_string": b""}
        await app(scope | {"headers": headers}, receive, send)
        return int(sent[0]["status"])

    async def several() -> int:
        assert [await once() for _ in range(3)] == [status] * 3
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await once()
            return gc.collect()
        finally:
            gc.enable()

    assert asyncio.run(several()) < 50  # with such cycles some hundreds, and what they hold
    app.service.close()


def test_words_without_end_are_refused_and_long_ones_forgotten() -> None:
    with client() as c:
        assert c.post("/models/chunk", json={"tokens": [["x" * 10_001, "NN"]]}).status_code == 400
        assert c.post("/models/chunk", json={"text": "x" * 10_001}).status_code == 413
        for request in ({"text": "x" * 10_001}, {"rows": [["x" * 10_001, "NN"]]}, {"lines": "x" * 10_001}):
            assert c.post("/models/chunk/view/trellis", json=request).status_code == 413
    tagger = Tagger.load(folder() / "chunk.palm")
    long, short = [("x" * 9_000, "NN"), ("a", "NN")], [("a", "NN")]
    session = tagger.session()
    assert session.tag(long) == tagger.predict([long])[0]
    session.tag(short)
    assert list(session._local.room.reader.rows[0]) == ["a"]
