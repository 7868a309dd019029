"""The fuzz of model files (bench/fuzz): its own machinery, and a few hundred cases of it.

Faults are planted: whatever goes wrong in a case is counted as what it is, and the others are done all the same.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

fuzz = pytest.importorskip("bench.fuzz.run", reason="needs limits of memory", exc_type=ImportError)

from bench.fuzz import command  # noqa: E402
from bench.fuzz.cases import ModelCases  # noqa: E402
from bench.fuzz.models import Model, read_models, write_models  # noqa: E402
from bench.fuzz.mutate import WAYS, built  # noqa: E402
from bench.fuzz.run import CRASH, HANG, MEMORY, REFUSED, TRACEBACK, USED, Counts, Limits, run_cases  # noqa: E402
from bench.fuzz.text import READERS, fuzz_text  # noqa: E402
from bench.fuzz.use import NotNamed, use_model  # noqa: E402
from palmette.data import model_file  # noqa: E402
from palmette.errors import UsageError  # noqa: E402


class Planted:
    """Cases with one fault of each kind."""

    def prepare(self, work: Path) -> None:
        assert work.is_dir()

    def kind(self, number: int) -> str:
        return "odd" if number % 2 else "even"

    def do(self, number: int) -> str:
        if number == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 3:
            time.sleep(1000)
        while number == 9:
            pass
        if number == 5:
            raise KeyError("planted")
        if number == 7:
            np.ones(2 << 30, np.uint8)
        if number == 8:
            try:
                bytearray(3 << 30)
            except MemoryError:
                raise UsageError("too large") from None
        return REFUSED if number == 4 else USED


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Model]:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return read_models(folder)


def test_each_planted_fault_is_counted_as_what_it_is() -> None:
    """A segmentation fault, a hang, an exception, and more memory than allowed; the other cases are done."""
    counts = run_cases(Planted(), range(11), Limits(seconds=1.0, wall=6.0))
    found = {fault.number: fault.outcome for fault in counts.faults}
    assert found == {2: CRASH, 3: HANG, 5: TRACEBACK, 7: MEMORY, 8: MEMORY, 9: HANG}
    expected = {
        ("even", USED): 3, ("even", REFUSED): 1, ("even", CRASH): 1, ("odd", HANG): 2, ("odd", TRACEBACK): 1,
        ("odd", USED): 1, ("odd", MEMORY): 1, ("even", MEMORY): 1,
    }  # fmt: skip
    assert counts.of == expected
    told = {fault.number: fault.what for fault in counts.faults}
    assert "Segmentation fault" in told[2]
    assert "in do" in told[3]  # where it hangs
    assert "KeyError: 'planted'" in told[5]


def test_a_case_is_a_function_of_the_seed_and_its_number(models: list[Model], tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    write_models(again)
    one, other = ModelCases(models, 3), ModelCases(read_models(again), 3)
    for number in (0, 17, 4711):
        assert one.case(number).data() == other.case(number).data()
        assert one.kind(number) == other.kind(number)
    assert one.case(1).data() != ModelCases(models, 4).case(1).data()


def test_every_kind_of_model_is_changed_in_every_way(models: list[Model]) -> None:
    cases = ModelCases(models, 0)
    drawn = Counter((case.model.name, case.way) for case in map(cases.case, range(20_000)))
    assert set(drawn) == {(model.name, way) for model in models for way in WAYS}
    tasks = {model.task for model in models}
    assert tasks == {"chain", "parse", "classify", "lm", "pipeline"}


def test_models_that_are_not_changed_are_used_without_any_refusal(models: list[Model], tmp_path: Path) -> None:
    """Otherwise the fuzz would try nothing. The writer of the fuzz writes what `model_file.save` does."""
    for model in models:
        path = tmp_path / "model.palm"
        path.write_bytes(built(model.arrays, model.meta))
        arrays, meta = model_file.load(path)
        assert meta == model.meta
        assert all(
            np.array_equal(array, model.arrays[name], equal_nan=array.dtype.kind == "f")
            for name, array in arrays.items()
        )
        assert use_model(path, model.task) == USED, model.name


def test_an_error_that_does_not_name_the_file_is_a_fault(
    models: list[Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.palm"
    path.write_bytes(models[0].data)

    def refuse(path: Path) -> None:
        raise UsageError("no")

    monkeypatch.setattr("bench.fuzz.use.Tagger.load", refuse)
    with pytest.raises(NotNamed, match="UsageError: no"):
        use_model(path, "chain")


def places_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places of a JSON value, the first item of a list for all."""
    if place:
        yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1] if type(value) is list else ()):
        yield from places_of(inner, (*place, key))


def edited(meta: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(meta))
    within = copy
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = value
    return copy


def test_odd_metadata_is_refused_or_shown(models: list[Model], tmp_path: Path) -> None:
    """At every place of every kind: what looks like markup, as a text and as a name, and a number that no float holds.
    Reports, explanations and `repr` are made of what loads. What components of a pipeline hold are models again."""
    path, done, used = tmp_path / "model.palm", set(), 0
    for model in models:
        for place in places_of(model.meta):
            if (model.task, place) in done or (model.task == "pipeline" and len(place) > 4):
                continue
            done.add((model.task, place))
            for value in ("[/x]", {"[/x]": 1.0}, 10**400):
                path.write_bytes(built(model.arrays, edited(model.meta, place, value)))
                used += use_model(path, model.task) == USED
    assert len(done) > 200
    assert used > 80


# --- every index checked ------------------------------------------------------------------------------------


class Outside:
    """Tags with a model whose rows are numbered after it was loaded: 0 is right, -1 is before the first row, 1000
    behind the last."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self, work: Path) -> None: ...

    def kind(self, number: int) -> str:
        return "tagger"

    def do(self, number: int) -> str:
        from palmette import Tagger

        tagger = Tagger.load(self.path)
        tagger.model_.chain = tagger.model_.chain  # rows in place of what the file has
        tagger.model_.chain.weights[0].slot[:] = (0, -1, 1000)[number]
        tagger.predict([[("The", "DT"), ("old", "JJ")]] * 5)
        return USED


def test_an_index_outside_of_an_array_is_found(
    models: list[Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_KERNELS", "python")
    path = tmp_path / "model.palm"
    path.write_bytes(next(model.data for model in models if model.name == "order 1"))
    counts = run_cases(Outside(path), range(3), Limits(seconds=60.0))
    assert counts.of == {("tagger", USED): 1, ("tagger", TRACEBACK): 2}
    first, second = (fault.what for fault in counts.faults)
    assert "IndexError: the index -1 is negative" in first
    assert "IndexError: index 1000 is out of bounds" in second


def test_kernels_stay_inside_of_their_arrays(models: list[Model], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that read models, on changed ones that load, as plain Python with every index checked; `.ci/run` goes on
    with the cases that follow."""
    monkeypatch.setenv("PALMETTE_KERNELS", "python")
    counts = run_cases(ModelCases(models, 1), range(150), command.SLOWLY)
    assert counts.faults == []
    assert sum(n for (_, outcome), n in counts.of.items() if outcome == USED) > 35


# --- the command --------------------------------------------------------------------------------------------


def test_counts_are_kept_and_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, cases = tmp_path / "record.json", ModelCases([], 0)
    done: list[range] = []

    def some(_: object, numbers: range, limits: Limits) -> Counts:
        done.append(numbers)
        counts = Counts()
        counts.of["kind", USED] += len(numbers)
        return counts

    monkeypatch.setattr(command, "run_cases", some)
    command.fuzz_models(cases, range(10, 2010), 1, record)
    counts = command.fuzz_models(cases, range(10, 3510), 1, record)
    assert done == [range(10, 1010), range(1010, 2010), range(2010, 3010), range(3010, 3510)]
    assert counts.of == {("kind", USED): 3500}
    assert command.table(counts).splitlines()[-1].split() == ["all", "0", "3,500", "0", "0", "0", "0"]
    with pytest.raises(SystemExit, match="is of seed 0, from case 10"):
        command.fuzz_models(cases, range(20), 1, record)


@pytest.mark.parametrize("kind", READERS)
def test_the_inputs_of_the_readers_are_valid(kind: str, tmp_path: Path) -> None:
    """What is mutated has to be right before."""
    (tmp_path / "input").write_bytes(READERS[kind].valid)
    assert READERS[kind].read(tmp_path / "input") is not None


def test_an_exception_of_a_reader_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path) -> None:
        raise KeyError("planted")

    monkeypatch.setitem(READERS, "columns", READERS["columns"]._replace(read=fails))
    assert fuzz_text(tmp_path, 1.0) > 0
