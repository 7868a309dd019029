"""A small server of the page for tests: the standard library's, with the views of some models and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from palmette.errors import PalmetteError
from palmette.serve import ASSETS, INDEX, VIEWS
from palmette.serve.page.assets import FOLDER, POLICY
from palmette.serve.page.views import page_model


@contextmanager
def page_server(models: Mapping[str, Any], more: Any = None, port: int = 0) -> Iterator[str]:
    """Serve the page for models by name; the address. `more` answers other requests: (method, path, body) -> a record,
    or None if there is no such thing."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *given: Any) -> None:
            pass

        def answer(self, status: int, data: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.send_header("content-security-policy", POLICY)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            name = self.path.partition("?")[0].lstrip("/")
            if name == "":
                self.answer(200, *ASSETS[INDEX])
            elif name.startswith(f"{FOLDER}/") and name.removeprefix(f"{FOLDER}/") in ASSETS:
                self.answer(200, *ASSETS[name.removeprefix(f"{FOLDER}/")])
            elif name == "models":
                listed = [{"name": key, "kind": page_model(model).kind} for key, model in models.items()]
                self.answer(200, json.dumps({"models": listed}).encode())
            else:
                self.other(None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            parts = [unquote(part) for part in self.path.strip("/").split("/")]
            if len(parts) == 4 and parts[0] == "models" and parts[2] == "view":
                try:
                    self.answer(200, json.dumps(VIEWS[parts[3]](models[parts[1]], body)).encode())
                except PalmetteError as error:
                    self.answer(422, json.dumps({"error": str(error)}).encode())
            else:
                self.other(body)

        def do_PUT(self) -> None:
            self.other(json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}"))

        def other(self, body: Any) -> None:
            found = None if more is None else more(self.command, unquote(self.path), body)
            self.answer(404 if found is None else 200, json.dumps(found or {"error": f"no {self.path}"}).encode())

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
