"""Palmette with other libraries and tools: spaCy, datasets, Arrow, Ray, tables in batches, files of annotators, and
models of CRFsuite, CRF++ and Wapiti.

Each module needs the library of its name, and is imported only by those who ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.connect.annotations.files import read_documents, write_documents

__getattr__, __dir__ = door(__name__)
