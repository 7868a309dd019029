"""The command `palmette`, a file a verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from palmette import __version__
from palmette.cli.tasks import function_of, other_tasks, routed
from palmette.errors import PalmetteError, UsageError

if TYPE_CHECKING:
    from cyclopts import App

ABOUT = "Structured prediction on CPUs: taggers, chunkers, entity recognisers and dependency parsers."
VERBS = {
    "demo": "Train and show a tagger on a small corpus that ships with palmette.",
    "train": "Train a tagger from a labelled file, a parser (--task parse) or a classifier (--task classify).",
    "tag": "Tag a file, standard input or a typed sentence with a model.",
    "eval": "Score a model on gold labels, or a file that has gold and guess.",
    "calibrate": "Fit a temperature on labelled data, so that a model's confidences are probabilities.",
    "compare": "Set models, outputs or learners side by side on the same gold, with significance tests.",
    "inspect": "Look into a model: settings, history, strongest weights, transitions.",
    "explain": "Why a sentence got its labels: the best sequence, the runner-up, and what tipped the balance.",
    "features": "Print a named template set, or check a template file.",
    "lm": "Language models: train one, score text with it, draw sentences from it.",
    "check": "Is telling two files of sentences apart too easy? Words, lengths, overlap, repetitions.",
    "synth": "Draw labelled sequences from a hidden Markov model, with their Bayes limit.",
    "warmup": "Compile everything ahead of the first use.",
    "doctor": "Tell versions, cache place, threads and what is missing.",
}


def overview() -> str:
    """What `palmette --help` prints: by hand, because the parser alone takes longer to import."""
    rows = "\n".join(f"  {verb:10}{about}" for verb, about in VERBS.items())
    return (
        f"palmette {__version__}: {ABOUT}\n\nUsage: palmette VERB ...    (palmette VERB --help tells its options)\n\n"
        f"{rows}\n\nTwo minutes: palmette demo"
    )


def _app(needs_help: bool, task: str) -> App:
    from cyclopts import App

    console = None
    if needs_help:
        from palmette.reports.console import OutputConsole

        console = OutputConsole(100)
    app = App(
        name="palmette", help=ABOUT, version=__version__, help_format="plaintext", result_action="return_value",
        suppress_keyboard_interrupt=False, console=console,
    )  # fmt: skip
    for verb, about in VERBS.items():
        app.command(function_of(verb, task), name=verb, help=about + other_tasks(verb, task))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0 (fine), 1 (bad data or model), 2 (wrong usage), 130 (Ctrl-C)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        # Numba imports SciPy where it finds it, for linear algebra that no kernel of ours uses: half a second. A
        # program that calls us may need it.
        sys.modules.setdefault("scipy", None)  # type: ignore[arg-type]
    try:
        if not given or given in (["--help"], ["-h"], ["help"]):
            print(overview())
        elif given == ["--version"]:
            print(__version__)
        else:
            _run(given)
        sys.stdout.flush()
    except PalmetteError as error:
        _end(str(error), error.exit_code)
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`: nothing to say
        _forget_output()
        sys.exit(0)
    except OSError as error:  # all other files have told by now which they are: this is standard output
        _forget_output()
        _end(f"cannot write: {error.strerror or error}", 1)
    except KeyboardInterrupt:
        _end("interrupted", 130)
    except MemoryError:
        _end("out of memory; see --min-count, --edge-features seen, or a smaller input", 1)


def _run(given: list[str]) -> None:
    from cyclopts import CycloptsError, UnusedCliTokensError

    task, rest = routed(given)
    try:
        _app("--help" in given or "-h" in given, task)(rest, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        verb = f" {given[0]}" if given[0] in VERBS else ""
        message = str(error)
        if isinstance(error, UnusedCliTokensError):
            message = f"too many arguments: {' '.join(error.unused_tokens or ())}"
        raise UsageError(f"{message}\n  see `palmette{verb} --help`") from None
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):  # Ctrl-C inside of compiled code
            raise KeyboardInterrupt from None
        raise


def _end(message: str, code: int) -> NoReturn:
    print(f"palmette: {message}", file=sys.stderr)
    sys.exit(code)


def _forget_output() -> None:
    """What standard output still holds goes to the null device: Python would try again at exit, and complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # replaced by an object in memory
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
