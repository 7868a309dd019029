"""A command of the command line: its options declared once, its arguments parsed, its work in `run`.

    class Tag(Command):
        "Tag a file, standard input or a typed sentence with a model."

        model: str = option(help="The model file.", argument=True)
        output: str = option(default="-", short="o", help="Where to write; `-` is standard output.")

        def run(self) -> None: ...

`owners` names further `Options` classes (an estimator, a format) whose options are flags of the command too; `params`
returns what was given for them. The word that follows a flag is its value, as in GNU tools (`--bias -LRB-=1`), unless
it is a long flag of the command itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from palmette.data.files import check_apart, is_standard, peek
from palmette.errors import DataError, UsageError
from palmette.options.declare import REQUIRED, Option, OptionError, Options, option
from palmette.options.spelling import assemble, variant_options

FILE = "FILE"
CONFIG = ("config", "save-config")
Words = str | bool | list[str]
CRFSUITE, MARK = ".crfsuite", b"lCRF"


class Flag(NamedTuple):
    """Where the value of a flag goes."""

    option: Option
    owner: type[Options]  # the class that its flat value is assembled for
    variant: str | None = None  # the kind of learner, search or states that declares it
    outer: Option | None = None  # the option whose variant that is


class Command(Options):
    """Base of all commands."""

    owners: ClassVar[tuple[type[Options], ...]] = ()
    hidden: ClassVar[tuple[str, ...]] = ()  # flags of the owners that the command does not have
    common: ClassVar[tuple[str, ...]] = ()  # flags that a short help shows; none: it shows all
    examples: ClassVar[tuple[str, ...]] = ()  # command lines that help shows, without `palmette`
    # Further arguments are taken with one of these options only; none: always
    several_with: ClassVar[tuple[str, ...]] = ()
    updates: ClassVar[tuple[str, ...]] = ()  # options whose file the output may replace: a model that is changed
    path: ClassVar[str] = ""  # as typed: `parser train`

    flat: dict[type[Options], dict[str, Any]]
    words: dict[str, Words]  # what was given, as typed, by the names of flags and arguments

    def run(self) -> None:
        raise NotImplementedError

    def params(self, owner: type[Options], base: dict[str, Any] | None = None) -> dict[str, Any]:
        """Constructor parameters of `owner` by the flags that were given."""
        return assemble(owner, self.flat.get(owner, {}), base)

    def writes_over(self, output: str) -> bool:
        """Whether a file, which is no model of ours, has the format that the command writes."""
        return False

    def given(self, *names: str) -> list[str]:
        """Which of the flags of the owners (flat names) were given."""
        return [name for values in self.flat.values() for name in values if name in names]

    def paths(self) -> Iterator[tuple[Option, str]]:
        """Every option that names files, with each of its files."""
        for flag in self.flags():
            if flag.option.path is not None:
                own = flag.owner is type(self)
                flat = self.flat.get(flag.owner, {}).get(flag.option.flag_name.replace("-", "_"))
                for file in _files_in(flag.option, getattr(self, flag.option.name) if own else flat):
                    yield flag.option, file

    @classmethod
    def flags(cls) -> Iterator[Flag]:
        """All flags: those of the command, then those of the owners and their variants."""
        for each in cls.__options__.values():
            yield Flag(each, cls)
        for owner in cls.owners:
            for each in owner.__options__.values():
                if not each.python_only and each.flag_name not in cls.hidden:
                    yield Flag(each, owner)
            for outer, kind, inner in variant_options(owner):
                if not inner.python_only and outer.flag_name not in cls.hidden and inner.flag_name not in cls.hidden:
                    yield Flag(inner, owner, kind, outer)

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Self:
        """The command with the values of a command line."""
        return _Parser(cls).parse(list(words))


class OutputOptions(Options):
    """What nearly every command has."""

    quiet: bool = option(default=False, short="q", group="output", help="No progress and no messages.")


class JsonOptions(OutputOptions):
    json: bool = option(default=False, group="output", help="Print a JSON object instead of tables.")


class ConfigOptions(OutputOptions):
    """Options of commands that train."""

    config: str | None = option(
        default=None, metavar="FILE", group="output", path="input",
        help="Take arguments and options from a TOML file, or the options from a model; those on the command line "
        "replace them.",
    )  # fmt: skip
    save_config: str | None = option(
        default=None, metavar="FILE", group="output", path="output",
        help="Write the arguments and options of this training to a TOML file, for --config.",
    )  # fmt: skip


class ForceOptions(OutputOptions):
    """Options of commands that write a model."""

    force: bool = option(
        default=False, group="output", help="Replace an existing output file that is not a Palmette model."
    )


class _Parser:
    """One pass over the words of a command line."""

    def __init__(self, command: type[Command]) -> None:
        self.command = command
        self.flags: dict[str, Flag] = {}
        for flag in command.flags():
            if flag.option.argument:
                continue
            self.flags.setdefault(f"--{flag.option.flag_name}", flag)
            if flag.option.short is not None:
                self.flags.setdefault(f"-{flag.option.short}", flag)
        self.arguments = [each for each in command.__options__.values() if each.argument]
        self.values: dict[str, Any] = {}
        self.flat: dict[type[Options], dict[str, Any]] = {}
        self.words: dict[str, Words] = {}

    def parse(self, words: list[str]) -> Any:
        plain: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                plain += words
                break
            if word.startswith("-") and word != "-":
                self._flag(word, words)
            else:
                plain.append(word)
        self._positional(list(plain))
        if "config" in self.values:
            self._from_file(self.values["config"])
        for each in sorted(self.command.__options__.values(), key=lambda each: not each.argument):
            if each.default is REQUIRED and each.name not in self.values:
                name = each.name.upper() if each.argument else f"--{each.flag_name}"
                raise UsageError(f"{name} is missing: {each.help}{self._hint() if len(plain) > 1 else ''}")
        made = self.command(**self.values)
        made.flat = self.flat
        made.words = {name: words for name, words in self.words.items() if name not in CONFIG}
        made._check_values()
        return made

    def _flag(self, word: str, words: list[str]) -> None:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        negated = name.startswith("--no-") and name not in self.flags
        flag = self.flags.get(f"--{name[5:]}" if negated else name)
        if flag is None or (negated and not flag.option.is_switch):
            raise UsageError(self._unknown(name))
        if flag.option.is_switch:
            if equals:
                raise UsageError(f"{name} takes no value")
            self._put_switch(flag, not negated)
            return
        if not equals:
            if not words:
                raise UsageError(f"{name} needs a value: {flag.option.help}")
            if words[0] in self.flags and words[0].startswith("--"):
                raise UsageError(f"{name} needs a value, and the option {words[0]} follows it")
            value = words.pop(0)
        self._put_words(flag, value)
        while flag.option.several and words and (words[0] == "-" or not words[0].startswith("-")):
            self._put_words(flag, words.pop(0))

    def _put_switch(self, flag: Flag, value: bool) -> None:
        self._put(flag, value)
        self.words[flag.option.flag_name] = value

    def _put_words(self, flag: Flag, word: str) -> None:
        self._put(flag, _typed(flag.option, word))
        name, before = flag.option.flag_name, self.words.get(flag.option.flag_name)
        self.words[name] = [*(before if isinstance(before, list) else []), word] if flag.option.repeat else word

    def _from_file(self, path: str) -> None:
        """What the file of --config adds to the command line; the options of a model are taken by its training."""
        from palmette.cli.common import is_model
        from palmette.cli.config import read_config

        if is_model(path):
            return

        flags = {flag.option.flag_name: flag for flag in self.command.flags() if flag.option.flag_name not in CONFIG}
        given = set(self.words)
        for name, words in read_config(path, {name: flag.option for name, flag in flags.items()}).items():
            if name in given:
                continue
            if isinstance(words, bool):
                self._put_switch(flags[name], words)
            else:
                for word in [words] if isinstance(words, str) else words:
                    self._put_words(flags[name], word)

    def _put(self, flag: Flag, value: Any) -> None:
        own = flag.owner is self.command
        target = self.values if own else self.flat.setdefault(flag.owner, {})
        name = flag.option.name if own else flag.option.flag_name.replace("-", "_")
        if flag.option.repeat:
            target.setdefault(name, []).append(value)
        elif name in target:
            raise UsageError(f"--{flag.option.flag_name} is given twice")
        else:
            target[name] = value

    def _positional(self, plain: list[str]) -> None:
        for each in self.arguments:
            if each.repeat and not self._takes_several():
                continue
            if each.repeat:
                if plain:
                    self.values[each.name] = [_typed(each, word) for word in plain]
                    self.words[each.flag_name] = plain
                plain = []
            elif plain:
                self.words[each.flag_name] = plain[0]
                self.values[each.name] = _typed(each, plain.pop(0))
        if plain:
            raise UsageError(f"too many arguments: {' '.join(plain)}{self._hint()}")

    def _hint(self) -> str:
        """What the arguments of other tools are here, on a line of its own."""
        from palmette.options.other_tools import ARGUMENTS

        hint = ARGUMENTS.get(self.command.path)
        return f"\n  {hint}" if hint else ""

    def _takes_several(self) -> bool:
        """Whether further arguments have a meaning with the options that are given."""
        given = set(self.values).union(*self.flat.values())
        return not self.command.several_with or not given.isdisjoint(self.command.several_with)

    def _unknown(self, name: str) -> str:
        import difflib

        from palmette.options.other_tools import flag_hint

        hint = flag_hint(name, self.flags, self.command.path)
        if hint:
            return f"there is no option {name}: {hint}"
        near = difflib.get_close_matches(name, self.flags, 1, 0.6)
        return f"there is no option {name}" + (f"; did you mean {near[0]}?" if near else "")


def _files_in(option: Option, value: Any) -> list[str]:
    """The names of files in the value of an option: `FILE`, `NAME=FILE`, a pair of both, or several of them."""
    if isinstance(value, list):
        return [file for each in value for file in _files_in(option, each)]
    if isinstance(value, tuple):
        return [str(value[-1])] if value else []
    if value is None:
        return []
    name, equals, file = value.partition("=") if "=" in (option.metavar or "") else (value, "", "")
    return [file if equals else name]


def _typed(option: Option, text: str) -> Any:
    """The value of a typed text; errors name the flag."""
    try:
        return option.from_text(text)
    except OptionError as error:
        raise OptionError(option.name, error.problem, option.flag_name) from None


def check_paths(command: Command) -> bool:
    """Raise an error if an output is the same file as an input, or a model would replace a file that is not one.
    Returns whether the command writes files."""
    named = list(command.paths())
    outputs = [(each, file) for each, file in named if each.path in ("output", "model")]
    if all(is_standard(file) for _, file in outputs):
        return any(each.path == "folder" for each, _ in named)
    inputs = [file for each, file in named if each.path == "input" and each.name not in command.updates]
    check_apart([file for _, file in outputs], inputs)
    for each, file in outputs:
        if each.path == "model":
            check_replaced(command, file)
    return True


def check_replaced(command: Command, output: str) -> None:
    """Raise DataError if a model would replace a file that is not a model and not empty, unless --force is given."""
    if getattr(command, "force", False) or not os.path.isfile(output) or _of_another_tool(command, output):
        return
    from palmette.data.model_file import peek_task

    if os.path.getsize(output) and peek_task(output) is None:
        hint = "choose another name, or replace it with --force"
        raise DataError("exists and is not a Palmette model", file=output, hint=hint)


def _of_another_tool(command: Command, output: str) -> bool:
    """Whether the format of another tool is written over a model of that format."""
    if not output.lower().endswith(CRFSUITE):
        return command.writes_over(output)
    return peek(output, lambda data: len(data) >= len(MARK)).startswith(MARK)
