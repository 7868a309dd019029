"""Which words a hidden Markov model knows, and the classes of those that it does not.

Training words that occur often enough are known. The rare ones are replaced by classes (see features/observed.py), in
training as in tagging, so that the model learns what unknown words look like: `<lower:ing>`, `<initial>`, `<number>`.
A class with a suffix is made for at least eight rare words; one that no training word is left for (they all have
narrower ones) is not kept: nothing could be learnt about it. `<unknown>` is for forms that no rare word had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from palmette.features.observed import UNKNOWN, Observed, word_classes
from palmette.features.templates import boundary

NAME = "words"  # of what is observed, in templates
BEFORE = boundary("crfpp", -1)  # how templates call the place before the first token
LEAST_WORDS = 8  # with a suffix in common; EWT dev is flat between 5 and 12


class Vocabulary:
    """Numbers what can be observed."""

    def __init__(self, known: Iterable[str], classes: Iterable[str] = ()) -> None:
        self.known = sorted(known)
        self.classes = sorted(classes)
        self.names = [*self.known, *self.classes]
        self.observed = Observed(NAME, self.known, self.classes)
        self._number = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, word: str) -> int | None:
        """The number of the word or of its class; None: it cannot be observed."""
        name = self.observed.find(word)
        return None if name is None else self._number[name]


def learn_vocabulary(count: Mapping[str, int], rare: int) -> Vocabulary:
    """Words seen more than `rare` times, and classes for the others; with rare = 0 all words and no class."""
    if rare == 0:
        return Vocabulary(count)
    known = {word for word, n in count.items() if n > rare}
    unknown = [word for word in count if word not in known]
    size = Counter(name for word in unknown for name in word_classes(word))
    made = {name for name, n in size.items() if n >= LEAST_WORDS or ":" not in name}
    members = {next(name for name in word_classes(word) if name in made) for word in unknown}
    # A word that is written like a class or like the edge of a sentence counts as rare, whatever its number: there must
    # be one meaning to a name.
    return Vocabulary(known - members - {UNKNOWN, BEFORE}, members | {UNKNOWN})
