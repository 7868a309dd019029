"""Shell completion: the script for bash completes; those for other shells have all commands and flags."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_run import Cli

from palmette.cli import COMMANDS, GROUPS, load_command
from palmette.options import PARSER_LEARNERS, TAGGER_LEARNERS

TOP = [*(name for name in COMMANDS if " " not in name), *GROUPS, "--help", "--version"]
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

Complete = Callable[..., list[str]]


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.fixture
def complete(cli: Cli) -> Complete:
    """The completions of the last of some words, as bash finds them."""
    cli.write("script.bash", cli.fine("completion bash"))
    call = (
        'source script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _palmette; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    def completed(*words: str) -> list[str]:
        command = ["bash", "-c", call, "bash", "palmette", *words]
        ran = subprocess.run(command, cwd=cli.folder, capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        return ran.stdout.split()

    return completed


@needs_bash
def test_commands_are_completed(complete: Complete) -> None:
    assert complete("") == TOP
    assert complete("tr") == ["train", "trellis"]
    assert complete("c") == [name for name in TOP if name.startswith("c")]
    for group in GROUPS:
        verbs = [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{group} ")]
        assert complete(group, "") == verbs
    assert complete("nonsense", "--") == []


@needs_bash
def test_flags_are_completed(complete: Complete) -> None:
    for name in COMMANDS:
        flags = {f"--{flag.option.flag_name}" for flag in load_command(name).flags() if not flag.option.argument}
        assert flags | {"--help"} <= set(complete(*name.split(), "--"))
    assert complete("train", "x.txt", "--lear") == ["--learner", "--learner-nbest"]
    assert complete("train", "--no-en") == ["--no-ends"]
    assert "-o" in complete("parser", "train", "-")


@needs_bash
def test_choices_are_completed(complete: Complete) -> None:
    assert complete("train", "--learner", "") == list(TAGGER_LEARNERS)
    assert complete("parser", "train", "--learner", "") == list(PARSER_LEARNERS)
    assert complete("train", "--learner", "=", "mi") == ["mira"]  # bash splits --learner=mi
    assert complete("train", "--learner", "=") == list(TAGGER_LEARNERS)
    assert complete("train", "-f", "ch") == ["chunk", "char"]
    assert complete("tag", "m.palm", "--decode", "ex") == ["exact"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]


@needs_bash
def test_everything_else_is_a_file(complete: Complete) -> None:
    """Nothing is proposed, and `complete -o default` falls back on file names."""
    assert complete("train", "tr") == []
    assert complete("train", "-o", "") == []
    assert complete("tag", "m.palm", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_have_all_commands_and_flags(cli: Cli, shell: str) -> None:
    text = cli.fine(f"completion {shell}")
    for name in COMMANDS:
        for flag in load_command(name).flags():
            if not flag.option.argument:
                shown = f"-l {flag.option.flag_name} " if shell == "fish" else f"--{flag.option.flag_name}"
                assert shown in text


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".local/share/bash-completion/completions/palmette"),
        ("zsh", ".local/share/zsh/site-functions/_palmette"),
        ("fish", ".config/fish/completions/palmette.fish"),
    ],
)
def test_scripts_are_installed_where_shells_look(cli: Cli, shell: str, path: str) -> None:
    ran = cli(f"completion {shell} --install")
    assert (ran.code, ran.out) == (0, "")
    assert str(cli.folder / path) in ran.err
    assert ("fpath" in ran.err) == (shell == "zsh")
    assert cli.read(path) == cli.fine(f"completion {shell}")


def test_other_shells_are_refused(cli: Cli) -> None:
    ran = cli("completion tcsh")
    assert ran.code == 2
    assert "bash, zsh, fish" in ran.err
