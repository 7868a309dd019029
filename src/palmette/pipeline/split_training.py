"""The chain model of a splitter: its templates, and its training from the text of a treebank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import Corpus, column_of_types
from palmette.estimators.tagger import Tagger
from palmette.features.templates import TemplateSet, parse
from palmette.options.learners import Mira
from palmette.pipeline.chains import trained_chain
from palmette.pipeline.layouts import several_layouts
from palmette.pipeline.split_blocks import INSIDE, SENTENCE, TOKEN
from palmette.pipeline.split_text import SplitText
from palmette.pipeline.unit_columns import UnitReader
from palmette.pipeline.units import UnitRule, is_word_class
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.training.result import Progress

LABELS = ["inside", "token", "sentence"]  # by the numbers INSIDE, TOKEN, SENTENCE
_PASSES = 8
_SEQUENCE = 60  # units of a training sequence, about
# Added to the score of the end of a sentence, in units of the cost of a wrong mark. Two sentences that are found count
# more than one that is missed, so a doubtful end is worth more than none.
BIASES = (0.0, 0.1, 0.2)  # the first one without development data

# Columns: the unit, the white space after it, the word around it, its place there, its capital
TEMPLATES = """\
U00:%x[0,0]/%x[0,1]
U01:%x[0,0,lower]/%x[0,1]/%x[1,0,lower]
U02:%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]
U03:%x[0,1]/%x[1,0]
U04:%x[0,1]/%x[1,0,lower]
U05:%x[0,1]/%x[1,0,short_shape]
U06:%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]
U07:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]
U08:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]/%x[1,1]/%x[2,0,short_shape]
U09:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U10:%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U11:%x[0,0]/%x[0,1]/%x[1,0,lower]
U12:%x[0,0]/%x[0,1]/%x[1,0,short_shape]/%x[1,1]/%x[2,0,short_shape]
U13:%x[0,0]/%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0,short_shape]
U14:%x[-2,0,lower]/%x[-2,1]/%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]
U15:%x[0,2]/%x[0,3]
U16:%x[0,2]/%x[0,3]/%x[0,1]/%x[1,0,short_shape]
U17:%x[0,2,short_shape]/%x[0,3]/%x[0,1]
U18:%x[0,0,lower.suffix3]/%x[0,1]
U19:%x[-1,0,length]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U20:%x[2,0,lower]/%x[0,1]
U21:%x[-1,0,lower]/%x[0,1]
U22:%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0]
U23:%x[0,0]/%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0]
U24:%x[-1,0]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0]
U25:%x[-1,0]/%x[0,1]/%x[1,0]
U30:%x[0,0]/%x[0,1]/%x[1,4]
U31:%x[0,0,short_shape]/%x[0,1]/%x[1,4]
U32:%x[0,4]/%x[0,1]/%x[1,4]
U33:%x[0,1]/%x[1,4]/%x[2,4]
U34:%x[-1,4]/%x[0,0]/%x[0,1]/%x[1,4]
B
"""

# Where characters are units, a word is several of them: from and to these units, besides
WIDE = ((-2, 0), (-3, 0), (-4, 0), (1, 2), (1, 3), (1, 4), (1, 5), (-2, 1), (-1, 2), (-3, 1), (0, 3), (-2, 2))


def templates_for(rule: UnitRule) -> TemplateSet:
    """The templates; more of them if the letters of a script are units by themselves."""
    wide = WIDE if any(map(is_word_class, rule.apart)) else ()
    lines = ["".join([f"U{40 + k}:", *(f"%x[{n},0]" for n in range(a, b + 1))]) for k, (a, b) in enumerate(wide)]
    return parse("".join(line + "\n" for line in lines) + TEMPLATES)


def learn_marks(
    split: SplitText, reader: UnitReader, progress: Progress | None = None, *, passes: int | None = None, seed: int = 1
) -> ChainModel:
    """The model that tells what ends after each unit, from a text in several layouts."""
    learner = Mira(nbest=3, aggressiveness=0.02)
    tagger = Tagger(
        template=templates_for(reader.rule), learner=learner, passes=passes or _PASSES, seed=seed, ends=False
    )
    return trained_chain(marked_corpus(several_layouts(split, seed), reader), tagger, progress)


def marked_corpus(split: SplitText, reader: UnitReader) -> Corpus:
    """The units of a text with what ends after them, in short sequences, so that learners look at many of them."""
    read = reader.read(split.text)
    marks = np.full(len(split.text) + 1, INSIDE, np.int32)
    marks[split.end] = TOKEN
    marks[split.end[split.sentence[1:] - 1]] = SENTENCE
    size = np.diff(read.corpus.offset)
    pieces = np.maximum(1, np.rint(size / _SEQUENCE)).astype(np.int64)
    number = np.arange(1, pieces.sum() + 1) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    ends = np.repeat(read.corpus.offset[:-1], pieces) + np.repeat(size, pieces) * number // np.repeat(pieces, pieces)
    labels = column_of_types(marks[read.units.end], LABELS)
    return replace(read.corpus, offset=np.append(0, ends), labels=labels)
