"""What a tagger does that is told nothing: which learner it has, and how many sentences it holds out.

The figures that the rules rest on are in docs/learners.md; `python -m bench defaults` makes them.
"""

from __future__ import annotations

from palmette.options.learner import BEAM, CHAIN, Learner
from palmette.options.learners import Mira, Perceptron

TEMPERATURE = 0.2  # at which confidences of mira are of a useful size; on six tasks 0.11 to 0.61 were fitted
MOST_LABELS = 500  # from more on, lists of paths take long
LEAST_SENTENCES = 5_000  # from which on some are held out: a tenth, and at most so many
HELD_OUT = 1_000


class Auto(Learner):
    """The learner that wins on average over tasks, chosen when training begins: mira with the 5 best paths; the
    perceptron with a beam, hidden states, label histories, transition features seen, attributes that have values, or
    more than 500 labels. A model stores the learner that was chosen."""

    kind = "auto"
    structures = (CHAIN, BEAM)

    def chosen(self, plain: bool, n_labels: int) -> Learner:
        """plain: exact search over one state per label, with weights for all pairs of labels, and attributes that are
        there or not: the steps of mira depend on the size of values."""
        return Mira(nbest=5) if plain and n_labels <= MOST_LABELS else Perceptron()


def n_held_out(n_sentences: int) -> int:
    """How many of the training sentences are held out to choose the number of passes."""
    return 0 if n_sentences < LEAST_SENTENCES else min(n_sentences // 10, HELD_OUT)
