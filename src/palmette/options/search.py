"""How a structure is searched: exactly, or with a beam."""

from __future__ import annotations

from palmette.kernels.learning import rule
from palmette.options.declare import Value, option

MOST_BEAM = 4096

UPDATES = {
    "standard": "the whole sequence, violation or not",
    "early": "up to the first step after which gold is not in the beam (Collins and Roark 2004)",
    "max-violation": "up to the step where the best prefix is furthest above gold (Huang et al. 2012)",
    "latest": "up to the last step where the best prefix is not below gold",
    "hybrid": "the whole sequence if that is a violation, else early",
    "laso": "early against the best prefix, and the search continues from gold",
    "laso-mean": "laso against the mean of the beam, as published by Daumé and Marcu (2005)",
}
CONTINUING = ("laso", "laso-mean")
UPDATE_NUMBERS = {
    "standard": rule.STANDARD, "early": rule.EARLY, "max-violation": rule.MAX_VIOLATION, "latest": rule.LATEST,
    "hybrid": rule.HYBRID, "laso": rule.LASO, "laso-mean": rule.LASO_MEAN,
}  # fmt: skip
LIST_UPDATES = ("standard", "early", "max-violation")  # of learners that look at several candidates


class Search(Value):
    """How the best output is found, in training and in use."""

    parameter = "search"


class Viterbi(Search):
    """Exact search: the best of all label sequences."""

    kind = "viterbi"


class Beam(Search):
    """Search from left to right that keeps the best prefixes; templates may read any earlier labels (`%y[-3]`)."""

    kind = "beam"
    width: int = option(
        default=8, help="Prefixes that the beam keeps; 1 is greedy search.", low=1, high=MOST_BEAM, kw_only=False,
        flag="beam", selects=True,
    )  # fmt: skip
    update: str | None = option(
        default=None, choices=UPDATES,
        help="What is updated when the beam has lost gold (default: max-violation; a parser trained with the "
        "perceptron and without merging: laso).",
    )  # fmt: skip
    recombine: bool | None = option(
        default=None,
        help="Keep only the best of prefixes that no template can distinguish any more (default: yes; of taggers, a "
        "parser has --merge-states).",
    )  # fmt: skip

    def rule(self, learner: rule.Rule) -> rule.Rule:
        """The rule of a learner with what the update changes of it."""
        if self.update != "laso-mean":
            return learner
        return learner._replace(mean=True, candidates=self.width)


TAGGER_SEARCHES: dict[str, type[Search]] = {search.kind: search for search in (Viterbi, Beam)}


# How uncertain a model is of a sentence: the choices of `palmette pick --uncertainty`.

MEASURES = {
    "confidence": "1 - P^(1/n): the confidence P of the best labels, per token",
    "margin": "1 / (1 + d): the difference d of the scores of the two best label sequences",
    "entropy": "the mean entropy of the tokens' labels, divided by the largest possible one",
}
