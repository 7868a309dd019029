"""Write the reference pages from the declarations: `python docs/generate_reference.py`. A test compares the result."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from palmette.classification.options import ClassifierOptions
from palmette.cli import COMMANDS, GROUPS, SECTIONS, load_command
from palmette.cli.help import group_titles
from palmette.data.formats.spec import FormatSpec
from palmette.data.text import TextSpec
from palmette.options.chain import TAGGER_STATES, TaggerOptions
from palmette.options.declare import Option, Options, own_text
from palmette.options.learners import LEARNERS, STRUCTURES, Auto
from palmette.options.presets import PRESETS
from palmette.options.search import TAGGER_SEARCHES
from palmette.options.spelling import as_flags
from palmette.parsing.options import ParserOptions
from palmette.pipeline.options import PipelineOptions

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- made by docs/generate_reference.py from the declarations; do not edit -->\n\n"


def pages() -> dict[str, str]:
    """The text of each page by file name."""
    sys.path.insert(0, str(Path(__file__).parent))
    from generate_api import api_page

    return {
        "learners.md": _learners(), "estimators.md": _estimators(), **_commands(),
        "presets.md": _presets(), "python.md": NOTE + api_page(),
    }  # fmt: skip


def _learners() -> str:
    parts = [
        NOTE + "# Learners, searches and states\n\n"
        "A learner, a search and a state space are values: `Tagger(learner=Mira(nbest=5), search=Beam(8))`. A name is\n"
        'short for its defaults (`learner="mira"`), and `set_params(learner__nbest=5)` sets one option. On the\n'
        "command line the same options are flags: `--learner mira --learner-nbest 5 --beam 8`.\n"
    ]
    learners = {Auto.kind: Auto, **LEARNERS}
    head = "| learner | " + " | ".join(STRUCTURES.values()) + " |\n|---|" + ":--:|" * len(STRUCTURES) + "\n"
    rows = [
        f"| [`{kind}`](#{kind}) | " + " | ".join("yes" if s in made.structures else "" for s in STRUCTURES) + " |\n"
        for kind, made in learners.items()
    ]
    parts.append("## Which learner applies to which structure\n\n" + head + "".join(rows))
    parts.append("## Learners\n")
    parts += [_section(kind, made) for kind, made in learners.items()]
    parts.append("## Searches of taggers\n")
    parts += [_section(kind, made) for kind, made in TAGGER_SEARCHES.items()]
    parts.append("## States of taggers\n")
    parts += [_section(kind, made) for kind, made in TAGGER_STATES.items()]
    return "\n".join(parts)


def _section(kind: str, made: type[Options]) -> str:
    name = '"auto"' if made is Auto else made.__name__  # a choice of a learner, which has no class of its own
    about = f"### {kind}\n\n`{name}`: {_sentence(made)}\n"
    return about + ("\n" + _table(made.__options__.values()) if made.__options__ else "")


def _estimators() -> str:
    parts = [NOTE + "# Options of the estimators\n\nConstructor parameters, and the flags of the `train` commands.\n"]
    owners: Mapping[str, type[Options]] = {
        "Tagger": TaggerOptions, "Parser": ParserOptions, "Classifier": ClassifierOptions, "Pipeline": PipelineOptions,
        "FormatSpec": FormatSpec, "TextSpec": TextSpec,
    }  # fmt: skip
    for name, owner in owners.items():
        parts.append(f"## {name}\n\n{_table(owner.__options__.values())}")
    return "\n".join(parts)


def _commands() -> dict[str, str]:
    """The list of commands, and a page for each."""
    parts = [NOTE + "# Commands\n\n`palmette COMMAND --help` prints the same text in the terminal.\n"]
    made = {}
    listed: dict[str, Iterable[str]] = dict(SECTIONS)
    for name, kind in GROUPS.items():
        listed[kind.about.removesuffix(".")] = [each for each in COMMANDS if each.partition(" ")[0] == name]
    for title, names in listed.items():
        rows = "".join(f"| [palmette {name}](commands/{_file(name)}) | {COMMANDS[name][1]} |\n" for name in names)
        parts.append(f"## {title}\n\n| command | |\n|---|---|\n{rows}")
        made |= {f"commands/{_file(name)}": _command(name) for name in names}
    tree = "\n".join(name.removesuffix(".md") for name in made)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n")
    return {"commands.md": "\n".join(parts), **made}


def _command(name: str) -> str:
    """The page of a command. The options of learners, searches and states have a page of their own."""
    command = load_command(name)
    parts = [NOTE + f"# palmette {name}\n\n{' '.join((command.__doc__ or COMMANDS[name][1]).split())}\n"]
    if command.examples:
        parts.append("```\n" + "\n".join(f"palmette {line}" for line in command.examples) + "\n```\n")
    variants: dict[str, list[str]] = {}
    for title, options in group_titles(command).items():
        if title.startswith("Options of the "):
            outer, _, kind = title.removeprefix("Options of the ").rpartition(" ")
            variants.setdefault(outer, []).append(f"[`{kind}`](../learners.md#{kind})")
        else:
            parts.append(f"## {title}\n\n{_table(options, flags=True)}")
    links = "".join(f"| `--{outer}` | {', '.join(kinds)} |\n" for outer, kinds in variants.items())
    if links:
        parts.append(f"## Options of learners and searches\n\n| flag | values with options |\n|---|---|\n{links}")
    return "\n".join(parts)


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _presets() -> str:
    """Every preset with the place of each setting in its source."""
    owners: Mapping[str, type[Options]] = {
        "Tagger": TaggerOptions, "Parser": ParserOptions, "Classifier": ClassifierOptions
    }  # fmt: skip
    parts = [
        NOTE + "# Published methods as presets\n\n"
        "`palmette train --as NAME` and `Tagger.preset(NAME)` train a method with its published settings; further\n"
        "flags or arguments change them. Places are those in the source. The [concordance](../papers.md) has the\n"
        "full references.\n"
    ]
    for estimator, presets in PRESETS.items():
        parts.append(f"## {estimator}\n")
        for name, preset in presets.items():
            about = preset.about[0].upper() + preset.about[1:]
            parts.append(
                f"### {name}{'' if estimator == 'Tagger' else f' ({estimator})'}\n\n{about} ({preset.source}).\n"
            )
            rows = [
                f"| `{' '.join(as_flags(owners[estimator], {key: value}))}` | {_cell(place)} |\n"
                for key, (value, place) in preset.settings.items()
            ]
            parts.append("| setting | place |\n|---|---|\n" + "".join(rows))
            told = (("Your choice", preset.open), ("Not as published", preset.differs))
            parts += [f"{title}: {text.removesuffix('.')}.\n" for title, text in told if text]
    return "\n".join(parts)


def _table(options: Iterable[Option], flags: bool = False) -> str:
    rows = [
        "| option | default | |\n|---|---|---|\n" if flags else "| parameter | flag | default | |\n|---|---|---|---|\n"
    ]
    for option in options:
        help_text = _cell(" ".join(part for part in (option.help, _choices(option), _range(option)) if part))
        flag = f"`{option.name.upper()}`" if option.argument else f"`--{_flag(option)}`"
        flag = "" if option.python_only else flag
        cells = [flag] if flags else [f"`{option.name}`", flag]
        rows.append("| " + " | ".join([*cells, _cell(_default(option)), help_text]) + " |\n")
    return "".join(rows)


def _flag(option: Option) -> str:
    return f"[no-]{option.flag_name}" if option.is_switch and option.default is not False else option.flag_name


def _default(option: Option) -> str:
    if option.required:
        return "required"
    return "" if option.default is None else f"`{option.default!r}`"


def _choices(option: Option) -> str:
    if option.variants is not None:
        return "One of " + ", ".join(f"`{kind}`" for kind in option.variants) + "."
    if isinstance(option.choices, Mapping):
        return "; ".join(f"`{name}`: {about}" for name, about in option.choices.items()) + "."
    return "" if option.choices is None else "One of " + ", ".join(f"`{name}`" for name in option.choices) + "."


def _range(option: Option) -> str:
    bounded = option.low is not None or option.high is not None or option.above is not None
    return f"Allowed: {option.range_text()}." if bounded else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(made: type[Options]) -> str:
    return " ".join(own_text(made).split())


def main() -> None:
    made = pages()
    (FOLDER / "commands").mkdir(parents=True, exist_ok=True)
    for old in {*(FOLDER / "commands").glob("*.md")} - {FOLDER / name for name in made}:
        old.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
