"""Commands about this installation: `palmette doctor` and `palmette completion`.

Completion scripts for bash, zsh and fish are tables made from the declarations of all commands. Where no table says
otherwise, the shell completes file names.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import platform
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from palmette.cli.command import Command, JsonOptions, OutputOptions
from palmette.cli.output import print_json
from palmette.errors import counted
from palmette.options.declare import Option, option

NEEDED = ("numpy", "msgspec", "rich")
EXTRAS = {"numba": "jit", "matplotlib": "plot", "scikit-learn": "sklearn", "python-crfsuite": "bench"}
logger = logging.getLogger(__name__)


class Doctor(JsonOptions, Command):
    """Report versions, how kernels run and what is missing."""

    def run(self) -> None:
        from palmette import __version__
        from palmette.data import model_file
        from palmette.kernels.core import native
        from palmette.kernels.core.compile import JIT, LIBRARY, MODE
        from palmette.kernels.registry import KERNELS

        about = {
            "palmette": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "packages": {name: _version(name) for name in NEEDED},
            "extras": {name: _version(name) for name in EXTRAS},
            "model_format": model_file.VERSION,
            "kernels": MODE,
            "library": native.about() and {"level": native.level(), **native.about(), "kernels": len(KERNELS)},
        }
        if self.json:
            print_json(about)
            return
        print(f"palmette {__version__}, model format {model_file.VERSION}")
        cores = counted(os.cpu_count() or 1, "core")
        print(f"Python {about['python']} on {about['platform']}; {about['processor']}, {cores}")
        for name in NEEDED:
            print(f"  {name:16}{_version(name) or 'MISSING: pip install ' + name}")
        for name, extra in EXTRAS.items():
            missing = f"not installed (optional: pip install 'palmette[{extra}]')"
            print(f"  {name:16}{_version(name) or missing}")
        if MODE == LIBRARY:
            print(f"kernels: {len(KERNELS)} as machine code for {native.level()} in {native.FOLDER}")
            return
        asked = os.environ.get("PALMETTE_KERNELS")
        print(f"kernels: {f'{asked}, as PALMETTE_KERNELS asks' if asked else native.why_not()}")
        if MODE == JIT:
            print("  each is compiled at its first call in every process, which takes 1 to 25 seconds")
        else:
            print("  they run as plain Python, a thousand times slower; training needs them compiled")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()


class Completed(NamedTuple):
    """A flag as shells complete it."""

    name: str  # with its hyphens
    short: str | None  # with its hyphen
    about: str
    takes_value: bool
    choices: tuple[str, ...] = ()


class Entry(NamedTuple):
    """What completes the words after a command."""

    flags: list[Completed]
    choices: tuple[str, ...]  # of its first argument; none: a file name


class Completion(OutputOptions, Command):
    """Print a script that completes palmette's commands, flags, choices and file names, or install it for the user."""

    shell: str = option(argument=True, choices=("bash", "zsh", "fish"), help="bash, zsh or fish.")
    install: bool = option(default=False, help="Write the script to the place where the shell looks for it.")

    def run(self) -> None:
        text = SCRIPTS[self.shell](entries())
        if not self.install:
            print(text, end="")
            return
        path = install_path(self.shell)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        logger.info("wrote %s; it takes effect in a new shell", path)
        if self.shell == "zsh":
            logger.info(
                "zsh looks there if ~/.zshrc has, before compinit:\n  fpath=(%s $fpath)", shlex.quote(str(path.parent))
            )


def install_path(shell: str) -> Path:
    """The place of a user's completion script."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return {
        "bash": data / "bash-completion" / "completions" / "palmette",
        "zsh": data / "zsh" / "site-functions" / "_palmette",
        "fish": config / "fish" / "completions" / "palmette.fish",
    }[shell]


# The tables


def entries() -> dict[str, Entry]:
    """Flags and choices of all commands, by what is typed: `train`, `parser train`."""
    from palmette.cli import COMMANDS, load_command

    return {name: _entry(load_command(name)) for name in COMMANDS}


def _entry(command: type[Command]) -> Entry:
    found: dict[str, Completed] = {}
    arguments = [each for each in command.__options__.values() if each.argument]
    for flag in command.flags():
        if not flag.option.argument:
            for made in _completed(flag.option):
                before = found.get(made.name)
                choices = made.choices if before is None else tuple(dict.fromkeys(before.choices + made.choices))
                found[made.name] = made._replace(choices=choices)
    found["--help"] = Completed("--help", "-h", "Show the options.", False)
    return Entry(list(found.values()), _choices(arguments[0]) if arguments else ())


def _completed(given: Option) -> Iterator[Completed]:
    short = None if given.short is None else f"-{given.short}"
    about = given.help.partition(". ")[0].rstrip(".")
    yield Completed(f"--{given.flag_name}", short, about, not given.is_switch, _choices(given))
    if given.is_switch and given.default is not False:
        yield Completed(f"--no-{given.flag_name}", None, f"Not: {about}", False)


def _choices(given: Option) -> tuple[str, ...]:
    return tuple(given.variants or given.choices or ())


def _names(flags: list[Completed]) -> str:
    return " ".join(name for flag in flags for name in (flag.name, flag.short) if name is not None)


def _groups(table: Mapping[str, Entry]) -> dict[str, list[str]]:
    """The commands of each group: parser -> train, parse, ..."""
    found: dict[str, list[str]] = {}
    for name in table:
        group, space, verb = name.partition(" ")
        if space:
            found.setdefault(group, []).append(verb)
    return found


def _first_words(table: Mapping[str, Entry]) -> str:
    return " ".join([*(name for name in table if " " not in name), *_groups(table), "--help", "--version"])


# The scripts

BASH = """\
# Completion of palmette for bash: palmette completion bash
_palmette() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
    local at=2 words=
    COMPREPLY=()
    if [[ $current == = ]]; then current=
    elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    case $command in
{groups}
    esac
    if (( COMP_CWORD == 1 )); then words='{first}'
    elif (( COMP_CWORD >= at )); then
        case "$command $previous" in
{choices}
        *)
            if [[ $current == -* ]]; then
                case $command in
{flags}
                esac
            else
                case $command in
{arguments}
                esac
            fi ;;
        esac
    fi
    [[ -n $words ]] && COMPREPLY=( $(compgen -W "$words" -- "$current") )
    return 0
}}
complete -o default -F _palmette palmette
"""


def bash_script(table: Mapping[str, Entry]) -> str:
    groups = [
        f"    {group}) at=3 command='{group} '${{COMP_WORDS[2]}}; "
        f"(( COMP_CWORD == 2 )) && words={shlex.quote(' '.join(verbs))} ;;"
        for group, verbs in _groups(table).items()
    ]
    return _filled(BASH, table, groups, lambda pattern, words: f"{pattern}) words='{words}' ;;")


ZSH = """\
#compdef palmette
# Completion of palmette for zsh: palmette completion zsh
_palmette() {{
    local current=$words[CURRENT] previous=$words[CURRENT-1] command=$words[2]
    local at=3
    local -a found
    case $command in
{groups}
    esac
    if (( CURRENT == 2 )); then found=({first})
    elif (( CURRENT >= at )); then
        case "$command $previous" in
{choices}
        (*)
            if [[ $current == -* ]]; then
                case $command in
{flags}
                esac
            else
                case $command in
{arguments}
                esac
            fi ;;
        esac
    fi
    if (( $#found )); then compadd -- $found; else _files; fi
}}
if [[ $funcstack[1] == _palmette ]]; then _palmette "$@"; else compdef _palmette palmette; fi
"""


def zsh_script(table: Mapping[str, Entry]) -> str:
    groups = [
        f'    ({group}) (( CURRENT == 3 )) && found=({" ".join(verbs)}); command="{group} $words[3]"; at=4 ;;'
        for group, verbs in _groups(table).items()
    ]
    return _filled(ZSH, table, groups, lambda pattern, words: f"({pattern}) found=({words}) ;;")


def _filled(script: str, table: Mapping[str, Entry], groups: list[str], case: Callable[[str, str], str]) -> str:
    """A script for bash or zsh, whose tables are branches of `case`."""

    def branch(depth: int, patterns: list[str], words: str) -> str:
        return " " * depth + case("|".join(map(shlex.quote, patterns)), words)

    choices = []
    for name, entry in table.items():
        for flag in entry.flags:
            names = [f"{name} {each}" for each in (flag.name, flag.short) if each is not None]
            if flag.choices:
                choices.append(branch(8, names, " ".join(flag.choices)))
    flags = [branch(16, [name], _names(entry.flags)) for name, entry in table.items()]
    arguments = [branch(16, [name], " ".join(entry.choices)) for name, entry in table.items() if entry.choices]
    return script.format(
        groups="\n".join(groups), first=_first_words(table), choices="\n".join(choices),
        flags="\n".join(flags), arguments="\n".join(arguments),
    )  # fmt: skip


FISH = """\
# Completion of palmette for fish: palmette completion fish
function __palmette_is
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); and test "$words[2..(math 1 + (count $argv))]" = "$argv"
end
function __palmette_words
    test (count (commandline -opc)) -eq $argv[1]
end
"""


def fish_script(table: Mapping[str, Entry]) -> str:
    from palmette.cli import COMMANDS, GROUPS

    lines = [FISH.rstrip("\n")]
    for name in [*(name for name in table if " " not in name), *_groups(table)]:
        about = GROUPS[name].about if name in GROUPS else COMMANDS[name][1]
        lines.append(f"complete -c palmette -n '__palmette_words 1' -f -a {name} -d {_quoted(about)}")
    for group, verbs in _groups(table).items():
        for verb in verbs:
            about = COMMANDS[f"{group} {verb}"][1]
            inside = f"__palmette_words 2; and __palmette_is {group}"
            lines.append(f"complete -c palmette -n '{inside}' -f -a {verb} -d {_quoted(about)}")
    for name, entry in table.items():
        start = f"complete -c palmette -n '__palmette_is {name}'"
        if entry.choices:
            lines.append(f"{start} -f -a {_quoted(' '.join(entry.choices))}")
        lines += [f"{start} {_fish_flag(flag)}" for flag in entry.flags]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Completed) -> str:
    parts = [f"-l {flag.name[2:]}"]
    if flag.short is not None:
        parts.append(f"-s {flag.short[1:]}")
    if flag.choices:
        parts.append(f"-x -a {_quoted(' '.join(flag.choices))}")
    elif flag.takes_value:
        parts.append("-r")
    return " ".join([*parts, f"-d {_quoted(flag.about)}"])


def _quoted(text: str) -> str:
    """A text in single quotes, as fish reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[Mapping[str, Entry]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
