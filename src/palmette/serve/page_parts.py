"""The parts of the page: its views, and its static files by name. A request chooses among them; nothing that it has
reaches the file system: `{"file": "test"}` names one of the files that the server was started with."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from palmette.data.formats.conllu import read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.serve.failure import Failure
from palmette.serve.model_files import pool_spec
from palmette.serve.page.assets import ASSETS
from palmette.serve.page.views import VIEWS, PageModel, View
from palmette.serve.registry import Registry
from palmette.serve.served import Served, stamp_of
from palmette.structures.chain.files import spec_for

__all__ = ["ASSETS", "VIEWS", "PageFiles", "View", "page_model_of"]


def page_model_of(served: Served, registry: Registry) -> PageModel:
    """A served model as views see it."""
    others = {
        name: PageModel(slot.served.estimator, name, list(slot.served.helpers.values()))
        for name, slot in registry.slots.items()
        if name != served.name
    }
    ready = served.preparation if served.kind == "parser" else None
    return PageModel(
        served.estimator, served.name, list(served.helpers.values()), others, ready, registry.files[served.name]
    )


class PageFiles:
    """The data that the server was started with, read when a view first asks for it."""

    def __init__(self, files: Mapping[str, Mapping[str, str]]) -> None:
        self.files = files  # of each model by name
        self.read: dict[tuple[str, str], tuple[Any, Any]] = {}  # the stamp of the file, and its content
        self.lock = threading.Lock()

    def filled(self, served: Served, request: dict[str, Any]) -> dict[str, Any]:
        """The request with the content of the file that it names, if it does."""
        name = request.get("file")
        if name is None:
            return request
        files = self.files[served.name]
        if not isinstance(name, str) or name not in files:
            known = ", ".join(files) or "none"
            raise Failure(404, f"the server was not started with such a file for {served.name}; there are: {known}")
        path, trees = files[name], served.kind in ("parser", "pipeline")
        key = (served.name, name)
        with self.lock:
            stamp = stamp_of(path)
            if self.read.get(key, (None,))[0] != stamp:
                content: Any
                if trees:
                    content = read_treebank(path)
                else:
                    model = served.estimator.model_
                    spec = pool_spec(model, path) if name == "pool" else spec_for(model, path, labelled=True)
                    content = read_corpus(path, spec)
                self.read[key] = stamp, content
            found = self.read[key][1]
        return {key: value for key, value in request.items() if key != "file"} | {"data": found}
