"""The trainer of the drop-in beside python-crfsuite's: parameters, optimum, log, callbacks, files."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pycrfsuite
import pytest
from crfsuite_cases import BOTH, largest_difference, random_sequences, trained, untimed, weights

import palmette.crfsuite as ours
from palmette import Tagger, crfsuite
from palmette.errors import DataError

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
PAIR = [([["a"], ["b"]], ["A", "B"])]

# --- parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "LBFGS", "averaged-perceptron", None])
def test_parameters_have_names_types_and_defaults(algorithm: str | None) -> None:
    own, theirs = ours.Trainer(algorithm), pycrfsuite.Trainer(algorithm)
    assert own.params() == theirs.params()
    assert own.get_params() == theirs.get_params()
    assert [type(value) for value in own.get_params().values()] == [type(v) for v in theirs.get_params().values()]
    assert all(own.help(name) for name in own.params())


@pytest.mark.parametrize(
    ("name", "value"),
    [("c1", "0.5"), ("c1", 1), ("max_iterations", "12.7"), ("max_iterations", 1e3), ("feature.minfreq", True),
     ("feature.possible_states", True), ("feature.possible_states", 0), ("feature.possible_transitions", "1"),
     ("linesearch", "MoreThuente"), ("epsilon", "1e-3")],
)  # fmt: skip
def test_values_are_converted(name: str, value: Any) -> None:
    found = []
    for module in BOTH:
        trainer = module.Trainer()
        trainer.set_params({name: value})
        found.append(trainer.get(name))
    assert found[0] == found[1]
    assert type(found[0]) is type(found[1])


def test_what_does_not_exist_is_a_value_error() -> None:
    for module in BOTH:
        trainer = module.Trainer("pa")
        for use in (
            lambda: trainer.set("c2", 1),  # noqa: B023
            lambda: trainer.get("c2"),  # noqa: B023
            lambda: trainer.help("c2"),  # noqa: B023
            lambda: trainer.select("foo"),  # noqa: B023
            lambda: trainer.select("lbfgs", "tree"),  # noqa: B023
            lambda: module.Trainer("lbfgs", {"foo": 1}),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=r"c2|foo|tree"):
                use()


@pytest.mark.parametrize(
    ("name", "value"),
    [("c1", "abc"), ("c1", None), ("c1", -1), ("linesearch", "foo"), ("linesearch", "Backtracking"),
     ("num_memories", 0), ("c2", float("nan"))],
)  # fmt: skip
def test_values_that_crfsuite_would_misread_are_errors(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        ours.Trainer().set(name, value)


def test_select_starts_from_defaults() -> None:
    for module in BOTH:
        trainer = module.Trainer(params={"c1": 3})
        trainer.select("lbfgs")
        assert trainer.get("c1") == 0.0


# --- the optimum --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c1", [0.0, 0.3])
@pytest.mark.parametrize("minfreq", [0, 1.5])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
def test_optimum(tmp_path: Path, c1: float, minfreq: float, states: bool, transitions: bool) -> None:
    params = {
        "c1": c1, "c2": 0.1, "feature__minfreq": minfreq, "feature__possible_states": states,
        "feature__possible_transitions": transitions, "delta": 1e-9, "epsilon": 1e-6,
    }  # fmt: skip
    sequences = random_sequences(int(minfreq) + 2 * states, negative=states != transitions)
    paths = [tmp_path / "theirs", tmp_path / "own"]
    theirs, own = (trained(module, sequences, path, **params) for module, path in zip(BOTH, paths, strict=True))
    assert own.logparser.featgen_num_features == theirs.logparser.featgen_num_features
    assert own.logparser.last_iteration["loss"] == pytest.approx(theirs.logparser.last_iteration["loss"], rel=1e-5)
    assert largest_difference(weights(paths[0]), weights(paths[1])) < 2e-2
    taggers = [pycrfsuite.Tagger(), pycrfsuite.Tagger(), ours.Tagger()]
    for tagger, path in zip(taggers, (*paths, paths[1]), strict=True):
        tagger.open(str(path))
    for items, _ in sequences:
        first, *others = (tagger.tag(items) for tagger in taggers)
        assert others == [first, first]


def test_zeros_make_features(tmp_path: Path) -> None:
    """An attribute of value 0 at a label makes the weight of that label, which then moves at other tokens."""
    sequences = [([{"a": 0.0}, {"a": 1.0}], ["A", "B"]), ([{"a": 2}], ["B"])]
    paths = [tmp_path / "theirs", tmp_path / "own"]
    theirs, own = (trained(module, sequences, path) for module, path in zip(BOTH, paths, strict=True))
    assert own.logparser.featgen_num_features == theirs.logparser.featgen_num_features == 3
    assert weights(paths[1])["state", "a", "A"] == pytest.approx(weights(paths[0])["state", "a", "A"], abs=1e-3)


def test_labels_of_the_holdout_group_alone_take_part(tmp_path: Path) -> None:
    sequences = [*PAIR, *PAIR, ([["a"], ["c"]], ["A", "Z"])]
    paths = [tmp_path / "theirs", tmp_path / "own"]
    for module, path in zip(BOTH, paths, strict=True):
        trained(module, sequences, path, holdout=1)
    assert largest_difference(weights(paths[0]), weights(paths[1])) < 1e-3
    for module in BOTH:
        tagger = module.Tagger()
        tagger.open(str(paths[1]))
        assert tagger.labels() == ["A", "B", "Z"]


def test_unicode_is_compared_as_it_is_written(tmp_path: Path) -> None:
    sequences = [([["é"], ["e\u0301"]], ["é", "e\u0301"])]
    trained(ours, sequences, tmp_path / "own")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "own"))
    assert sorted(tagger.info().attributes) == sorted(["é", "e\u0301"])
    assert tagger.tag(sequences[0][0]) == sequences[0][1]


@pytest.mark.parametrize(
    ("params", "iterations"),
    [({"max_iterations": 3}, 3), ({"period": 2, "delta": 0.5}, 2), ({"epsilon": 1e9}, 0),
     ({"period": 0, "epsilon": 1e-2}, None)],
)  # fmt: skip
def test_lbfgs_ends_where_crfsuite_does(tmp_path: Path, params: dict[str, Any], iterations: int | None) -> None:
    theirs, own = (trained(module, random_sequences(4), tmp_path / "m", **params) for module in BOTH)
    counts = [len(trainer.logparser.iterations) for trainer in (theirs, own)]
    assert iterations is None or counts[1] == iterations
    assert abs(counts[0] - counts[1]) <= 2
    assert own.logparser.log[-13:][0] == theirs.logparser.log[-13:][0]  # how it ended


def test_memories_and_trials_count(tmp_path: Path) -> None:
    sequences = random_sequences(5)
    few, many = (trained(ours, sequences, tmp_path / "m", num_memories=n, delta=1e-8) for n in (1, 10))
    assert len(few.logparser.iterations) > len(many.logparser.iterations)
    once = trained(ours, sequences, tmp_path / "m", max_linesearch=1)
    assert {iteration["linesearch_trials"] for iteration in once.logparser.iterations} == {1}


# --- algorithms that see one sequence after the other -------------------------------------------------------

RULES: list[tuple[str, dict[str, Any]]] = [
    ("ap", {}), ("ap", {"epsilon": 0.5}), ("ap", {"epsilon": 0.3}), ("pa", {"epsilon": 1.0}),
    ("arow", {"epsilon": 4.0}), ("arow", {}), ("arow", {"variance": 2.0, "gamma": 0.3}), ("pa", {}),
    ("pa", {"averaging": False}), ("pa", {"type": 0}), ("pa", {"type": 2, "c": 0.1}), ("pa", {"c": 0.02}),
    ("pa", {"error_sensitive": False}), ("pa", {"feature__possible_states": True, "feature__possible_transitions": 1}),
    ("ap", {"feature__minfreq": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "params"), RULES)
def test_online_algorithms_on_one_sequence(tmp_path: Path, algorithm: str, params: dict[str, Any]) -> None:
    """With one sequence its order among others, which both draw at random, does not matter: weights are equal."""
    three = [random_sequences(seed, 1)[0] for seed in range(3)]
    sequence = [([item for items, _ in three for item in items], [label for _, labels in three for label in labels])]
    paths = [tmp_path / "theirs", tmp_path / "own"]
    both = [
        trained(m, sequence, path, algorithm, max_iterations=7, **params) for m, path in zip(BOTH, paths, strict=True)
    ]
    assert largest_difference(weights(paths[0]), weights(paths[1])) < 1e-5
    figures = [[(i["loss"], i["feature_norm"]) for i in trainer.logparser.iterations] for trainer in both]
    assert [row[0] for row in figures[1]] == pytest.approx([row[0] for row in figures[0]], abs=1e-4)
    assert [row[1] for row in figures[1]] == pytest.approx([row[1] for row in figures[0]], abs=1e-4)


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_algorithms_learn_as_well(tmp_path: Path, algorithm: str) -> None:
    """python-crfsuite's order is another one in each run, and so is what it learns."""
    sequences, right = random_sequences(11, 200), []
    for module in (*[pycrfsuite] * 5, ours):
        trained(module, sequences[:150], tmp_path / "m", algorithm, max_iterations=20)
        tagger = pycrfsuite.Tagger()
        tagger.open(str(tmp_path / "m"))
        pairs = [pair for items, labels in sequences[150:] for pair in zip(tagger.tag(items), labels, strict=True)]
        right.append(sum(a == b for a, b in pairs) / len(pairs))
    assert min(right[:-1]) - 0.1 < right[-1] < max(right[:-1]) + 0.1
    assert min(right) > 0.6


def test_l2sgd_goes_to_the_optimum_of_lbfgs(tmp_path: Path) -> None:
    sequences = random_sequences(6)
    best = trained(ours, sequences, tmp_path / "m").logparser.last_iteration["loss"]
    theirs, own = (
        trained(module, sequences, tmp_path / "m", "l2sgd", max_iterations=200).logparser.last_iteration
        for module in BOTH
    )
    assert best * 0.999 < own["loss"] < best * 1.02
    assert own["loss"] == pytest.approx(theirs["loss"], rel=0.02)
    assert own.keys() == theirs.keys()


@pytest.mark.parametrize(("candidates", "most"), [(2, 20), (2, 4), (3, 1), (1, 3)])
def test_calibration_counts(tmp_path: Path, candidates: int, most: int) -> None:
    params = {
        "calibration__eta": 1e-4, "calibration__rate": 3.0, "calibration__candidates": candidates,
        "calibration__samples": 99, "calibration__max_trials": most, "max_iterations": 1,
    }  # fmt: skip
    theirs, own = (
        trained(module, random_sequences(7), tmp_path / "m", "l2sgd", **params).logparser.log for module in BOTH
    )
    tried = [[line.partition("):")[0] for line in log if line.startswith("Trial")] for log in (theirs, own)]
    assert tried[0] == tried[1]
    assert "calibration.samples: 30\n" in own
    assert "calibration.samples: 30\n" in theirs
    few = trained(ours, random_sequences(7), tmp_path / "m", "l2sgd", **params | {"calibration__samples": 5})
    assert "calibration.samples: 5\n" in few.logparser.log


# --- the log ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("holdout", [-1, 1])
def test_log_has_the_same_lines(tmp_path: Path, algorithm: str, holdout: int) -> None:
    """All words and events; all numbers too where both do the same (lbfgs)."""
    sequences = random_sequences(8)
    logs = [
        trained(module, sequences, tmp_path / "m", algorithm, holdout, max_iterations=3, c=0.5).logparser
        if algorithm == "pa"
        else trained(module, sequences, tmp_path / "m", algorithm, holdout, max_iterations=3).logparser
        for module in BOTH
    ]
    words = [[line.translate(str.maketrans("", "", "0123456789.()*-/, ")) for line in untimed(log.log)] for log in logs]
    if algorithm == "l2sgd":  # the losses of step sizes depend on the order of sequences
        words = [[line for line in own if not line.startswith("Trial") and line.strip(" worse\n")] for own in words]
    assert words[0] == words[1]
    if algorithm != "l2sgd":
        assert logs[0].events == logs[1].events
    assert [set(i) for i in logs[0].iterations] == [set(i) for i in logs[1].iterations]
    if algorithm == "lbfgs":
        for theirs, own in zip(logs[0].iterations, logs[1].iterations, strict=True):
            assert own.pop("loss") == pytest.approx(theirs.pop("loss"), abs=2e-4)
            assert own.pop("time") >= 0.0 <= theirs.pop("time")
            for name in ("feature_norm", "error_norm", "linesearch_step"):
                assert own.pop(name) == pytest.approx(theirs.pop(name), abs=1e-2)
            assert own == theirs


class Heard:
    """Notes what is called."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.heard: list[tuple[str, Any]] = []


def listener(module: Any) -> Any:
    def noted(name: str) -> Any:
        def call(self: Any, log: str, *more: Any) -> None:
            assert isinstance(log, str)
            self.heard.append((name, [type(value) for value in more]))

        return call

    names = (
        "start",
        "featgen_progress",
        "featgen_end",
        "prepared",
        "prepare_error",
        "iteration",
        "optimization_end",
        "end",
    )
    return type("Listener", (Heard, module.Trainer), {f"on_{name}": noted(name) for name in names})


def test_callbacks_are_called_as_there(tmp_path: Path) -> None:
    heard = []
    for module in BOTH:
        trainer = listener(module)("lbfgs", {"max_iterations": 2})
        trainer.append(*PAIR[0])
        trainer.train(str(tmp_path / "m"))
        heard.append(trainer.heard)
    assert heard[0] == heard[1]
    assert ("iteration", [dict]) in heard[1]


def test_log_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for module in BOTH:
        for kind in (module.Trainer, module.BaseTrainer):
            trainer = kind("ap", {"max_iterations": 1})
            trainer.append(*PAIR[0])
            trainer.train(str(tmp_path / "m"))
            printed.append(untimed(capsys.readouterr().out.splitlines()))
            trainer.verbose = False
            trainer.train(str(tmp_path / "m"))
            assert capsys.readouterr().out == ""
    assert printed[0] == printed[1] == printed[2] == printed[3]


# --- sequences and files ------------------------------------------------------------------------------------


def test_append_takes_iterators_bytes_and_strings(tmp_path: Path) -> None:
    for module, path in zip(BOTH, ("theirs", "own"), strict=True):
        trainer = module.Trainer(verbose=False)
        trainer.append((item for item in (["a"], ["b"])), (label for label in "AB"))
        trainer.append([[b"a"]], [b"A"], group=1)
        trainer.append("ab", "AB")
        trainer.append(module.ItemSequence([{"a": 2}]), ("A",), 3)
        trainer.append([], [])
        trainer.train(str(tmp_path / path))
    assert largest_difference(weights(tmp_path / "theirs"), weights(tmp_path / "own")) < 1e-3


def test_append_refuses_what_does_not_fit() -> None:
    for module in BOTH:
        trainer = module.Trainer()
        with pytest.raises(ValueError, match=r"items"):
            trainer.append([["a"]], ["A", "B"])
        for labels in ([1], None):
            with pytest.raises(TypeError):
                trainer.append([["a"]], labels)


def test_clear_forgets_sequences(tmp_path: Path) -> None:
    trainer = ours.Trainer(verbose=False)
    trainer.append([["z"]], ["Z"])
    trainer.clear()
    with pytest.raises(ValueError, match="append sequences first"):
        trainer.train(str(tmp_path / "m"))
    trainer.append(*PAIR[0])
    trainer.train(str(tmp_path / "m"))
    assert {key[1] for key in weights(tmp_path / "m")} <= {"a", "b", "A", "B"}


def test_a_trainer_trains_again_with_more(tmp_path: Path) -> None:
    trainer = ours.Trainer(verbose=False)
    for items, labels in random_sequences(1):
        trainer.append(items, labels)
        trainer.train("")
    trainer.train(str(tmp_path / "again"))
    trained(ours, random_sequences(1), tmp_path / "once")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "once").read_bytes()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_training_can_be_repeated_bit_for_bit(tmp_path: Path, algorithm: str) -> None:
    for name in ("one", "two"):
        trained(ours, random_sequences(2), tmp_path / name, algorithm, max_iterations=5)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_palm_files_are_models_of_palmette(tmp_path: Path, algorithm: str) -> None:
    sequences = random_sequences(3)
    for name in ("m.palm", "m.crfsuite"):
        trained(ours, sequences, tmp_path / name, algorithm, max_iterations=5)
    taggers = [ours.Tagger(), ours.Tagger()]
    for tagger, name in zip(taggers, ("m.palm", "m.crfsuite"), strict=True):
        tagger.open(tmp_path / name)
    X = [items for items, _ in sequences]
    loaded = Tagger.load(tmp_path / "m.palm")
    assert [tagger.labels() for tagger in taggers] == [loaded.labels_] * 2
    assert [taggers[0].tag(x) for x in X] == [taggers[1].tag(x) for x in X] == loaded.predict(X)
    assert taggers[0].info().state_features == pytest.approx(taggers[1].info().state_features, abs=1e-6)


class Stops(ours.Trainer):
    """Stops in the second iteration."""

    how: Any = None

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        if info["num"] == 2:
            self.how()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ctrl_c_raises_and_leaves_files_alone(tmp_path: Path, algorithm: str) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"before")
    trainer = Stops(algorithm, {"max_iterations": 50})
    trainer.how = lambda: os.kill(os.getpid(), signal.SIGINT)
    for items, labels in random_sequences(3):
        trainer.append(items, labels)
    for event in ("start", "featgen_progress", "featgen_end", "prepared"):
        setattr(trainer, f"on_{event}", lambda *more: None)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(str(path))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_in_a_callback_ends_training(tmp_path: Path) -> None:
    trainer = Stops("lbfgs")

    def fail() -> None:
        raise RuntimeError("enough")

    trainer.how = fail
    for items, labels in random_sequences(3):
        trainer.append(items, labels)
    with pytest.raises(RuntimeError, match="enough"):
        trainer.train(str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_an_error() -> None:
    trainer = ours.Trainer(verbose=False)
    trainer.append(*PAIR[0])
    with pytest.raises(DataError, match="nowhere"):
        trainer.train("nowhere/m")
    with pytest.raises(TypeError):
        trainer.train(None)


def test_subclasses_need_not_call_init(tmp_path: Path) -> None:
    def nothing(self: Any, *args: Any) -> None:
        self.own = args

    for module in BOTH:
        trainer = type("Own", (module.Trainer,), {"__init__": nothing})("x", 3)
        trainer.append(*PAIR[0])
        trainer.train(str(tmp_path / "m"))
        tagger = type("Own", (module.Tagger,), {"__init__": nothing})(4)
        with tagger.open(str(tmp_path / "m")):
            assert tagger.tag(PAIR[0][0]) == PAIR[0][1]
        assert (trainer.own, tagger.own) == (("x", 3), (4,))


def test_names_are_those_of_pycrfsuite() -> None:
    public = {"BaseTrainer", "CRFSUITE_VERSION", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"}
    assert public <= set(dir(crfsuite))
    assert crfsuite.CRFSUITE_VERSION == pycrfsuite.CRFSUITE_VERSION
    for name in ("BaseTrainer", "Trainer", "Tagger", "ItemSequence"):
        own, theirs = (
            {key for key in dir(getattr(module, name)) if not key.startswith("_")} for module in (crfsuite, pycrfsuite)
        )
        assert theirs - {"verbose"} <= own
    with pytest.raises(AttributeError, match="nothing"):
        _ = crfsuite.nothing
