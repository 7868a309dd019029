"""A trained chain model: labels, features and weights, and how they decode. See serialise.py for its file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.labels.mask import LabelMask, check_feasible
from palmette.data.labels.numbers import LabelNumbers
from palmette.data.labels.schemes import Transitions
from palmette.errors import DataError, counted
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active, Chain, Data, Trellis, make_trellis, stride_of
from palmette.kernels.chain.viterbi import decode
from palmette.kernels.core.compile import prepared
from palmette.kernels.core.hashing import FeatureIndex
from palmette.options.chain import ChainSettings
from palmette.options.declare import OptionError
from palmette.options.spelling import argument
from palmette.structures.chain.data import allow_table, encode_contexts, encode_corpus
from palmette.structures.chain.row_tables import RowTables
from palmette.structures.chain.search import Searching
from palmette.structures.chain.weights import ARITIES, Shape

if TYPE_CHECKING:  # the best path does not wait for the other ways to decode
    from palmette.kernels.chain.beam import BeamWeights
    from palmette.kernels.chain.double import DoubleWeights
    from palmette.kernels.chain.forms import LabelContextWeights
    from palmette.structures.chain.scoring import Scoring
    from palmette.structures.chain.session import Session
    from palmette.structures.stored import Names

MOST_BIAS = 1e9  # more would leave nothing of the scores in a float32


DECODINGS = {
    "viterbi": "the labels of the best path of states",
    "marginal": "for each token the label with the largest posterior, summed over all paths",
    "exact": "the label sequence with the largest posterior, summed over its paths of states; proven if possible",
}
MOST_CAP = 10_000_000
CAP = 1000  # the most paths that exact search visits to prove its answer


class Decoded(NamedTuple):
    """Labels found by one of DECODINGS. A posterior is the share of exp(score) among all paths: a probability only if
    the scores were learnt as log-probabilities."""

    labels: np.ndarray  # i32[N]
    scores: np.ndarray  # f64[S]  of the best path; else the log posterior of the labels (marginal: summed over tokens)
    proven: np.ndarray | None  # bool[S]  exact only: whether no other label sequence has a larger posterior


@dataclass
class ChainModel(Searching):
    """Labels, features and weights of a chain."""

    labels: list[str]
    shape: Shape
    allowed: Transitions
    scheme: str | None
    encoder: Encoder | None  # None: ready-made attributes
    feature_indexes: dict[int, FeatureIndex]
    searched: Chain  # what searches and sums read: the weights of a loaded model are as its file has them
    names: dict[int, Names] = field(default_factory=dict)
    # Hashes of training words; in a compact model their first 32 bits
    vocabulary: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    bias: dict[str, float] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)  # settings, training log: see metadata.py
    checkpoint: dict[str, np.ndarray] = field(default_factory=dict)  # state of training, for an exact resumption
    label_contexts: LabelContextWeights | None = None  # of templates that read earlier labels; None: exact search
    beam: int = 0  # prefixes that the search keeps; 0: exact search
    settings: ChainSettings = field(default_factory=ChainSettings)
    recombine: bool = True  # whether a beam keeps only the best of prefixes that no template can distinguish
    helpers: tuple[ChainModel, ...] = ()  # they make the columns after the first, if the input lacks them
    _unpacked: tuple[Chain, Chain] | None = field(default=None, init=False, repr=False, compare=False)
    _at_temperature: tuple[float, Chain, Chain] | None = field(default=None, init=False, repr=False, compare=False)
    _local: threading.local | None = field(default=None, init=False, repr=False, compare=False)
    _session: Session | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def chain(self) -> Chain:
        """The chain with weights that can be changed and shown. Those of a loaded model are unpacked once."""
        return self._with_rows(ARITIES)

    @chain.setter
    def chain(self, chain: Chain) -> None:
        self.searched = chain

    def _with_rows(self, arities: tuple[int, ...]) -> Chain:
        """The chain with unpacked weights, of these arities at least."""
        chain, kept = self.searched, self._unpacked
        if not any(chain.stored[arity - 1].kind for arity in arities):
            return chain
        from palmette.structures.chain.stored_rows import unpacked_chain

        if kept is None or kept[0] is not chain or any(kept[1].stored[arity - 1].kind for arity in arities):
            kept = self._unpacked = chain, unpacked_chain(chain, self.shape, arities)
        return kept[1]

    @property
    def state_names(self) -> list[str]:
        """What the states are called: as their label, unless it has several."""
        return self.labels if self.shape.states_per_label == 1 else self.shape.state_names(self.labels)

    @property
    def temperature(self) -> float:
        """What scores are divided by to get posteriors; see temperature.py."""
        fitted = self.meta.get("calibration", self.meta)
        return float(fitted.get("temperature", 1.0))

    def scoring(self, bias: dict[str, float] | None = None, temperature: float | None = None) -> Scoring:
        """Sums over paths and lists of them with the model's own bias and temperature, or with others."""
        from palmette.structures.chain.scoring import Scoring
        from palmette.structures.chain.temperature import with_temperature

        if temperature is None:
            return Scoring(self.for_posteriors(bias))
        return Scoring(with_temperature(self.with_bias(self.bias if bias is None else bias), temperature))

    def for_posteriors(self, bias: dict[str, float] | None = None) -> Chain:
        """The chain at the model's temperature, with its own bias or another. Dividing copies all weights, so the
        result is cached."""
        self.need_exact("posteriors")
        biased, temperature = self.with_bias(self.bias if bias is None else bias), self.temperature
        if temperature == 1.0:
            return biased
        from palmette.structures.chain.temperature import with_temperature

        kept = self._at_temperature
        if kept is None or kept[0] != temperature or kept[1] is not self.searched:
            kept = self._at_temperature = temperature, self.searched, with_temperature(self.searched, temperature)
        return kept[2]._replace(bias=biased.bias * np.float32(1.0 / temperature))

    @property
    def label_numbers(self) -> LabelNumbers | None:
        """What the labels of Python data stand for, if they are whole numbers."""
        stored = self.meta.get("label_numbers")
        return None if stored is None else msgspec.convert(stored, LabelNumbers)

    @property
    def classes(self) -> list[Any]:
        """The labels as predictions in Python have them: strings, or whole numbers if such were learnt from."""
        numbers = self.label_numbers
        return self.labels if numbers is None else numbers.numbers_of(self.labels)

    @property
    def compact(self) -> bool:
        """Whether its weights are of 8 bits."""
        return self.searched.stored[0].scale.size > 0

    @property
    def exact(self) -> DoubleWeights | None:
        """Weights of 64 bits, of a model of another tool; see imported/model.py."""
        return None

    def with_bias(self, bias: dict[str, float]) -> Chain:
        """The chain with a number added to the scores of some labels."""
        return self.searched._replace(bias=self.bias_row(bias))

    def bias_row(self, bias: dict[str, float] | None) -> np.ndarray:
        """What is added to the score of each state, f32[W]; None: the model's own bias."""
        bias = self.bias if bias is None else bias
        row = np.zeros(stride_of(self.shape.n_states), np.float32)
        states_per_label = self.shape.states_per_label
        for label, value in bias.items():
            if label not in self.labels:
                raise OptionError("bias", f"the model has no label {label!r}; it has {_some(self.labels)}")
            if not abs(value) <= MOST_BIAS:
                raise OptionError(
                    "bias", f"{value} for {label} is not a number between -{MOST_BIAS:g} and {MOST_BIAS:g}"
                )
            state = self.labels.index(label) * states_per_label
            row[state : state + states_per_label] = value
        return row

    def weights(self, bias: dict[str, float] | None = None) -> BeamWeights:
        """All weights for a beam, with the model's own bias or another."""
        from palmette.kernels.chain.beam import BeamWeights
        from palmette.structures.chain.label_context import no_context_weights

        chain = self._with_rows(ARITIES[1:])._replace(bias=self.bias_row(bias))
        contexts = self.label_contexts
        return BeamWeights(chain, no_context_weights(chain.bias.size) if contexts is None else contexts)

    def encode(self, corpus: Corpus, known: LabelMask | None = None) -> Data:
        """The corpus as the kernels read it, with what is known about its labels (default: nothing)."""
        corpus = self.completed(corpus)
        check_columns(corpus, self.encoder)
        Y = len(self.labels)
        rows = np.full(corpus.n_tokens, Y, np.int32) if known is None else known.rows
        allow = allow_table(Y, None if known is None else known.sets)
        return encode_corpus(corpus, self.encoder, self.feature_indexes, rows, allow)

    def encode_contexts(self, corpus: Corpus) -> Active:
        """The observations of templates that read earlier labels."""
        return encode_contexts(self.completed(corpus), self.encoder, self.feature_indexes)

    def completed(self, corpus: Corpus) -> Corpus:
        """The corpus with the columns that it lacks, as far as stored helpers make them."""
        has, wanted = len(corpus.columns), 0 if self.encoder is None else self.encoder.n_columns
        if not self.helpers or not 0 < has < wanted or not corpus.n_tokens:
            return corpus
        made = copy(corpus)
        for helper in self.helpers[has - 1 : wanted - 1]:
            made.columns = [*made.columns, column_of_types(helper.tag(made)[0], helper.labels)]
        return made

    def tag(
        self, corpus: Corpus, bias: dict[str, float] | None = None, known: LabelMask | None = None, states: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The label of each token i32[N] (or its state) and the score of each sentence f64[S]."""
        if not corpus.n_tokens:
            return np.zeros(0, np.int32), np.zeros(0)
        check_memory(corpus.offset, self.shape, self.encoder)
        data = self.encode(corpus, known)
        if self.beam:
            from palmette.structures.chain.beam import beam_states

            seen = self.encode_contexts(corpus)
            found, scores = beam_states(self.weights(bias), data, seen, self.beam_search, known is not None)
        else:
            found, scores = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
            self.search(data, bias, found, scores, known is not None)
        found = found if states or self.shape.states_per_label == 1 else self.searched.label_of[found]
        check_feasible(scores, corpus, self.beam)
        return found, scores

    def knows(self, hashes: np.ndarray) -> np.ndarray:
        """Which words were in the training data, bool[words], by their hashes."""
        words = hashes if self.vocabulary.dtype == np.uint64 else hashes >> np.uint64(32)
        return np.isin(words, self.vocabulary)

    def decode(
        self,
        corpus: Corpus,
        how: str,
        bias: dict[str, float] | None = None,
        known: LabelMask | None = None,
        cap: int = CAP,
    ) -> Decoded:
        """Labels by one of DECODINGS."""
        if how not in DECODINGS:
            raise OptionError("decode", f"there is no {how!r}; choose one of {', '.join(DECODINGS)}")
        if type(cap) is not int or not 1 <= cap <= MOST_CAP:
            raise OptionError("cap", f"{cap!r} is not a number of paths between 1 and {MOST_CAP:,}", "exact-cap")
        if how == "viterbi" or not corpus.n_tokens:
            return Decoded(*self.tag(corpus, bias, known), None)
        check_memory(corpus.offset, self.shape, self.encoder)
        scoring, data = self.scoring(bias), self.encode(corpus, known)
        if how == "exact":
            labels, posterior, proven = scoring.most_probable_sequence(data, cap, known is not None)
            with np.errstate(divide="ignore"):
                scores = np.log(posterior)
            check_feasible(scores, corpus)
            return Decoded(labels, scores, proven)
        labels, confidence, log_z = scoring.most_probable(data, known is not None)
        check_feasible(log_z, corpus)
        return Decoded(labels, np.add.reduceat(np.log(confidence), data.offset[:-1]), None)

    def search(
        self, data: Data, bias: dict[str, float] | None, states: np.ndarray, scores: np.ndarray, restricted: bool
    ) -> None:
        """Write the states of the best paths i32[N] and their scores f64[S]."""
        rows, trellis, row = self._rows(), self.tables(data), self.bias_row(bias)
        for part, tokens, sentences in rows.parts(data):
            chain = rows.filled(part)._replace(bias=row)
            decode(chain, part, trellis, states[tokens], scores[sentences], restricted)

    def _rows(self) -> RowTables:
        """The rows that this thread has unpacked."""
        if self._local is None:
            self._local = threading.local()
        rows: RowTables | None = getattr(self._local, "rows", None)
        if rows is None or rows.stored is not self.searched:
            rows = self._local.rows = RowTables(self.searched)
        return rows

    def tables(self, data: Data, longest: int | None = None) -> Trellis:
        """The tables of a search in any sentence of a corpus, or in sentences of up to so many tokens."""
        return make_trellis(self.searched, data, longest)

    def prepared_search(
        self, data: Data, trellis: Trellis, states: np.ndarray, scores: np.ndarray
    ) -> Callable[[], None]:
        """A call that searches the best path of what is in the arrays then, with the bias of now."""
        tables = RowTables(self.searched)
        chain = tables.chain._replace(bias=self.bias_row(None))
        search = prepared(decode, chain, data, trellis, states, scores, False)
        direct = prepared(decode, chain._replace(stored=self.searched.stored), data, trellis, states, scores, False)
        return tables.before(data, search, direct)

    def session(self) -> Session:
        """The session in which `Tagger.predict` tags short lists of sentences."""
        if self._session is None:
            from palmette.structures.chain.session import Session

            self._session = Session(self)
        return self._session

    def changed(self, **parts: Any) -> Self:
        """A copy with other parts, of the same kind."""
        made = object.__new__(type(self))  # `copy` would write and read the model as a pickle
        made.__dict__ |= self.__dict__
        made._session, made._local, made._at_temperature, made._unpacked = None, None, None, None
        for name, part in parts.items():
            setattr(made, name, part)
        return made

    def save(self, path: str) -> None:
        """Write a model file; see serialise.py."""
        from palmette.structures.chain.serialise import save_chain

        save_chain(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds what the model file does: what is compiled or remembered is made again."""
        from palmette.structures.chain.serialise import chain_from_parts, chain_parts

        return chain_from_parts, (*chain_parts(self), "a pickled model")


def best_states(chain: Chain, data: Data, *, restricted: bool) -> tuple[np.ndarray, np.ndarray]:
    """The state of each token on the best path i32[N] and the score of each sentence f64[S]."""
    states, scores = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
    rows, trellis = RowTables(chain), make_trellis(chain, data)
    for part, tokens, sentences in rows.parts(data):
        decode(rows.filled(part), part, trellis, states[tokens], scores[sentences], restricted)
    return states, scores


def best_labels(chain: Chain, data: Data, *, restricted: bool) -> tuple[np.ndarray, np.ndarray]:
    """The label of each token on the best path i32[N] and the score of each sentence f64[S]."""
    states, scores = best_states(chain, data, restricted=restricted)
    return (states if chain.plain else chain.label_of[states]), scores


def check_columns(corpus: Corpus, encoder: Encoder | None, hint: str | None = None) -> None:
    """DataError if a corpus has fewer columns than the templates read; `hint`: what to do, if no model can help."""
    if encoder is not None and len(corpus.columns) < encoder.n_columns and corpus.n_tokens:
        raise DataError(
            f"the model reads {counted(encoder.n_columns, 'column')} and the input has {len(corpus.columns)}",
            file=corpus.source,
            line=corpus.line_of(0),
            hint=f"add the columns, or let another model make them: {argument('add')}" if hint is None else hint,
        )


MOST_BYTES = 8 << 30  # of the tables of one sentence


def check_memory(offset: np.ndarray, shape: Shape, encoder: Encoder | None) -> None:
    """DataError if the tables of the longest sentence would not fit into memory."""
    longest = int(np.diff(offset).max(initial=0))
    size = search_bytes(longest, shape, encoder)
    if size > MOST_BYTES:
        s = int(np.argmax(np.diff(offset)))
        raise DataError(
            f"sentence {s + 1} has {counted(longest, 'token')}: its order {shape.order} table with {shape.n_states} "
            f"{'labels' if shape.states_per_label == 1 else 'states'} "
            f"would take {size / 2**30:.0f} GB",
            hint="split the sentence, or use a model of a lower order",
        )


def search_bytes(tokens: int, shape: Shape, encoder: Encoder | None) -> int:
    """About how many bytes the tables of a sentence of so many tokens take, besides those that all tokens share."""
    observed = () if encoder is None else encoder.programs
    # Scores and best scores per token: of states, and of pairs and triples if attributes are on them.
    width = 2 * shape.width(1) + sum(shape.width(order) for order in (2, 3) if order in observed)
    if shape.local and shape.order == 2 and 2 not in observed:
        width += shape.width(2)
    return 4 * tokens * (width + (shape.width(2) if shape.order == 2 else 0))


def _some(labels: Sequence[str], most: int = 12) -> str:
    return ", ".join(labels[:most]) + (", ..." if len(labels) > most else "")
