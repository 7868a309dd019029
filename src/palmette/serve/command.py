"""`palmette serve`: models over HTTP, for programs and in a page."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import HelperOptions, pairs
from palmette.errors import UsageError
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.serve.app import Application

logger = logging.getLogger(__name__)
TOKEN = "PALMETTE_TOKEN"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Serve(HelperOptions, OutputOptions, Command):
    """Serve models over HTTP: JSON for programs, a page for people, corrections and training in the background. It is
    for this machine alone unless --host says otherwise. It needs the extra `serve`."""

    examples = (
        "serve chunk.palm pos.palm --with pos=pos.palm --port 8080",
        "serve ner.palm --train train.txt --dev dev.txt --pool unlabelled.txt",
        "serve ner.palm pos.palm --pool ner=news.txt --test pos=test.txt",
    )
    common = ("host", "port", "with", "token", "train", "dev", "test", "pool", "threads", "quiet")

    models: list = option(
        argument=True, repeat=True, metavar="MODEL", path="input",
        help="Model files, also of CRFsuite, Wapiti and CRF++; NAME=FILE gives a model another name than its file's.",
    )  # fmt: skip
    host: str = option(default="127.0.0.1", help="Address to listen at; 0.0.0.0 is all of this machine's.")
    port: int = option(default=8080, low=0, high=65535, help="Port to listen at; 0 chooses a free one.")
    token: str | None = option(
        default=None, group="access",
        help=f"Requests must have this bearer token. Others may see command lines: better set ${TOKEN}.",
    )  # fmt: skip
    allow_host: list | None = option(
        default=None, repeat=True, metavar="NAME", group="access",
        help="A name under which the server may be asked besides localhost and addresses, such as that of a proxy; "
        "repeatable. Without a token, other names are refused.",
    )  # fmt: skip
    train: list | None = option(
        default=None, repeat=True, metavar="FILE", group="data", path="input",
        help="Training data, to learn again from. This and the other files are for every model that can read them; "
        "NAME=FILE is for one model.",
    )  # fmt: skip
    dev: list | None = option(
        default=None, repeat=True, metavar="FILE", group="data", path="input",
        help="Development data, which tells whether a new model is better.",
    )  # fmt: skip
    test: list | None = option(
        default=None, repeat=True, metavar="FILE", group="data", path="input",
        help="Test data, for the view of errors.",
    )  # fmt: skip
    pool: list | None = option(
        default=None, repeat=True, metavar="FILE", group="data", path="input",
        help="Sentences without labels, to pick from for annotation: like the training data, or plain text with a "
        "sentence per line.",
    )  # fmt: skip
    corrections: str | None = option(
        default=None,
        metavar="FOLDER",
        group="data",
        path="folder",
        help="Where corrections are kept (default: beside the model).",
    )
    copy: bool = option(
        default=False, group="model",
        help="Read models into memory instead of mapping them: for files that are overwritten in place, not replaced.",
    )  # fmt: skip
    threads: int | None = option(
        default=None, low=1, high=1024, help="Threads that decode (default: one per processor)."
    )
    max_body: int = option(default=4 << 20, low=1, group="limits", metavar="BYTES", help="Largest body of a request.")
    max_tokens: int = option(default=50_000, low=1, group="limits", help="Most tokens of a request.")
    timeout: float = option(
        default=30.0, above=0.0, high=86_400.0, group="limits", metavar="SECONDS", help="Longest time of a request."
    )
    max_connections: int = option(default=1024, low=1, group="limits", help="Most connections at a time.")

    max_client_connections: int = option(
        default=256, low=1, group="limits",
        help="Most connections of one client address at a time; raise it behind a proxy, where all have one address.",
    )  # fmt: skip

    def run(self) -> None:
        try:
            from palmette.serve.run import address_of, listening, serve
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
                raise
            raise UsageError(f"{error.name} is missing: pip install 'palmette[serve]'") from None
        token = self.token if self.token is not None else os.environ.get(TOKEN)
        app = self._app(token)
        listener = listening(self.host, self.port)
        address = address_of(listener, self.host)
        if self.host not in LOOPBACK and token is None:
            logger.warning(
                "everybody who reaches %s may use these models, and correct and replace them: give --token, or set $%s",
                address, TOKEN,
            )  # fmt: skip

        def ready() -> None:
            if not self.quiet:
                names = ", ".join(app.service.registry.slots)
                print(f"serving {names} at {address} (Ctrl-C ends it)", flush=True)

        serve(app, listener, ready)

    def _app(self, token: str | None) -> Application:
        from palmette.serve.app import create_app
        from palmette.serve.limits import Limits
        from palmette.serve.model_files import files_given
        from palmette.serve.registry import Source, named_models
        from palmette.serve.served import FILES

        models = named_models(self.models)
        given = files_given({name: getattr(self, name) for name in FILES}, models)
        if self.corrections is not None and not os.path.isdir(self.corrections):
            raise UsageError(f"--corrections {self.corrections}: no such folder")
        source = Source(models, pairs(self.with_, "--with"), given, self.corrections, self.copy)
        limits = Limits(
            body=self.max_body, tokens=self.max_tokens, seconds=self.timeout, connections=self.max_connections,
            sentence=min(self.max_tokens, Limits().sentence), client_connections=self.max_client_connections,
        )  # fmt: skip
        open_to_all = token is not None and self.host not in LOOPBACK and not self.allow_host
        hosts = None if open_to_all else (*LOOPBACK, self.host, *(self.allow_host or ()))
        return create_app(source=source, limits=limits, token=token, hosts=hosts, threads=self.threads)
