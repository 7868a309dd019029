"""`Tagger`: labels, marginals and probabilities of one sequence after another."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from palmette.crfsuite.sequences import ONE, encoded, items_by_definition, label_text, plain_items

if TYPE_CHECKING:
    from palmette.crfsuite.posterior import KeptPosteriors, PosteriorsByThread
    from palmette.structures.chain.model import ChainModel
    from palmette.structures.chain.session import Session

# Errors of the drop-in. Where python-crfsuite raises one class and its documentation lets one expect another, both
# catch ours.


class CRFSuiteError(Exception):
    """python-crfsuite's error for a training that failed, for programs that catch it. Ours say what is wrong, as
    ValueErrors."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error {code} of CRFsuite")
        self.code = code


class NotOpenError(ValueError, RuntimeError):
    """The tagger has no model."""

    def __init__(self) -> None:
        super().__init__("the tagger is not opened: call open(name) first")


class UnknownLabelError(ValueError, RuntimeError):
    """The model has no such label."""

    def __init__(self, label: str) -> None:
        super().__init__(f"the model has no label {label!r}; labels() lists them")


MARK, HEADER = b"lCRF", 48
Given = tuple[bytes, int]  # a sequence as bytes, since its items may change; how many they are


class Tagger:
    """Tags with a model: `open` it, then `tag` a sequence of items. `marginal` and `probability` are about the
    sequence that was set or tagged last."""

    _model: ChainModel | None
    _session: Session | None
    _posteriors: PosteriorsByThread | None

    def __new__(cls, *args: Any, **more: Any) -> Self:
        """A subclass need not call `__init__`, as with python-crfsuite."""
        made = super().__new__(cls)
        made._forget()
        return made

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file of CRFsuite or of palmette. To be used with `with`, if at all: that closes the model."""
        path = os.fsdecode(name)
        with open(path, "rb") as file:
            head = file.read(HEADER)
            if head.startswith(MARK):
                return self.open_inmemory(head + file.read(), source=path)
        from palmette.structures.chain.serialise import load_chain

        return self._use(load_chain(path), b"")

    def open_inmemory(self, value: bytes, *, source: str = "the bytes") -> contextlib.closing[Tagger]:
        """Open a model from the bytes of a CRFsuite file; `source` names them in messages."""
        if not isinstance(value, bytes):
            raise TypeError(f"value is {type(value).__name__}; expected bytes")
        if not value.startswith(MARK):
            raise ValueError(f"{source}: this is not a model of CRFsuite: it should begin with {MARK!r}")
        from palmette.connect.crfsuite_models import read_crfsuite

        return self._use(read_crfsuite(value, source), value[:HEADER])

    def _use(self, model: ChainModel, header: bytes) -> contextlib.closing[Tagger]:
        if model.encoder is not None:
            raise ValueError("the model has templates, which make attributes of words: use palmette.Tagger.load")
        self._forget()
        self._model, self._header, self._session = model, header, model.session()
        self._numbers: dict[Any, int] = {label: k for k, label in enumerate(model.labels)}
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._forget()

    def _forget(self) -> None:
        self._model = self._session = self._posteriors = None
        self._header = b""
        self._given: Given = b"", 0

    @property
    def model(self) -> ChainModel:
        """The model, for all that palmette can do with it."""
        if self._model is None:
            raise NotOpenError
        return self._model

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self.model.labels)

    def set(self, xseq: Any) -> None:
        """Set the sequence that `tag()`, `marginal` and `probability` are about."""
        if self._model is None:
            raise NotOpenError
        self._taken(xseq)

    def _taken(self, xseq: Any) -> Given:
        """A sequence, which is set then; another thread may set another one in the meantime."""
        items = plain_items(xseq)
        given = self._given = ONE + encoded(items), len(items)
        return given

    def tag(self, xseq: Any = None) -> list[str]:
        """The labels of the items of a sequence; by default of the one that is set."""
        session = self._session
        if session is None:
            raise NotOpenError
        data, size = self._given if xseq is None else self._taken(xseq)
        if not size:
            return []
        found = session.quick_encoded(data, size)
        if found is None:
            found = session.tag_scored(items_by_definition(data))
        return found[0]

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position, counted from 0."""
        label = self._number(y)
        given = self._given
        if not given[1]:
            return 0.0
        if not 0 <= pos < given[1]:
            raise ValueError(f"position {pos}: the sequence has {given[1]} items")
        return float(self._sums(given).marginals.item(int(pos), label))

    def marginals(self, xseq: Any = None) -> np.ndarray:
        """The probabilities of all labels at all positions of a sequence, f64[items, labels]; by default of the one
        that is set."""
        labels, given = self.model.labels, self._given if xseq is None else self._taken(xseq)
        return self._sums(given).marginals.copy() if given[1] else np.zeros((0, len(labels)))

    def probability(self, yseq: Iterable[Any]) -> float:
        """The probability of a label sequence."""
        tags = list(yseq)
        numbers = [self._number(tag) for tag in tags]
        given = self._given
        if not given[1]:
            return 0.0
        if len(tags) != given[1]:
            raise ValueError(f"{len(tags)} labels: the sequence has {given[1]} items")
        return self._sums(given).probability(numbers)

    def _number(self, label: Any) -> int:
        if self._model is None:
            raise NotOpenError
        number = self._numbers.get(label)
        if number is None:
            number = self._numbers.get(label_text(label))
            if number is None:
                raise UnknownLabelError(label_text(label))
        return number

    def _sums(self, given: Given) -> KeptPosteriors:
        """The sums over all labellings of a sequence, made once."""
        if self._posteriors is None:
            from palmette.crfsuite.posterior import PosteriorsByThread

            self._posteriors = PosteriorsByThread(self.model)
        return self._posteriors.holding(given)

    def info(self) -> ParsedDump:
        """What is in the model: header, labels, attributes, transitions and state features."""
        return parsed_dump(self.model, self._header)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to a file or to standard output."""
        lines = dump_lines(self.model, self._header)
        if filename is None:
            print("\n".join(lines))
            return
        from palmette.data.files import write_whole

        with write_whole(os.fsdecode(filename)) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


# A model as text in the form of CRFsuite's dump, and as dicts.


# Numbers of the header of a model file after its mark, with the type between the first two
HEADER_NAMES = (
    "size", "version", "num_features", "num_labels", "num_attrs", "off_features", "off_labels", "off_attrs",
    "off_labelrefs", "off_attrrefs",
)  # fmt: skip


class ParsedDump:
    """The content of a model: `header` {name: text}, `labels` and `attributes` {name: number as text},
    `transitions` {(from, to): weight} and `state_features` {(attribute, label): weight}."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class DumpWeights(NamedTuple):
    """The weights of a model that are not zero."""

    attributes: list[str]
    state: tuple[list[int], list[int], list[float]]  # attribute, label, weight
    transition: tuple[list[int], list[int], list[float]]  # from, to, weight


def weights_of(model: ChainModel) -> DumpWeights:
    """The weights of a model of order 1, in the order of CRFsuite's files."""
    from palmette.connect.crfsuite_models import state_weights, transition_weights

    pairs = transition_weights(model)
    source, target = np.nonzero(pairs)
    state = tuple(part.tolist() for part in state_weights(model))
    names = model.names[1]
    text, marks = names.data.tobytes(), names.offset.tolist()
    attributes = [text[a:b].decode() for a, b in pairwise(marks)]
    return DumpWeights(attributes, state, (source.tolist(), target.tolist(), pairs[source, target].tolist()))


def header_of(header: bytes) -> dict[str, str]:
    """The header of a model file as text; nothing if the model is not from one."""
    if not header:
        return {}
    size, kind, *numbers = struct.unpack("<I4s9I", header[4:48])
    shown = {"magic": header[:4].decode(), "size": str(size), "type": kind.decode()}
    for name, number in zip(HEADER_NAMES[1:], numbers, strict=True):
        shown[name] = f"0x{number:X}" if name.startswith("off_") else str(number)
    return shown


def parsed_dump(model: ChainModel, header: bytes) -> ParsedDump:
    """The model as dicts. Weights have six decimals, as in the text."""
    found, own = ParsedDump(), weights_of(model)
    found.header = header_of(header)
    found.labels = {label: str(k) for k, label in enumerate(model.labels)}
    found.attributes = {name: str(k) for k, name in enumerate(own.attributes)}
    labels, names = model.labels, own.attributes
    found.transitions = {(labels[a], labels[b]): float(f"{w:f}") for a, b, w in zip(*own.transition, strict=True)}
    found.state_features = {(names[a], labels[y]): float(f"{w:f}") for a, y, w in zip(*own.state, strict=True)}
    return found


def dump_lines(model: ChainModel, header: bytes) -> Iterator[str]:
    """The lines of the text."""
    own, labels = weights_of(model), model.labels
    yield "FILEHEADER = {"
    yield from (f"  {name}: {value}" for name, value in header_of(header).items())
    yield from ("}", "", "LABELS = {")
    yield from (f"  {k:5d}: {label}" for k, label in enumerate(labels))
    yield from ("}", "", "ATTRIBUTES = {")
    yield from (f"  {k:5d}: {name}" for k, name in enumerate(own.attributes))
    yield from ("}", "", "TRANSITIONS = {")
    yield from (f"  (1) {labels[a]} --> {labels[b]}: {w:f}" for a, b, w in zip(*own.transition, strict=True))
    yield from ("}", "", "STATE_FEATURES = {")
    yield from (f"  (0) {own.attributes[a]} --> {labels[y]}: {w:f}" for a, y, w in zip(*own.state, strict=True))
    yield from ("}", "")
