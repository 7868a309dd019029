"""`palmette cluster`: clusters of words from raw text."""

from __future__ import annotations

import logging
import time
from typing import Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import ThreadOptions, text_spec
from palmette.cli.output import Ticker, print_json
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.clusters import ClusterOptions
from palmette.options.declare import option

logger = logging.getLogger(__name__)
SHOWN, WORDS = 5, 10  # classes that are printed, and words of each


class Cluster(ThreadOptions, JsonOptions, Command):
    """Learn clusters of words from raw text: words that have the same neighbours. Taggers, parsers and pipelines read
    them by --clusters words=FILE. The same text gives the same clusters."""

    examples = ("cluster texts/*.txt.gz -o clusters.tsv --classes 1000",)
    owners = (ClusterOptions, TextSpec)
    hidden = ("max-cell",)

    files: list = option(
        argument=True, repeat=True, path="input",
        help="Raw text, one sentence or paragraph per line, tokenised or not; `-` is standard input, gzip is fine.",
    )  # fmt: skip
    output: str = option(
        short="o", metavar="FILE", path="output",
        help="The file to write, as Brown clusters are written: path TAB word TAB count.",
    )  # fmt: skip
    scratch: str | None = option(
        default=None, metavar="FOLDER", path="folder",
        help="Where the words are kept on disk meanwhile, 4 bytes each (default: the system's folder of temporary "
        "files).",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.data.files import check_output
        from palmette.training.clusters import learn_clusters

        if self.json and self.output == "-":
            raise UsageError("--json prints to standard output: write the clusters to a file")
        check_output(self.output)
        begun = time.perf_counter()
        found = learn_clusters(
            self.files, **self.params(ClusterOptions), threads=self.n_threads, scratch=self.scratch,
            spec=text_spec(self), progress=None if self.quiet or self.json else shown_progress(),
        )  # fmt: skip
        found.save(self.output)
        seconds = time.perf_counter() - begun
        members = found.members()
        if self.json:
            about = {"words": len(found.classes), "classes": len(members), "seconds": seconds}
            print_json({"output": self.output, **about})
        elif not self.quiet:
            logger.info(
                "wrote %s: %s words in %s classes, %.1f s", self.output, f"{len(found.classes):,}",
                f"{len(members):,}", seconds,
            )  # fmt: skip
            for label, words in _examples(members, SHOWN):
                logger.info("  %s  %s", label, " ".join(words))


def shown_progress() -> Any:
    """What prints the progress of clustering."""
    ticker = Ticker()

    def tell(what: str, done: float) -> None:
        if ticker.due():
            ticker.tell(f"{what}: {done:.1%}" if done <= 1 else f"{what}: {done:.1f}")

    return tell


def _examples(members: dict[str, list[str]], n: int) -> list[tuple[str, list[str]]]:
    """Some classes of several words, from the whole tree."""
    rows = [(label, words[:WORDS]) for label, words in sorted(members.items()) if len(words) > 2]
    return rows[:: max(1, len(rows) // n)][:n]
