"""What a hidden Markov model observes: a word that it knows, or the class of one that it does not.

Training words that occur often enough are known. The rare ones are replaced by classes, in training as in tagging, so
that the model learns what unknown words look like: `<lower:ing>`, `<initial>`, `<number>`. A word's classes go from the
narrow to the wide one:

    <form:suffix>   the class of `orthography` (lower, initial, acronym, number, ...) and a suffix of 3, 2 or 1 letters
    <form>          without the suffix
    <unknown>       for forms that no rare training word had

and it gets the first one that the model has. A class with a suffix is made for at least eight rare words; one that no
training word is left for (they all have narrower ones) is not kept: nothing could be learnt about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from palmette.features.templates import boundary
from palmette.features.wordforms import orthography

UNKNOWN = "<unknown>"
BEFORE = boundary("crfpp", -1)  # how templates call the place before the first token
SUFFIXES = (3, 2, 1)
LEAST_WORDS = 8  # with a suffix in common; EWT dev is flat between 5 and 12


def word_classes(word: str) -> Iterator[str]:
    """From the narrow class to the wide one."""
    form = orthography(word)
    for n in SUFFIXES:
        suffix = word[-n:].lower()
        if len(word) > n and suffix.isalpha():
            yield f"<{form}:{suffix}>"
    yield f"<{form}>"
    yield UNKNOWN


class Vocabulary:
    """Numbers what can be observed. Without classes it is closed: nothing else can be observed at all."""

    def __init__(self, known: Iterable[str], classes: Iterable[str] = ()) -> None:
        self.known = sorted(known)
        self.classes = sorted(classes)
        self.names = [*self.known, *self.classes]
        self._word = {word: k for k, word in enumerate(self.known)}
        self._class = {name: k for k, name in enumerate(self.classes, len(self.known))}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, word: str) -> int | None:
        """The number of the word or of its class; None: it cannot be observed."""
        if word in self._word or not self._class:
            return self._word.get(word)
        return next(self._class[name] for name in word_classes(word) if name in self._class)


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
