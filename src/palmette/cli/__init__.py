"""The command `palmette`: a table of commands, one class and module each. Nothing heavy is imported before one runs."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from palmette import __version__
from palmette.data.kinds import KINDS, TAGGER, VERBS, Kind
from palmette.errors import PalmetteError, UsageError, for_command_line

if TYPE_CHECKING:
    from palmette.cli.command import Command

ABOUT = "structured prediction on CPUs (taggers, parsers, classifiers)"
# What `palmette --help` lists, and in which order: verbs that find the kind of a model by its file, and commands that
# only one kind or none has. A row is (module:class, one line of help)
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Models": {
        "demo": ("cli.demo:Demo", "Train and show a tagger on a small included corpus."),
        **{verb: TAGGER.commands[verb] for verb in ("train", "tag", "eval", "compare")},
        "tune": ("tuning.command:Tune", "Search for the options of a tagger that suit some data."),
        **{verb: TAGGER.commands[verb] for verb in ("calibrate", "compact")},
        "serve": ("serve.command:Serve", "Serve models over HTTP, for programs and in a page."),
        "export": ("runtime.command:Export", "Write a tagger for JavaScript, without a server."),
    },
    "Look inside": {
        **{verb: TAGGER.commands[verb] for verb in ("inspect", "explain", "trellis")},
        "page": ("serve.page.command:Page", "Write a page about a model: searches, errors, weights."),
        "plot": ("cli.inside:Plot", "Draw a model: learning curve, transitions, weights."),
        "features": TAGGER.commands["features"],
    },
    "Data": {
        "check": ("cli.data:Check", "Look for mistakes in labelled data before training."),
        "convert": ("cli.data:Convert", "Convert data or the model of another tool."),
        "pick": TAGGER.commands["pick"],
        "cluster": ("cli.cluster:Cluster", "Learn clusters of words from raw text."),
        "synth": ("lab.synth_command:Synth", "Draw labelled sequences with a known best accuracy."),
    },
    "This installation": {
        "doctor": ("cli.installation:Doctor", "Report versions, how kernels run and what is missing."),
        "models": ("models.commands:Models", "List the models that are installed, with their scores."),
        "completion": ("cli.installation:Completion", "Print or install completion for bash, zsh or fish."),
    },
}
LISTED = {name: row for rows in SECTIONS.values() for name, row in rows.items()}
GROUPS = {name: kind for name, kind in KINDS.items() if kind is not TAGGER}


def _group(kind: Kind) -> dict[str, tuple[str, str]]:
    """The commands of a group: `parser parse`."""
    return {f"{kind.name} {kind.spelled.get(verb, verb)}": row for verb, row in kind.commands.items()}


# Everything that can be typed: the verbs and, for each kind, its own spelling of them
COMMANDS = LISTED | {name: row for kind in GROUPS.values() for name, row in _group(kind).items()}


def overview(group: str | None = None) -> str:
    """What `palmette --help` and `palmette parser --help` print."""
    if group is not None:
        rows = [f"  {name.partition(' ')[2]:11}{about}" for name, (_, about) in _group(GROUPS[group]).items()]
        head = f"Usage: palmette {group} COMMAND ...    (COMMAND --help lists its options)"
        return f"{GROUPS[group].about}\n\n{head}\n\n" + "\n".join(rows)
    rows = []
    for title, members in SECTIONS.items():
        rows += [title, *(f"  {name:17}{about}" for name, (_, about) in members.items()), ""]
    rows.append("Of one kind of model only")
    for kind in GROUPS.values():
        own = {f"{kind.name} {verb}": row for verb, row in kind.commands.items() if verb not in LISTED}
        rows += [f"  {name:17}{about}" for name, (_, about) in own.items()]
    head = "Usage: palmette COMMAND ...    (palmette COMMAND --help lists its options)"
    kinds = (
        "Commands see from a model file what kind of model it is. To train, and where no\n"
        f"model is given: --task {'|'.join(GROUPS)}, or the kind first,\n"
        "as in `palmette parser train`. `palmette parser --help` lists what a kind has."
    )
    return (
        f"palmette {__version__}: {ABOUT}\n\n{head}\n\n" + "\n".join(rows) + f"\n\n{kinds}\nTwo minutes: palmette demo"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 0 (fine), 1 (bad data or model), 2 (usage), 130 (Ctrl-C), 143 (SIGTERM)."""
    if arguments is None:
        _prepare_process()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with for_command_line():
            _run(given)
        sys.stdout.flush()
    except PalmetteError as error:
        _end(str(error), error.exit_code)
    except BrokenPipeError:  # the reader of the output is gone, as with `| head`
        _forget_output()
        sys.exit(0)
    except OSError as error:  # files report their own names: this is standard output
        _forget_output()
        _end(f"cannot write: {error.strerror or error}", 1)
    except KeyboardInterrupt:
        _end("interrupted", 130)
    except SystemError as error:
        if not _is_interrupt(error):
            raise
        _end("interrupted", 130)
    except MemoryError:
        _end("out of memory; see --min-count, --edge-features seen, or a smaller input", 1)


def _prepare_process() -> None:
    """Settings of a process that ends with its command; each of them is a good part of a short command's time."""
    import atexit
    import gc
    import signal

    from palmette.cli.output import terminal

    sys.stdout = _ClosedOutput() if sys.stdout is None else terminal(sys.stdout, messages=False)  # None: as with `>&-`
    if sys.stderr is None:  # print would take standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = terminal(sys.stderr, messages=True)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start threads for products that nothing computes
    gc.set_threshold(50_000, 20, 20)  # what modules define is not garbage: search it rarely,
    atexit.register(gc.freeze)  # and not at all at the end


class _ClosedOutput(io.TextIOBase):
    """Standard output that is closed: a command that has something to print ends with an error, after its work."""

    lost = False

    def write(self, text: str) -> int:
        self.lost = True
        return len(text)

    def flush(self) -> None:
        if self.lost:
            self.lost = False
            raise self._closed()

    @property
    def buffer(self) -> NoReturn:
        raise self._closed()

    def _closed(self) -> OSError:
        return OSError(errno.EBADF, "standard output is closed")


def _terminate(signum: int, frame: object) -> NoReturn:
    """End the process by an exception, so that unfinished files are deleted."""
    sys.exit(128 + signum)


def _run(given: list[str]) -> None:
    if not given or given in (["--help"], ["-h"], ["help"]):
        print(overview())
        return
    if given == ["--version"]:
        print(__version__)
        return
    name, rest = find_command(given)
    if name in GROUPS:
        print(overview(name))
        return
    command = load_command(name)
    if "--help" in rest or "-h" in rest:
        from palmette.cli.help import command_help

        print(command_help(command, rest, everything="all" in rest))
        return
    made = command.parsed(rest)
    _name_installed(made)
    from palmette.cli.command import check_paths
    from palmette.data.files import outlast_reader

    outlast_reader(check_paths(made))
    with _messages_shown(made):
        save_config = getattr(made, "save_config", None)
        if save_config is not None:
            from palmette.cli.config import write_config

            write_config(save_config, made.path, made.words)
        made.run()


def find_command(given: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the command (or of a group of commands) and the words after it."""
    first, rest = given[0], list(given[1:])
    if first in GROUPS:
        if not rest or rest[0] in ("--help", "-h"):
            return first, []
        name = f"{first} {rest[0]}"
        if name not in COMMANDS:
            commands = ", ".join(each.partition(" ")[2] for each in COMMANDS if each.startswith(f"{first} "))
            raise UsageError(f"there is no command `palmette {name}`; {first} has {commands}")
        return name, rest[1:]
    if first not in COMMANDS:
        import difflib

        from palmette.options.other_tools import COMMAND_WORDS

        near = (
            [COMMAND_WORDS[first]]
            if first in COMMAND_WORDS
            else difflib.get_close_matches(first, [*COMMANDS, *GROUPS], 1)
        )
        hint = f"; did you mean `palmette {near[0]}`?" if near else ""
        raise UsageError(f"there is no command `palmette {first}`{hint}\n  see `palmette --help`")
    if first in VERBS or first in TAGGER.commands:
        return _of_kind(first, rest)
    return first, rest


def _of_kind(verb: str, rest: list[str]) -> tuple[str, list[str]]:
    """The command for a kind of model, which --task names or the first model file among the words shows."""
    for k, word in enumerate(rest):
        flag, equals, name = word.partition("=")
        if flag == "--task":
            name = name if equals else "".join(rest[k + 1 : k + 2])
            if name not in KINDS:
                raise UsageError(f"--task {name}: choose {', '.join(KINDS)}")
            kind = KINDS[name]
            if verb in kind.refuses:
                raise UsageError(f"`palmette {verb}` does not take {kind.words}: {kind.refuses[verb]}")
            if verb not in kind.commands:
                raise UsageError(f"`palmette {verb}` is the same for all kinds of models: leave --task out")
            return _spelling(kind, verb), rest[:k] + rest[k + (1 if equals else 2) :]
    for word in rest if verb != "train" else ():
        path = _installed(word)
        if path is not None:
            from palmette.data.model_file import peek_kind  # imports NumPy, which `--help` does not wait for

            kind = peek_kind(path)
            if kind is not TAGGER:
                kind.check(verb, word)
                return _spelling(kind, verb), rest
    return verb, rest


def _installed(word: str) -> str | None:
    """The file of this name, or that of the installed model of this name."""
    if word.startswith("-"):
        return None
    if os.path.isfile(word):
        return word
    if not word.isidentifier():  # as names of models are: `o.txt` does not wait for the list of models
        return None
    from palmette.lazy import loaded

    found: str = loaded("models:path_of")(word)
    return None if found == word else found


def _name_installed(command: Command) -> None:
    """Put the files of installed models where a command has their names instead of files that it reads."""
    for each in type(command).__options__.values():
        value = getattr(command, each.name)
        if each.argument and each.path == "input" and isinstance(value, str) and not os.path.exists(value):
            found = _installed(value)
            if found is None and each.name == "model" and value.isidentifier():
                from palmette.lazy import loaded

                names = ", ".join(loaded("models:installed")()) or "none"
                raise UsageError(f"{value!r} is neither a file nor an installed model; installed models: {names}")
            setattr(command, each.name, found or value)


def _spelling(kind: Kind, verb: str) -> str:
    """The name of the command for a kind; the verb's own if that is for all kinds."""
    if kind is TAGGER or verb not in kind.commands:
        return verb
    return f"{kind.name} {kind.spelled.get(verb, verb)}"


def load_command(name: str) -> type[Command]:
    """The class of a command."""
    from palmette.lazy import loaded

    command: type[Command] = loaded(COMMANDS[name][0])
    command.path = name
    return command


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C was pressed inside of compiled code, which wraps it."""
    while isinstance(error, SystemError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


class _Handler(logging.Handler):
    """Messages of the library on stderr, as plain lines."""

    def emit(self, record: logging.LogRecord) -> None:
        prefix = (
            "error: " if record.levelno >= logging.ERROR else "warning: " if record.levelno >= logging.WARNING else ""
        )
        trace = f"\n{''.join(traceback.format_exception(*record.exc_info)).rstrip()}" if record.exc_info else ""
        print(f"{prefix}{record.getMessage()}{trace}", file=sys.stderr, flush=True)


@contextmanager
def _messages_shown(command: Command) -> Iterator[None]:
    """Show what the library logs; with --quiet or --json only errors."""
    logger = logging.getLogger("palmette")
    before = logger.handlers, logger.propagate, logger.level
    silent = bool(getattr(command, "quiet", False) or getattr(command, "json", False))
    logger.handlers, logger.propagate = [_Handler()], False
    logger.setLevel(logging.ERROR if silent else logging.INFO)
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before[:2]
        logger.setLevel(before[2])


def _end(message: str, code: int) -> NoReturn:
    print(f"palmette: {message}", file=sys.stderr)
    sys.exit(code)


def _forget_output() -> None:
    """Send what standard output still holds to the null device: Python would try again at exit, and complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # replaced by an object in memory
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
