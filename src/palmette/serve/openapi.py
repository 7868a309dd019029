"""The description of the interface (OpenAPI 3.1), made from the table of addresses and the types of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from palmette import __version__
from palmette.serve.types import Error

PLAIN = "text/plain"
REF = "#/components/schemas/{name}"
FAILURES = {
    "400": "the request cannot be read", "401": "the token is missing or wrong", "403": "not from this site",
    "404": "there is no such model, view or correction", "405": "another method", "408": "it took too long",
    "409": "not possible now", "413": "too large", "415": "another content type", "422": "the model cannot do this",
    "429": "too many requests are waiting", "507": "corrections cannot be written or read",
}  # fmt: skip


class Described(Protocol):
    """A row of the table of addresses; see routes.py."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def takes(self) -> Any: ...
    @property
    def gives(self) -> Any: ...
    @property
    def status(self) -> int: ...
    @property
    def query(self) -> tuple[str, ...]: ...


def describe(rows: Sequence[Described], choices: Mapping[str, Sequence[str]]) -> bytes:
    """The description as JSON. choices: what the parts of addresses may be, as far as that is known."""
    types = [row.takes for row in rows] + [row.gives for row in rows] + [Error]
    known = [each for each in types if each is not None and each != PLAIN]
    schemas, components = msgspec.json.schema_components(known, ref_template=REF)
    found = iter(schemas)
    of_type: dict[int, Any] = {}
    for each in known:
        of_type[id(each)] = next(found)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(_template(row), {})[row.method.lower()] = _operation(row, of_type, choices)
    return msgspec.json.encode({
        "openapi": "3.1.0",
        "info": {"title": "Palmette", "version": __version__, "description": "Structured prediction over HTTP."},
        "paths": paths,
        "components": {
            "schemas": _uniform(components),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    })  # fmt: skip


def _uniform(schema: Any) -> Any:
    """Tuples as lists of one type with a fixed length: generators of clients do not read `prefixItems`."""
    if isinstance(schema, list):
        return [_uniform(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _uniform(value) for key, value in schema.items() if key != "prefixItems"}
    if "prefixItems" in schema:
        kinds = schema["prefixItems"]
        made["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
    return made


def _operation(row: Described, of_type: dict[int, Any], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    made: dict[str, Any] = {"summary": row.summary, "operationId": _identity(row)}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _one_of(choices.get(name))}
        for name in re.findall(r"{(\w+)}", _template(row))
    ]
    for name in row.query:
        numeric = {"type": "integer", "minimum": 0, "maximum": 10**9}
        parameters.append({"name": name, "in": "query", "required": False,
                           "schema": _one_of(choices["name"]) if name == "model" else numeric})  # fmt: skip
    if parameters:
        made["parameters"] = parameters
    if row.takes is not None:
        made["requestBody"] = {"required": True, "content": _content(row.takes, of_type)}
    elif row.method == "POST":
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    made["responses"] = {str(row.status): {"description": "the answer", "content": _content(row.gives, of_type)}}
    if row.status == 201 and row.gives is None:
        made["responses"]["200"] = made["responses"]["201"]
    for status, about in FAILURES.items():
        made["responses"][status] = {"description": about, "content": _content(Error, of_type)}
    return made


def _template(row: Described) -> str:
    """The address without the kinds of its parts, which are the router's."""
    return re.sub(r":\w+}", "}", row.path)


def _one_of(names: Sequence[str] | None) -> dict[str, Any]:
    return {"type": "string", "enum": list(names)} if names else {"type": "string"}


def _identity(row: Described) -> str:
    words = re.findall(r"\w+", _template(row))
    return "_".join([row.method.lower(), *words])


def _content(each: Any, of_type: dict[int, Any]) -> dict[str, Any]:
    if each is None:
        return {"application/json": {"schema": {}}}
    if each == PLAIN:
        return {PLAIN: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": of_type[id(each)]}}
