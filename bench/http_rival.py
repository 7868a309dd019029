"""`python -m bench.http_rival MODEL --port PORT`: a python-crfsuite tagger behind Starlette, as a careful user would
write it. Words and tags come in, features are made of them, labels go out."""

from __future__ import annotations

import sys

import msgspec
import pycrfsuite
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.rival import attributes


class Sentences(msgspec.Struct):
    sentences: list[list[list[str]]]


def application(model: str) -> Starlette:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    decoder = msgspec.json.Decoder(Sentences)

    async def tag(request: Request) -> Response:
        given = decoder.decode(await request.body()).sentences
        found = [{"labels": tagger.tag(attributes(sentence))} for sentence in given]
        return Response(msgspec.json.encode({"sentences": found}), media_type="application/json")

    return Starlette(routes=[Route("/tag", tag, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[3]), log_level="error", access_log=False,
        http="httptools", ws="none",
    )  # fmt: skip
