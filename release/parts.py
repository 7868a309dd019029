"""The parts of a release ("software bill of materials"), in CycloneDX's JSON: its files with their hashes, what they
need at run time, what they were built with, and the ready models inside. The same release gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import uuid
from pathlib import Path
from typing import Any

Part = dict[str, Any]
NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # of addresses, in RFC 9562
MODEL_LICENCES = {"CC BY-SA 4.0": "CC-BY-SA-4.0"}  # names of SPDX


def bill(root: Path, files: list[Path]) -> str:
    """The list of parts of these files, as JSON."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    needed = [_needed(text) for text in project["dependencies"]]
    tools = [_tool(name, version) for name, version in _pins(root / "build-constraints.txt")]
    models = [_model(card) for card in sorted(root.glob("src/palmette/models/*/card.json"))]
    made = [_file(file) for file in files]
    parts = [*needed, *models, *made]
    about: Part = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "tools": {"components": tools},
            "component": {
                "type": "library", "bom-ref": own, "purl": own, "name": project["name"], "version": project["version"],
                "description": project["description"], "licenses": [{"license": {"id": project["license"]}}],
            },
        },
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in needed]}],
    }  # fmt: skip
    content = json.dumps(about, sort_keys=True)
    about["serialNumber"] = f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}"
    return json.dumps(about, indent=1) + "\n"


def _needed(requirement: str) -> Part:
    """A package that is installed beside ours, in a range of versions."""
    found = re.fullmatch(r"([\w.-]+)(.*)", requirement)
    if found is None:
        raise ValueError(f"pyproject.toml: the dependency {requirement!r} is no name with versions")
    name, versions = found.groups()
    properties = [{"name": "versions", "value": versions}] if versions else []
    return {
        "type": "library", "bom-ref": f"pkg:pypi/{name}", "purl": f"pkg:pypi/{name}", "name": name, "scope": "required",
        "properties": properties,
    }  # fmt: skip


def _pins(constraints: Path) -> list[tuple[str, str]]:
    return re.findall(r"^([\w.-]+)==(\S+)$", constraints.read_text(encoding="utf-8"), re.MULTILINE)


def _tool(name: str, version: str) -> Part:
    purl = f"pkg:pypi/{name}@{version}"
    return {"type": "application", "bom-ref": purl, "purl": purl, "name": name, "version": version}


def _model(card: Path) -> Part:
    about = json.loads(card.read_text(encoding="utf-8"))
    licence = about["licence"]
    named = {"id": MODEL_LICENCES[licence]} if licence in MODEL_LICENCES else {"name": licence}
    return {
        "type": "machine-learning-model", "bom-ref": f"model:{about['name']}",
        "name": f"palmette model {about['name']}", "version": about["version"], "licenses": [{"license": named}],
        "hashes": [{"alg": "SHA-256", "content": about["sha256"]}],
    }  # fmt: skip


def _file(file: Path) -> Part:
    return {
        "type": "file", "bom-ref": f"file:{file.name}", "name": file.name,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
    }  # fmt: skip
