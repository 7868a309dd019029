"""Chain models as parts of components: trained on columns of a treebank, applied to them, stored side by side."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_names, column_of_types
from palmette.data.model_file import AGAIN
from palmette.data.treebank import Treebank
from palmette.errors import ModelError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.pipeline.known_words import SHORT
from palmette.structures.chain.compact import Found, compact_chain
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.serialise import chain_from_parts, chain_parts
from palmette.training.result import Progress

logger = logging.getLogger(__name__)
_MARK = "/"  # between the name of a model and those of its arrays


def corpus_of(treebank: Treebank, fields: Sequence[str], labels: Column | None = None) -> Corpus:
    """Some columns of a treebank with labels, as chains read them."""
    columns = [treebank.column(field) for field in fields]
    return Corpus(treebank.offset, columns, labels, source=treebank.corpus.source)


def trained_chain(corpus: Corpus, tagger: Tagger, progress: Progress | None = None) -> ChainModel:
    """The model that a tagger learns from a corpus. Its labels are any texts: no tag scheme, none is partly known."""
    tagger.set_params(constraints="none", partial=False)
    # One thread: components learn side by side.
    return tagger.fit_corpus(corpus, None, names=False, threads=1, progress=progress).model_


def predicted(model: ChainModel, corpus: Corpus) -> Column:
    """The labels of a corpus as a column."""
    return column_of_names(tuple(model.labels)).with_ids(label_numbers(model, corpus))


def label_numbers(model: ChainModel, corpus: Corpus) -> np.ndarray:
    """The label i32[N] of each token; short texts are tagged in arrays that are kept."""
    found = None
    if corpus.n_tokens <= SHORT and corpus.n_sentences == 1:
        found = model.session().quick_columns([column.cells() for column in corpus.columns], corpus.n_tokens)
    return model.tag(corpus)[0] if found is None else found


def accuracy(found: Column, gold: Column) -> float:
    """The share of cells that are the same."""
    number = {cell: k for k, cell in enumerate(gold.types)}
    same = np.array([number.get(cell, -1) for cell in found.types], np.int64)[found.ids] == gold.ids
    return float(same.mean()) if same.size else 1.0


def compacted(model: ChainModel, dev: Corpus | None, most_loss: float) -> ChainModel:
    """The model made small, with at most `most_loss` points lost on the labelled corpus; as it is if that fails."""

    def trial(one: ChainModel) -> Found:
        assert dev is not None
        assert dev.labels is not None
        ids, _ = one.tag(dev)
        return Found(accuracy(column_of_types(ids, one.labels), dev.labels), ids, dev.n_tokens)

    try:
        return compact_chain(model, None if dev is None else trial, most_loss)[0]
    except UsageError as error:  # weights of 8 bits lose more
        logger.info("a model keeps all its weights: %s", error)
        return model


def packed_chains(models: Mapping[str, ChainModel]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of several models, each with its name before theirs, and their metadata by name."""
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {}
    for name, model in models.items():
        own, about[name] = chain_parts(model)
        arrays |= {f"{name}{_MARK}{part}": array for part, array in own.items()}
    return arrays, about


def unpacked_chains(
    arrays: Mapping[str, np.ndarray], about: Mapping[str, Any], allowed: Iterable[str], columns: int, source: str
) -> dict[str, ChainModel]:
    """The models that `packed_chains` stored, which have `allowed` names and read at most `columns` columns."""
    names = set(allowed)
    own: dict[str, dict[str, np.ndarray]] = {name: {} for name in about}
    for full, array in arrays.items():
        name, _, part = full.partition(_MARK)
        if name not in own or name not in names:
            raise ModelError(f"damaged model: the array {full[:60]!r} is not expected", file=source, hint=AGAIN)
        own[name][part] = array
    found = {}
    for name, meta in about.items():
        if name not in names or not isinstance(meta, dict):
            raise ModelError(f"damaged model: {name[:60]!r} is not a model that it has", file=source, hint=AGAIN)
        model = chain_from_parts(own[name], meta, source)
        if model.encoder is None or model.encoder.n_columns > columns:
            raise ModelError(f"damaged model: {name!r} reads other columns than it gets", file=source, hint=AGAIN)
        found[name] = model
    return found
