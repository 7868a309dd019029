"""The data of the grammaticality study: real sentences against sentences drawn from trigram models of the same text.

Positives are parts of reviews.txt: POSITIVES to train on, DEV to choose by, TEST to test on; and TEST sentences of
brown.txt. Three kinds of training negatives:

    all     from a model of all of reviews.txt; words of the positives only, their lengths, no sentence of the text
    part    the same from a model of reviews.txt without the dev and test parts
    free    from a model of all of reviews.txt, as they come: without these guards, sentences of the text left out
    other   as `all`, but from a model of another text, brown.txt
    mv      the published setting: from a model of all of reviews.txt; words of the positives only, lengths free,
            sentences of the text not left out

Test negatives are drawn with five seeds, words unfiltered, lengths matched and no sentence of the text (but for `free`
and `mv`): from a model of brown.txt for the test on brown.txt, and from the same model as in training for reviews.txt.
Parts of speech come from a tagger, and the start of the views from an NP chunker, both trained on lower-cased
CoNLL-2000; `mv` has a chunker of the whole chunk set, 23 tags.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.quality import np_file
from palmette import LanguageModel, Tagger
from palmette.classification.classifier import with_pos
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.formats.registry import read_corpus
from palmette.lab.sentences import Sentences, sentences_of

POSITIVES, DEV, TEST = 20_000, 2_000, 3_000
SETS = 5  # of test negatives
LONGEST = 100
PARTS_SEED, BROWN_SEED, TRAIN_SEED, DEV_SEED = 1, 2, 101, 102  # test negatives have the seeds 1 to SETS


@dataclass
class Labelled:
    """Positives first, then negatives."""

    corpus: Corpus
    y: np.ndarray  # i8[S]


@dataclass
class Data:
    """What one kind of negatives gives; each test has one corpus of positives and SETS of negatives."""

    train: Labelled
    dev: Labelled
    tests: dict[str, list[Corpus]]  # brown, reviews: the positives, then the negatives
    plain: tuple[Sentences, Sentences]  # training sentences of both classes without parts of speech


@dataclass
class Material:
    """Everything that the kinds share."""

    folder: Path  # for files made on the way
    data: Path
    tagger: Tagger = field(init=False)
    chunker: Tagger = field(init=False)
    tagger_accuracy: float = 0.0
    chunker_f1: float = 0.0

    def __post_init__(self) -> None:
        lowered = {part: self._lowered(part) for part in ("train", "test")}
        words = FormatSpec(label="1", columns=("0",))
        self.tagger = Tagger("pos", learner="perceptron", batch_size=1, passes=10).fit_file(
            lowered["train"], spec=words
        )
        self.tagger_accuracy = self.tagger.evaluate(read_corpus(lowered["test"], words)).accuracy
        noun = {part: np_file(path, path.with_suffix(".np")) for part, path in lowered.items()}
        self.chunker = Tagger("ngrams", learner="perceptron", batch_size=1, passes=10).fit_file(noun["train"])
        self.chunker_f1 = self.chunker.evaluate(read_corpus(noun["test"], FormatSpec())).f1 or 0.0
        self.reviews, self.brown = (self._lines(name) for name in ("reviews", "brown"))
        order = np.random.default_rng(PARTS_SEED).permutation(len(self.reviews))
        self.held_out = order[: DEV + TEST]
        self.test, self.dev = self._some(order[:TEST]), self._some(order[TEST : DEV + TEST])
        self.positives = self._some(order[DEV + TEST : DEV + TEST + POSITIVES])
        chosen = np.random.default_rng(BROWN_SEED).permutation(len(self.brown))[:TEST]
        self.brown_test = [self.brown[k] for k in sorted(chosen.tolist())]

    @cached_property
    def all_chunks(self) -> Tagger:
        """A chunker with all types of CoNLL-2000."""
        return Tagger("ngrams", learner="perceptron", batch_size=1, passes=10).fit_file(self.folder / "train.txt")

    def _lowered(self, part: str) -> Path:
        """CoNLL-2000 with its words in lower case."""
        text = (self.data / "conll2000" / f"{part}.txt").read_text(encoding="utf-8")
        rows = [line.split(" ") for line in text.split("\n")]
        path = self.folder / f"{part}.txt"
        path.write_text("\n".join(" ".join([cells[0].lower(), *cells[1:]]) for cells in rows), encoding="utf-8")
        return path

    def _lines(self, name: str) -> list[str]:
        return (self.data / "sentences" / f"{name}.txt").read_text(encoding="utf-8").splitlines()

    def _some(self, which: np.ndarray) -> list[str]:
        return [self.reviews[k] for k in which.tolist()]

    def language_model(self, kind: str) -> LanguageModel:
        """Of brown.txt, of reviews.txt, or of the latter without its held-out parts."""
        if kind == "brown":
            return LanguageModel().fit(self.brown)
        left_out = set(self.held_out.tolist()) if kind == "part" else set()
        return LanguageModel().fit([line for k, line in enumerate(self.reviews) if k not in left_out])

    def tagged(self, sentences: list[Any]) -> Corpus:
        text = sentences_of(sentences)
        corpus = Corpus(text.offset, [column_of_types(text.words.ids, text.words.types)])
        with_pos(corpus, self.tagger)
        return corpus


class Guards(NamedTuple):
    """What drawn sentences must not give away."""

    words: bool = True  # in training, words of the positives only
    lengths: bool = True
    new: bool = True  # no sentence of the text


GUARDS = {"free": Guards(words=False, lengths=False), "mv": Guards(lengths=False, new=False)}


def drawn(
    model: LanguageModel, like: list[str], seed: int, guards: Guards, words: list[str] | None = None
) -> list[Any]:
    """As many sentences as `like` has."""
    return model.sample(
        len(like), seed=seed, new=guards.new, max_length=LONGEST, vocabulary=words if guards.words else None,
        lengths=[len(line.split()) for line in like] if guards.lengths else None,
    )  # fmt: skip


def make(material: Material, kind: str) -> Data:
    """The sentences of one kind."""
    guards = GUARDS.get(kind, Guards())
    brown = material.language_model("brown")
    model = brown if kind == "other" else material.language_model(kind)
    known = sentences_of(material.positives).words.types
    negatives = drawn(model, material.positives, TRAIN_SEED, guards, known)
    tests = {}
    for name, source, like in (("brown", brown, material.brown_test), ("reviews", model, material.test)):
        sets = [drawn(source, like, seed, guards) for seed in range(1, SETS + 1)]
        tests[name] = [material.tagged(own) for own in (like, *sets)]
    return Data(
        labelled(material, material.positives, negatives),
        labelled(material, material.dev, drawn(model, material.dev, DEV_SEED, guards)),
        tests,
        (sentences_of(material.positives), sentences_of(negatives)),
    )


def labelled(material: Material, positives: list[Any], negatives: list[Any]) -> Labelled:
    y = np.repeat(np.array([1, -1], np.int8), (len(positives), len(negatives)))
    return Labelled(material.tagged([*positives, *negatives]), y)
