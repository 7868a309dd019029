"""Errors of requests: a status, a sentence that says what was found and what to do, and headers."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec

from palmette.errors import DataError, ModelError, PalmetteError

logger = logging.getLogger(__name__)


class Failure(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


class StorageError(DataError):
    """A file of what the server keeps that it cannot read or write."""


def failure_of(error: Exception, request: str = "a request") -> Failure:
    """The answer to an exception: what the user did wrong is theirs to know, anything else is logged with its traceback
    and hidden. request: what the log calls the request."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, msgspec.DecodeError):  # ValidationError is one
        return Failure(400, f"the request cannot be read: {error}")
    if isinstance(error, StorageError):
        logger.warning("%s", error)
        return Failure(507, str(error))
    if isinstance(error, PalmetteError) and not isinstance(error, ModelError):
        return Failure(422, str(error))
    if isinstance(error, RecursionError):
        return Failure(400, "the request is nested too deeply")
    if isinstance(error, MemoryError):
        return Failure(413, "there is not enough memory for this request: send fewer tokens, or ask for less")
    logger.error("%s failed", request, exc_info=error)
    return Failure(500, "an error of the server, which its log shows")
