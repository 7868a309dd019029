"""What a view gets: a model with the taggers that make its columns and the models beside it; and a request, from which
a sentence or labelled data is read. Requests come from a browser, so that every field is checked here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus, column_of_strings
from palmette.data.formats.recognise import recognised
from palmette.data.formats.registry import CheckedParser, load_format
from palmette.data.formats.spec import FormatSpec
from palmette.data.kinds import kind_of
from palmette.data.labels.mask import LabelMask, mask_from_items
from palmette.data.treebank import Treebank
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.parsing.retag import Preparation
from palmette.pipeline.options import SPLITTER
from palmette.pipeline.pipeline import Pipeline
from palmette.serve.page.lines import attribute_items, attribute_names, attribute_sentence, cells_of
from palmette.structures.chain.files import with_missing_columns
from palmette.structures.chain.model import ChainModel

logger = logging.getLogger(__name__)

SOURCE = "the data"
MOST_TOKENS = 2000  # of a sentence that is looked at


class PageModel(NamedTuple):
    """A model as views see it. A bare estimator is one without helpers and without others."""

    estimator: Any  # Tagger, Parser, Pipeline or another estimator
    name: str = "model"
    helpers: Sequence[Tagger] = ()  # they make the columns (of a parser: the tags) that a typed sentence lacks
    others: Mapping[str, Any] = {}  # further models by name, to compare with: PageModels or estimators
    preparation: Preparation | None = None  # what tags the words of a parser; None: the helpers do
    files: Mapping[str, str] = {}  # data by name (see served.FILES), from which come the sentences to begin with

    @property
    def kind(self) -> str:
        """The name of its kind; "other": a model without a file of its own."""
        kind = kind_of(self.estimator)
        return "other" if kind is None else kind.name

    def tagger(self) -> Tagger:
        """The tagger; UsageError if the model is something else."""
        if not isinstance(self.estimator, Tagger):
            raise UsageError(f"{self.name} is a {self.kind}: this view shows taggers")
        return self.estimator

    def chain(self) -> ChainModel:
        """The model of label sequences: a tagger's, or that of the UPOS of a pipeline; UsageError if there is none."""
        if not isinstance(self.estimator, Pipeline):
            return self.tagger().model_
        found = upos_of(self.estimator)
        if found is None:
            raise UsageError("the pipeline finds no UPOS: this view shows taggers")
        return found

    def reads_text(self) -> bool:
        """Whether a pipeline cuts a text into words itself."""
        return isinstance(self.estimator, Pipeline) and SPLITTER in self.estimator.model_.names

    def unit(self) -> str:
        """What a token of a typed sentence is: a word or a character."""
        trained = self.estimator.model_.meta.get("reading") if isinstance(self.estimator, Tagger) else None
        return "word" if trained is None else FormatSpec.from_stored(trained).unit or "word"


def upos_of(pipeline: Pipeline) -> ChainModel | None:
    """The tagger of UPOS in a pipeline."""
    model = pipeline.model_
    return model.component("tag").upos_ if "tag" in model.names else None


def page_model(model: Any) -> PageModel:
    """A model as views see it, from an estimator too."""
    return model if isinstance(model, PageModel) else PageModel(model)


# Sentences


def sentence_of(model: PageModel, request: Mapping[str, Any]) -> Corpus:
    """The sentence of a request for a tagger: `text`, `tokens` (words), `rows` (a list of cells per token) or `lines`
    (a text with a line of cells per token), with the columns that helpers make. For models of ready-made attributes:
    `items` (a list or an object of attributes per token) or `lines`."""
    chain = model.chain()
    encoder = chain.encoder
    if encoder is None:
        return _of_attributes(request)
    if "rows" in request:
        corpus = _from_rows(_strings_2d(request["rows"], "rows"))
    elif "lines" in request:
        corpus = _from_rows(cells_of(request["lines"], encoder.n_columns))
    elif "tokens" in request:
        corpus = _from_rows([[word] for word in strings(request["tokens"], "tokens")])
    elif "words" in request:  # of a treebank
        corpus = _from_rows([[form] for form in _forms(request["words"])])
    elif model.reads_text():
        corpus = _from_rows([[word] for word in first_sentence(model.estimator, text_in(request)).forms.cells()])
    else:
        corpus = _typed(request, model.unit())
    if corpus.n_tokens > MOST_TOKENS:
        raise DataError(f"the sentence has {corpus.n_tokens:,} tokens, and the page shows at most {MOST_TOKENS:,}")
    return with_missing_columns(corpus, [helper.model_ for helper in model.helpers], chain)


def _of_attributes(request: Mapping[str, Any]) -> Corpus:
    if "items" in request:
        corpus = attribute_items(request["items"])
    elif "lines" in request:
        corpus = attribute_sentence(request["lines"])
    else:
        raise UsageError(
            "the model reads attributes that a program makes of the words, so that a typed sentence is not enough: "
            "give lines (a text with a line of attributes per token) or items (a list of attributes per token)"
        )
    if corpus.n_tokens > MOST_TOKENS:
        raise DataError(f"the sentence has {corpus.n_tokens:,} tokens, and the page shows at most {MOST_TOKENS:,}")
    return corpus


def text_in(request: Mapping[str, Any]) -> str:
    """The text of a request; DataError if it has none."""
    text = request.get("text")
    if not isinstance(text, str) or not text.strip():
        raise DataError("give a sentence: text (a string), tokens (a list of words), or rows (a list of cells each)")
    return text


def first_sentence(pipeline: Pipeline, text: str) -> Treebank:
    """The first sentence of a text as a pipeline cuts it."""
    bank = pipeline.model_.split(text).treebank()
    if not bank.n_tokens:
        raise DataError("there is no word in the text")
    return bank.take(np.array([0])) if bank.n_sentences > 1 else bank


def _forms(words: Any) -> list[str]:
    if not isinstance(words, list):
        raise DataError("words: a list is expected, of forms or of objects with a form")
    return strings([word.get("form") if isinstance(word, dict) else word for word in words], "words")


def _typed(request: Mapping[str, Any], unit: str) -> Corpus:
    from palmette.data.formats.raw import parse_text

    text = text_in(request)
    unit = request.get("unit", unit)
    corpus = parse_text(" ".join(text.split()).encode(errors="replace"), "the sentence", unit=unit)
    if not corpus.n_tokens:
        raise DataError("there is no word in the text")
    return corpus


def _from_rows(rows: list[list[str]]) -> Corpus:
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise DataError("rows: each token needs the same number of cells, at least one")
    columns = [column_of_strings(cells) for cells in zip(*rows, strict=True)]
    return Corpus(np.array([0, len(rows)], np.int64), columns, source="the sentence")


def strings(given: Any, name: str) -> list[str]:
    """A list of strings of a request, none of them empty."""
    if not isinstance(given, list) or not given or not all(isinstance(cell, str) and cell for cell in given):
        raise DataError(f"{name}: a list of strings is expected, none of them empty")
    return given


def _strings_2d(given: Any, name: str) -> list[list[str]]:
    if not isinstance(given, list) or not given:
        raise DataError(f"{name}: a list of lists of strings is expected")
    return [strings(row, name) for row in given]


def rows_of(corpus: Corpus) -> list[list[str]]:
    """The cells of the tokens of a sentence, which a request may have as `rows`; of attributes a name per token."""
    return corpus.sentence(0) if corpus.columns else [[name] for name in attribute_names(corpus)]


def known_of(model: PageModel, corpus: Corpus, request: Mapping[str, Any]) -> LabelMask | None:
    """What a request fixes: `allowed` has, by the number of a token, a label or a list of labels."""
    given = request.get("allowed") or {}
    if not isinstance(given, dict):
        raise DataError("allowed: an object is expected, with numbers of tokens and a label or labels for each")
    if not given:
        return None
    row: list[Any] = [None] * corpus.n_tokens
    for key, labels in given.items():
        place = whole(key, "allowed", corpus.n_tokens - 1)
        row[place] = labels if isinstance(labels, str) else set(strings(labels, "allowed"))
    return mask_from_items([row], corpus, model.chain().labels)


def whole(given: Any, name: str, high: int, low: int = 0) -> int:
    """A whole number of a request within bounds; keys of objects are strings."""
    text = str(given)
    if isinstance(given, bool) or not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise DataError(f"{name}: {given!r} is not a whole number between {low} and {high}")
    return int(text)


# Labelled data


def data_of(model: PageModel, request: Mapping[str, Any]) -> Corpus:
    """The labelled data of a request for a tagger: `data` is the text of a file in the format of the training data, or
    a Corpus that was read before."""
    given, tagger = request.get("data"), model.tagger()
    if isinstance(given, Corpus):
        return _labelled(given)
    trained = tagger.model_.meta.get("reading")
    spec = FormatSpec() if trained is None else FormatSpec.from_stored(trained)
    return _parsed(given, spec)


def _parsed(given: Any, trained: FormatSpec) -> Corpus:
    data = text_bytes(given)
    found = recognised(data, ended=True)
    usual = "columns" if trained.format == "auto" else trained.format
    spec = trained.overridden(FormatSpec(format=found or usual)).resolved(SOURCE, usual).labelled()
    if load_format(spec.format).read is not None:
        raise UsageError(f"the page reads columns, CoNLL-U and JSON lines, and this is {spec.format}: convert it first")
    return _labelled(CheckedParser(spec, SOURCE)(data, 1))


def _labelled(corpus: Corpus) -> Corpus:
    if corpus.labels is None or not corpus.n_tokens:
        raise DataError("there is no labelled sentence in the data")
    return corpus


def text_bytes(given: Any) -> bytes:
    """The text of labelled data, in UTF-8."""
    if not isinstance(given, str) or not given.strip():
        raise DataError("data: the text of a labelled file is expected")
    return given.encode(errors="replace")


def treebank_of(request: Mapping[str, Any]) -> Treebank:
    """The treebank of a request: `data` is the text of a CoNLL-U file, or a Treebank."""
    from palmette.data.formats.conllu import parse_treebank

    given = request.get("data")
    return given if isinstance(given, Treebank) else parse_treebank(text_bytes(given), SOURCE)


def words_by_sentence(corpus: Corpus) -> list[list[str]]:
    """The words of each sentence: the first column, or numbers where there are only attributes."""
    cells = corpus.columns[0].cells() if corpus.columns else [str(i + 1) for i in range(corpus.n_tokens)]
    return [cells[a:b] for a, b in pairwise(corpus.offset.tolist())]
