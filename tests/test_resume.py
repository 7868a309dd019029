"""Training that stops early, models that are saved and loaded, and training that goes on from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chain_arrays import (
    Case,
    attribute_corpus,
    column_corpus,
    gold_examples,
    in_order_of_occurrence,
    tokens_of,
    weights_by_name,
)
from fitting import (
    TEMPLATES,
    assert_equal_weights,
    fit,
    labelled,
    noisy,
    same_bits,
    twin_of,
)
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Token, perceptron, started
from strategies import LABELS, TEMPLATES as LINES
from strategies import Task, few, tasks

from palmette.chain.model import ChainModel, load_chain
from palmette.errors import PalmetteError
from palmette.features.templates import parse
from palmette.learn.online import shuffled
from palmette.text.corpus import Corpus


def reloaded(model: ChainModel, folder: Path) -> ChainModel:
    path = str(folder / "model.palm")
    model.save(path)
    return load_chain(path)


def ready_made() -> Corpus:
    sentences, labels = noisy()
    tokens = [
        [Token(((cells[0], 1.0), (cells[1], 0.5), ("always", -1.0))) for cells in sentence] for sentence in sentences
    ]
    return attribute_corpus(tokens, labels)
