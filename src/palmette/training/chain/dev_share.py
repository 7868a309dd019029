"""Development data that is held out of the training data: the share that was asked for, or what the rule says."""

from __future__ import annotations

import logging

from palmette.data.corpus import Corpus
from palmette.data.labels.partial import partial_looks
from palmette.data.subset import held_out, split
from palmette.errors import counted
from palmette.options.automatic import Auto, n_held_out
from palmette.options.chain import ChainSettings

logger = logging.getLogger(__name__)


def without_dev(
    corpus: Corpus, share: float | None, settings: ChainSettings, growing: bool
) -> tuple[Corpus, Corpus | None]:
    """The sentences to learn from, and those held out, if any. share: None leaves it to the rule; growing: training
    goes on with other data, or did before."""
    if share:
        return split(corpus, share, settings.seed)
    n = n_held_out(corpus.n_sentences)
    if share is not None or growing or not n or not isinstance(settings.learner, Auto) or _partly_known(corpus):
        return corpus, None
    rest, dev = held_out(corpus, n, settings.seed)
    logger.info(
        "no development data was given: %s held out, on which the best pass is chosen (--dev-share 0: none)",
        counted(dev.n_sentences, "sentence is", "sentences are"),
    )
    return rest, dev


def _partly_known(corpus: Corpus) -> bool:
    """Whether labels are, or may be, partial: how many of them could be scored is not known."""
    assert corpus.labels is not None
    return bool(corpus.label_sets) or bool(partial_looks(corpus.labels.types))
