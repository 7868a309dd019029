"""Messages name parameters in Python and flags on the command line, and what they name is there."""

from __future__ import annotations

import ast
import inspect
import logging
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from cli_run import Cli, leave_demo

import palmette
from palmette import (
    HMM,
    Beam,
    Classifier,
    Crf,
    Dplvm,
    LabelHistory,
    LanguageModel,
    Latent,
    LinearClassifier,
    Mira,
    Parser,
    Tagger,
)
from palmette.cli import COMMANDS, load_command
from palmette.data import FormatSpec, TextSpec
from palmette.datasets import load_demo
from palmette.errors import PalmetteError, either, for_command_line, on_command_line
from palmette.estimators.base import FileUse, FitOptions
from palmette.options import Option, OptionError, Options, argument, named, spelt, variant_options
from palmette.options.spelling import ARGUMENTS
from palmette.structures import TagRequest

SOURCE = Path(palmette.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
TRAINED_BY = {Tagger: "train", Parser: "parser train", Classifier: "classifier train", LanguageModel: "lm train"}
# What is about the command line alone, about other programs, or the place where both spellings stand
ALLOWED = {
    "options/spelling.py": None,
    "options/other_tools.py": None,
    "lab/ablation.py": None,  # the text of `palmette compare --learners`
    "data/kinds.py": None,  # what is typed for each kind of model
    "data/model_file.py": {"--upgrade"},  # of pip
    "connect/wapiti_models.py": {"--type"},  # of wapiti
    "structures/chain/constraints.py": {"--to-scheme"},  # next to the name in Python
    "runtime/build.py": None,  # flags of the linker
    "runtime/start.py": None,  # the command line itself, for small files
    "training/chain/settle.py": {"--atoms", "--learner"},  # beside what Python has
    "pipeline/model.py": {"--format"},  # beside what Python has
    "pipeline/run.py": {"--format"},
    "reports/inspection.py": {"--label", "--json"},  # printed by a command
    "reports/svg.py": None,  # variables of style sheets
    "serve/page/assets.py": None,
    "parsing/drawing.py": None,
    "reports/trellis.py": None,
}


# The mechanism


def test_both_spellings() -> None:
    cases = [
        (spelt, (Tagger, "dev_share", 0.1), "dev_share=0.1", "--dev-share 0.1"),
        (spelt, (Crf, "iterations", 300), "learner=Crf(iterations=300)", "--iterations 300"),
        (spelt, (Latent, "states", 2), "states=Latent(2)", "--latent 2"),
        (spelt, (Latent, "states", {"NP": 2, "O": 3}), "states=Latent({'NP': 2, 'O': 3})", "--latent NP=2,O=3"),
        (spelt, (Beam, "width"), "search=Beam(...)", "--beam X"),
        (spelt, (Parser, "merge", True), "merge=True", "--merge-states"),
        (spelt, (Tagger, "ends", False), "ends=False", "--no-ends"),
        (spelt, (Tagger, "lexicons", {"a": "FILE"}), "lexicons={'a': 'FILE'}", "--lexicons a=FILE"),
        (spelt, (TextSpec, "max_line"), "spec=FormatSpec(max_line=...)", "--max-line BYTES"),
        (named, (FormatSpec, "label"), "FormatSpec(label=...)", "--label"),
        (named, (Tagger, "min_count"), "min_count", "--min-count"),
        (named, (Beam, "width"), "width", "--beam"),
        (argument, ("dev",), "dev=(X, y)", "--dev FILE"),
        (argument, ("positive", "yes"), "positive='yes'", "--positive yes"),
        (either, ("fit", "`palmette train`"), "fit", "`palmette train`"),
    ]
    for function, given, python, flags in cases:
        assert function(*given) == python
        with for_command_line():
            assert function(*given) == flags
    assert not on_command_line()


def test_a_wrong_option_is_named_as_it_was_given() -> None:
    assert str(OptionError("dev_share", "is odd")) == "dev_share: is odd"
    with for_command_line():
        assert str(OptionError("states", "is odd", "latent")) == "--latent: is odd"
        assert str(OptionError("split_after, tied_update", "are odd")) == "--split-after, --tied-update: are odd"


def test_threads_of_a_command_speak_as_it_does() -> None:
    heard: list[bool] = []
    with for_command_line():
        thread = threading.Thread(target=lambda: heard.append(on_command_line()))
        thread.start()
        thread.join()
    assert heard == [True]


def test_the_command_line_is_left_again(tmp_path: Path, cli: Cli) -> None:
    assert cli("train nothing.txt -o m.palm").code == 1
    assert not on_command_line()


# What is declared


def declared(estimator: type[Options]) -> Iterator[tuple[type[Options], Option]]:
    """All options of an estimator and of what it may be given, that both worlds have."""
    for option in estimator.__options__.values():
        if not option.python_only and option.variants is None:
            yield estimator, option
    for outer, kind, option in variant_options(estimator):
        assert outer.variants is not None
        if not option.python_only:
            yield outer.variants[kind], option


def some_value(option: Option) -> Any:
    """A value that the option allows and that has a literal, if there is one; None: it takes files or objects."""
    kinds = option.kinds()
    tried: list[Any] = [*(option.choices or ()), False, True, option.low, option.high, 0.5, 1, 2, 3, "bigram", "chunk"]
    for value in [] if object in kinds else tried:
        if value is None or (isinstance(value, bool) and bool not in kinds):
            continue
        if isinstance(value, str) and option.choices is None and option.parse is not None:
            continue
        try:
            option.checked(value)
        except OptionError:
            continue
        return int(value) if isinstance(value, float) and float not in kinds else value
    return None


@pytest.mark.parametrize("estimator", TRAINED_BY)
def test_every_option_can_be_given_as_it_is_spelt(estimator: type[Options]) -> None:
    flags = {f"--{flag.option.flag_name}" for flag in load_command(TRAINED_BY[estimator]).flags()}
    hidden = {f"--{name}" for name in load_command(TRAINED_BY[estimator]).hidden}
    names = {name: getattr(palmette, name) for name in palmette.__all__}
    tested = left_out = 0
    for owner, option in declared(estimator):
        with for_command_line():
            assert named(owner, option.name) in flags | hidden
            flag = spelt(owner, option.name)
        assert flag.split(" ")[0] in flags | hidden
        value = some_value(option)
        if value is None or option.kinds() == (NoneType,):
            continue
        with for_command_line():
            words = shlex.split(spelt(owner, option.name, value))
        if not option.is_switch:
            assert option.from_text(words[1]) == value
        try:
            made = eval(f"{estimator.__name__}({spelt(owner, option.name, value)})", dict(names))
        except OptionError:  # it needs another option beside it
            left_out += 1
            continue
        inside = made if owner is estimator else getattr(made, owner.parameter)  # type: ignore[attr-defined]
        assert getattr(inside, option.name) == value
        tested += 1
    assert tested >= 2
    assert left_out <= tested // 10


def parameters() -> set[str]:
    """The parameters of all methods and functions of the Python interface, those that all `fit` share, and the fields
    of requests."""
    found = {*TagRequest.__struct_fields__, *FitOptions.__annotations__, *FileUse._fields}
    rooms = [getattr(getattr(palmette, room), name) for room, names in palmette._ROOMS.items() for name in names]
    for made in (*(getattr(palmette, name) for name in palmette.__all__), *rooms):
        members = [made] if inspect.isfunction(made) else [m for _, m in inspect.getmembers(made, inspect.isroutine)]
        for member in members:
            if inspect.isfunction(member) or inspect.ismethod(member):
                found |= set(inspect.signature(member).parameters)
    return found


def test_arguments_are_there_in_both_worlds() -> None:
    flags = {f"--{flag.option.flag_name}" for name in COMMANDS for flag in load_command(name).flags()}
    known = parameters()
    for name, (python, flag) in ARGUMENTS.items():
        assert python.partition("=")[0] == name
        assert name in known, name
        assert flag.split(" ")[0] in flags, flag


# What is in the sources


def texts(tree: ast.Module) -> Iterator[str]:
    """String constants of a module, without docstrings and the help of options, which the command line prints."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out |= {id(part) for part in ast.walk(node) if isinstance(node.value, ast.Constant)}
        if isinstance(node, ast.keyword) and node.arg == "help":
            left_out |= {id(part) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def test_no_module_below_the_command_line_writes_flags_itself() -> None:
    seen = 0
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if re.match(r"(cli|kernels|serve(?!/page))/|.*[/_]commands?(/|\.py)", name):  # a server is started by a command
            continue
        found = {flag for text in texts(ast.parse(file.read_text(encoding="utf-8"))) for flag in FLAG.findall(text)}
        seen += len(found)
        allowed = ALLOWED.get(name, set())
        assert allowed is None or found <= allowed, f"{name}: {found}: use options/spelling.py"
    assert seen > 10  # the search finds what there is


# Cases in both worlds

WORDS, TAGS = load_demo("train")
X, Y = WORDS[:12], TAGS[:12]
TREES = [[("We", "PRON"), ("go", "VERB")]] * 3, [[(2, "nsubj"), (0, "root")]] * 3
TRAIN = "train train.txt -o m.palm -q"
PARSE = "parser train t.conllu -o p.palm -q"
Case = tuple[Callable[[], Any], str, str, str]
CASES: dict[str, Case] = {
    "bad value": (
        lambda: Tagger(passes=0).fit(X, Y), f"{TRAIN} --passes 0",
        "passes: 0 is not a whole number of at least 1", "--passes: 0 is not a whole number of at least 1",
    ),
    "option of a learner": (
        lambda: Tagger(learner=Mira(nbest=0)), f"{TRAIN} --learner mira --learner-nbest 0",
        "nbest: 0 is not a whole number from 1 to", "--learner-nbest: 0 is not a whole number from 1 to",
    ),
    "another name": (
        lambda: Tagger(search=Beam(0)), f"{TRAIN} --beam 0",
        "width: 0 is not", "--beam: 0 is not",
    ),
    "passes of L-BFGS": (
        lambda: Tagger(learner="crf", passes=5).fit(X, Y), f"{TRAIN} --learner crf --passes 5",
        "not passes: use learner=Crf(iterations=5)", "not passes: use --iterations 5",
    ),
    "iterations of sgd": (
        lambda: Crf(optimiser="sgd", iterations=5), f"{TRAIN} --learner crf --optimiser sgd --iterations 5",
        "use passes=...", "use --passes X",
    ),
    "hidden states": (
        lambda: Tagger(learner=Dplvm()).fit(X, Y), f"{TRAIN} --learner dplvm",
        "for instance states=Latent(2)", "for instance --latent 2",
    ),
    "an unknown label of states": (
        lambda: Tagger(states=Latent({"XX": 2})).fit(X, Y), f"{TRAIN} --latent XX=2",
        "states: no label 'XX'", "--latent: no label 'XX'",
    ),
    "patience without development data": (
        lambda: Tagger(patience=2).fit(X, Y), f"{TRAIN} --patience 2",
        "patience and tune_bias need development data: dev=(X, y) or dev_share=0.1",
        "--patience and --tune-bias need development data: --dev FILE or --dev-share 0.1",
    ),
    "mavg": (
        lambda: Tagger(estimator="mavg", mavg_every="auto").fit(X, Y), f"{TRAIN} --estimator mavg --mavg-every auto",
        "give dev=(X, y) or dev_share=0.1", "give --dev FILE or --dev-share 0.1",
    ),
    "restarts": (
        lambda: Tagger(states=Latent(2, restarts=2)).fit(X, Y), f"{TRAIN} --latent 2 --restarts 2",
        "restarts selects", "--restarts selects",
    ),
    "half of a stop rule": (
        lambda: Tagger(stop_error=1.0).fit(X, Y), f"{TRAIN} --stop-error 1",
        "stop_error: belongs to stop_window: give both, such as stop_window=5",
        "--stop-error: belongs to --stop-window: give both, such as --stop-window 5",
    ),
    "tuning with a beam": (
        lambda: Tagger(search=Beam(4), tune_bias=True).fit(X, Y, dev=(X, Y)),
        f"{TRAIN} --beam 4 --tune-bias --dev dev.txt",
        "or use bias={label: ...} when tagging", "or use --bias LABEL=X when tagging",
    ),
    "the metric": (
        lambda: Tagger("pos", metric="f1").fit(X, [["A"] * len(x) for x in X], dev=(X, [["A"] * len(x) for x in X])),
        "train train.txt -o m.palm -q --label 1 --columns 0 --metric f1 --dev dev.txt",
        "or constraints='bare' if each run", "or --constraints bare if each run",
    ),
    "strict tags": (
        lambda: Tagger("pos", constraints="strict").fit(X, [["A"] * len(x) for x in X]),
        "train train.txt -o m.palm -q --label 1 --columns 0 --constraints strict",
        "constraints='strict': labels of a tag scheme", "--constraints strict: labels of a tag scheme",
    ),
    "partial labels and a beam": (
        lambda: Tagger("pos", search=Beam(2), partial=True).fit([["a", "b"]] * 2, [["A", "?"], ["B", "A"]]),
        "train part.txt -o m.palm -q --beam 2 --partial --features pos",
        "need exact search: search='viterbi'", "need exact search: --search viterbi",
    ),
    "doubtful labels": (
        lambda: Tagger("pos").fit([["a", "b"]] * 2, [["A", "B|A"], ["B", "?"]]),
        "train half.txt -o m.palm -q --features pos",
        "give partial=True if", "give --partial if",
    ),
    "a missing column": (
        lambda: Tagger("chunk", passes=1).fit(X, Y).predict([["Time", "flies"]]), "tag c.palm words.txt -q",
        "let another model make them: add=[tagger]", "let another model make them: --with pos=pos.palm",
    ),
    "search of a model": (
        lambda: Tagger("chunk", passes=1).fit(X, Y).search_with("viterbi", 4),
        "tag c.palm test.txt -q --search viterbi --beam 4",
        "beam: exact search has no width; leave it out, or use search='beam'",
        "--beam: exact search has no width; leave it out, or use --search beam",
    ),
    "n-best": (
        lambda: Tagger("chunk", passes=1).fit(X, Y).nbest(X, 0), "tag c.palm test.txt -q --nbest 2000",
        "nbest: 0 is not", "--nbest: 2000 is not",
    ),
    "no probabilities": (
        lambda: Tagger("chunk", passes=1).fit(X, Y).predict_proba(X), "tag c.palm test.txt -q --bias O=nan",
        "(calibrate(X, y))", "--bias: nan for O is not a number",
    ),
    "states of a plain model": (
        lambda: Tagger("chunk", passes=1).fit(X, Y).tag_file("test.txt", "out.txt", states=True),
        "tag c.palm test.txt -q --show-states",
        "train it with states=Latent(2) or states=LabelHistory('bigram')",
        "train it with --latent 2 or --label-history bigram",
    ),
    "encoding": (
        lambda: Tagger().fit_file("latin.txt"), "train latin.txt -o m.palm -q",
        "For example: spec=FormatSpec(encoding='latin-1')", "For example: --encoding latin-1",
    ),
    "ragged lines": (
        lambda: Tagger().fit_file("ragged.txt"), "train ragged.txt -o m.palm -q",
        "(spec=FormatSpec(ragged='pad') adds or drops cells)", "(--ragged pad adds or drops cells)",
    ),
    "only labels": (
        lambda: Tagger().fit_file("labels.txt"), "train labels.txt -o m.palm -q",
        "see FormatSpec(label=...)", "see --label",
    ),
    "a lexicon": (
        lambda: Tagger(template="lex.txt").fit_file("train.txt"), "train train.txt -o m.palm -q -t lex.txt",
        "give it: lexicons={'places': 'FILE'}", "give it: --lexicons places=FILE",
    ),
    "patience of a parser": (
        lambda: Parser(patience=2).fit(*TREES), f"{PARSE} --patience 2",
        "patience: needs development data: dev=treebank", "--patience needs development data: --dev FILE",
    ),
    "patience of a classifier": (
        lambda: Classifier(patience=2).fit([["a"], ["b"]], ["0", "1"]),
        "classifier train classes.txt -o c2.palm -q --patience 2 --positive y",
        "patience: needs development data: dev=(X, y) or dev_share=0.1",
        "--patience: needs development data: --dev FILE or --dev-share 0.1",
    ),
    "merging": (
        lambda: Parser(search=Beam(4, recombine=True)).fit(*TREES), f"{PARSE} --recombine",
        "merges states with merge=True", "merges states with --merge-states",
    ),
    "hidden variants": (
        lambda: Parser(init_size=0.5).fit(*TREES), f"{PARSE} --variants-init-size 0.5",
        "init_size: is for hidden variants: variants=2", "--variants-init-size: is for hidden variants: --variants 2",
    ),
    "trees that are none": (
        lambda: Parser().fit_file("cycle.conllu"), "parser train cycle.conllu -o p.palm -q",
        "leave such sentences out with skip_bad=True", "leave such sentences out with --skip-bad",
    ),
    "classes": (
        lambda: Classifier().fit([["a"], ["b"]], ["x", "y"]), "classifier train classes.txt -o c2.palm -q",
        "Give positive='y', for example", "Give --positive y, for example",
    ),
    "features of an hmm": (
        lambda: Tagger("chunk", learner="hmm").fit(X, Y), f"{TRAIN} --learner hmm --features chunk",
        "features: an hmm reads only words", "--features: an hmm reads only words",
    ),
    "a model file": (
        lambda: Tagger.load("train.txt"), "tag train.txt train.txt -q",
        "make one with fit and save", "make one with `palmette train`",
    ),
}  # fmt: skip


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.fixture
def folder(cli: Cli) -> Cli:
    """The files of the cases."""
    leave_demo(cli.folder)
    Tagger("chunk", passes=1).fit(X, Y).save(cli.folder / "c.palm")
    cli.write("part.txt", "a A\nb ?\n\na B\nb A\n")
    cli.write("half.txt", "a A\nb B|A\n\na B\nb ?\n")
    cli.write("words.txt", "Time\nflies\n")
    cli.write("latin.txt", "caf\xe9 A\nb B\n".encode("latin-1"))
    cli.write("ragged.txt", "a b A\nc B\n")
    cli.write("labels.txt", "A\nB\n")
    cli.write("lex.txt", "U0:%x[0,0]\nU1:%x[0,0,lexicon:places]\nB\n")
    words = "1\tWe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tgo\t_\tVERB\t_\t_\t{}\troot\t_\t_\n\n"
    cli.write("t.conllu", words.format(0) * 3)
    cli.write("cycle.conllu", words.format(1))
    cli.write("classes.txt", "x\ta b\ny\tc d\n")
    return cli


@pytest.mark.parametrize("case", CASES)
def test_an_error_speaks_to_who_made_it(case: str, folder: Cli) -> None:
    in_python, line, python, flags = CASES[case]
    with pytest.raises(PalmetteError) as caught:
        in_python()
    message = str(caught.value)
    assert python in message
    assert not FLAG.search(message)
    ran = folder(line)
    assert ran.code in (1, 2)
    assert flags in ran.err


def test_warnings_speak_so_too(folder: Cli, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "palmette"):
        Tagger("chunk", learner=Crf(iterations=2)).fit(X, Y)
    assert "use learner=Crf(iterations=6), or a larger tolerance" in caplog.text
    assert not FLAG.search(caplog.text)
    said = folder("train train.txt -o m.palm --features chunk --learner crf --iterations 2").err
    assert "use --iterations 6, or a larger --tolerance" in said
    folder.write("same.txt", "a A A\nb B B\n\n" * 5)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "palmette"):
        Tagger(passes=1).fit_file(folder.folder / "same.txt")
    assert "see FormatSpec(columns=...)" in caplog.text
    assert "see --columns" in folder("train same.txt -o m.palm --passes 1").err


def test_parameters_of_other_tools_are_named_in_python() -> None:
    for estimator in (Tagger, LinearClassifier):
        with pytest.raises(TypeError) as caught:
            estimator(max_iterations=5, c2=0.1)  # type: ignore[call-arg]
        assert "learner=Crf(iterations=...)" in str(caught.value)
        assert not FLAG.search(str(caught.value))
    with pytest.raises(TypeError, match="HMM has no parameter 'passes'"):
        HMM(passes=3)  # type: ignore[call-arg]
    assert LabelHistory().memory == "bigram"
