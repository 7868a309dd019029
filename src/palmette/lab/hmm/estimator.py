"""`HMM`: a hidden Markov model in the manner of scikit-learn, over words and their labels.

    hmm = HMM(order=2).fit(sentences, tags)
    hmm.predict([["Time", "flies"]])

Searches and sums run on the linear chain that the model is turned into (see lab/hmm/tables.py); joint
probabilities come from the tables themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from palmette.data import array_specs, model_file
from palmette.data.array_specs import ArraySpec
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.files import FilePath, read_all, shown, write_whole
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import Items, corpus_from_items
from palmette.data.labels.mask import check_feasible
from palmette.data.text import CONVERT, NONE, check_utf8
from palmette.display import drawn_by
from palmette.errors import DataError, ModelError, UsageError, not_fitted
from palmette.estimators.base import Estimator, PerSentence
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace
from palmette.kernels.chain.posteriors import decode_marginal
from palmette.lab.hmm.tables import (
    NAME,
    SLACK,
    Context,
    Distribution,
    HiddenMarkovModel,
    HmmTables,
    ObservedWords,
    count_model,
    feature_vector,
    observations,
    tables_from_dicts,
    to_chain,
    weight_vector,
    word_column,
)
from palmette.options.chain import ChainSettings
from palmette.options.declare import OptionError
from palmette.options.learners import HiddenMarkov, HmmOptions
from palmette.structures.chain.constraints import END
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.serialise import chain_from_parts, chain_parts
from palmette.training.chain.dev import check_labelled
from palmette.training.checks import warn_of_same_labels

# The tables of a hidden Markov model as dictionaries and as JSON files, which people can read and change.
#
#     {"start": {"D": 0.6, ...},
#      "transition": {"D": {"N": 0.9, "</s>": 0.1}, ...},           by the previous label
#      "second_order": {"D": {"N": {"V": 0.5, ...}}, ...},          order 2: by the two previous labels
#      "emission": {"D": {"the": 0.7, "<lower:ing>": 0.01}, ...},
#      "classes": ["<lower:ing>", ...]}                             emissions that are classes of unknown words
#
# Probabilities of 0 are left out. A number is written with all its digits: a file gives the same tables again.


class StoredTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file."""

    start: dict[str, float]
    transition: dict[str, dict[str, float]]
    emission: dict[str, dict[str, float]]
    second_order: dict[str, dict[str, dict[str, float]]] = {}
    classes: list[str] = []


def tables_to_dicts(model: HiddenMarkovModel) -> dict[str, Any]:
    """The arguments of `tables_from_dicts` that give the model again."""
    labels, vocabulary, tables = model
    transition: dict[Context, dict[str, float]] = {}
    for k, label in enumerate(labels):
        transition[label] = _row(tables.pair[k], labels)
        if tables.end is not None and tables.end[k] > 0:
            transition[label][END] = float(tables.end[k])
    if tables.triple is not None:
        rows: dict[Context, dict[str, float]] = {
            (f, g): _row(tables.triple[i, j], labels) for i, f in enumerate(labels) for j, g in enumerate(labels)
        }
        some = {context: row for context, row in rows.items() if row}
        transition |= some or dict(list(rows.items())[:1])  # a row of two labels makes the order 2
    return {
        "start": _row(tables.start, labels),
        "transition": {context: row for context, row in transition.items() if row or not isinstance(context, str)},
        "emission": {label: _row(tables.emission[k], vocabulary.names) for k, label in enumerate(labels)},
        "classes": list(vocabulary.classes),
    }


def _row(probabilities: np.ndarray, names: list[str]) -> dict[str, float]:
    return {names[k]: float(probabilities[k]) for k in np.flatnonzero(probabilities).tolist()}


def write_tables(path: FilePath, model: HiddenMarkovModel) -> None:
    """Write the tables of a model as JSON, whole or not at all."""
    found = tables_to_dicts(model)
    second: dict[str, dict[str, dict[str, float]]] = {}
    for context, row in found["transition"].items():
        if not isinstance(context, str):
            second.setdefault(context[0], {})[context[1]] = row
    first = {context: row for context, row in found["transition"].items() if isinstance(context, str)}
    stored = StoredTables(found["start"], first, found["emission"], second, found["classes"])
    with write_whole(path) as out:
        out.write(msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")


def read_tables(path: FilePath) -> HiddenMarkovModel:
    """The model of a file of tables; DataError if it is none, or if its numbers are no probabilities."""
    hint = "the file has the objects start, transition and emission; see docs/hmm.md"
    data = read_all(path)
    check_utf8(data, shown(path), hint=CONVERT)
    try:
        stored = msgspec.json.decode(data, type=StoredTables)
    except msgspec.DecodeError as error:
        raise DataError(f"not a file of HMM tables: {error}", file=shown(path), hint=hint) from None
    transition: dict[Context, dict[str, float]] = {}
    transition.update(stored.transition.items())
    for f, rows in stored.second_order.items():
        for g, row in rows.items():
            transition[f, g] = row
    try:
        made = tables_from_dicts(stored.start, transition, stored.emission, classes=stored.classes)
    except UsageError as error:
        raise DataError(str(error), file=shown(path)) from None
    return HiddenMarkovModel(*made)


# Hidden Markov models to and from model files.
#
# The file is that of the chain model that it is turned into, so that taggers read it too; the tables are further
# arrays, in float64, and the parameters a further entry of the metadata. Y labels, V observations.

PREFIX = "hmm."


class StoredHmm(NamedTuple):
    """What a file holds: the parameters of the estimator, the model, and the chain that it is turned into."""

    params: dict[str, Any]
    model: HiddenMarkovModel
    chain: ChainModel


def table_specs(order: int, ends: bool) -> tuple[ArraySpec, ...]:
    """The tables; see `HmmTables`."""
    shapes = {"start": ("Y",), "pair": ("Y", "Y"), "triple": ("Y", "Y", "Y"), "end": ("Y",), "emission": ("Y", "V")}
    absent = {"triple"} if order == 1 else set()
    absent |= set() if ends else {"end"}
    return tuple(
        ArraySpec(PREFIX + name, np.float64, shape, low=0.0, high=1.0 + 2 * SLACK)
        for name, shape in shapes.items()
        if name not in absent
    )


def save_hmm(params: dict[str, Any], model: HiddenMarkovModel, chain: ChainModel, path: FilePath) -> None:
    """Write a model file, whole or not at all."""
    tables = model.tables
    specs = table_specs(tables.order, tables.end is not None)
    parts = {PREFIX + name: block for name, block in tables._asdict().items() if block is not None}
    arrays, meta = chain_parts(chain)
    sizes = {"Y": len(model.labels), "V": len(model.vocabulary)}
    counting = {name: value for name, value in params.items() if name != "unicode"}  # which the settings have
    meta |= {"counting": counting, "forbidden": [], "best_pass": 1, "ended": "counted in one pass"}
    model_file.save(path, arrays | array_specs.pack(parts, specs, sizes), meta)


def _checked(counting: dict[str, Any], file: str) -> dict[str, Any]:
    """The parameters of the estimator, if it could have them."""
    try:
        HiddenMarkov(**{name: counting[name] for name in HiddenMarkov.__options__})
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None
    return counting


def load_hmm(path: FilePath, *, copy: bool = False) -> StoredHmm:
    """Read a model file; ModelError if it is not one of an HMM."""
    file = shown(path)
    arrays, meta = model_file.load(path, copy=copy)
    chain = chain_from_parts(arrays, meta, file)
    if "counting" not in chain.meta:
        raise ModelError("a tagger, not an HMM with its tables", file=file, hint="load it with Tagger.load")
    params = _checked(chain.meta["counting"], file) | {"unicode": chain.settings.unicode}
    observed = {} if chain.encoder is None else chain.encoder.resources.observed
    if NAME not in observed:
        raise ModelError("damaged model: its vocabulary is missing", file=file)
    vocabulary = ObservedWords(observed[NAME].known, observed[NAME].classes)
    sizes = {"Y": len(chain.labels), "V": len(vocabulary)}
    found = array_specs.unpack(arrays, table_specs(params["order"], params["ends"]), sizes, file)
    tables = HmmTables(*(found.get(PREFIX + name) for name in HmmTables._fields))  # type: ignore[arg-type]
    return StoredHmm(params, HiddenMarkovModel(chain.labels, vocabulary, tables), chain)


DECODINGS = ("viterbi", "marginal")


class HMM(HmmOptions, Estimator):
    """A hidden Markov model of words and labels, counted from labelled sentences."""

    _repr_html_ = drawn_by("reports.notebook:model")

    @classmethod
    def from_tables(
        cls,
        start: Distribution,
        transition: Mapping[Context, Distribution],
        emission: Mapping[str, Distribution],
        *,
        dictionary: Mapping[str, Iterable[str]] | None = None,
        classes: Iterable[str] = (),
    ) -> HMM:
        """The model with these probabilities; what is not named has probability 0.

        start: {label: probability}. emission: {label: {word: probability}}; its keys are the labels.
        transition: {label: {next label: probability}}, with `</s>` as the next label where a sentence may end. For
        order 2 {(label, label): {next label: ...}}, and rows of one label for the second token and the end.
        dictionary: {word: labels}: its other labels are impossible; words without an entry may have any label.
        classes: words of emission that are classes of unknown words, such as <lower:ing>; see features/resources.py.
        """
        return cls._of(HiddenMarkovModel(*tables_from_dicts(start, transition, emission, dictionary, classes)))

    @classmethod
    def _of(cls, model: HiddenMarkovModel) -> HMM:
        rare = int(bool(model.vocabulary.classes))
        ends = model.tables.end is not None
        hmm = cls(model.tables.order, smoothing=0.0, interpolate=False, rare=rare, ends=ends, unicode=NONE)
        return hmm._with(model)

    def _with(self, model: HiddenMarkovModel) -> HMM:
        self.labels_: list[str] = model.labels
        self.vocabulary_: ObservedWords = model.vocabulary
        self.tables_: HmmTables = model.tables
        self.model_: ChainModel = to_chain(*model, unicode=self.unicode)
        counting = {name: getattr(self, name) for name in HiddenMarkov.__options__}
        # A tagger that reads the saved file and is trained again meets new words, and needs classes for them.
        self.model_.settings = ChainSettings(
            learner=HiddenMarkov(**counting | {"rare": max(1, self.rare)}), unicode=self.unicode
        )
        return self

    # Training

    def fit(self, X: Iterable[Any], y: Iterable[Any]) -> HMM:
        """Count sentences X and their labels y. A token is a word, or a tuple whose first item is one."""
        return self.fit_corpus(corpus_from_items(X, y, mode="columns").corpus)

    def fit_file(self, path: FilePath, *, spec: FormatSpec | None = None) -> HMM:
        """Count a labelled file."""
        self._check_values()
        return self.fit_corpus(read_corpus(path, spec))

    def fit_corpus(self, corpus: Corpus) -> HMM:
        """Count a labelled corpus; its column 0 has the words."""
        self._check_values()
        check_labelled(corpus, "training")
        assert corpus.labels is not None
        warn_of_same_labels(corpus.labels.types)
        self._with(count_model(corpus, **self._values()))
        self.model_.vocabulary = np.sort(word_column(corpus, self.unicode).hash)  # rare ones were seen too
        return self

    # Using

    def predict(self, X: Iterable[Any], *, decode: str = "viterbi") -> list[list[str]]:
        """The labels of each sentence: of the most probable path, or (`marginal`) of each token the most probable one
        by itself, which is also called posterior decoding."""
        if decode not in DECODINGS:
            raise OptionError("decode", f"there is no {decode!r}; choose one of {', '.join(DECODINGS)}")
        items = self._items(X)
        found = self.model_.decode(self._readable(items.corpus), decode)
        return PerSentence(self._named(found.labels, items))

    def predict_marginal(self, X: Iterable[Any]) -> tuple[list[list[str]], list[list[float]]]:
        """Of each token the label that is most probable given the whole sentence, and that probability."""
        items = self._items(X)
        corpus = self._readable(items.corpus)
        labels, p = np.zeros(corpus.n_tokens, np.int32), np.zeros(corpus.n_tokens)
        if corpus.n_tokens:
            log_z = np.zeros(corpus.n_sentences)
            check_memory(corpus.offset, self.model_.shape, self.model_.encoder)
            chain, data = self.model_.chain, self.model_.encode(corpus)
            decode_marginal(chain, data, make_sum_workspace(chain, data, both=True), labels, p, log_z, False)
            check_feasible(log_z, corpus)
        return self._named(labels, items), items.with_empty(_cut(p.tolist(), items), list)

    def log_joint(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """log P(words, labels) of each sentence, from the tables; -inf where it is impossible."""
        items, sequences = self._labelled(X, y)
        return items.with_empty([self.tables_.log_joint(*pair) for pair in sequences], float)

    def log_likelihood(self, X: Iterable[Any]) -> list[float]:
        """log P(words) of each sentence: the sum over all label sequences, which is Z of the linear model."""
        items = self._items(X)
        corpus = self._readable(items.corpus)
        log_z = np.zeros(corpus.n_sentences)
        if corpus.n_tokens:
            check_memory(corpus.offset, self.model_.shape, self.model_.encoder)
            chain, data = self.model_.chain, self.model_.encode(corpus)
            log_partitions(chain, data, make_sum_workspace(chain, data), log_z, False)
        return items.with_empty(log_z.tolist(), float)

    def log_probability(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """log P(labels | words) of each sentence; -inf if the labels are impossible."""
        X, y = list(X), list(y)
        pairs = zip(self.log_joint(X, y), self.log_likelihood(X), strict=True)
        return [joint - of_words if joint > -np.inf else joint for joint, of_words in pairs]

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """Token accuracy."""
        self._check_fitted()
        corpus = corpus_from_items(X, y, mode="columns").corpus
        if not corpus.n_tokens or corpus.labels is None:
            raise DataError("no labelled sentence to score")
        guess, _ = self.model_.tag(self._readable(corpus))
        gold = corpus.labels.cells()
        return sum(self.labels_[k] == label for k, label in zip(guess.tolist(), gold, strict=True)) / len(gold)

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all. `Tagger.load` and `palmette tag` read it too."""
        model = self._tables()
        fitted = {"order": model.tables.order, "ends": model.tables.end is not None}
        save_hmm(self.get_params() | fitted, model, self.model_, path)

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> HMM:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        found = load_hmm(path, copy=copy)
        made = cls(**found.params)
        made.labels_, made.vocabulary_, made.tables_ = found.model
        made.model_ = found.chain
        return made

    def to_tables(self) -> dict[str, Any]:
        """The probabilities as the arguments of `from_tables` that give this model again."""
        return tables_to_dicts(self._tables())

    def save_tables(self, path: FilePath) -> None:
        """Write the probabilities as JSON, whole or not at all; `lab/hmm/estimator.py` has the format."""
        write_tables(path, self._tables())

    @classmethod
    def load_tables(cls, path: FilePath) -> HMM:
        """Read probabilities from a JSON file."""
        return cls._of(read_tables(path))

    def _tables(self) -> HiddenMarkovModel:
        self._check_fitted()
        return HiddenMarkovModel(self.labels_, self.vocabulary_, self.tables_)

    @property
    def classes_(self) -> list[str]:
        self._check_fitted()
        return self.labels_

    # The linear form

    def to_linear(self) -> ChainModel:
        """The chain model with the same scores."""
        self._check_fitted()
        return self.model_

    def observed(self, corpus: Corpus) -> Corpus:
        """The corpus as the model sees it, to look at: known words, and the classes of unknown ones."""
        self._check_fitted()
        if not corpus.n_tokens:
            return corpus
        there, ids = np.unique(observations(corpus, self.vocabulary_, self.unicode), return_inverse=True)
        names = [self.vocabulary_.names[k] for k in there.tolist()]
        return replace(corpus, columns=[column_of_types(ids.astype(np.int32), names)], labels=None, label_sets=None)

    def weight_vector(self) -> np.ndarray:
        """The logarithms of start, pair, triple, end and emission probabilities, one after the other."""
        self._check_fitted()
        return weight_vector(self.tables_)

    def feature_vector(self, words: Sequence[Any], labels: Sequence[str]) -> np.ndarray:
        """How often one sentence uses each of them."""
        _, ((numbers, observed),) = self._labelled([words], [labels])
        return feature_vector(self.tables_, numbers, observed)

    # Helpers

    def _readable(self, corpus: Corpus) -> Corpus:
        """The corpus itself, if each of its words can be observed."""
        if corpus.n_tokens and not self.vocabulary_.classes:
            observations(corpus, self.vocabulary_, self.unicode)
        return corpus

    def _check_fitted(self) -> None:
        if not hasattr(self, "tables_"):
            raise not_fitted("HMM")

    def _items(self, X: Iterable[Any]) -> Items:
        self._check_fitted()
        return corpus_from_items(X, None, mode="columns")

    def _labelled(self, X: Iterable[Any], y: Iterable[Any]) -> tuple[Items, list[tuple[np.ndarray, np.ndarray]]]:
        """Labels and observations of each sentence as numbers i64[n]."""
        self._check_fitted()
        items = corpus_from_items(X, y, mode="columns")
        corpus = items.corpus
        if not corpus.n_tokens:
            return items, []
        assert corpus.labels is not None
        unknown = [name for name in corpus.labels.types if name not in self.labels_]
        if unknown:
            raise DataError(f"the model has no label {unknown[0]!r}; it has {', '.join(self.labels_)}")
        numbers = np.array([self.labels_.index(name) for name in corpus.labels.types])[corpus.labels.ids]
        cuts = list(pairwise(corpus.offset.tolist()))
        observed = observations(corpus, self.vocabulary_, self.unicode)
        return items, [(numbers[a:b], observed[a:b]) for a, b in cuts]

    def _named(self, labels: np.ndarray, items: Items) -> list[list[str]]:
        return items.with_empty(_cut([self.labels_[k] for k in labels.tolist()], items), list)


def _cut(values: list[Any], items: Items) -> list[list[Any]]:
    """The values of tokens as lists, one a sentence."""
    return [values[a:b] for a, b in pairwise(items.corpus.offset.tolist())]
