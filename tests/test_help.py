"""Help texts: short and complete, and hints for the words of other tools."""

from __future__ import annotations

import shlex

import pytest

from palmette import Tagger
from palmette.cli import COMMANDS, GROUPS, LISTED, load_command, main, overview
from palmette.cli.help import command_help
from palmette.options.other_tools import ARGUMENTS, COMMAND_WORDS, FLAGS, PARAMETERS

LONG = [name for name in COMMANDS if load_command(name).common]


@pytest.fixture(autouse=True)
def _at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def flags_of(name: str) -> set[str]:
    return {flag.option.flag_name for flag in load_command(name).flags() if not flag.option.argument}


def listed(text: str) -> set[str]:
    """The flags that have a row of their own."""
    rows = [line.split("  ")[1] for line in text.splitlines() if line.startswith(("  -", "  --"))]
    words = [word.replace("[no-]", "") for row in rows for word in row.replace(",", " ").split()]
    return {word[2:] for word in words if word.startswith("--")}


@pytest.mark.parametrize("name", COMMANDS)
def test_complete_help_has_every_option_and_fits_the_terminal(name: str) -> None:
    text = command_help(load_command(name), everything=True)
    assert listed(text) == flags_of(name)
    assert not [line for line in text.splitlines() if len(line) > 80]


@pytest.mark.parametrize("name", LONG)
def test_short_help_has_few_options_and_says_where_the_others_are(name: str) -> None:
    command = load_command(name)
    text = command_help(command)
    assert len(command.common) <= 13
    assert listed(text) == set(command.common) <= flags_of(name)
    assert f"{len(flags_of(name)) - len(command.common)} further options: palmette {name} --help all" in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if load_command(name).examples])
def test_the_examples_of_help_can_be_typed(name: str) -> None:
    command = load_command(name)
    assert all(f"\n  palmette {line}\n" in command_help(command) for line in command.examples)
    for line in command.examples:
        words = shlex.split(line)
        assert " ".join(words[: len(name.split())]) == name
        assert command.parsed(words[len(name.split()) :]) is not None


def test_commands_of_models_and_data_have_an_example() -> None:
    assert {"train", "tag", "eval", "compare", "convert", "parser train", "classifier train", "lm train"} <= {
        name for name in COMMANDS if load_command(name).examples
    }


def test_a_default_is_not_broken_over_two_lines() -> None:
    for name in COMMANDS:
        assert "(default:\n" not in command_help(load_command(name), everything=True).replace(" \n", "\n")


def test_commands_with_many_options_have_a_short_help() -> None:
    assert {name for name in COMMANDS if len(flags_of(name)) > 20} <= set(LONG)
    of_taggers = [name for name in COMMANDS if " " not in name]
    assert {name for name in of_taggers if len(flags_of(name)) > 15} <= set(LONG)


def test_the_overview_lists_every_command_once_and_fits_the_terminal() -> None:
    names = [line[2:18].strip() for line in overview().splitlines() if line.startswith("  ")]
    alone = ["classifier cues", "pipeline extract", "pipeline replace", "pipeline package", "lm sample", "hmm model"]
    assert names == [*LISTED, *alone]
    assert len(names) <= 32
    for group in GROUPS:
        listed_there = [line.split()[0] for line in overview(group).splitlines() if line.startswith("  ")]
        assert [f"{group} {name}" for name in listed_there] == [
            name for name in COMMANDS if name.startswith(group + " ")
        ]
    texts = [overview(), *map(overview, GROUPS)]
    assert not [line for text in texts for line in text.splitlines() if len(line) > 80]


def test_the_list_of_atoms_fits_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    main(["features", "--atoms"])
    text = capsys.readouterr().out
    assert "lower case" in text
    assert not [line for line in text.splitlines() if len(line) > 80]


def test_choices_that_are_too_wide_are_listed_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--format NAME " in command_help(load_command("tag"))
    text = " ".join(command_help(load_command("tag")).split())
    assert "One of auto, columns, conllu, attributes, jsonl, text, plain, prodigy, labelstudio, doccano, brat." in text
    monkeypatch.setenv("COLUMNS", "100")
    assert "--format auto|columns|conllu|" in command_help(load_command("tag"))


def test_a_named_learner_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "--learner", "mira", "--help"])
    text = capsys.readouterr().out
    assert "Options of the learner mira" in text
    assert "--step-cap" in text
    assert "--l2" not in text


def test_options_that_taggers_refuse_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "--help", "all"])
    assert "--candidates" not in capsys.readouterr().out


def test_a_default_is_shown_only_where_it_applies() -> None:
    tagger, parser = command_help(load_command("train")), command_help(load_command("parser train"))
    assert "(default: 8)" in parser[parser.index("--beam") :][:120]
    assert "default" not in tagger[tagger.index("--latent") : tagger.index("--passes")]


def test_words_of_other_tools_lead_to_commands_that_exist() -> None:
    assert set(COMMAND_WORDS.values()) <= set(COMMANDS)
    assert not set(COMMAND_WORDS) & set(COMMANDS)
    parameters = {name.replace("-", "_") for name in flags_of("train")}
    assert {name for name, _ in PARAMETERS.values()} <= parameters
    assert not set(PARAMETERS) & parameters
    for command, hints in FLAGS.items():
        flags = {f"--{name}" for name in flags_of(command)}
        named = {word.rstrip(",;") for hint in hints.values() for word in hint.split() if word.startswith("--")}
        assert named <= flags
        assert not {f"--{name}" for name in hints} & flags
    assert set(ARGUMENTS) <= set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["predict"], "did you mean `palmette tag`?"),
        (["train", "x", "-o", "y", "--c2", "1"], "it is --l2 here"),
        (["train", "x", "-o", "y", "--algorithm", "lbfgs"], "it is --learner here"),
        (["train", "x", "-o", "y", "--max-iterations", "9"], "it is --iterations here"),
        (["train", "x", "-o", "y", "--feature.minfreq", "9"], "it is --min-feature-count here"),
        (["train", "x", "-o", "y", "-1", "0.5"], "it is --l1 X here"),
        (["train", "x", "-o", "y", "-p", "patterns"], "--template FILE (Wapiti's -p)"),
        (["train", "template", "x", "model"], "the template is -t FILE here, and the model -o FILE"),
        (["tag", "-m", "model", "x"], "the model is the first argument here"),
        (["tag", "model", "x", "-n", "3"], "it is --nbest N here"),
        (["tag", "model", "x", "-v", "2"], "--marginals (-v2)"),
        (["convert", "x.json", "--output-format", "prodigy"], "it is --to here; a tag scheme is --to-scheme"),
        (["trellis", "m.palm", "x", "--svg", "x.svg"], "it is --picture now"),
        (["classifier", "train", "x", "-o", "y", "--init", "c.palm"], "it is --chunker-init now"),
    ],
)
def test_hints_for_the_words_of_other_tools(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


def test_hints_in_python() -> None:
    with pytest.raises(TypeError, match=r"no parameter 'c1'.*learner=Crf\(l1=...\)"):
        Tagger(c1=0.1)
    with pytest.raises(TypeError, match="'algorithm': it is learner here"):
        Tagger(algorithm="lbfgs")
