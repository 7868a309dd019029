"""`palmette synth`: data from a hidden Markov model, and how well they can be tagged at best."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.errors import UsageError, counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.lab.synth import Model, Sample

logger = logging.getLogger(__name__)

FIGURES = {
    "bayes": "Bayes limit",
    "path": "best path",
    "merged": "one state per label",
    "majority": "majority label",
}


class Synth(JsonOptions, Command):
    """Draw labelled sequences from a hidden Markov model and report how well they can be tagged at best. The states
    form a ring, the states of a label side by side. A line has symbol, hidden state and label: train with --columns 0,
    so that the hidden state is not seen. The figures are printed on standard error; --json prints them on standard
    output, as fractions of 1."""

    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="The file of training data; `-` is standard output."
    )
    dev: str | None = option(
        default=None, flag="dev-output", metavar="FILE", path="output",
        help="A second file, for development: same model, other random numbers.",
    )  # fmt: skip
    test: str | None = option(
        default=None, flag="test-output", metavar="FILE", path="output", help="A third file, for testing."
    )
    sequences: int = option(default=3000, help="Sequences of training data.")
    dev_sequences: int | None = option(
        default=None, help="Sequences in the development file (default: as many as for training)."
    )
    test_sequences: int | None = option(
        default=None, help="Sequences in the test file (default: as many as for training)."
    )
    length: str = option(default="20", metavar="N|N-M", help="Tokens per sequence: a number, or a range such as 8-20.")
    seed: int = option(default=1, help="The same seed gives the same files, byte for byte.")
    p: float = option(
        default=0.9, flag="ring-probability", group="model",
        help="Probability of the next state of the ring; all other states share the rest.",
    )  # fmt: skip
    labels: int = option(default=2, group="model", help="Number of labels.")
    states: int = option(default=2, group="model", help="Hidden states per label.")
    symbols: int | None = option(
        default=None, group="model",
        help="Number of symbols (default: 2, or the number of columns of the emission table).",
    )  # fmt: skip
    emission: str | None = option(
        default=None, metavar="FILE", group="model", path="input",
        help="File of P(symbol|state): one line per state, one column per symbol.",
    )  # fmt: skip

    def run(self) -> None:
        for name, file, wanted in (("dev", self.dev, self.dev_sequences), ("test", self.test, self.test_sequences)):
            if wanted is not None and file is None:
                raise UsageError(f"--{name}-sequences {wanted} needs a file: give --{name}-output FILE")
        parts = (("train", self.output), ("dev", self.dev), ("test", self.test))
        files = {part: file for part, file in parts if file is not None}
        _check_files(files, self.json)
        from palmette.lab import synth as making

        table = None if self.emission is None else making.read_emission(self.emission)
        model = making.ring(self.labels, self.states, self.symbols, self.p, table)
        found = self._draw(model, files)
        given = {
            "labels": self.labels, "states": self.states, "symbols": len(model.names.symbols), "p": self.p,
            "length": self.length, "seed": self.seed,
        }  # fmt: skip
        if self.json:
            print_json({"settings": given, "emission": model.emission.tolist(), "data": found})
        else:
            _log_figures(given, found)

    def _draw(self, model: Model, files: dict[str, str]) -> dict[str, Any]:
        """Write the files; the figures of each."""
        from palmette.lab import synth as making

        counts = {"train": self.sequences, "dev": self.dev_sequences, "test": self.test_sequences}
        lengths = making.lengths_of(self.length)
        found: dict[str, Any] = {}
        for part, file in files.items():
            n = counts[part]
            # Every part has its own stream of random numbers: a file does not depend on which others are written.
            rng = making.stream_of(self.seed, list(counts).index(part))
            drawn = making.sample(model, self.sequences if n is None else n, lengths, rng)
            _write(file, model, drawn)
            found[part] = {"file": file} | _figures(model, drawn)
        return found


def _check_files(files: dict[str, str], json: bool) -> None:
    """Check that all files can be written, before anything is drawn."""
    from palmette.data.files import check_output, is_standard

    standard = [part for part, file in files.items() if is_standard(file)]
    if json and standard:
        raise UsageError("--json prints to standard output: write the data to a file, with -o FILE")
    if len(standard) > 1:
        raise UsageError("training, development and test data need a file each")
    for file in files.values():
        check_output(file)


def _write(file: str, model: Model, drawn: Sample) -> None:
    from palmette.data.files import write_whole
    from palmette.lab.synth import write_columns

    with write_whole(file) as out:
        write_columns(out, model, drawn)


def _figures(model: Model, drawn: Sample) -> dict[str, Any]:
    from palmette.lab.synth import bayes_accuracy, majority_accuracy, merged, path_accuracy, sequence_limit

    return {
        "sequences": len(drawn.offset) - 1,
        "tokens": len(drawn.symbols),
        "bayes": bayes_accuracy(model, *drawn),
        "path": path_accuracy(model, *drawn),
        "merged": bayes_accuracy(merged(model), drawn.symbols, model.label_of[drawn.states], drawn.offset),
        "majority": majority_accuracy(model, drawn.states),
        "sequence_limit": sequence_limit(model, drawn)._asdict(),
    }


def _log_figures(settings: dict[str, Any], found: dict[str, Any]) -> None:
    logger.info("ring: %s", ", ".join(f"{name} {value}" for name, value in settings.items()))
    for part, figures in found.items():
        sequences, tokens = (counted(figures[f"{name}s"], name) for name in ("sequence", "token"))
        logger.info("%s: %s, %s", part, sequences, tokens)
        for name, meaning in FIGURES.items():
            logger.info("  %-20s%6.2f", meaning, 100 * figures[name])
        limit = figures["sequence_limit"]
        unproven = f" ({limit['unproven']:,} of {limit['sequences']:,} not proven)" if limit["unproven"] else ""
        logger.info("  %-20s%6.2f ± %.2f%s", "sequence limit", 100 * limit["share"], 100 * limit["error"], unproven)
