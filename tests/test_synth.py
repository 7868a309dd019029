"""Synthetic data: the model, what is drawn from it, and its Bayes limit, against enumeration of all hidden paths."""

from __future__ import annotations

import doctest
import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from test_docs import OPTIONS, blocks
from test_startup import loaded

from palmette.data import FormatSpec, read_corpus
from palmette.errors import DataError, PalmetteError, UsageError
from palmette.lab import synth

STUDY = [0.91, 0.358, 0.09, 0.642]
EMISSION = "# three states\n.7 .2 .1\n\n.1 .8 .1  # the second\n0 0 1\n"


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# Slow twins


def path_probabilities(model: synth.Model, symbols: list[int]) -> dict[tuple[int, ...], float]:
    """The joint probability of the symbols with each path of hidden states."""
    found = {}
    for path in itertools.product(range(len(model.start)), repeat=len(symbols)):
        probability = model.start[path[0]]
        for g, h in itertools.pairwise(path):
            probability *= model.transition[g, h]
        for h, x in zip(path, symbols, strict=True):
            probability *= model.emission[h, x]
        found[path] = float(probability)
    return found


def naive_marginals(model: synth.Model, symbols: list[int]) -> np.ndarray:
    marginals = np.zeros((len(symbols), len(model.names.labels)))
    for path, probability in path_probabilities(model, symbols).items():
        for i, h in enumerate(path):
            marginals[i, model.label_of[h]] += probability
    return marginals / marginals.sum(1, keepdims=True)


def sequences(drawn: synth.Sample) -> list[tuple[list[int], list[int]]]:
    ends = itertools.pairwise(drawn.offset)
    return [(drawn.symbols[a:b].tolist(), drawn.states[a:b].tolist()) for a, b in ends]


@st.composite
def models(draw: st.DrawFn) -> synth.Model:
    """Tiny models that are no rings: any numbers, labels in any order, some transitions impossible."""
    Y, H, K = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    Y = min(Y, H)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    transition = rng.dirichlet(np.ones(H), H)
    if draw(st.booleans()):
        transition[:, 0] = 0  # nothing leads back to the first state
        transition[:, -1] += 1 - transition.sum(1)
    label_of = rng.permutation(np.arange(H) % Y)
    ring = synth.ring(H, 1, K)
    names = ring.names._replace(labels=ring.names.labels[:Y])
    return synth.Model(rng.dirichlet(np.ones(H)), transition, rng.dirichlet(np.ones(K), H), label_of, names)


# The model


@pytest.mark.parametrize("labels", [1, 2, 3])
@pytest.mark.parametrize("states", [1, 2, 5])
@pytest.mark.parametrize("symbols", [1, 2, 7])
@pytest.mark.parametrize("p", [0.0, 0.9, 1.0])
def test_rows_are_distributions(labels: int, states: int, symbols: int, p: float) -> None:
    model = synth.ring(labels, states, symbols, p)
    H = labels * states
    assert model.start.shape == (H,)
    assert model.transition.shape == (H, H)
    assert model.emission.shape == (H, symbols)
    for rows in (model.start[None], model.transition, model.emission):
        assert np.all(rows >= 0)
        np.testing.assert_allclose(rows.sum(1), 1, rtol=0, atol=1e-12)
    assert np.bincount(model.label_of).tolist() == [states] * labels


def test_the_study() -> None:
    model = synth.ring()
    np.testing.assert_allclose(model.emission[:, 0], STUDY, rtol=0, atol=1e-12)
    assert model.label_of.tolist() == [0, 0, 1, 1]
    assert model.start.tolist() == [0.25] * 4
    rest = 0.1 / 3
    expected = [[rest, 0.9, rest, rest], [rest, rest, 0.9, rest], [rest, rest, rest, 0.9], [0.9, rest, rest, rest]]
    np.testing.assert_allclose(model.transition, expected)


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("states", [2, 3, 4])
@pytest.mark.parametrize("symbols", [2, 3, 10])
def test_states_of_a_label_differ_by_default(labels: int, states: int, symbols: int) -> None:
    model = synth.ring(labels, states, symbols)
    for y in range(labels):
        for one, other in itertools.combinations(model.emission[model.label_of == y], 2):
            assert np.abs(one - other).max() > 0.01


def test_merged_states() -> None:
    model = synth.merged(synth.ring())
    np.testing.assert_allclose(model.emission, [[0.634, 0.366], [0.366, 0.634]])
    np.testing.assert_allclose(model.transition, 0.5)  # no label tells anything about the next one
    assert model.names.states == ("y1", "y2")


def test_emission_file(tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text(EMISSION, encoding="utf-8")
    table = synth.read_emission(tmp_path / "table.txt")
    assert table.tolist() == [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0, 0, 1]]
    model = synth.ring(3, 1, emission=table)
    assert model.names.symbols == ("x1", "x2", "x3")
    np.testing.assert_allclose(model.emission, table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".5 .5\n.5 .4\n", r"table.txt:2: .5 .4 is not a distribution: the sum is 0.9"),
        ("1.5 -.5\n", r"table.txt:1: 1.5 -.5 is not a distribution"),
        ("nan nan\n", r"table.txt:1: nan nan is not a distribution"),
        ("\n.5 half\n", r"table.txt:2: '.5 half' is not a row of numbers"),
        (".5 .5\n.2 .3 .5\n", r"table.txt:2: 3 numbers where 2 are expected"),
        ("# nothing\n", r"table.txt: no probabilities"),
    ],
)
def test_bad_emission_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "table.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        synth.read_emission(tmp_path / "table.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 1.1}, "probability"),
        ({"p": -0.1}, "probability"),
        ({"p": float("nan")}, "probability"),
        ({"labels": 0}, "labels = 0"),
        ({"states": -1}, "states = -1"),
        ({"symbols": 0}, "symbols = 0"),
        ({"labels": 10**6, "states": 10**6}, "gigabyte"),
        ({"emission": np.full((3, 2), 0.5)}, "3 x 2: expected 4 x 2"),
        ({"emission": np.full((4, 2), 0.5), "symbols": 3}, "4 x 2: expected 4 x 3"),
        ({"emission": np.full((4, 2), 0.6)}, "row 1 of the emission table is not a distribution"),
    ],
)
def test_nonsense_models(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        synth.ring(**options)  # type: ignore[arg-type]


# Drawing


def test_frequencies_agree_with_the_model() -> None:
    """Each count within five standard deviations of what the model expects."""
    model = synth.ring(2, 3, 4, 0.7)
    drawn = synth.sample(model, 30_000, (1, 9), np.random.default_rng(3))
    H, K = model.emission.shape
    is_first = np.zeros(len(drawn.states), bool)
    is_first[drawn.offset[:-1]] = True
    starts = np.bincount(drawn.states[is_first], minlength=H)
    later = np.flatnonzero(~is_first)
    moves = np.zeros((H, H))
    np.add.at(moves, (drawn.states[later - 1], drawn.states[later]), 1)
    emitted = np.zeros((H, K))
    np.add.at(emitted, (drawn.states, drawn.symbols), 1)
    for counts, rows in ((starts[None], model.start[None]), (moves, model.transition), (emitted, model.emission)):
        n = counts.sum(1, keepdims=True)
        assert np.all(np.abs(counts - n * rows) <= 5 * np.sqrt(n * rows * (1 - rows)))
    lengths = np.bincount(np.diff(drawn.offset), minlength=10)
    assert lengths[0] == 0
    assert np.all(np.abs(lengths[1:] - 30_000 / 9) <= 5 * np.sqrt(30_000 / 9))


def test_what_is_impossible_is_never_drawn() -> None:
    model = synth.ring(3, 1, p=1.0, emission=np.array([[0, 1, 0], [0.5, 0, 0.5], [1, 0, 0]]))
    drawn = synth.sample(model, 500, 7, np.random.default_rng(1))
    for symbols, states in sequences(drawn):
        assert all(h == (g + 1) % 3 for g, h in itertools.pairwise(states))
        assert all(model.emission[h, x] > 0 for x, h in zip(symbols, states, strict=True))


class Highest:
    """Random numbers that are all the largest below 1."""

    def random(self, n: int) -> np.ndarray:
        return np.full(n, np.nextafter(1.0, 0))


def test_the_largest_random_number_stays_in_its_row() -> None:
    table = np.tile([0.3, 0.7, 0.0], (1000, 1))
    found = synth._draw(table, np.arange(1000, dtype=np.int32), Highest())  # type: ignore[arg-type]
    assert set(found.tolist()) == {1}


@pytest.mark.parametrize(
    ("n", "length", "message"),
    [(0, 5, "0 sequences"), (3, 0, "length 0"), (3, (5, 4), "shorter one"), (10**9, 10**9, "tokens")],
)
def test_nonsense_samples(n: int, length: int | tuple[int, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        synth.sample(synth.ring(), n, length, np.random.default_rng(1))


@pytest.mark.parametrize("given", ["", "x", "20-8", "0", "3-", "-3", "1-2-3"])
def test_nonsense_lengths(given: str) -> None:
    with pytest.raises(UsageError, match="length"):
        synth.lengths_of(given)


def test_lengths() -> None:
    assert synth.lengths_of("20") == (20, 20)
    assert synth.lengths_of("8-20") == (8, 20)


# How well can it be tagged?


@given(models(), st.integers(0, 10**6))
def test_limits_by_enumeration(model: synth.Model, seed: int) -> None:
    drawn = synth.sample(model, 6, (1, 4), np.random.default_rng(seed))
    marginals = synth.label_marginals(model, drawn.symbols, drawn.offset)
    paths = synth.best_paths(model, drawn.symbols, drawn.offset)
    expected, on_path = [], 0
    for s, (symbols, states) in enumerate(sequences(drawn)):
        tokens = slice(drawn.offset[s], drawn.offset[s + 1])
        expected.append(naive_marginals(model, symbols))
        every = path_probabilities(model, symbols)
        assert every[tuple(paths[tokens].tolist())] == pytest.approx(max(every.values()), rel=1e-9)
        on_path += int((model.label_of[paths[tokens]] == model.label_of[states]).sum())
    np.testing.assert_allclose(marginals, np.concatenate(expected), rtol=0, atol=1e-9)
    right = 0
    for row, state in zip(marginals, drawn.states, strict=True):  # the same digits, so that ties are the same
        right += max(range(len(row)), key=lambda y: row[y]) == model.label_of[state]
    assert synth.bayes_accuracy(model, *drawn) == pytest.approx(right / len(drawn.states))
    assert synth.path_accuracy(model, *drawn) == pytest.approx(on_path / len(drawn.states))
    gold = model.label_of[drawn.states].tolist()
    assert synth.majority_accuracy(model, drawn.states) == max(map(gold.count, gold)) / len(gold)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = synth.ring(2, 3, 3)
    drawn = synth.sample(model, 50, (1, 12), np.random.default_rng(2))
    whole = synth.label_marginals(model, drawn.symbols, drawn.offset)
    monkeypatch.setattr(synth, "_BLOCK", 1)
    np.testing.assert_allclose(synth.label_marginals(model, drawn.symbols, drawn.offset), whole, atol=1e-12)


def test_long_sequences_do_not_underflow() -> None:
    model = synth.ring(2, 2, 50)
    drawn = synth.sample(model, 2, 3000, np.random.default_rng(2))
    marginals = synth.label_marginals(model, drawn.symbols, drawn.offset)
    np.testing.assert_allclose(marginals.sum(1), 1)
    assert synth.bayes_accuracy(model, *drawn) > 0.8


def test_an_impossible_sequence_is_an_error() -> None:
    model = synth.ring(2, 1, emission=np.eye(2), p=1.0)
    with pytest.raises(DataError, match="probability is zero"):
        synth.label_marginals(model, np.array([0, 0]), np.array([0, 2]))


def test_the_limit_of_the_study() -> None:
    model = synth.ring()
    drawn = synth.sample(model, 3000, 20, synth.stream_of(1, 2))
    labels = model.label_of[drawn.states]
    assert synth.bayes_accuracy(model, *drawn) == pytest.approx(0.852, abs=0.007)
    assert synth.path_accuracy(model, *drawn) < synth.bayes_accuracy(model, *drawn)
    one_state = synth.bayes_accuracy(synth.merged(model), drawn.symbols, labels, drawn.offset)
    assert one_state == pytest.approx(0.634, abs=0.007)
    # With alternating states of a label the study does not come out: this decides between the two.
    alternating = model._replace(label_of=np.array([0, 1, 0, 1]))
    assert synth.bayes_accuracy(alternating, *drawn) == pytest.approx(0.772, abs=0.01)


# Files and the command


def test_columns_read_back(tmp_path: Path) -> None:
    model = synth.ring(3, 2, 4)
    drawn = synth.sample(model, 40, (1, 6), np.random.default_rng(4))
    out = io.BytesIO()
    synth.write_columns(out, model, drawn)
    (tmp_path / "data.txt").write_bytes(out.getvalue())
    corpus = read_corpus(tmp_path / "data.txt")
    assert corpus.offset.tolist() == drawn.offset.tolist()
    assert corpus.columns[0].cells() == [model.names.symbols[x] for x in drawn.symbols]
    assert corpus.columns[1].cells() == [model.names.states[h] for h in drawn.states]
    labelled = read_corpus(tmp_path / "data.txt", FormatSpec(columns=("2",)))
    assert labelled.columns[0].cells() == [model.names.labels[y] for y in model.label_of[drawn.states]]


def test_equal_seeds_give_equal_files(cli: Cli) -> None:
    options = "--sequences 30 --length 3-9 --labels 3 --symbols 5"
    cli.fine(f"synth -o a.txt --dev-output b.txt --test-output c.txt --test-sequences 10 {options}")
    cli.fine(f"synth -o again.txt --test-output test.txt {options}")
    assert cli.read("a.txt") == cli.read("again.txt")  # whatever other files are asked for
    assert len({cli.read(name) for name in ("a.txt", "b.txt", "c.txt")}) == 3
    cli.fine(f"synth -o other.txt {options} --seed 2")
    assert cli.read("other.txt") != cli.read("a.txt")
    assert [cli.read(name).count("\n\n") for name in ("a.txt", "b.txt", "c.txt", "test.txt")] == [30, 30, 10, 30]


def test_data_on_standard_output_and_figures_on_standard_error(cli: Cli) -> None:
    ran = cli("synth --sequences 4 --length 3")
    assert ran.code == 0
    assert [len(block.splitlines()) for block in ran.out.strip("\n").split("\n\n")] == [3] * 4
    assert all(len(line.split("\t")) == 3 for line in ran.out.splitlines() if line)
    assert "train: 4 sequences, 12 tokens" in ran.err
    assert "Bayes limit" in ran.err


def test_the_command_does_not_wait_for_numba(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "synth --sequences 3") & {"numba", "llvmlite", "scipy"}
    assert not loaded(tmp_path, "synth --help") & {"numba", "numpy"}


def test_json_tells_figures_and_settings(cli: Cli) -> None:
    cli.write("table.txt", EMISSION)
    about = json.loads(
        cli.fine(
            "synth -o a.txt --test-output b.txt --labels 3 --states 1 --emission table.txt --sequences 50 "
            "--ring-probability .8 --json"
        )
    )
    expected = {"labels": 3, "states": 1, "symbols": 3, "p": 0.8, "length": "20", "seed": 1}
    assert about["settings"] == expected
    model = synth.ring(3, 1, p=0.8, emission=np.array(about["emission"]))
    for number, part in ((0, "train"), (2, "test")):
        drawn = synth.sample(model, 50, 20, synth.stream_of(1, number))
        found = about["data"][part]
        assert found["tokens"] == 1000
        assert found["bayes"] == pytest.approx(synth.bayes_accuracy(model, *drawn))
        assert found["merged"] == pytest.approx(found["bayes"])  # one state a label: nothing to merge
        assert found["majority"] == synth.majority_accuracy(model, drawn.states)
        assert found["sequence_limit"] == synth.sequence_limit(model, drawn)._asdict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--ring-probability 1.5", "p = 1.5"),
        ("--labels 0", "labels = 0"),
        ("--length 20-8", "the shorter one comes first"),
        ("--sequences 0", "0 sequences"),
        ("--seed -1", "seed -1"),
        ("--json", "with -o FILE"),
        ("-o a.txt --test-output a.txt", "are one file"),
        ("--test-output -", "a file each"),
        ("--test-sequences 5", "give --test-output FILE"),
        ("--dev-sequences 5 --test-output b.txt", "give --dev-output FILE"),
    ],
)
def test_wrong_usage(cli: Cli, options: str, message: str) -> None:
    ran = cli(f"synth {options}")
    assert ran.code == UsageError.exit_code
    assert message in ran.err
    assert list(cli.folder.iterdir()) == []


def test_nothing_is_written_when_one_file_cannot_be(cli: Cli) -> None:
    ran = cli("synth -o a.txt --test-output nowhere/b.txt")
    assert ran.code == PalmetteError.exit_code
    assert "nowhere/b.txt: cannot write" in ran.err
    assert not (cli.folder / "a.txt").exists()


def test_the_python_of_the_page_runs() -> None:
    source = "".join(blocks("docs/synth.md", "python"))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report: list[str] = []
    runner.run(doctest.DocTestParser().get_doctest(source, {}, "synth.md", None, 0), out=report.append)
    assert runner.tries == 9
    assert runner.failures == 0, "".join(report)
