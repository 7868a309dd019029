"""Corrections of taggers: labels, of which some may be unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.registry import stream_corpus
from palmette.data.items import corpus_from_items
from palmette.data.labels.schemes import spans
from palmette.data.subset import take
from palmette.errors import DataError, UsageError
from palmette.estimators.picking import uncertainties
from palmette.serve.answers import with_helpers
from palmette.serve.correction_data import ENDINGS, file_bytes, written_format
from palmette.serve.inputs import cut_texts
from palmette.serve.limits import Limits
from palmette.serve.model_files import pool_spec
from palmette.serve.page.lines import attribute_names, attribute_rows
from palmette.serve.served import Served
from palmette.serve.types import Correction, GivenSpan, PickedSentence, PickRequest, Request
from palmette.structures.chain.files import spec_for, with_missing_columns
from palmette.structures.chain.python_data import mode_of


class TaggerSentences:
    """Sentences of columns or attributes."""

    def __init__(self, served: Served, corpus: Corpus) -> None:
        self.served = served
        self.corpus = with_missing_columns(
            corpus, [helper.model_ for helper in served.helpers.values()], served.estimator.model_
        )

    def uncertainties(self, by: str) -> np.ndarray:
        return uncertainties(self.served.estimator.model_, self.corpus, by)

    def shown(self, s: int, about: dict[str, Any]) -> PickedSentence:
        alone = take(self.corpus, np.array([s]))
        model, columns = self.served.estimator.model_, self.served.columns
        labels = [model.classes[k] for k in model.decode(alone, "viterbi").labels.tolist()]
        if alone.columns:
            rows = [row[: max(1, columns)] for row in alone.sentence(0)]
            words = [row[0] for row in rows]
        else:
            found = attribute_rows(alone)
            if found is None:
                raise UsageError("sentences of attributes with values cannot be picked here: see `palmette pick`")
            rows, words = found, attribute_names(alone)
        made = PickedSentence(tokens=words, labels=labels, **about)
        if columns != 1:
            made.columns = rows
        if self.served.scheme_of_spans is not None:
            made.spans = [
                GivenSpan(label=one.type, start=one.start, end=one.end) for one in spans(labels, self.served.scheme)
            ]
        return made


class CorrectTaggers:
    """See Correctable."""

    measures: tuple[str, ...] = ("confidence", "margin", "entropy")

    def check(self, served: Served, one: Correction, where: str) -> None:
        labels = set(served.labels)
        if len(one.tokens) != len(one.labels):
            raise DataError(f"{where} has {len(one.tokens)} tokens and {len(one.labels)} labels")
        if all(label is None for label in one.labels):
            raise DataError(f"{where} has no label: null is for tokens that no one looked at")
        for label in one.labels:
            names = [label] if isinstance(label, str) else label if label is not None else []
            if label is not None and (not names or "" in names):
                raise DataError(f"{where} has an empty label")
            strange = next((name for name in names if name not in labels), None)
            if strange is not None:
                raise DataError(f"{where}: the model has no label {strange[:100]!r}")
        self._check_tokens(served, one, where)

    def _check_tokens(self, served: Served, one: Correction, where: str) -> None:
        columns = served.columns
        for i, token in enumerate(one.tokens):
            if not columns:
                if isinstance(token, str):
                    raise DataError(f"{where}, token {i + 1}: the model reads attributes, in a list or an object")
                continue
            cells = [token] if isinstance(token, str) else token
            if not isinstance(cells, list) or len(cells) != columns:
                raise DataError(f"{where}, token {i + 1}: {columns} columns are expected, as the model reads them")
            if any(not cell or "\t" in cell or "\n" in cell or "\r" in cell for cell in cells):
                raise DataError(f"{where}, token {i + 1}: a cell is empty, or has a TAB or line end")

    def file(self, served: Served, corrections: Sequence[Correction]) -> tuple[str, bytes]:
        spec = written_format(served.estimator.model_.meta.get("reading"), not served.columns)
        name = f"{served.name}.corrections{ENDINGS[spec.format]}"
        if spec.format == "jsonl":
            name = f"{served.name}.corrected.jsonl"  # the journal has the other name
        return name, file_bytes(corrections, spec)

    def pool(self, served: Served, path: str) -> Iterator[TaggerSentences]:
        for corpus in stream_corpus(path, pool_spec(served.estimator.model_, path)):
            yield TaggerSentences(served, corpus)

    def given(self, served: Served, request: PickRequest, limits: Limits) -> TaggerSentences:
        if request.texts is not None:
            served.check_text()
            sentences = with_helpers(served, cut_texts(request.texts, Request(), limits).sentences)
        else:
            sentences = [sentence for sentence in request.sentences or [] if sentence]
            limits.check_sizes([len(sentence) for sentence in sentences])
        return TaggerSentences(served, corpus_from_items(sentences, mode=mode_of(served.estimator.model_)).corpus)

    def annotated(self, served: Served, path: str) -> Iterator[Corpus]:
        yield from stream_corpus(path, spec_for(served.estimator.model_, path))

    def corrected(self, served: Served, corrections: Sequence[Correction]) -> Corpus:
        return corpus_from_items([one.tokens for one in corrections], mode=mode_of(served.estimator.model_)).corpus
