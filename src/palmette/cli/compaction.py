"""What `palmette compact` and `palmette parser compact` report."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from palmette.cli.output import print_json

logger = logging.getLogger(__name__)
MOST_LOSS = 0.05  # points


def save_and_report(
    save: Callable[[str], None], model: str, output: str, about: dict[str, Any] | None, log: Callable[[], None]
) -> None:
    """Save a compact model; then its sizes and `about` as JSON, or what `log` reports and its sizes."""
    before = os.path.getsize(model)
    save(output)
    after = os.path.getsize(output)
    if about is not None:
        print_json({"model": output, "bytes": [before, after], **about})
        return
    log()
    logger.info("wrote %s: %.2f MB instead of %.2f", output, after / 1e6, before / 1e6)


def log_loss(before: float | None, after: float | None, dropped: str, score: str = "") -> None:
    """Report a figure on development data before and after; `dropped`: what is dropped if there is any."""
    if before is None or after is None:
        logger.info("no development data (--dev): no %s was dropped, and the loss is not known", dropped)
        return
    change = 100 * (after - before)
    logger.info("%son the development data %.2f -> %.2f (%+.2f points)", score, 100 * before, 100 * after, change)
