"""Training data for a parser with tags, features and lemmas as a pipeline predicts them.

A parser in use gets predicted annotation; one that learns from gold relies on it too much, and so does one that learns
from what models predict that have seen the same sentences. So each part of the treebank is annotated by models that
were trained on the other parts (folds.py). Training a pipeline does the same in its own steps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from palmette.data.treebank import NOTHING, Treebank
from palmette.pipeline.folds import annotated_fold, folds_of, joined_folds
from palmette.pipeline.lemmas import Lemmas
from palmette.pipeline.tags import FIELDS, Tags

FOLDS = 5


def jackknifed(
    treebank: Treebank, folds: int = FOLDS, threads: int = 1, *, passes: int | None = None, seed: int = 1
) -> Treebank:
    """The treebank with predicted UPOS, XPOS, FEATS and lemmas, as far as it has them; each fold by components that are
    trained on the other folds, so many at a time as there are threads."""
    fields = {"tag": FIELDS, "lemma": ("lemma",)}
    kinds: dict[str, Any] = {"tag": Tags, "lemma": Lemmas}
    makers = [
        partial(kinds[name], passes=passes, seed=seed)
        for name, own in fields.items()
        if any(cell != NOTHING for field in own for cell in treebank.column(field).types)
    ]
    fold = folds_of(treebank, folds, seed)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        work = partial(annotated_fold, treebank, fold, components=makers, progress=None)
        return joined_folds(treebank, pool.map(work, range(int(fold.max(initial=0)) + 1)))
