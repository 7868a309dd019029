"""Help texts, written from the declarations of a command and wrapped to the width of the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence

from palmette.cli.command import Command, Flag
from palmette.data.kinds import KINDS
from palmette.options.declare import Option

COLUMN = 26  # where descriptions begin
_TIE = "\u00a0"  # a space at which no line ends
GROUPS = ("arguments", "options", "data", "features", "model", "training")


def width() -> int:
    return max(60, min(100, shutil.get_terminal_size((80, 24)).columns))


def command_help(command: type[Command], words: Sequence[str] = (), *, everything: bool = False) -> str:
    """The help of a command: its common options, or everything. The options of a variant that is named among the words
    (`--learner mira`) are shown in both; everything leaves out the other variants of its kind then."""
    flags = list(command.flags())
    chosen = _chosen(flags, words)
    arguments = [flag.option for flag in flags if flag.option.argument]
    usage = " ".join(_usage(each) for each in arguments)
    needed = " ".join(
        f"--{flag.option.flag_name} {_metavar(flag.option)}"
        for flag in flags
        if flag.option.required and not flag.option.argument
    )
    parts = [
        _wrapped(f"Usage: palmette {command.path} {usage} {needed} [options]".replace("  ", " ").replace("  ", " ")),
        _wrapped(" ".join((command.__doc__ or "").split())),
    ]
    if command.examples:
        parts.append("\n".join(["Examples", *(f"  palmette {line}" for line in command.examples)]))
    short = bool(command.common) and not everything
    for title, group in _shown(command, flags, chosen, short).items():
        parts.append(f"{title}\n" + "\n".join(_row(option, short and title == "Options") for option in group))
    if short:
        parts.append(_further(command, flags, chosen))
    others = [name for name, kind in KINDS.items() if command.path in kind.commands and name != "tagger"]
    if others:
        parts.append(_wrapped(f"Other kinds: palmette {command.path} --task {'|'.join(others)} --help"))
    return "\n\n".join(parts)


def _shown(
    command: type[Command], flags: Sequence[Flag], chosen: Mapping[str, str], short: bool
) -> dict[str, list[Option]]:
    """The options to show by the title of their group."""
    if not short:
        return _grouped(flags, chosen)
    named = {flag.option.flag_name: _as_shown(flag) for flag in reversed(flags)}  # of several variants the first
    grouped = _grouped([flag for flag in flags if flag.option.argument or flag.variant in chosen.values()], chosen)
    arguments = {"Arguments": grouped.pop("Arguments")} if "Arguments" in grouped else {}
    return {**arguments, "Options": [named[name] for name in command.common], **grouped}


def _as_shown(flag: Flag) -> Option:
    """The option of a flag, with a default only if it applies when nothing is given."""
    if flag.outer is None or flag.variant is None:
        return flag.option
    usual = flag.outer.default if flag.outer.default is None else flag.outer.variant(flag.outer.default)
    kind = getattr(usual, "kind", None)
    return flag.option._replace(default=getattr(usual, flag.option.name) if kind == flag.variant else None)


def _further(command: type[Command], flags: Sequence[Flag], chosen: Mapping[str, str]) -> str:
    """Where the options are that a short help leaves out."""
    names = {flag.option.flag_name for flag in flags if not flag.option.argument}
    lines = [f"{len(names) - len(command.common)} further options: palmette {command.path} --help all"]
    variants = next((flag.option for flag in flags if flag.option.variants is not None), None)
    if variants is not None and not chosen:
        kinds = [flag.variant for flag in flags if flag.outer is not None and flag.outer.name == variants.name]
        lines.append(f"Those of a {variants.name}: palmette {command.path} --{variants.flag_name} {kinds[0]} --help")
    return "\n".join(lines)


def group_titles(command: type[Command]) -> dict[str, list[Option]]:
    """All options of a command by the title of their group."""
    return _grouped(list(command.flags()), {})


def _chosen(flags: Sequence[Flag], words: Sequence[str]) -> Mapping[str, str]:
    """Variants that are named on the command line: {"learner": "mira"}."""
    found = {}
    for flag in flags:
        if flag.option.variants is not None:
            name = f"--{flag.option.flag_name}"
            for k, word in enumerate(words):
                value = word.partition("=")[2] if word.startswith(f"{name}=") else "".join(words[k + 1 : k + 2])
                if word.partition("=")[0] == name and value in flag.option.variants:
                    found[flag.option.name] = value
    return found


def _grouped(flags: Sequence[Flag], chosen: Mapping[str, str]) -> dict[str, list[Option]]:
    """Options by the title of their group, the common ones first, those of variants before the output."""
    titles: dict[str, list[Option]] = {name.capitalize(): [] for name in GROUPS}
    variants: dict[str, list[Option]] = {}
    last: dict[str, list[Option]] = {}
    for flag in flags:
        option = flag.option
        if flag.outer is not None and flag.variant is not None:
            if chosen.get(flag.outer.name, flag.variant) == flag.variant:
                shown = option._replace(default=getattr(flag.outer.default_of(flag.variant), option.name))
                variants.setdefault(f"Options of the {flag.outer.name} {flag.variant}", []).append(shown)
        elif option.argument:
            titles["Arguments"].append(option)
        elif option.group == "output":
            last.setdefault("Output", []).append(option)
        else:
            titles.setdefault((option.group or "options").capitalize(), []).append(option)
    return {title: group for title, group in {**titles, **variants, **last}.items() if group}


def _usage(option: Option) -> str:
    shown = option.name.upper().replace("_", "-") + ("..." if option.repeat else "")
    return shown if option.required else f"[{shown}]"


def _metavar(option: Option) -> str:
    if option.metavar is not None:
        return option.metavar
    if option.variants is not None or _too_many(option):
        return "NAME"
    if option.choices is not None:
        return "|".join(option.choices)
    kinds = option.kinds()
    return "N" if int in kinds and float not in kinds else "X" if float in kinds else option.name.upper()


def _too_many(option: Option) -> bool:
    """Whether the names of all choices would be wider than the terminal beside the flag."""
    return option.choices is not None and len(f"  --{option.flag_name} {'|'.join(option.choices)}") > width()


def _row(option: Option, brief: bool = False) -> str:
    if option.argument:
        names = option.name.upper()
    else:
        short = f"-{option.short}, " if option.short else ""
        if option.is_switch:
            flag = option.flag_name
            names = f"--{flag}" if option.default is False else f"--[no-]{flag}"
            names = short + names
        else:
            names = f"{short}--{option.flag_name} {_metavar(option)}"
    body = " ".join(part for part in (option.help, _choices(option, brief), _default(option)) if part)
    body = body.replace("(default: ", f"(default:{_TIE}")
    lines = [line.replace(_TIE, " ") for line in textwrap.wrap(body, width() - COLUMN, break_on_hyphens=False)] or [""]
    first = f"  {names}"
    if len(first) > COLUMN - 2:
        rows = [first, *(" " * COLUMN + line for line in lines)]
    else:
        rows = [f"{first:{COLUMN}}{lines[0]}", *(" " * COLUMN + line for line in lines[1:])]
    return "\n".join(rows)


def _choices(option: Option, brief: bool) -> str:
    """One clause per choice; a short help has their names only."""
    if option.variants is not None:
        return "One of " + ", ".join(option.variants) + "."
    if isinstance(option.choices, Mapping) and not brief:
        return "; ".join(f"{name}: {about}" for name, about in option.choices.items()) + "."
    if option.choices is not None and option.metavar is None and _too_many(option):
        return "One of " + ", ".join(option.choices) + "."
    return ""


def _default(option: Option) -> str:
    default = option.default
    if option.required or default is None or default is False or default == () or "default" in option.help.lower():
        return ""
    if option.is_switch:
        return "(default: yes)"
    shown = getattr(default, "kind", None) or (",".join(default) if isinstance(default, tuple) else default)
    return f"(default: {shown})"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, width(), subsequent_indent="    " if text.startswith("Usage") else "")
