"""Options are declared once: constructors, parameters, checks, flags and stored values follow from the declarations."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from palmette import (
    HMM,
    Beam,
    Classifier,
    Crf,
    LabelHistory,
    Latent,
    LinearClassifier,
    Mira,
    Parser,
    PassiveAggressive,
    Perceptron,
    Tagger,
)
from palmette.classification.options import ClassifierOptions
from palmette.cli import COMMANDS, load_command
from palmette.cli.command import Command
from palmette.cli.help import command_help
from palmette.errors import UsageError
from palmette.options import (
    LEARNERS,
    TAGGER_LEARNERS,
    Option,
    OptionError,
    Options,
    TaggerOptions,
    Value,
    assemble,
    flat_name,
    flat_options,
    option,
    variant_options,
)
from palmette.options.chain import TAGGER_STATES
from palmette.options.declare import UnknownOption, own_text
from palmette.options.search import TAGGER_SEARCHES
from palmette.parsing.options import ParserOptions

ESTIMATORS = (Tagger, Parser, Classifier, LinearClassifier, HMM)
TRAINS = {"train": TaggerOptions, "parser train": ParserOptions, "classifier train": ClassifierOptions}
VARIANTS = {**LEARNERS, **TAGGER_SEARCHES, **TAGGER_STATES}


class Pot(Value):
    kind = "pot"
    size: int = option(default=3, low=1, high=9, kw_only=False, help="Size.")
    colour: str = option(default="red", choices={"red": "as it comes", "blue": "painted"}, help="Colour.")


class Pan(Value):
    kind = "pan"
    depth: float = option(default=0.5, above=0.0, flag="pan-depth", selects=True, help="Depth.")


class Kitchen(Options):
    vessel: Value | str = option(default="pot", variants={"pot": Pot, "pan": Pan}, help="What to cook in.")
    cooks: int | None = option(default=None, low=1, help="Cooks.")
    gas: bool = option(default=True, help="Gas.")


# --- declarations -------------------------------------------------------------------------------------------


def test_a_declaration_is_a_parameter() -> None:
    assert list(inspect.signature(Kitchen).parameters) == ["vessel", "cooks", "gas"]
    assert str(inspect.signature(Pot)) == "(size=3, *, colour='red')"
    made = Kitchen(cooks=2)
    assert made._values() == {"vessel": "pot", "cooks": 2, "gas": True}
    assert made._changed() == {"cooks": 2}
    with pytest.raises(TypeError, match="at most 1 arguments by position"):
        Pot(1, 2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="size is given twice"):
        Pot(1, size=2)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("cooks", 0, "0 is not a whole number of at least 1"),
        ("cooks", 1.5, "1.5 is not a whole number"),
        ("cooks", True, "True is not a whole number"),
        ("cooks", "3", "'3' is not a whole number"),
        ("gas", "yes", "'yes' is not true or false"),
        ("vessel", "jug", "there is no 'jug'; choose one of pot, pan"),
        ("vessel", Mira(), "mira does not apply to a Kitchen; choose one of pot, pan"),
    ],
)
def test_wrong_values(name: str, value: Any, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        Kitchen(**{name: value})._check_values()
    assert str(caught.value).startswith(f"{name}: {problem}")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: Pot(10), "size: 10 is not a whole number from 1 to 9"),
        (lambda: Pot(colour="green"), "colour: there is no 'green'; choose one of red, blue"),
        (lambda: Pan(depth=0), "depth: 0 is not a number above 0"),
        (lambda: Pan(depth=float("nan")), "depth: nan is not a number"),
        (lambda: Pan(depth=float("inf")), "depth: inf is not a number"),
    ],
)
def test_values_are_checked_when_they_are_made(made: Any, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        made()


def test_numbers_of_numpy_become_numbers() -> None:
    pot, pan = Pot(np.int64(4)), Pan(depth=np.float32(0.25))  # type: ignore[arg-type]
    assert (type(pot.size), type(pan.depth)) == (int, float)
    assert pot == Pot(4)


def test_parameters_of_others_are_unknown() -> None:
    with pytest.raises(UnknownOption, match=r"it is an option of pan, as in vessel=Pan\(depth=\.\.\.\)"):
        Kitchen(depth=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no parameter 'lid'; it has vessel, cooks, gas"):
        Kitchen(lid=3)  # type: ignore[call-arg]


def test_values_do_not_change() -> None:
    pot = Pot(4)
    with pytest.raises(AttributeError, match=r"replace\(size=\.\.\.\)"):
        pot.size = 5  # type: ignore[misc]
    assert pot.replace(colour="blue") == Pot(4, colour="blue") != pot
    assert len({Pot(4), Pot(4), Pot(5), Pan()}) == 3
    assert Pot.from_dict(pot.to_dict()) == pot
    with pytest.raises(OptionError, match="not a table"):
        Pot.from_dict(3)
    with pytest.raises(OptionError, match="lid: Pot has no such option"):
        Pot.from_dict({"kind": "pot", "lid": 1})


def test_settings_are_stored_with_their_variants() -> None:
    settings = Tagger(learner=Mira(nbest=5), search=Beam(8, update="early"), passes=3)._settings()
    stored = json.loads(json.dumps(settings.to_dict()))
    assert stored["learner"] == {
        "kind": "mira", "candidates": "beam", "nbest": 5, "aggressiveness": 0.1, "step_cap": "each", "cost": "hamming",
    }  # fmt: skip
    assert type(settings).from_dict(stored) == settings
    with pytest.raises(OptionError, match=r"learner: .* is none of auto, perceptron, "):
        type(settings).from_dict(stored | {"learner": {"kind": "magic"}})


# --- flat names ---------------------------------------------------------------------------------------------


def test_flat_names_become_values() -> None:
    assert assemble(Kitchen, {}) == {}
    assert assemble(Kitchen, {"size": 4, "cooks": 2}) == {"vessel": Pot(4), "cooks": 2}
    assert assemble(Kitchen, {"pan_depth": 1.0}) == {"vessel": Pan(depth=1.0)}  # its flag selects it
    assert assemble(Kitchen, {"vessel": "pan"}) == {"vessel": "pan"}
    assert assemble(Kitchen, {"size": 4}, {"vessel": Pot(2, colour="blue")}) == {"vessel": Pot(4, colour="blue")}
    with pytest.raises(OptionError, match="size: is an option of pot; the vessel is pan"):
        assemble(Kitchen, {"vessel": "pan", "size": 4})
    with pytest.raises(OptionError, match="lid: Kitchen has no such option"):
        assemble(Kitchen, {"lid": 4})


@pytest.mark.parametrize(
    ("flat", "params"),
    [
        ({"learner": "mira", "nbest": 5}, {"learner": Mira(nbest=5)}),
        ({"beam": 4, "update": "early"}, {"search": Beam(4, update="early")}),
        ({"latent": 3, "tied_update": 0.0}, {"states": Latent(3, tied_update=0.0)}),
        ({"label_history": "bigram"}, {"states": LabelHistory("bigram")}),
        ({"learner": "crf", "l2": 0.5, "order": 2}, {"learner": Crf(l2=0.5), "order": 2}),
    ],
)
def test_flat_names_of_taggers(flat: dict, params: dict) -> None:
    assert assemble(TaggerOptions, flat) == params
    Tagger(**params)._settings()


@pytest.mark.parametrize(
    ("flat", "nested"),
    [
        ({"learner": "crf", "l2": 1}, {"learner": Crf(l2=1)}),
        ({"learner": Crf(l2=1), "l1": 2}, {"learner": Crf(l1=2, l2=1)}),
        ({"latent": 3, "beam": 4, "learner": "mira", "nbest": 2},
         {"states": Latent(3), "search": Beam(4), "learner": Mira(nbest=2)}),
        ({"search": "beam", "update": "early"}, {"search": Beam(update="early")}),
    ],
)  # fmt: skip
def test_estimators_take_flat_names(flat: dict[str, Any], nested: dict[str, Any]) -> None:
    made = Tagger(**flat)
    assert made._settings() == Tagger(**nested)._settings()
    variants = {"learner", "search", "states"}
    inner = {name: value for name, value in flat.items() if name not in variants}
    outer = {name: value for name, value in flat.items() if name in variants}
    assert Tagger(**outer).set_params(**inner)._settings() == made._settings()
    again = type(made)(**made.get_params(deep=False))
    assert all(again.get_params(deep=False)[name] is value for name, value in made.get_params(deep=False).items())


@pytest.mark.parametrize(
    ("flat", "problem"),
    [
        ({"learner": "mira", "l2": 1}, "option of crf.*the learner is mira"),
        ({"update": "early"}, "option of beam; the search is viterbi"),
        ({"learner": Crf(l2=1), "l2": 2}, "l2: it is given twice"),
        ({"learner": "mira", "nbest": 0}, "from 1 to 1,000"),
        ({"threads": 2}, "a parameter of fit"),
    ],
)
def test_flat_names_that_do_not_apply(flat: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Tagger(**flat)


def test_options_of_other_learners_name_their_owner() -> None:
    with pytest.raises(OptionError, match=r"nbest: is an option of probperc and mira.*; the learner is auto"):
        assemble(TaggerOptions, {"nbest": 5})
    with pytest.raises(UsageError, match=r"'width'.*option of beam, as in search=Beam\(width=\.\.\.\)"):
        Tagger(width=5)  # type: ignore[call-arg]


# --- estimators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda made: made.__name__)
def test_estimators_as_scikit_learn_wants_them(estimator: Any) -> None:
    made = estimator()
    assert inspect.signature(estimator).parameters.keys() == made.get_params(deep=False).keys()
    assert made.get_params(deep=False) == estimator.__new__(estimator)._values()
    copied = clone(made.set_params(**({"passes": 3} if "passes" in made.get_params() else {"order": 2})))
    assert copied is not made
    assert copied.get_params() == made.get_params()
    assert repr(copied) == repr(made)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.get_params() == made.get_params()


@pytest.mark.parametrize("made", [
    Tagger("ner", learner=Mira(nbest=5, cost="span"), search=Beam(8, update="early")),
    Tagger(learner=Crf(iterations=3), states=Latent({"N": 2})), Tagger(states=LabelHistory("run:O:3")),
    Parser(learner=PassiveAggressive(aggressiveness=0.5), search=Beam(2)), Classifier(learner="perceptron"),
    LinearClassifier(passes=3), HMM(2, rare=3),
], ids=repr)  # fmt: skip
def test_a_printed_estimator_makes_it_again(made: Any) -> None:
    import palmette

    again = eval(repr(made), {name: getattr(palmette, name) for name in palmette.__all__})
    assert again.get_params() == made.get_params()
    assert pickle.loads(pickle.dumps(made)).get_params() == made.get_params()
    assert clone(made).get_params() == made.get_params()


@pytest.mark.parametrize("kind", VARIANTS)
def test_values_are_printed_stored_and_pickled(kind: str) -> None:
    import palmette

    value = VARIANTS[kind]()
    assert value.kind == kind
    names = {name: getattr(palmette, name) for name in palmette.__all__} | {"HiddenMarkov": VARIANTS["hmm"]}
    assert eval(repr(value), names) == value
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert type(value).from_dict(json.loads(json.dumps(value.to_dict()))) == value


def test_options_of_a_learner_are_set_by_their_paths() -> None:
    tagger = Tagger(learner=Mira(cost="span"))
    assert tagger.set_params(learner__nbest=5).learner == Mira(nbest=5, cost="span")
    assert tagger.get_params()["learner__nbest"] == 5
    assert tagger.set_params(learner__l2=2.0, learner="crf").learner == Crf(l2=2.0)  # the learner comes first
    assert Tagger(learner="mira").set_params(learner__nbest=2).learner == Mira(nbest=2)
    with pytest.raises(ValueError, match="learner: Crf has no option 'nbest'"):
        tagger.set_params(learner__nbest=5)
    with pytest.raises(ValueError, match="no options of its own"):
        tagger.set_params(passes__many=5)
    with pytest.raises(ValueError, match="'nonsense'"):
        tagger.set_params(nonsense=5)


def test_learners_that_do_not_apply() -> None:
    with pytest.raises(ValueError, match=r"crf does not apply to a .*; choose one of perceptron"):
        Parser(learner=Crf())._settings()
    with pytest.raises(ValueError, match="choose one of auto, perceptron"):
        Tagger(learner="lclr")._settings()
    assert Tagger(learner=Perceptron)._settings().learner == Perceptron()  # a class stands for its defaults


# --- the command line ---------------------------------------------------------------------------------------


def flags_of(command: type[Command], owner: type[Options]) -> dict[str, list[Option]]:
    found: dict[str, list[Option]] = {}
    for flag in command.flags():
        if flag.owner is owner:
            found.setdefault(flag.option.flag_name, []).append(flag.option)
    return found


@pytest.mark.parametrize("name", TRAINS)
def test_flags_are_the_parameters(name: str) -> None:
    """Every option of an estimator is a flag of the command that trains it, unless Python alone has it."""
    command, owner = load_command(name), TRAINS[name]
    flags = flags_of(command, owner)
    hidden = {flag.replace("-", "_") for flag in command.hidden}
    for flat, options in flat_options(owner).items():
        wanted = [each for each in options if not each.python_only]
        if wanted and flat not in hidden:
            assert flags[wanted[0].flag_name] == wanted, flat
    for option_ in owner.__options__.values():
        if option_.name not in ("states", "tagger"):  # the same name in Python, or with its owner's: merge-states
            assert option_.name.replace("_", "-") in option_.flag_name


@pytest.mark.parametrize("owner", TRAINS.values())
def test_no_flag_means_two_things(owner: type[Options]) -> None:
    """An option of the estimator, or options of variants of one parameter (nbest of mira and of probperc)."""
    own = {flat_name(each) for each in owner.__options__.values()}
    outer: dict[str, str] = {}
    for parameter, _, inner in variant_options(owner):
        assert flat_name(inner) not in own
        assert outer.setdefault(flat_name(inner), parameter.name) == parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_all_its_flags(name: str) -> None:
    command = load_command(name)
    text = command_help(command, everything=True)
    assert text.startswith(f"Usage: palmette {name} ")
    for flag in command.flags():
        assert flag.option.help.strip()
        shown = flag.option.name.upper() if flag.option.argument else flag.option.flag_name
        assert shown in text, shown
    assert max(map(len, text.split("\n"))) <= 100


def test_help_of_a_learner_shows_that_one() -> None:
    command = load_command("train")
    assert "--aggressiveness" in command_help(command, ["--learner", "mira"])
    assert "--l2" not in command_help(command, ["--learner", "mira"])
    assert "--l2" in command_help(command, ["--learner=crf"])


def test_a_command_line_is_a_tagger() -> None:
    line = "x.txt -o m.palm --learner mira --learner-nbest 5 --beam 8 --update early --no-ends --features ner"
    train: Any = load_command("train").parsed(line.split())
    assert train.params(TaggerOptions) == {
        "learner": Mira(nbest=5), "search": Beam(8, update="early"), "ends": False, "features": "ner",
    }  # fmt: skip
    assert (train.data, train.output, train.quiet) == (["x.txt"], "m.palm", False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x.txt -o m.palm --learner-nbest", "--learner-nbest needs a value"),
        ("x.txt -o --json", "-o needs a value, and the option --json follows it"),
        ("x.txt -o m.palm --seed 1 --seed 2", "--seed is given twice"),
        ("x.txt -o m.palm --learnr mira", "there is no option --learnr; did you mean --learner?"),
        ("x.txt -o m.palm --no-seed", "there is no option --no-seed"),
        ("x.txt -o m.palm --json=yes", "--json takes no value"),
        ("x.txt", "--output is missing"),
        ("-o m.palm", "DATA is missing"),
        ("x.txt y.txt", "--output is missing"),
    ],
)
def test_wrong_command_lines(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_command("train").parsed(line.split())
    assert message in str(caught.value)


def test_a_value_may_look_like_an_option() -> None:
    tag: Any = load_command("tag").parsed(["m.palm", "--bias", "-LRB-=1", "--text=--json", "--", "-x.txt"])
    assert (tag.bias, tag.text, tag.data) == (["-LRB-=1"], "--json", "-x.txt")


def test_all_tagger_learners_can_be_named() -> None:
    assert set(TAGGER_LEARNERS) - {"auto"} <= set(LEARNERS)
    for kind in TAGGER_LEARNERS:
        assert assemble(TaggerOptions, {"learner": kind}) in ({"learner": kind}, {})


def test_counts_fit_into_what_kernels_compare_them_with() -> None:
    """A model file may ask for any number."""
    with pytest.raises(OptionError, match="min_feature_count"):
        Tagger(min_feature_count=2**63)._settings()
    with pytest.raises(OptionError, match="min_count"):
        Parser(min_count=2**63)._settings()


def test_docstrings_have_a_section_on_parameters() -> None:
    for made in (Tagger, Parser, Mira, Beam):
        text = inspect.getdoc(made)
        assert text is not None
        head, _, section = text.partition("\nParameters\n----------\n")
        assert head.strip() == inspect.cleandoc(own_text(made)).strip()
        entries = re.findall(r"^(\w+) : (.+)$", section, re.MULTILINE)
        assert [name for name, _ in entries] == list(made.__options__)
        assert "--" not in section.replace("----------", "")
    assert (
        "default 'auto'" in dict(re.findall(r"^(\w+) : (.+)$", inspect.getdoc(Tagger) or "", re.MULTILINE))["learner"]
    )
