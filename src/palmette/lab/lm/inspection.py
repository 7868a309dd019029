"""What a language model holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.evaluation.record import Cell, Inspection, Part

if TYPE_CHECKING:
    from palmette.lab.lm.language_model import LanguageModel


def inspect_language_model(model: LanguageModel, top: int = 0, labels: int | None = None) -> Inspection:
    """Sizes, and the discounts of each order."""
    rows: list[list[Cell]] = [
        [f"{n}-grams", *(f"{value:.4f}" for value in row)] for n, row in enumerate(model.discounts_, 1)
    ]
    width = max((len(row) - 1 for row in rows), default=0)
    heads = ["discounts", *(f"seen {n}{' and more' if n == width else ''}" for n in range(1, width + 1))]
    facts = {
        "order": str(model.order),
        "words": f"{len(model.vocabulary_):,}",
        "n-grams": ", ".join(f"{size:,} of {n}" for n, size in enumerate(model.sizes_, 1)),
        "fixed discounts": ", ".join(f"order {n}" for n in model.fell_back_),
    }
    about = {
        "task": "lm", "order": model.order, "min_count": model.min_count, "words": len(model.vocabulary_),
        "sizes": model.sizes_, "discounts": model.discounts_, "fell_back": model.fell_back_,
    }  # fmt: skip
    return Inspection(facts, about, tables=[Part("", heads, rows)] if rows else [])
