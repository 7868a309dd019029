"""How much a request may ask for."""

from __future__ import annotations

import msgspec

from palmette.serve.failure import Failure

MOST_NBEST = 100
LONGEST_CELL = 10_000  # characters of a word, a column or an attribute


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a request and of the server; what is above them is answered with 408, 413 or 429."""

    body: int = 4 << 20  # bytes
    tokens: int = 50_000
    sentence: int = 5_000  # tokens of one sentence
    word: int = LONGEST_CELL  # characters of a text without white space
    view_tokens: int = 2_000  # tokens of a view, which has tables of all labels
    cells: int = 500_000  # numbers in an answer: tokens times labels of marginals, times sequences of n-best lists
    seconds: float = 30.0
    waiting: int = 512  # requests that wait for a model
    connections: int = 1024
    client_connections: int = 256  # of one address

    def check_sizes(self, sizes: list[int]) -> int:
        """The number of tokens of sentences; Failure if they are too many."""
        return self.check(sum(sizes), max(sizes, default=0))

    def check(self, total: int, longest: int) -> int:
        """The number of all tokens; Failure if they are too many, or too many of one sentence."""
        if longest > self.sentence:
            raise Failure(413, f"a sentence of {longest:,} tokens or more, and at most {self.sentence:,} are allowed")
        if total > self.tokens:
            raise Failure(413, f"{total:,} tokens or more in one request, and at most {self.tokens:,} are allowed")
        return total

    def check_words(self, text: str, unit: str) -> None:
        """Failure if a sentence is too long to be cut into tokens: a word (between white space) may become as many
        tokens as it has characters."""
        if len(text) <= self.sentence:
            return
        if unit == "char":
            self.check(0, len(text) - sum(map(str.isspace, text)))
        elif len(text) > self.word and any(len(word) > self.word for word in text.split()):
            raise Failure(413, f"a word of more than {self.word:,} characters, between white space")

    def check_cells(self, cells: int) -> None:
        """Failure if an answer would have too many numbers."""
        if cells > self.cells:
            raise Failure(
                413, f"the answer would have {cells:,} numbers, and at most {self.cells:,} are allowed: "
                "send fewer sentences, or ask for less",
            )  # fmt: skip
