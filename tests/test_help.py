"""Help texts: short and complete, and hints for the words of other tools."""

from __future__ import annotations

import pytest

from palmette import Tagger
from palmette.cli import COMMANDS, load_command, main
from palmette.cli.help import command_help
from palmette.options.other_tools import COMMAND_WORDS, PARAMETERS

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
    wide = [line for line in text.splitlines() if len(line) > 80 and "|" not in line]  # a list of choices is one word
    assert not wide


@pytest.mark.parametrize("name", LONG)
def test_short_help_has_few_options_and_says_where_the_others_are(name: str) -> None:
    command = load_command(name)
    text = command_help(command)
    assert len(command.common) <= 13
    assert listed(text) == set(command.common) <= flags_of(name)
    assert f"{len(flags_of(name)) - len(command.common)} further options: palmette {name} --help all" in text


def test_commands_with_more_than_twenty_options_have_a_short_help() -> None:
    assert {name for name in COMMANDS if len(flags_of(name)) > 20} <= set(LONG)


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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["predict"], "did you mean `palmette tag`?"),
        (["train", "x", "-o", "y", "--c2", "1"], "it is --l2 here"),
        (["train", "x", "-o", "y", "--algorithm", "lbfgs"], "it is --learner here"),
        (["train", "x", "-o", "y", "--max-iterations", "9"], "it is --iterations here"),
        (["train", "x", "-o", "y", "--feature.minfreq", "9"], "it is --min-feature-count here"),
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
