"""`Tags`: the component of a pipeline that finds UPOS, XPOS and FEATS of words.

UPOS are found first, by a chain that reads the words; XPOS and FEATS together by a model that reads words and UPOS
(morphology.py).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from palmette.data.model_file import read_metadata
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import ModelError, UsageError, counted, not_fitted
from palmette.estimators.tagger import Tagger
from palmette.features.named import named_text
from palmette.features.resources import Clusters, Resources
from palmette.features.templates import parse
from palmette.options.learners import Arow
from palmette.pipeline.bundles import BundleModel, compact_bundles
from palmette.pipeline.chains import (
    accuracy,
    compacted,
    corpus_of,
    packed_chains,
    predicted,
    trained_chain,
    unpacked_chains,
)
from palmette.pipeline.morphology import (
    CONTEXTS,
    PARTS,
    Morphology,
    learn_morphology,
    morphology_from_parts,
    morphology_parts,
    with_known_words,
)
from palmette.structures.chain.model import ChainModel
from palmette.training.result import Progress

logger = logging.getLogger(__name__)
FIELDS = ("upos", "xpos", "feats")
PASSES = 8
UPOS = "upos"
MORPHOLOGY = "morphology."  # before the names of its arrays
WORTH = 0.0003  # the share of words by which a choice must be better than those before it
# Shapes of words and their neighbours: a run of capitalised words is a name
_SHAPES = """\
U70:%x[-1,0,short_shape]
U71:%x[1,0,short_shape]
U72:%x[-1,0,short_shape]/%x[0,0,short_shape]
U73:%x[0,0,short_shape]/%x[1,0,short_shape]
U74:%x[-1,0,short_shape]/%x[0,0,short_shape]/%x[1,0,short_shape]
U75:%x[0,0,lower]/%x[-1,0,short_shape]
U76:%x[0,0,lower]/%x[1,0,short_shape]
U77:%x[0,0,lower.suffix3]/%x[0,0,short_shape]
U78:%x[0,0,lower]/%x[-1,0,short_shape]/%x[1,0,short_shape]
U79:%x[-2,0,short_shape]/%x[-1,0,short_shape]/%x[0,0,short_shape]/%x[1,0,short_shape]/%x[2,0,short_shape]
"""
# Where words are made of many pieces, unknown ones are known by long endings, also if vowel harmony has changed them,
# and by their stems
_AFFIXES = (
    "U80:%x[0,0,lower.prefix5]\n"
    + "".join(f"U{75 + n}:%x[0,0,lower.suffix{n}]\n" for n in range(6, 10))
    + "".join(f"U{88 + n}:%x[0,0,skeleton.suffix{n}]\n" for n in range(2, 10))
)


class Way(NamedTuple):
    """A way to train UPOS: templates in addition to those of parts of speech, and the step size."""

    templates: str
    aggressiveness: float


WAYS = {
    "from words": Way("", 1.0),
    "from words and longer affixes": Way(_AFFIXES, 1.0),
    "from words and the shapes around them": Way(_SHAPES, 0.1),
}
KNOWN: tuple[int | None, ...] = (10, 1, 100, None)  # occurrences from which a word keeps to its labels


class _Choice(NamedTuple):
    """A model of XPOS and FEATS that was tried."""

    model: Morphology
    right: float  # on development data
    context: str
    about: str


class TagsMeta(msgspec.Struct, frozen=True):
    """The metadata that is stored with the arrays."""

    models: dict[str, Any]
    morphology: dict[str, Any] | None = None


class Tags:
    """Tags of the words of a treebank."""

    def __init__(
        self, *, passes: int | None = None, seed: int = 1, clusters: Mapping[str, Clusters] | None = None
    ) -> None:
        self.passes, self.seed, self.clusters = passes, seed, dict(clusters or {})

    def fit(self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None) -> Self:
        """Learn from the fields that the treebank has; see `_chosen` for what development data chooses."""
        fields = [field for field in FIELDS if _has(treebank, field)]
        if not fields:
            raise UsageError(f"there are no tags to learn: {', '.join(FIELDS)} are empty")
        for field in FIELDS:
            if field not in fields:
                logger.info("tags: the treebank has no %s: it is left out", field.upper())
        dev = dev if dev is not None and dev.n_tokens else None
        self.upos_: ChainModel | None = None
        if UPOS in fields:
            self.upos_ = self._chosen_upos(treebank, dev, progress)
        self.morphology_: Morphology | None = None
        others = [field for field in fields if field != UPOS]
        if others:
            given = treebank if self.upos_ is not None else _without_upos(treebank)
            self.morphology_ = self._chosen(given, dev, others, progress)
        return self

    def _chosen_upos(self, treebank: Treebank, dev: Treebank | None, progress: Progress | None) -> ChainModel:
        """The model of UPOS: with development data the best of WAYS there, the first one without."""
        corpus = corpus_of(treebank, ["form"], treebank.column(UPOS))
        best, most, about = None, -1.0, ""
        for name, way in WAYS.items() if dev is not None else list(WAYS.items())[:1]:
            text = named_text("pos", 0, 1, Resources(clusters=self.clusters)) + way.templates + "B\nT\n"
            templates = parse(text, "pos", "crfpp")
            learner = Arow(nbest=5, aggressiveness=way.aggressiveness)
            tagger = Tagger(
                template=templates, order=2, learner=learner, passes=self.passes or PASSES, seed=self.seed,
                clusters=self.clusters or None,
            )  # fmt: skip
            made = trained_chain(corpus, tagger, progress)
            right = 0.0
            if dev is not None:
                right = accuracy(predicted(made, corpus_of(dev, ["form"])), dev.column(UPOS))
            if right > most + WORTH:
                best, most, about = made, right, name
        assert best is not None
        logger.info("tags: UPOS learnt %s", about)
        return best

    def _chosen(
        self, treebank: Treebank, dev: Treebank | None, fields: list[str], progress: Progress | None
    ) -> Morphology:
        """The model of XPOS and FEATS. With development data its context, then its parts, and which words keep to the
        labels that they have in the treebank, are those that are best there; without they are the first ones, which
        are fast."""

        def learnt(parts: str, context: str) -> Morphology:
            return learn_morphology(
                treebank, fields, parts=parts, context=context, passes=self.passes, seed=self.seed, progress=progress
            )

        def better(before: _Choice | None, parts: str, context: str) -> _Choice:
            assert dev is not None
            model = learnt(parts, context)
            for known in KNOWN:
                made = with_known_words(model, treebank, known)
                right = _right(made.apply(tagged), dev, fields)
                if before is None or right > before.right + WORTH:
                    before = _Choice(
                        made, right, context, f"{PARTS[parts]}; reading {CONTEXTS[context]}; {_shown(known)}"
                    )
            assert before is not None
            return before

        first, *others = PARTS
        if dev is None:
            return with_known_words(learnt(first, next(iter(CONTEXTS))), treebank, KNOWN[0])
        tagged = self._with_upos(dev)
        best: _Choice | None = None
        for context in CONTEXTS:
            best = better(best, first, context)
        assert best is not None
        for parts in others if "feats" in fields else []:
            best = better(best, parts, best.context)
        logger.info("tags: %s learnt by %s", " and ".join(fields).upper(), best.about)
        return best.model

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns that are found, by their names in CoNLL-U."""
        upos = () if self.upos_ is None else (UPOS,)
        return upos if self.morphology_ is None else (*upos, *self.morphology_.fields)

    def _with_upos(self, treebank: Treebank) -> Treebank:
        """The treebank with the UPOS that XPOS and FEATS are found by."""
        if self.upos_ is None:
            return _without_upos(treebank)
        return treebank.with_column(UPOS, predicted(self.upos_, corpus_of(treebank, ["form"])))

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the tags that are found; fields that were not learnt stay as they are."""
        if not hasattr(self, "morphology_"):
            raise not_fitted("Tags")
        if not treebank.n_tokens:
            return treebank
        made = self._with_upos(treebank)
        if self.morphology_ is not None:
            made = self.morphology_.apply(made)
        return made if self.upos_ is not None else made.with_column(UPOS, treebank.column(UPOS))

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the models small, each losing at most `most_loss` points on `dev`."""
        if self.upos_ is not None:
            scored = dev is not None and _has(dev, UPOS)  # without UPOS there, any loss would look like none
            corpus = corpus_of(dev, ["form"], dev.column(UPOS)) if dev is not None and scored else None
            self.upos_ = compacted(self.upos_, corpus, most_loss)
        if dev is not None and self.morphology_ is not None:
            self.morphology_ = self._compact_morphology(self.morphology_, dev, most_loss)

    def _compact_morphology(self, model: Morphology, dev: Treebank, most_loss: float) -> Morphology:
        """Return the model of XPOS and FEATS without weights that the mean accuracy on `dev` does not need."""
        fields = [field for field in model.fields if _has(dev, field)]
        if not fields:
            return model
        tagged = self._with_upos(dev)

        def score(bundles: BundleModel) -> float:
            return _right(model.with_model(bundles).apply(tagged), dev, fields)

        return model.with_model(compact_bundles(model.model, score, most_loss / 100))

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, models = packed_chains({} if self.upos_ is None else {UPOS: self.upos_})
        meta: dict[str, Any] = {"models": models, "morphology": None}
        if self.morphology_ is not None:
            own, meta["morphology"] = morphology_parts(self.morphology_)
            arrays |= {MORPHOLOGY + name: array for name, array in own.items()}
        return arrays, meta

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        stored = read_metadata(meta, TagsMeta, "metadata", source)
        own = {name.removeprefix(MORPHOLOGY): array for name, array in arrays.items() if name.startswith(MORPHOLOGY)}
        rest = {name: array for name, array in arrays.items() if not name.startswith(MORPHOLOGY)}
        made = cls()
        made.upos_ = unpacked_chains(rest, stored.models, [UPOS], 1, source).get(UPOS)
        made.morphology_ = None
        if stored.morphology is not None:
            made.morphology_ = morphology_from_parts(own, stored.morphology, source)
        elif own or made.upos_ is None:
            raise ModelError("damaged model: it has no tags, or arrays of tags that it does not have", file=source)
        return made


def _without_upos(treebank: Treebank) -> Treebank:
    return treebank.without([UPOS])


def _shown(known: int | None) -> str:
    if known is None:
        return "words may have any label of their UPOS"
    return f"words that occur {counted(known, 'time')} or more keep to their labels"


def _right(found: Treebank, gold: Treebank, fields: list[str]) -> float:
    """The mean share of cells as in gold, of the fields that gold has."""
    shares = [accuracy(found.column(field), gold.column(field)) for field in fields if _has(gold, field)]
    return sum(shares) / max(1, len(shares))


def _has(treebank: Treebank, field: str) -> bool:
    return any(cell != NOTHING for cell in treebank.column(field).types)
