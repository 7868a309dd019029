"""Outputs of commands and functions: they never replace an input, or a file that is not theirs to replace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import Cli, leave_demo, spawn

from palmette import Tagger
from palmette.cli import COMMANDS, load_command
from palmette.cli.command import Command, check_paths
from palmette.data import check_apart
from palmette.errors import UsageError, visible
from palmette.options import Option

# Options with a text that does not name files
NO_FILES = {
    "text", "ray", "constraints", "label-history", "encoding", "separator", "columns", "label", "tag-names",
    "output-encoding", "bias", "known", "to", "scheme", "learners", "try", "skip", "host", "token", "allow-host",
    "components", "sentences", "what", "ignore", "positive", "views", "latent", "chunker-init-range", "length",
    "show-label", "to-scheme",
    "licence", "version",
}  # fmt: skip
PATHS = {"input", "output", "model", "folder"}


def options_of(name: str) -> list[Option]:
    return [flag.option for flag in load_command(name).flags()]


def pairs() -> list[tuple[str, Option, Option]]:
    """Every output of every command with every input."""
    return [
        (name, output, source)
        for name in COMMANDS
        for output in options_of(name)
        for source in options_of(name)
        if output.path in ("output", "model") and source.path == "input"
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    leave_demo(folder)
    Tagger("chunk", learner="perceptron", passes=1).fit_file(folder / "train.txt").save(folder / "chunk.palm")
    return folder


@pytest.fixture
def cli(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    return Cli(tmp_path, capsys, monkeypatch)


# --- declarations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_text_is_declared_as_a_file_or_known_to_be_none(name: str) -> None:
    for option in options_of(name):
        number = (int in option.kinds() or float in option.kinds()) and str not in option.kinds()
        if (name, option.flag_name) == ("pipeline package", "name"):  # elsewhere `name` may be a file
            continue
        if option.is_switch or number or option.choices is not None or option.variants is not None:
            continue
        assert (option.path in PATHS) != (option.flag_name in NO_FILES), option.flag_name


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_that_write_models_have_force(name: str) -> None:
    command = load_command(name)
    writes = any(option.path == "model" for option in options_of(name)) or name in ("demo", "convert")
    assert writes == ("force" in command.__options__)


def typed(command: type[Command], values: dict[str, str]) -> Command:
    """The command with options by name; what else is required names files that do not exist."""
    words: list[str] = []
    for flag in command.flags():
        option = flag.option
        value = values.get(option.name, f"none-{option.name}" if option.required else None)
        if value is None and option.argument and not option.repeat:
            value = f"none-{option.name}"  # the arguments after it keep their places
        if value is None:
            continue
        value = f"x={value}" if "NAME=" in (option.metavar or "") else value
        words += [value] if option.argument else [f"--{option.flag_name}", value]
    return command.parsed(words)


@pytest.mark.parametrize(
    ("name", "output", "source"), pairs(), ids=lambda each: each.name if isinstance(each, Option) else each
)
def test_an_output_that_is_an_input_is_refused(
    name: str, output: Option, source: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("")
    os.link("in", "out")
    command = typed(load_command(name), {output.name: "out", source.name: "in"})
    if source.name in command.updates:
        check_paths(command)
    else:
        with pytest.raises(UsageError, match="choose another name"):
            check_paths(command)
    check_paths(typed(load_command(name), {output.name: "new", source.name: "in"}))


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("train train.txt -o train.txt", "train.txt"),
        ("train train.txt --dev dev.txt -o dev.txt", "dev.txt"),
        ("train train.txt -o dev.txt", "dev.txt"),
        ("train train.txt -o m.palm --picture train.txt", "train.txt"),
        ("compact chunk.palm -o test.txt", "test.txt"),
        ("compact chunk.palm -o chunk.palm", "chunk.palm"),
        ("calibrate chunk.palm dev.txt -o dev.txt", "dev.txt"),
        ("tag chunk.palm test.txt -o chunk.palm", "chunk.palm"),
        ("tag chunk.palm test.txt -o ./test.txt", "test.txt"),
        ("tag chunk.palm test.txt dev.txt -o ./", "test.txt"),
        ("page chunk.palm -o chunk.palm", "chunk.palm"),
        ("convert train.txt -o train.txt --to-scheme iobes", "train.txt"),
        ("demo --dataset vowels", "vowels.txt"),
        ("demo -o .", "pos.palm"),
        ("synth -o a.txt --dev-output a.txt", "a.txt"),
        ("lm train train.txt -o text.arpa", "text.arpa"),
    ],
)
def test_nothing_is_destroyed(cli: Cli, line: str, file: str) -> None:
    path = cli.folder / file
    if not path.exists():
        path.write_text("mine\n")
    before = path.read_bytes()
    ran = cli(line)
    assert ran.code in (1, 2)
    assert file in ran.err
    assert path.read_bytes() == before


def test_force_replaces_a_file_that_is_not_a_model(cli: Cli) -> None:
    cli.write("old", "mine\n")
    ran = cli("compact chunk.palm -o old")
    assert (ran.code, "--force" in ran.err) == (1, True)
    cli.fine("compact chunk.palm -o old --force")
    cli.fine("compact chunk.palm -o old")  # a model now
    assert cli("train train.txt -o train.txt --force").code == 2
    cli.write("vowels.txt", "mine\n")
    cli.fine("demo --dataset vowels --force")


def test_empty_files_are_replaced_and_models_updated(cli: Cli) -> None:
    cli.write("empty", "")
    cli.fine("compact chunk.palm -o empty")
    cli.fine("calibrate chunk.palm dev.txt -o chunk.palm")
    cli.write("words.txt", "a b c\nb c a\n" * 9)
    cli.fine("lm train words.txt -o text.arpa")
    cli.fine("lm train words.txt -o text.arpa")


# --- Python -------------------------------------------------------------------------------------------------


def test_names_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("a")
    os.symlink("a", "b")
    check_apart(["c", "-", "/dev/null"], ["a", "-", "/dev/null"])
    for output in ("a", "./a", "b"):
        with pytest.raises(UsageError):
            check_apart([output], ["a"])
    with pytest.raises(UsageError, match="one file"):
        check_apart(["new", "./new"], [])


def test_names_that_stand_for_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is read with all its files, annotations of brat with their text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brat" / "sub").mkdir(parents=True)
    for name in ("brat/a.ann", "brat/a.txt", "brat/sub/b.txt"):
        Path(name).write_text("")
    for output, source in (
        ("brat/a.txt", "brat"), ("brat/a.ann", "brat"), ("brat/sub/b.txt", "brat"), ("brat/a.txt", "brat/a.ann"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="would be replaced"):
            check_apart([output], [source])
    check_apart(["brat/c.ann"], ["brat"])
    check_apart(["brat/a.ann"], ["brat/a.txt"])  # annotates a text in place


def test_functions_refuse_their_input_as_output(cli: Cli) -> None:
    tagger = Tagger.load(cli.folder / "chunk.palm")
    before = cli.read("test.txt")
    with pytest.raises(UsageError, match="would be replaced"):
        tagger.tag_file("test.txt", "test.txt")
    with pytest.raises(UsageError, match="would be replaced"):
        Tagger(shards=2).fit_files(["train.txt", "test.txt"], output="test.txt")
    assert cli.read("test.txt") == before


# --- pipes and terminals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
def test_training_goes_on_if_its_messages_have_no_reader(cli: Cli, closed: str) -> None:
    read, write = os.pipe()
    os.close(read)
    streams = {name: write for name in ("stdout", "stderr") if closed in (name, "both")}
    process = spawn(cli.folder, "train", "train.txt", "-o", "m.palm", "--passes", "3", **streams)
    process.communicate(timeout=120)
    os.close(write)
    assert process.returncode == 0
    assert Tagger.load(cli.folder / "m.palm").labels_


@pytest.mark.parametrize(
    "line",
    [
        "inspect m.palm",
        "inspect m.palm --card",
        "eval m.palm data.txt",
        "check data.txt",
        "inspect m.palm --show-label x\x1b[2J",
    ],
)
def test_control_characters_do_not_reach_the_terminal(cli: Cli, line: str) -> None:
    names = ["w\x1b]0;title\x07", "v\x9b2J"]
    cli.write("data.txt", "".join(f"{name}\tB-X\x1b[31m\nword\tO\x7f\n\n" for name in names * 5))
    Tagger(learner="perceptron", passes=2).fit_file("data.txt").save("m.palm")
    process = spawn(cli.folder, *line.split(" "))
    shown = b"".join(process.communicate(timeout=120)).decode()
    assert "\\u001b" in shown
    assert not [c for c in shown if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f")]


def test_data_on_a_terminal_has_no_control_characters(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    code = """from palmette.data.files import write_whole
with write_whole("-") as out:
    out.write("a\\x1b[2J\\x9b\\xe9\\n".encode())"""
    subprocess.run([sys.executable, "-c", code], stdout=terminal, check=True, timeout=60)
    assert os.read(controller, 100).decode().rstrip() == "a\\u001b[2J\\u009bé"
    os.close(controller)
    os.close(terminal)


def test_visible() -> None:
    assert visible("a\tb\r\n\x1b[0m\rc\u202f\x85\r") == "a\tb\r\n\\u001b[0m\\u000dc\u202f\\u0085\r"
