"""A wheel with a model: a package that `palmette.load` finds by its entry point once it is installed."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from palmette import __version__
from palmette.data import model_file
from palmette.data.files import FilePath, shown, write_whole
from palmette.errors import DataError, UsageError
from palmette.models import CARD, GROUP, MODEL
from palmette.models.card import NOTICE, README, card_text, notice_text
from palmette.pipeline.model import PipelineModel

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content is the same file


def read_card(path: FilePath) -> dict[str, Any]:
    """The card that somebody wrote for a model, a JSON object."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror}", file=shown(path)) from None
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=shown(path)) from None
    if not isinstance(found, dict) or not isinstance(found.get("sources", []), list):
        raise DataError("a card is a JSON object; its `sources` are a list of objects", file=shown(path))
    for source in found.get("sources", []):
        if not isinstance(source, dict) or not {"name", "licence"} <= set(source):
            raise DataError("each of the `sources` of a card has a name and a licence", file=shown(path))
    return found


def completed(given: Mapping[str, Any], name: str, version: str, model: FilePath) -> dict[str, Any]:
    """The card with what the model file knows. Scores on development data are those of its training."""
    data = Path(model).read_bytes()
    found = PipelineModel.load(model)
    dev = {metric: value for stored in found.meta.components.values() for metric, value in stored.dev.items()}
    scores = {"dev": dev} if dev else {}
    return dict(given) | {
        "name": name, "version": version, "components": list(found.names), "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(), "scores": scores | given.get("scores", {}),
    }  # fmt: skip


def write_package(model: FilePath, card: Mapping[str, Any], folder: FilePath) -> str:
    """Write the wheel of a model with a complete card into a folder; returns its path."""
    name, version = card["name"], card["version"]
    if not _NAME.fullmatch(name):
        raise UsageError(f"the name {name!r}: a name is of small letters, digits and _, such as de or de_news")
    if not _VERSION.fullmatch(version):
        raise UsageError(f"the version {version!r}: a version is of numbers with dots between them, such as 1.0")
    model_file.load(model, "pipeline")  # raises
    module = f"palmette_model_{name}"
    info = f"{module}-{version}.dist-info"
    members = {
        f"{module}/__init__.py": b"",
        f"{module}/{MODEL}": Path(model).read_bytes(),
        f"{module}/{CARD}": (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode(),
        f"{module}/{README}": card_text(card).encode(),
        f"{module}/{NOTICE}": notice_text(card).encode(),
        f"{info}/METADATA": _metadata(module, card).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: palmette\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{GROUP}]\n{name} = {module}\n".encode(),
    }
    members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD")
    path = os.path.join(folder, f"{module}-{version}-py3-none-any.whl")
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member, _DATE), content, zipfile.ZIP_DEFLATED)
    with write_whole(path) as out:
        out.write(written.getvalue())
    return path


def _metadata(module: str, card: Mapping[str, Any]) -> str:
    language = card.get("language", card["name"])
    head = [
        "Metadata-Version: 2.1", f"Name: {module}", f"Version: {card['version']}",
        f"Summary: A Palmette pipeline: {language}", f"License: {card['licence']}",
        f"Requires-Dist: palmette>={__version__}", "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    return "\n".join(head) + "\n\n" + card_text(card)


def _record(members: Mapping[str, bytes], own: str) -> bytes:
    rows = []
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*rows, f"{own},,", ""]).encode()
