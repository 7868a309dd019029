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
from palmette.errors import PalmetteError, UsageError, for_command_line

if TYPE_CHECKING:
    from palmette.cli.command import Command

ABOUT = "structured prediction on CPUs (taggers, parsers, classifiers)"
# What is typed -> (module:class, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("cli.demo:Demo", "Train and show a tagger on a small included corpus."),
    "train": ("cli.train:Train", "Train a tagger from a labelled file."),
    "tag": ("cli.tag:Tag", "Tag a file, standard input or a typed sentence with a model."),
    "eval": ("cli.eval:Eval", "Score a tagger on gold labels, or a file that has gold and guess."),
    "calibrate": ("cli.calibrate:Calibrate", "Fit a temperature, so that confidences are probabilities."),
    "compact": ("cli.compact:Compact", "Make a model small: weights of 8 bits, fewer attributes."),
    "compare": ("cli.compare:Compare", "Compare taggers, outputs or learners, with significance tests."),
    "tune": ("tuning.command:Tune", "Search for the options of a tagger that suit some data."),
    "inspect": ("cli.inspect:Inspect", "Show a model: settings, training log, strongest weights."),
    "explain": ("cli.explain:Explain", "Compare the best labels of a sentence with the runner-up."),
    "plot": ("cli.plot:Plot", "Draw a model: learning curve, transitions, strongest weights."),
    "trellis": ("cli.trellis:DrawTrellis", "Draw the search of a sentence: scores, best path, runner-up."),
    "page": ("serve.page.command:Page", "Write a page about a model: searches, reasons, errors, weights."),
    "convert": ("cli.convert:Convert", "Convert data (format, tags, encoding), or another tool's model."),
    "check": ("cli.check:Check", "Look at labelled data before training: mistakes, duplicates, noise."),
    "pick": ("cli.pick:Pick", "Pick the sentences most worth annotating, by a model's uncertainty."),
    "serve": ("serve.command:Serve", "Serve models over HTTP, for programs and in a page."),
    "features": ("cli.features:Features", "Print a named template set, or check a template file."),
    "pipeline train": (
        "pipeline.commands.train:TrainPipeline", "Train a pipeline from a treebank: text in, trees out.",
    ),
    "pipeline run": ("pipeline.commands.run:RunPipeline", "Run a text through a pipeline: words, tags, lemmas, trees."),
    "pipeline eval": (
        "pipeline.commands.eval:EvalPipeline", "Score a pipeline on a treebank by the CoNLL 2018 metrics.",
    ),
    "pipeline inspect": (
        "pipeline.commands.inspect:InspectPipeline", "Show a pipeline: components, sizes, scores, settings.",
    ),
    "pipeline extract": (
        "pipeline.commands.extract:ExtractComponent", "Take components out into a model file of their own.",
    ),
    "pipeline replace": (
        "pipeline.commands.replace:ReplaceComponent", "Put a component of another model into a pipeline.",
    ),
    "parser train": ("cli.parser.train:TrainParser", "Train a dependency parser from a treebank."),
    "parser parse": ("cli.parser.parse:Parse", "Parse a file, standard input or a typed sentence."),
    "parser eval": ("cli.parser.eval:EvalParser", "Score a parser on gold trees, or one CoNLL-U file against another."),
    "parser inspect": (
        "cli.parser.inspect:InspectParser", "Show a parser: settings, training log, actions, templates.",
    ),
    "parser compare": (
        "cli.parser.compare:CompareParsers", "Compare parsers or parsed files, with significance tests.",
    ),
    "parser compact": ("cli.parser.compact:CompactParser", "Make a parser small, and report what is lost."),
    "parser features": ("cli.parser.features:ParserFeatures", "Print a template set of the parser, or check a file."),
    "classifier train": ("cli.classifier.train:TrainClassifier", "Train a classifier of sentences."),
    "classifier classify": ("cli.classifier.classify:Classify", "Classify sentences of a file or standard input."),
    "classifier eval": ("cli.classifier.eval:EvalClassifier", "Score a classifier on labelled sentences."),
    "classifier inspect": (
        "cli.classifier.inspect:InspectClassifier", "Show a classifier: settings, strongest weights.",
    ),
    "classifier compare": (
        "cli.classifier.compare:CompareClassifiers",
        "Compare classifiers on labelled sentences, with significance tests.",
    ),
    "classifier cues": (
        "lab.cues.command:Cues", "Check two corpora for cues: vocabulary, length, overlap.",
    ),
    "lm train": ("lab.lm.commands:TrainLanguageModel", "Train an n-gram language model from sentences."),
    "lm score": ("lab.lm.commands:ScoreText", "Score text with a language model."),
    "lm sample": ("lab.lm.commands:Sample", "Draw sentences from a language model."),
    "hmm count": ("lab.hmm.commands:CountTables", "Count a hidden Markov model and write its probabilities as JSON."),
    "hmm model": ("lab.hmm.commands:MakeModel", "Make a model file from the probabilities of a hidden Markov model."),
    "synth": ("lab.synth.command:Synth", "Draw labelled sequences with a known best accuracy."),
    "warmup": ("cli.warmup:Warmup", "Compile all kernels ahead of the first use."),
    "doctor": ("cli.doctor:Doctor", "Report versions, cache folder, threads and what is missing."),
    "completion": ("cli.completion:Completion", "Print or install shell completion for bash, zsh or fish."),
}  # fmt: skip
GROUPS = {
    "pipeline": "Language pipelines, text to trees: train, run, eval, inspect, ...",
    "parser": "Dependency parsers: train, parse, eval, inspect, compare, ...",
    "classifier": "Sentence classifiers: train, classify, eval, inspect, compare, ...",
    "lm": "Language models: train, score, sample.",
    "hmm": "Tables of hidden Markov models: count, model.",
}
# The order in which `palmette --help` lists what has no group of its own
SECTIONS = {
    "Taggers": ("demo", "train", "tag", "eval", "compare", "tune", "calibrate", "compact", "serve"),
    "Look inside": ("inspect", "explain", "trellis", "page", "plot", "features"),
    "Data": ("check", "convert", "pick", "synth"),
    "This installation": ("doctor", "warmup", "completion"),
}
# A verb for taggers that is given a model of another structure: the command of that structure
OTHER_STRUCTURES = {
    ("tag", "parse"): "parser parse", ("eval", "parse"): "parser eval", ("inspect", "parse"): "parser inspect",
    ("compact", "parse"): "parser compact", ("compare", "parse"): "parser compare",
    ("tag", "pipeline"): "pipeline run", ("eval", "pipeline"): "pipeline eval",
    ("inspect", "pipeline"): "pipeline inspect",
    ("tag", "classify"): "classifier classify",
    ("eval", "classify"): "classifier eval", ("inspect", "classify"): "classifier inspect",
    ("compare", "classify"): "classifier compare",
}  # fmt: skip
MODEL_VERBS = ("tag", "eval", "calibrate", "compact", "compare", "inspect", "explain", "trellis", "pick")


def overview(group: str | None = None) -> str:
    """What `palmette --help` and `palmette parser --help` print."""
    if group is not None:
        names = [name for name in COMMANDS if name.startswith(f"{group} ")]
        rows = [f"  {name.partition(' ')[2]:11}{COMMANDS[name][1]}" for name in names]
        head = f"Usage: palmette {group} COMMAND ...    (COMMAND --help lists its options)"
        return f"{GROUPS[group]}\n\n{head}\n\n" + "\n".join(rows)
    rows = []
    for title, members in SECTIONS.items():
        rows += [title, *(f"  {name:11}{COMMANDS[name][1]}" for name in members), ""]
    rows += ["Other structures", *(f"  {name:11}{about}" for name, about in GROUPS.items())]
    head = "Usage: palmette COMMAND ...    (palmette COMMAND --help lists its options)"
    return f"palmette {__version__}: {ABOUT}\n\n{head}\n\n" + "\n".join(rows) + "\n\nTwo minutes: palmette demo"


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

    from palmette.cli.terminal import terminal

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
    from palmette.cli.paths import check_paths
    from palmette.data.files import outlast_reader

    outlast_reader(check_paths(made))
    with _messages_shown(made):
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
    return _by_model(first, rest), rest


def _by_model(verb: str, rest: Sequence[str]) -> str:
    """The command for the structure of the first model file among the words, if that is not a tagger."""
    if verb not in MODEL_VERBS or "--help" in rest or "-h" in rest:
        return verb
    for word in rest:
        if not word.startswith("-") and os.path.isfile(word):
            from palmette.data.model_file import peek_task  # imports NumPy, which `--help` does not wait for

            task = peek_task(word)
            if task in ("chain", None):
                continue
            if (verb, task) in OTHER_STRUCTURES:
                return OTHER_STRUCTURES[verb, task]
            kind = {"parse": "parser", "classify": "classifier", "lm": "language model"}.get(task, task)
            group = {"parse": "parser", "classify": "classifier"}.get(task, task)
            raise UsageError(f"{word} is a {kind}, and `palmette {verb}` is for taggers; see `palmette {group} --help`")
    return verb


def load_command(name: str) -> type[Command]:
    """The class of a command."""
    from importlib import import_module

    module, _, made = COMMANDS[name][0].partition(":")
    command: type[Command] = getattr(import_module(f"palmette.{module}"), made)
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
