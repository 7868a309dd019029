"""The command `palmette`, a file a verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palmette import __version__
from palmette.errors import PalmetteError

if TYPE_CHECKING:
    from cyclopts import App

ABOUT = "Structured prediction on CPUs: taggers, chunkers and entity recognisers."
VERBS = {
    "demo": "Train and show a tagger on a small corpus that ships with palmette.",
    "train": "Train a tagger from a labelled file.",
    "tag": "Tag a file, standard input or a typed sentence with a model.",
    "eval": "Score a model on gold labels, or a file that has gold and guess.",
    "inspect": "Look into a model: settings, history, strongest weights, transitions.",
    "features": "Print a named template set, or check a template file.",
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


def _app() -> App:
    from cyclopts import App

    app = App(name="palmette", help=ABOUT, version=__version__, help_format="plaintext", result_action="return_value")
    for verb, about in VERBS.items():
        function = "evaluate" if verb == "eval" else verb
        app.command(f"palmette.cli.{verb}:{function}", name=verb, help=about)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0 (fine), 1 (bad data or model), 2 (wrong usage), 130 (Ctrl-C)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given in (["--help"], ["-h"], ["help"]):
        print(overview())
        return
    if given == ["--version"]:
        print(__version__)
        return
    _run(given)


def _run(given: list[str]) -> None:
    from cyclopts import CycloptsError

    try:
        _app()(given, exit_on_error=False, print_error=True)
        sys.stdout.flush()
    except CycloptsError:
        sys.exit(2)
    except PalmetteError as error:
        print(f"palmette: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output is gone (as with `| head`): nothing to say, and nothing left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except KeyboardInterrupt:
        print("\npalmette: interrupted", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        print("palmette: out of memory; see --min-count, --edge-features seen, or a smaller input", file=sys.stderr)
        sys.exit(1)
