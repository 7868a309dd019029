"""Which letters of a phrase are in its acronym: what states that remember labels gain. The table of docs/history.md.

    python -m studies.acronyms

Five-fold cross-validation over all phrases, with the named features `char`: the share of letters with the right label,
and of phrases whose acronym is right as a whole.
"""

from __future__ import annotations

from typing import Any

from palmette import Tagger
from palmette.datasets import load_acronyms
from studies.common import estimator_from

FOLDS = 5
LEARNERS: dict[str, dict[str, Any]] = {"perceptron": {}, "crf": {"l2": 0.1}}
STATES: dict[str, dict[str, Any]] = {
    "order 0": {"order": 0},
    "order 1": {"order": 1},
    "order 2": {"order": 2},
    "`bigram`": {"label_history": "bigram"},
    "`trigram`": {"label_history": "trigram"},
    "`run:O:2`": {"label_history": "run:O:2"},
    "`run:O:4`": {"label_history": "run:O:4"},
    "`run:O:6`": {"label_history": "run:O:6"},
    "`run:O:9`": {"label_history": "run:O:9"},
}


def phrases() -> list[tuple[list[str], list[str]]]:
    return [pair for part in ("train", "test") for pair in zip(*load_acronyms(part), strict=True)]


def figures(**options: Any) -> tuple[float, float]:
    """Letters and whole acronyms that are right, in percent."""
    data = phrases()
    letters = right = whole = 0
    for fold in range(FOLDS):
        rest = [pair for k, pair in enumerate(data) if k % FOLDS != fold]
        held_out = [pair for k, pair in enumerate(data) if k % FOLDS == fold]
        tagger = estimator_from(Tagger, {"features": "char"} | options).fit(*map(list, zip(*rest, strict=True)))
        guesses = tagger.predict([own for own, _ in held_out])
        for (_, gold), guess in zip(held_out, guesses, strict=True):
            letters += len(gold)
            right += sum(a == b for a, b in zip(gold, guess, strict=True))
            whole += gold == guess
    return 100 * right / letters, 100 * whole / len(data)


def main() -> None:
    print("| states | " + " | ".join(f"{learner}: letters | acronyms" for learner in LEARNERS) + " |")
    print("|---" * (1 + 2 * len(LEARNERS)) + "|")
    for name, states in STATES.items():
        cells = [cell for own in LEARNERS for cell in figures(learner=own, **LEARNERS[own], **states)]
        print(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
