"""All addresses in one table: what handles them, what they take and give. Router and description are made from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute, Route

from palmette.serve.call import JSON, Call, Reply
from palmette.serve.corrections import CorrectionHandlers
from palmette.serve.failure import Failure
from palmette.serve.guard import Endpoint, Handler
from palmette.serve.inception import RecommenderHandlers
from palmette.serve.labelstudio import StudioHandlers
from palmette.serve.openapi import describe
from palmette.serve.page_parts import ASSETS
from palmette.serve.service import Service
from palmette.serve.types import (
    Answer,
    Confirmed,
    Corrections,
    CorrectionsRequest,
    Count,
    Health,
    ModelDescription,
    Overview,
    Picked,
    PickRequest,
    RecommenderAnswer,
    RecommenderRequest,
    RecommenderTraining,
    Request,
    RetrainRequest,
    RetrainState,
    Saved,
    StudioEvent,
    StudioPredictions,
    StudioRequest,
    StudioSetup,
    TrainingRecords,
)

PLAIN = "text/plain"
PAGES = {"/": "index.html", "/docs": "docs.html"}


class _Anything(Convertor[str]):
    """The rest of an address, with slashes and line ends: ids of corrections may have any character."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Anything())


class Row(NamedTuple):
    """A method of an address."""

    method: str
    path: str
    handler: Handler
    summary: str
    takes: Any = None  # a type, or PLAIN
    gives: Any = None  # a type, PLAIN, or None: any JSON
    status: int = 200
    query: tuple[str, ...] = ()


def table(service: Service) -> list[Row]:
    """What the server answers; the most frequent address first."""
    fix, studio, recommender = CorrectionHandlers(service), StudioHandlers(service), RecommenderHandlers(service)
    model, corrections, retrain = "/models/{name}", "/models/{name}/corrections", "/models/{name}/retrain"
    rows = [
        Row("POST", model, service.ask, "Ask a model: labels, trees, classes", Request, Answer),
        Row("GET", model, service.model, "Describe a model", None, ModelDescription),
        Row("GET", "/models", service.models, "List the models", None, Overview),
        Row("GET", "/views", service.view_names, "List the views of the page"),
        Row("POST", f"{model}/columns", service.columns, "Label text columns", PLAIN, PLAIN),
        Row("POST", "/columns", service.columns, "Label text columns", PLAIN, PLAIN, 200, ("model",)),
        Row("POST", f"{model}/view/{{view}}", service.view, "A view of the page", dict[str, Any]),
        Row("POST", f"{model}/pick", fix.pick, "Pick sentences that are worth annotating", PickRequest, Picked),
        Row("POST", corrections, fix.add, "Keep corrections", CorrectionsRequest, Confirmed, 201),
        Row("GET", corrections, fix.listed, "List corrections", None, Corrections, 200, ("after", "limit")),
        Row("GET", f"{corrections}/file", fix.file, "Corrections as a file", None, PLAIN),
        Row("POST", f"{corrections}/save", fix.save, "Write corrections next to the journal", None, Saved),
        Row("DELETE", f"{corrections}/{{id:any}}", fix.delete, "Take a correction back", None, Count),
        Row("POST", retrain, fix.retrain, "Train again, in the background", RetrainRequest, RetrainState, 202),
        Row("GET", retrain, fix.retrain_state, "How the training is going", None, RetrainState),
        Row("DELETE", retrain, fix.stop_retrain, "Stop the training", None, RetrainState),
        Row("GET", "/health", service.health, "Whether the server answers", None, Health),
        Row("GET", "/metrics", service.show_metrics, "Counts for Prometheus", None, PLAIN),
        Row("GET", "/training", service.training_records, "The log of a running training", None, TrainingRecords, 200,
            ("after",)),
        Row("GET", "/training/events", service.training_events, "That log as server-sent events", None, PLAIN),
    ]  # fmt: skip
    for base in ("", f"{model}/labelstudio"):
        rows += [
            Row("POST", f"{base}/setup", studio.setup, "Label Studio: connect", StudioSetup),
            Row("POST", f"{base}/predict", studio.predict, "Label Studio: predict", StudioRequest, StudioPredictions),
            Row("POST", f"{base}/train", studio.train, "Label Studio: an event", StudioEvent, None, 201),
            Row("POST", f"{base}/webhook", studio.train, "Label Studio: an event", StudioEvent, None, 201),
        ]
    base = f"{model}/inception"
    rows += [
        Row(
            "POST", f"{base}/predict", recommender.predict, "INCEpTION: predict", RecommenderRequest, RecommenderAnswer
        ),
        Row("POST", f"{base}/train", recommender.train, "INCEpTION: annotations", RecommenderTraining, None, 204),
    ]
    rows.append(Row("GET", f"{model}/labelstudio/health", service.health, "Whether the server answers", None, Health))
    return rows


def routes(service: Service) -> list[BaseRoute]:
    """The table as routes, with the description of the interface and the files of the page."""
    rows = table(service)
    described = describe(rows, {"name": list(service.registry.slots), "view": list(service.views)})

    async def description(call: Call) -> Reply:
        return Reply(described, content_type=JSON)

    rows.append(Row("GET", "/openapi.json", description, "This description"))
    handlers: dict[str, dict[str, Handler]] = {}
    for row in rows:
        handlers.setdefault(row.path, {})[row.method] = row.handler
    made: list[BaseRoute] = [
        Route(path, Endpoint(path, own), methods=list(own), include_in_schema=False) for path, own in handlers.items()
    ]
    return [*made, *_page_routes()]


def _page_routes() -> list[BaseRoute]:
    async def static(call: Call) -> Reply:
        name = call.params.get("path") or PAGES[call.scope["path"]]
        if name not in ASSETS:
            raise Failure(404, "there is no such file of the page")
        data, kind = ASSETS[name]
        return Reply(data, content_type=kind, headers=((b"vary", b"accept-encoding"),))

    return [
        *(Route(path, Endpoint(path, {"GET": static}), methods=["GET"]) for path in PAGES),
        Route("/static/{path:path}", Endpoint("/static", {"GET": static}), methods=["GET"]),
    ]
