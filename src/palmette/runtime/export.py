"""A model as an npm package that needs no server: the runtime as WebAssembly, a typed module, the model, a page."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

from palmette import __version__
from palmette.data.files import shown
from palmette.errors import DataError, ModelError, UsageError
from palmette.runtime.native import FILE, RuntimeFailure, RuntimeModel

HERE = Path(__file__).parent
RUNTIME = (HERE / "palmette.wasm", HERE / "web" / "palmette.mjs", HERE / "web" / "palmette.d.mts")
PAGE, MODEL = HERE / "web" / "index.html", "model.palm"


def check_exportable(model: str) -> None:
    """ModelError with the reason if the runtime cannot use a model."""
    try:
        RuntimeModel(model).close()
    except RuntimeFailure as error:
        hint = (
            None if error.code == FILE else "taggers with exact search on words, columns or attributes can be exported"
        )
        raise ModelError(f"cannot be exported: {error}", file=shown(model), hint=hint) from None
    except OSError as error:
        raise UsageError(
            f"the runtime of this installation cannot be loaded ({error}): install palmette again"
        ) from None


def for_page(model: str) -> dict[str, str]:
    """A compact copy of a model without names, and the runtime, as base64; ModelError if the runtime cannot use it."""
    from base64 import b64encode

    from palmette.estimators.tagger import Tagger

    check_exportable(model)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / MODEL
        tagger = Tagger.load(model)
        if not tagger.model_.compact:
            tagger.compact()
        tagger.save(small, strip=True)
        return {"model": b64encode(small.read_bytes()).decode(), "wasm": b64encode(RUNTIME[0].read_bytes()).decode()}


def package_json(name: str) -> str:
    """The description of a package for npm."""
    about = {
        "name": re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "model",
        "version": "1.0.0",
        "description": f"A tagger made with Palmette {__version__}",
        "type": "module",
        "exports": {".": {"types": "./palmette.d.mts", "default": "./palmette.mjs"}},
        "files": [*(file.name for file in RUNTIME), MODEL, PAGE.name],
    }
    return json.dumps(about, indent=2) + "\n"


def export_model(model: str, folder: str) -> dict[str, int]:
    """Write the package into a new folder, whole or not at all; the sizes of its files."""
    check_exportable(model)
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{folder} exists and is not an empty folder: choose a new one")
    contents = {file.name: file.read_bytes() for file in (*RUNTIME, PAGE)}
    contents |= {MODEL: Path(model).read_bytes(), "package.json": package_json(Path(model).stem).encode()}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".palmette-") as name:
            made = Path(name) / "package"
            made.mkdir()
            for file, data in contents.items():
                (made / file).write_bytes(data)
            if target.exists():
                target.rmdir()
            os.replace(made, target)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror or error}", file=folder) from error
    return {name: len(data) for name, data in contents.items()}
