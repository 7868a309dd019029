"""What the attributes of a model are called: their strings, and in words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from palmette.data.corpus import Corpus
from palmette.features.encode import Encoder
from palmette.features.readable import TAG, WORD, AttributeWords
from palmette.options.chain import NAMED_FEATURES
from palmette.structures.chain.model import ChainModel


def attribute_name(model: ChainModel, order: int, attribute: int) -> str:
    """The string of an attribute, or its number if the model does not have the strings."""
    return model.names[order][attribute] if order in model.names else f"#{attribute}"


def spelled(model: ChainModel, corpus: Corpus, order: int) -> dict[int, str]:
    """The strings of the attributes of a few tokens by number, for a model without strings: each template is applied
    alone, so that it is known which template made an attribute."""
    encoder, found = model.encoder, dict[int, str]()
    for template in [] if encoder is None else encoder.of_order(order):
        assert encoder is not None
        alone = Encoder(encoder.templates.only(template), encoder.resources, encoder.unicode)
        cells = alone.cells(corpus)
        ptr, att, _, _ = alone.encode(order, cells, corpus.offset, model.feature_indexes[order], False)
        text, offset = alone.spell(order, corpus, cells, np.repeat(np.arange(corpus.n_tokens), np.diff(ptr)))
        strings = (text[a:b].tobytes().decode("utf-8", "replace") for a, b in pairwise(offset.tolist()))
        found |= zip(att.tolist(), strings, strict=True)
    return found


def attribute_words(model: ChainModel) -> Callable[[str], str]:
    """A function from strings of attributes to words; ready-made attributes stay as they are."""
    if model.encoder is None:
        return str
    templates = model.encoder.templates
    if templates.name == "char":
        return AttributeWords(templates, own_names=False)
    counted = model.settings.chosen_learner.kind == "hmm"  # its templates are its own
    own = not counted and model.meta.get("features") not in NAMED_FEATURES
    return AttributeWords(templates, _columns(model, model.encoder.n_columns, own), own_names=own)


def _columns(model: ChainModel, n: int, own: bool) -> list[str]:
    """What the columns are called: as they were chosen by name, else word, tag, column2, ... Of many columns that own
    templates read the second may be anything: it is column1."""
    reading = model.meta.get("reading")
    chosen = (reading.get("columns") if isinstance(reading, dict) else getattr(reading, "columns", None)) or ()
    usual = [WORD, "column1" if own and n > 2 else TAG, *(f"column{k}" for k in range(2, n))]
    named = [name if k and not name.lstrip("-").isdigit() else None for k, name in enumerate(map(str, chosen))]
    return [(named[k] if k < len(named) else None) or usual[k] for k in range(max(n, 2))]
