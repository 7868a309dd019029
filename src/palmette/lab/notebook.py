"""Hidden Markov models and language models in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from palmette.reports.html import facts, folded, rows_table
from palmette.reports.notebook_models import chain_html, chain_record, model_page, record_of

if TYPE_CHECKING:
    from palmette.lab.hmm import HMM
    from palmette.lab.lm.language_model import LanguageModel

# Hidden Markov models in notebooks, as taggers are drawn.


def hmm_record(hmm: HMM) -> dict[str, Any]:
    """What a hidden Markov model is, as plain data."""
    record = chain_record(hmm, "a hidden Markov model of words and labels", getattr(hmm, "model_", None))
    return record | ({"words": len(hmm.vocabulary_.names)} if record["trained"] else {})


def hmm(found: HMM) -> str:
    return chain_html(hmm_record(found))


# Language models in notebooks: sizes, and the discounts folded away.


def language_model_record(model: LanguageModel) -> dict[str, Any]:
    """What a language model is, as plain data."""
    about = None
    if hasattr(model, "sizes_"):
        about = {"sizes": model.sizes_, "discounts": model.discounts_, "fell_back": model.fell_back_}
        about["words"] = len(model.vocabulary_)
    return record_of(model, "an n-gram language model", about)


def language_model(found: LanguageModel) -> str:
    return language_model_html(language_model_record(found))


def language_model_html(record: Mapping[str, Any]) -> str:
    about = record["about"]
    if about is None:
        return model_page(record)
    sizes = enumerate(about["sizes"], 1)
    discounts = [[f"{n}-grams", *(f"{value:.4f}" for value in row)] for n, row in enumerate(about["discounts"], 1)]
    width = max((len(row) - 1 for row in discounts), default=0)
    heads = ["", *(f"seen {n}{' and more' if n == width else ''}" for n in range(1, width + 1))]
    rows = {
        "words": f"{about['words']:,}",
        "n-grams": ", ".join(f"{size:,} of {n}" for n, size in sizes),
        "fixed discounts": ", ".join(f"order {n}" for n in about["fell_back"]),
    }
    return model_page(record, facts(rows), folded("discounts", rows_table(heads, discounts)) if discounts else "")
