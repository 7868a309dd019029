"""The trellis of one sentence as a plain record, for pictures: what each state scores, how far the best path through it
is behind, the best path and the runner-up, and what a beam kept at each token.

A record holds lists, numbers and strings only (`as_dict` is what JSON holds), so that text, SVG and pages in a browser
draw the same thing. None stands for what is forbidden.
"""

from __future__ import annotations

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import LabelMask
from palmette.display import drawn_by
from palmette.errors import UsageError
from palmette.kernels.chain.forms import make_trellis
from palmette.kernels.chain.viterbi import decode
from palmette.structures.chain.data import allow_table
from palmette.structures.chain.model import ChainModel

MOST_CELLS = 50_000_000  # of the tables of a search, computed here in float64


class Beamed(msgspec.Struct, frozen=True):
    """What a beam did: for each token the states that prefixes in the beam end in, best first, and whether the prefix
    of the best path by exact search was among them."""

    width: int
    kept: list[list[int]]
    scores: list[list[float]]
    has_best: list[bool]


class TrellisRecord(msgspec.Struct, frozen=True):
    """A trellis. States are numbered; a plain model has one per label."""

    tokens: list[str]
    labels: list[str]
    states: list[str]  # what they are called
    label_of: list[int]  # the label of each state
    order: int
    own: list[list[float | None]]  # [token][state]: attributes, bias, start and end
    edges: list[list[list[float | None]]] | None  # [1 or token][before][state]: of order 1; None otherwise
    behind: list[list[float | None]]  # [token][state]: the best score less that of the best path through the state
    best: list[int]
    runner_up: list[int] | None  # the best path with other labels; None if there is none
    score: float
    runner_up_score: float | None
    beam: Beamed | None = None

    def as_dict(self) -> dict:
        """The record as plain data."""
        return msgspec.to_builtins(self)

    def __repr__(self) -> str:
        return f"TrellisRecord({len(self.tokens)} tokens, {len(self.states)} states, score {self.score:.4f})"

    __str__ = drawn_by("reports.trellis:trellis_lines")
    _repr_svg_ = drawn_by("reports.trellis:trellis_svg")
    _repr_html_ = _repr_svg_  # inside of the notebook's page the picture has the notebook's colours


def trellis_of(
    model: ChainModel, corpus: Corpus, bias: dict[str, float] | None = None, known: LabelMask | None = None
) -> TrellisRecord:
    """The trellis of a corpus of one sentence, with what is known about its labels."""
    model.need_exact("trellis")
    exact = model.changed(beam=0)
    n, H = corpus.n_tokens, model.shape.n_states
    if n * H ** (model.shape.order + 1) > MOST_CELLS:
        raise UsageError(f"trellis: {H} states and {n} tokens are too many for a picture at order {model.shape.order}")
    own, edges, triples = search_tables(exact, corpus, bias)
    if known is not None:
        own = np.where(_allowed(model, known), own, -np.inf)
    best = exact.tag(corpus, bias, known, states=True)[0].tolist()
    behind, score = _behind(own, edges, triples)
    second, second_score = _runner_up(exact, corpus, bias, known)
    return TrellisRecord(
        corpus.columns[0].cells() if corpus.columns else [str(i) for i in range(1, n + 1)],
        model.labels, model.state_names, model.searched.label_of.tolist(), model.shape.order,
        [_cells(row) for row in own],
        None if edges is None or triples is not None else [[_cells(row) for row in table] for table in edges],
        [_cells(row) for row in behind],
        best, second, score, second_score,
        _beamed(model, corpus, bias, best, known) if model.beam else None,
    )  # fmt: skip


def search_tables(
    model: ChainModel, corpus: Corpus, bias: dict[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The tables that a search fills: of states [n, H], pairs [1 or n, H, H] and triples [1 or n, H, H, H]."""
    chain = model.with_bias(model.bias if bias is None else bias)
    data, H = model.encode(corpus), model.shape.n_states
    trellis = make_trellis(chain, data)
    decode(chain, data, trellis, np.zeros(corpus.n_tokens, np.int32), np.zeros(1), False)
    own, edges, triples = (table[..., :H].astype(np.float64) for table in (trellis.U, trellis.E, trellis.S))
    return own, edges if chain.order >= 1 else None, triples if chain.order >= 2 else None


def _allowed(model: ChainModel, known: LabelMask) -> np.ndarray:
    """The states that are allowed at each token, bool[n, H]."""
    table = allow_table(len(model.labels), known.sets)
    return np.asarray(table[known.rows][:, model.searched.label_of] != 0)


def _behind(own: np.ndarray, edges: np.ndarray | None, triples: np.ndarray | None) -> tuple[np.ndarray, float]:
    """How far the best path through each state is behind the best of all, and the score of that."""
    n, H = own.shape
    pair = np.zeros((1, H, H)) if edges is None else edges
    triple = np.zeros((1, 1, H, H)) if triples is None else triples
    step = [own[i][None, :] + pair[i if len(pair) > 1 else 0] for i in range(n)]  # (previous, current)
    forward, backward = np.full((n, H, H), -np.inf), np.zeros((n, H, H))  # of pairs; the first token repeats its state
    forward[0, np.arange(H), np.arange(H)] = own[0]
    with np.errstate(invalid="ignore"):
        for i in range(1, n):
            turn = triple[i if len(triple) > 1 else 0] if i > 1 else np.zeros((1, H, H))
            forward[i] = step[i] + (forward[i - 1][:, :, None] + turn).max(axis=0)
        for i in range(n - 2, -1, -1):
            turn = triple[i + 1 if len(triple) > 1 else 0] if i > 0 else np.zeros((1, H, H))
            backward[i] = (turn + (step[i + 1] + backward[i + 1])[None]).max(axis=2)
        through = (forward + backward).max(axis=1)
    best = float(through[0].max())
    return best - through, best


def _runner_up(
    model: ChainModel, corpus: Corpus, bias: dict[str, float] | None, known: LabelMask | None
) -> tuple[list[int] | None, float | None]:
    """The best path of the second best label sequence, and its score."""
    from palmette.structures.chain.nbest import nbest_lists

    (found,) = nbest_lists(model, corpus, 2, bias, known)
    if len(found) < 2:
        return None, None
    numbers = {label: k for k, label in enumerate(model.labels)}
    labels = np.array([numbers[label] for label in found[1].output], np.int32)
    path, scores = model.tag(corpus, bias, LabelMask(labels, np.zeros((0, len(numbers)), np.bool_)), states=True)
    return path.tolist(), float(scores[0])


def _beamed(
    model: ChainModel, corpus: Corpus, bias: dict[str, float] | None, best: list[int], known: LabelMask | None
) -> Beamed:
    """What a beam keeps at each token."""
    from palmette.kernels.chain.beam import BeamData, decode_beam, make_beam_workspace

    n, width = corpus.n_tokens, model.beam
    weights, both = model.weights(bias), BeamData(model.encode(corpus, known), model.encode_contexts(corpus))
    workspace = make_beam_workspace(weights, both, width, model.recombine)
    lists = np.zeros((1, n), np.int32), np.zeros((1, 1)), np.zeros(1, np.int64)
    decode_beam(weights, both, workspace, *lists, known is not None)
    beam = workspace.beam
    sizes = [int(beam.size[i + 1]) for i in range(n)]
    kept = [beam.label[i, :size].tolist() for i, size in enumerate(sizes)]
    scores = [beam.score[i + 1, :size].tolist() for i, size in enumerate(sizes)]
    prefixes: list[list[int]] = [[]]
    there = []
    for i in range(n):
        prefixes = [[*prefixes[int(beam.back[i, k])], state] for k, state in enumerate(kept[i])]
        there.append(best[: i + 1] in prefixes)
    return Beamed(width, kept, scores, there)


def _cells(row: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in row]
