"""Options and helpers that several commands share."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.formats.spec import FormatSpec
from palmette.data.text import TextSpec, check_encoding
from palmette.errors import DataError, UsageError, counted
from palmette.options.declare import Options, option
from palmette.options.presets import Preset, parameters
from palmette.options.search import MOST_BEAM
from palmette.options.training import LIMITS

if TYPE_CHECKING:
    from palmette.cli.command import Command
    from palmette.data.formats.spec import FormatSpec
    from palmette.estimators.base import Estimator
    from palmette.estimators.tagger import Tagger
    from palmette.structures.chain.search import BeamSearch

logger = logging.getLogger(__name__)

DECODINGS = {
    "viterbi": "the labels of the best path of states",
    "marginal": "per token the label with the largest posterior",
    "exact": "the best label sequence, summed over its paths",
}


def base_params(
    owner: type[Options], name: str | None, presets: Mapping[str, Preset], old: Estimator | None, silent: bool,
    like: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The parameters that the flags of a training change: those of the model that is resumed, of the model `like`, or
    of a preset, whose settings are reported."""
    if like is not None:
        from palmette.data.model_file import load_any

        if name is not None or old is not None:
            raise UsageError("--config takes the options of a model: leave --as and --resume out")
        found = load_any(like, "train")
        params: dict[str, Any] = found.get_params(deep=False)
        if not isinstance(found, owner):
            raise UsageError(f"--config {like}: a {type(found).__name__}, and another kind of model is trained here")
        return params
    if old is not None:
        if name is not None:
            raise UsageError("--as: --resume continues with the options of the model")
        return old.get_params(deep=False) | dict.fromkeys(LIMITS)
    if name is None:
        return {}
    preset = presets[name]
    if not silent:
        logger.info("as %s (%s): %s", name, preset.source, preset.flags(owner))
        for about, text in (("your choice", preset.open), ("not as published", preset.differs)):
            if text:
                logger.info("  %s: %s", about, text)
    return parameters(owner, preset)


def with_named_files(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with dictionaries for the flags that give NAME=FILE."""
    made = dict(params)
    for name in ("lexicons", "clusters"):
        if isinstance(made.get(name), list):
            made[name] = _unique(made[name], name)
    return made


def _unique(given: list[tuple[str, str]], name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, path in given:
        if key in found:
            raise UsageError(f"--{name} {key}={path}: {key} is given twice")
        found[key] = path
    return found


OF_FILES = ("format", "columns", "separator", "ragged", *TextSpec.__options__)
"""Options of the data that a typed sentence does not have."""


class SearchOptions(Options):
    """Another search than that of the training."""

    search: str | None = option(
        default=None, choices=("viterbi", "beam"), group="model",
        help="How label sequences are searched: viterbi (exact) or beam (default: as in training).",
    )  # fmt: skip
    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM, group="model",
        help="Prefixes that a beam keeps (default: as in training).",
    )  # fmt: skip
    recombine: bool | None = option(
        default=None, group="model",
        help="Whether a beam keeps only the best of prefixes that no template can distinguish (default: as in "
        "training).",
    )  # fmt: skip


class ThreadOptions(Options):
    """Of commands that read with a model."""

    threads: int | None = option(
        default=None, low=1, help="Threads (default: all cores); the result is the same for any number."
    )

    @property
    def n_threads(self) -> int:
        """As told, or one per core."""
        from palmette.options.training import available_cores

        return self.threads or available_cores()


class EncodingOptions(Options):
    """The encoding of what is written."""

    output_encoding: str | None = option(
        default=None, metavar="NAME", group="output", check=check_encoding,
        help="Encoding of the output (default: that of the input).",
    )  # fmt: skip


class BiasOptions(Options):
    """Scores added to labels."""

    bias: list | None = option(
        default=None, repeat=True, metavar="LABEL=X", group="model",
        help="Add X to the score of a label, to trade precision for recall; repeatable (default: the model's own).",
    )  # fmt: skip


class HelperOptions(Options):
    """Models that make columns."""

    with_: list | None = option(
        default=None, flag="with", repeat=True, metavar="NAME=MODEL", path="input",
        help="A column that the data lacks is made by another model, such as pos=pos.palm; repeatable, in order.",
    )  # fmt: skip

    def helpers(self) -> list[Tagger]:
        """The models, loaded."""
        return [load_tagger(path) for path in pairs(self.with_, "--with").values()]


class PartialOptions(Options):
    """Gold labels that are partly known."""

    partial: bool | None = option(
        default=None, group="data",
        help="Gold labels may be partly known: `?` is any label, `A|B` one of several (default: as in training).",
    )  # fmt: skip


def is_typed(data: str) -> bool:
    """Whether an argument is a text and not the name of a file: it has a blank, and there is no such file."""
    from glob import glob

    return " " in data.strip() and not os.path.exists(data) and not glob(data)


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`NAME=FILE` options as a dictionary."""
    found: dict[str, str] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {item}: write NAME=FILE")
        if name in found:
            raise UsageError(f"{option} {item}: {name} is given twice")
        found[name] = value
    return found


def biases(given: Sequence[str] | None) -> dict[str, float] | None:
    """`--bias O=-0.5` options; None if there are none, so that the model's own bias is used."""
    if not given:
        return None
    found = {}
    for item in given:
        label, equals, value = item.rpartition("=")
        try:
            found[label] = float(value)
        except ValueError:
            equals = ""
        if not (label and equals):
            raise UsageError(f"--bias {item}: write LABEL=NUMBER")
    return found


def forbidden_pairs(path: str | None) -> list[tuple[str, str]]:
    """A file of `BEFORE AFTER` lines; <s> and </s> stand for the ends of a sentence."""
    if path is None:
        return []
    from palmette.data.files import shown
    from palmette.data.text import CONVERT, check_utf8, read_text

    data = read_text(path)
    check_utf8(data, shown(path), hint=CONVERT)
    found = []
    for number, line in enumerate(data.decode().splitlines(), 1):
        cells = line.split()
        if cells and not line.startswith("#"):
            if len(cells) != 2:
                raise DataError(
                    counted(len(cells), "label"),
                    file=shown(path),
                    line=number,
                    hint="write the one before and the one after",
                )
            found.append((cells[0], cells[1]))
    return found


def _named(beam: BeamSearch, with_recombination: bool) -> str:
    """A search in words."""
    if not beam.width:
        return "exact search"
    how = "with" if beam.recombine else "without"
    return f"a beam of {beam.width}" + (f" {how} recombination" if with_recombination else "")


def is_model(path: str) -> bool:
    """Whether a file begins as a model does: of Palmette 8 bytes that are a small number, and a brace, as in no text;
    of another tool its mark."""
    if path == "-" or not os.path.isfile(path):
        return False
    from palmette.data.files import read_blocks
    from palmette.data.model_file import HEADER_LIMIT
    from palmette.structures.chain.imported.recognise import reader_of

    head = next(read_blocks(path, 9), b"")
    own = head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= HEADER_LIMIT
    return own or reader_of(path) is not None


def check_order(command: Command) -> None:
    """UsageError if the model and the data are exchanged."""
    first, second = (getattr(command, name, None) for name in ("model", "data"))
    if isinstance(first, str) and isinstance(second, str) and not is_model(first) and is_model(second):
        raise UsageError(
            f"{first} is not a model and {second} is one: the model comes first, as in "
            f"`palmette {command.path} {second} {first}`"
        )


def load_tagger(path: str, how: SearchOptions | None = None) -> Tagger:
    """A model, searched as in training unless told otherwise; a difference is logged."""
    from palmette.estimators.tagger import Tagger

    tagger = Tagger.load(path)
    if how is not None:
        trained = tagger.model_.beam_search
        now = tagger.search_with(how.search, how.beam, how.recombine).model_.beam_search
        if now.width != trained.width or (now.width and now.recombine != trained.recombine):
            told = trained.width > 0 and now.recombine != trained.recombine
            named = [_named(one, told) for one in (now, trained)]
            logger.info("searching with %s; the model was trained with %s", *named)
    return tagger


def format_spec(given: dict[str, Any]) -> FormatSpec:
    """How the user wants the input read."""
    return FormatSpec(**given)


def text_spec(command: Command) -> TextSpec:
    """The encoding and the limits of the input."""
    return TextSpec(**command.params(TextSpec))


def input_spec(command: Command, tagger: Tagger, data: str, *, labelled: bool = False) -> FormatSpec:
    """How to read a file for a model: as its training data, but for the options of the command line."""
    from palmette.structures.chain.files import spec_for

    given = format_spec(command.params(FormatSpec))
    return spec_for(tagger.model_, data, given, labelled=labelled)


def names_of(files: Sequence[str]) -> list[str]:
    """The names of the files, without folders if they still differ."""
    short = [os.path.basename(file) for file in files]
    names = short if len(set(short)) == len(files) else list(files)
    for file in names:
        if names.count(file) > 1:
            raise UsageError(f"{file} is given twice")
    return names
