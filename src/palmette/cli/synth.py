"""`palmette synth`: data from a hidden Markov model, and how well they can be tagged at best."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import Json, MaybeFile, Output
from palmette.cli.telling import print_json
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.datasets.synthetic import Model, Sample

FIGURES = {
    "bayes": "Bayes limit",
    "path": "best path",
    "merged": "one state a label",
    "majority": "majority label",
}


def synth(
    *,
    output: Output = "-",
    dev: MaybeFile = None,
    test: MaybeFile = None,
    sequences: int = 3000,
    dev_sequences: int | None = None,
    test_sequences: int | None = None,
    p: Annotated[float, Parameter(name="--p")] = 0.9,
    labels: int = 2,
    states: int = 2,
    symbols: int | None = None,
    emission: MaybeFile = None,
    length: str = "20",
    seed: int = 1,
    json: Json = False,
) -> None:
    """Draw labelled sequences from a hidden Markov model and tell how well they can be tagged at best.

    The states go round in a ring, the states of a label beside each other. A line has symbol, hidden state and label:
    train with `--columns 0`, so that the hidden state is not seen. The figures are printed on standard error.

    Parameters
    ----------
    output: str
        The file of training data; `-` is standard output.
    dev: str
        A second file, for development: same model, other random numbers.
    test: str
        A third file, for testing.
    sequences: int
        How many sequences of training data.
    dev_sequences: int
        How many in the development file; default as many as for training.
    test_sequences: int
        How many in the test file; default as many as for training.
    p: float
        Probability of the ring's next state; all other states share the rest.
    labels: int
        How many labels.
    states: int
        How many hidden states a label has.
    symbols: int
        How many symbols; default 2, or as many as the emission table has columns.
    emission: str
        File of P(symbol|state): a line a state, a column a symbol.
    length: str
        Tokens in a sequence: a number, or a range such as 8-20.
    seed: int
        The same seed gives the same files, byte for byte.
    json: bool
        Print the figures as one JSON object on standard output; they are fractions of 1.
    """
    for option, file, wanted in (("dev", dev, dev_sequences), ("test", test, test_sequences)):
        if wanted is not None and file is None:
            raise UsageError(f"--{option}-sequences {wanted}: where to? give --{option} FILE")
    counts = {"train": sequences, "dev": dev_sequences, "test": test_sequences}
    files = {part: file for part, file in (("train", output), ("dev", dev), ("test", test)) if file is not None}
    _check_files(files, json)
    from palmette.datasets import synthetic as making

    table = None if emission is None else making.read_emission(emission)
    model = making.ring(labels, states, symbols, p, table)
    lengths = making.lengths_of(length)
    found: dict[str, Any] = {}
    for part, file in files.items():
        n = counts[part]
        # The stream is the part's own, so that a file does not depend on which others are asked for.
        rng = making.stream_of(seed, list(counts).index(part))
        drawn = making.sample(model, sequences if n is None else n, lengths, rng)
        _write(file, model, drawn)
        found[part] = {"file": file} | _figures(model, drawn)
    given = {"labels": labels, "states": states, "symbols": len(model.names.symbols), "p": p, "length": length}
    if json:
        print_json({"settings": given | {"seed": seed}, "emission": model.emission.tolist(), "data": found})
    else:
        _print_text(given | {"seed": seed}, found)


def _check_files(files: dict[str, str], json: bool) -> None:
    """Nothing is drawn before it is clear that all files can be written."""
    from palmette.data.files import check_output

    standard = [part for part, file in files.items() if file in ("-", "/dev/stdout")]
    if json and standard:
        raise UsageError("--json prints to standard output: write the data to a file, with -o FILE")
    places = [os.path.realpath(file) if file != "-" else file for file in files.values()]
    if len(standard) > 1 or len(set(places)) < len(places):
        raise UsageError("training, development and test data need a file each")
    for file in files.values():
        check_output(file)


def _write(file: str, model: Model, drawn: Sample) -> None:
    from palmette.data.files import write_whole
    from palmette.datasets.synthetic import write_columns

    with write_whole(file) as out:
        write_columns(out, model, drawn)


def _figures(model: Model, drawn: Sample) -> dict[str, Any]:
    from palmette.datasets.synthetic import bayes_accuracy, majority_accuracy, merged, path_accuracy

    return {
        "sequences": len(drawn.offset) - 1,
        "tokens": len(drawn.symbols),
        "bayes": bayes_accuracy(model, *drawn),
        "path": path_accuracy(model, *drawn),
        "merged": bayes_accuracy(merged(model), drawn.symbols, model.label_of[drawn.states], drawn.offset),
        "majority": majority_accuracy(model, drawn.states),
    }


def _print_text(settings: dict[str, Any], found: dict[str, Any]) -> None:
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    print(f"ring: {said}", file=sys.stderr)
    for part, figures in found.items():
        print(f"{part}: {figures['sequences']:,} sequences, {figures['tokens']:,} tokens", file=sys.stderr)
        for name, meaning in FIGURES.items():
            print(f"  {meaning:20}{100 * figures[name]:6.2f}", file=sys.stderr)
