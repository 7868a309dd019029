"""How much a request may ask for."""

from __future__ import annotations

import msgspec

from palmette.errors import counted
from palmette.serve.failure import Failure

MOST_NBEST = 100


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a request and of the server; what is above them is answered with 408, 413 or 429."""

    body: int = 4 << 20  # bytes
    tokens: int = 100_000
    sentence: int = 5_000  # tokens of one sentence
    view_tokens: int = 2_000  # tokens of a view, which has tables of all labels
    cells: int = 4_000_000  # numbers in an answer: tokens times labels of marginals, times sequences of n-best lists
    seconds: float = 30.0
    waiting: int = 512  # requests that wait for a model
    connections: int = 1024

    def check_sizes(self, sizes: list[int]) -> int:
        """The number of tokens of sentences; Failure if they are too many."""
        total, longest = sum(sizes), max(sizes, default=0)
        if total > self.tokens:
            raise Failure(413, f"{counted(total, 'token')} in one request, and at most {self.tokens:,} are allowed")
        if longest > self.sentence:
            raise Failure(413, f"a sentence of {longest:,} tokens, and at most {self.sentence:,} are allowed")
        return total

    def check_cells(self, cells: int) -> None:
        """Failure if an answer would have too many numbers."""
        if cells > self.cells:
            raise Failure(
                413, f"the answer would have {cells:,} numbers, and at most {self.cells:,} are allowed: "
                "send fewer sentences, or ask for less",
            )  # fmt: skip
