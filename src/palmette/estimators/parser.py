"""`Parser`: a dependency parser over treebanks, files or Python sentences.

    parser = Parser().fit_file("train.conllu", "dev.conllu")
    parser.parse_file("text.conllu", "parsed.conllu")

`__init__` only stores; `fit` learns; learnt things end in `_`. The command line is built on the same class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.files import FilePath
from palmette.data.formats.conllu import read_treebank, stream_treebank, treebank_bytes
from palmette.data.formats.conllu_nbest import nbest_treebank_bytes
from palmette.data.stream import Processed, process_file
from palmette.data.treebank import Treebank, Word, treebank_from_sentences
from palmette.errors import DataError, ModelError, UsageError
from palmette.evaluation.attachment import AttachmentScores, score_trees
from palmette.options.parser_settings import ParserSettings, check_beam
from palmette.structures.tree.model import ParserModel, encode
from palmette.structures.tree.nbest import best_trees
from palmette.structures.tree.serialise import load_parser
from palmette.structures.tree.templates import choose_templates
from palmette.training.result import Progress
from palmette.training.tree.fit import finished, fit_parser, parsed

Say = Callable[[str], None]
_SETTINGS = tuple(ParserSettings.__struct_fields__)
Sentences = Treebank | Iterable[Iterable[Word]]


class Parser:
    """An arc-standard parser with a beam.

    features: a named template set (basic, rich), or a file; see docs/parsing.md.
    learner: perceptron, probperc, pa or mira. update: where guess and gold are cut when the search went wrong:
        standard, early, max-violation, latest, hybrid, laso. None: laso, and with merging or another learner than the
        perceptron max-violation.
    beam: how many states are kept at each step. merge: unite those that look alike to all templates.
    non_projective: pseudo (transform crossing arcs, and put them back after parsing) or skip.
    The others are explained in `palmette train --task parse --help`.
    """

    def __init__(
        self,
        features: str | FilePath = "rich",
        *,
        learner: str = "perceptron",
        update: str | None = None,
        beam: int = 8,
        merge: bool = False,
        passes: int | None = None,
        patience: int | None = None,
        estimator: str = "avg",
        mavg_every: int = 4,
        seed: int = 1,
        non_projective: str = "pseudo",
        candidates: int | None = None,
        aggressiveness: float = 0.1,
        pa_type: str = "PA-I",
        rate: float | None = None,
        rate_schedule: str = "falling",
        probability_function: str = "softmax",
    ) -> None:
        self.features = features
        self.learner = learner
        self.update = update
        self.beam = beam
        self.merge = merge
        self.passes = passes
        self.patience = patience
        self.estimator = estimator
        self.mavg_every = mavg_every
        self.seed = seed
        self.non_projective = non_projective
        self.candidates = candidates
        self.aggressiveness = aggressiveness
        self.pa_type = pa_type
        self.rate = rate
        self.rate_schedule = rate_schedule
        self.probability_function = probability_function

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameters()}

    def __repr__(self) -> str:
        default = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v != default[k]]
        return f"Parser({', '.join(changed)})"

    def settings(self) -> ParserSettings:
        """What was chosen about learning, checked."""
        return ParserSettings(**{name: getattr(self, name) for name in _SETTINGS})

    # Training

    def fit(
        self,
        sentences: Sentences,
        dev: Sentences | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> Parser:
        """Learn from sentences with trees: a treebank, or lists of dictionaries with form, upos, head, deprel ..."""
        settings, templates = self.settings(), choose_templates(self.features)
        held_out = None if dev is None else _treebank(dev)
        self.model_, self.outcome_ = fit_parser(
            _treebank(sentences), held_out, templates, settings, threads=threads, progress=progress,
            say=say or (lambda message: None),
        )  # fmt: skip
        return self

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, skip_bad: bool = False, **options: Any
    ) -> Parser:
        """Learn from a CoNLL-U file; `options` as for `fit`. `skip_bad`: leave out sentences that are no trees."""
        self.settings()
        treebank = read_treebank(path, skip_bad=skip_bad)
        held_out = None if dev is None else read_treebank(dev, skip_bad=skip_bad)
        return self.fit(treebank, held_out, **options)

    # Using

    def parse(self, sentences: Sentences, *, beam: int | None = None, threads: int = 1) -> Treebank:
        """The sentences with guessed trees. Another beam than that of training is allowed."""
        return parsed(self._fitted(), _treebank(sentences), self._beam(beam), self.merge, threads)

    def predict(self, sentences: Sentences) -> list[list[tuple[int, str]]]:
        """Of each word its head (counted from 1; 0: the root) and its relation."""
        found = self.parse(sentences)
        names = found.relations.cells()
        heads = found.heads.tolist()
        return [list(zip(heads[a:b], names[a:b], strict=True)) for a, b in pairwise(found.offset.tolist())]

    def nbest(
        self, sentences: Sentences, n: int, *, beam: int | None = None
    ) -> list[list[tuple[float, np.ndarray, list[str]]]]:
        """At most n different trees of each sentence, best first: (score, heads, relations). They come from the last
        beam; with merging, from all that the search has seen."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UsageError(f"nbest: {n!r} is not a whole number of at least 1")
        model, treebank, width = self._fitted(), _treebank(sentences), max(n, self._beam(beam))
        check_beam(width)
        words, grammar = encode(treebank, model.templates, model.relations, gold=False), model.grammar()
        return [
            [
                (tree.score, *self._plain(treebank.take(np.array([s])), tree.heads, tree.relations))
                for tree in best_trees(model, grammar, words, s, n, width, self.merge)
            ]
            for s in range(treebank.n_sentences)
        ]

    def _plain(self, treebank: Treebank, heads: np.ndarray, relations: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """A tree with lifted arcs put back."""
        made = finished(self._fitted(), treebank, heads, relations)
        return made.heads, made.relations.cells()

    def evaluate(self, gold: Sentences, *, beam: int | None = None, threads: int = 1) -> AttachmentScores:
        """Attachment scores on sentences with trees, by the rules of the official UD scorer."""
        treebank = _treebank(gold)
        if not treebank.n_tokens or (treebank.heads < 0).any():
            raise DataError("scores compare trees, and some sentence has none", file=treebank.corpus.source)
        return score_trees(treebank, self.parse(treebank, beam=beam, threads=threads))

    def parse_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        beam: int | None = None,
        threads: int = 1,
        prepare: Callable[[Treebank], Treebank] | None = None,
        fields: Iterable[str] = (),
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Parse a CoNLL-U file into another, in blocks; returns the number of words. All but heads and relations is
        written as it was read. `prepare` changes a block before it is parsed (tags it, for example), and `fields` are
        the fields that it changes."""
        model, width, changed = self._fitted(), self._beam(beam), ("head", "deprel", *fields)

        def work(treebank: Treebank) -> Processed:
            made = parsed(model, prepare(treebank) if prepare else treebank, width, self.merge)
            return Processed(treebank_bytes(made, fields=changed), (treebank.n_tokens,))

        blocks = stream_treebank(source, labelled=False)
        return sum(process_file(blocks, work, target, threads=threads, progress=progress))

    def nbest_file(
        self,
        source: FilePath,
        target: FilePath,
        n: int = 5,
        *,
        beam: int | None = None,
        prepare: Callable[[Treebank], Treebank] | None = None,
        fields: Iterable[str] = (),
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write the n best trees of each sentence of a CoNLL-U file, with comments `# nbest` and `# score`; returns the
        number of words. The options are those of `parse_file`."""
        changed = tuple(fields)

        def work(treebank: Treebank) -> Processed:
            ready = prepare(treebank) if prepare else treebank
            return Processed(
                nbest_treebank_bytes(ready, self.nbest(ready, n, beam=beam), changed), (treebank.n_tokens,)
            )

        return sum(process_file(stream_treebank(source, labelled=False), work, target, progress=progress))

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all."""
        self._fitted().save(str(path))

    @classmethod
    def load(cls, path: FilePath) -> Parser:
        """Read a model file."""
        model = load_parser(str(path))
        settings = model.meta.get("settings", {})
        if not isinstance(settings, dict):
            raise ModelError("damaged model: its settings are no list of names and values", file=str(path))
        parser = cls(model.templates.name, **{name: settings[name] for name in _SETTINGS if name in settings})
        try:
            parser.settings()
        except UsageError as error:
            raise ModelError(f"damaged model: {error}", file=str(path)) from None
        parser.model_ = model
        return parser

    @property
    def relations_(self) -> list[str]:
        return self._fitted().relations

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        return self._fitted().meta["history"]

    def _beam(self, beam: int | None) -> int:
        if beam is None:
            return self.beam
        check_beam(beam)
        return beam

    def _fitted(self) -> ParserModel:
        if not hasattr(self, "model_"):
            raise UsageError("this Parser has not been trained: call fit, or Parser.load")
        return self.model_


def _parameters() -> list[str]:
    return [name for name in inspect.signature(Parser.__init__).parameters if name != "self"]


def _treebank(sentences: Sentences) -> Treebank:
    if isinstance(sentences, str):
        raise DataError("a list of sentences is expected, and this is a string")
    return sentences if isinstance(sentences, Treebank) else treebank_from_sentences(sentences)
