"""Hidden Markov models in notebooks, as taggers are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.reports.notebook_models import chain_html, chain_record

if TYPE_CHECKING:
    from palmette.lab.hmm.estimator import HMM


def hmm_record(hmm: HMM) -> dict[str, Any]:
    """What a hidden Markov model is, as plain data."""
    record = chain_record(hmm, "a hidden Markov model of words and labels", getattr(hmm, "model_", None))
    return record | ({"words": len(hmm.vocabulary_.names)} if record["trained"] else {})


def hmm(found: HMM) -> str:
    return chain_html(hmm_record(found))
