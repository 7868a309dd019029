"""Labels that are only partly known: in files and in Python, in training, in development data and in scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus
from cli_run import Cli, last_cells, leave_demo
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_latent import (
    States,
    assert_learnt,
    best_of_all,
    latent_perceptron,
    latent_twin,
    pass_orders,
    random_start,
    seen_states,
    start_on_grid,
    state_examples,
    state_weights,
)
from strategies import Task, few, tasks

from palmette import Tagger
from palmette.data import FormatSpec, corpus_from_items, read_corpus
from palmette.datasets import load_demo
from palmette.errors import DataError
from palmette.features import parse
from palmette.training.chain import start as starting

SIZE = 0.05
Wanted = list[list[frozenset[str]]]  # the labels that each token may have; none: anything


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def hidden(labels: list[list[str]], seed: int = 0, share: float = 0.5) -> Wanted:
    """Some labels replaced: half of these by nothing, the others by a choice of two."""
    rng = np.random.default_rng(seed)
    names = sorted({label for own in labels for label in own})

    def known(label: str) -> frozenset[str]:
        if rng.random() >= share:
            return frozenset([label])
        return frozenset() if rng.random() < 0.5 else frozenset([label, str(rng.choice(names))])

    return [[known(label) for label in own] for own in labels]


def in_python(wanted: Wanted) -> list[list[str | frozenset[str] | None]]:
    """As the labels y of a Tagger."""
    return [[min(w) if len(w) == 1 else frozenset(w) if w else None for w in own] for own in wanted]


def as_cells(wanted: Wanted, anything: str = "?") -> list[list[str]]:
    """As the label cells of a file."""
    return [["|".join(sorted(w)) if w else anything for w in own] for own in wanted]


def as_columns(sentences: Sequence[Sequence[Sequence[str]]], cells: list[list[str]]) -> str:
    blocks = [
        "\n".join(" ".join([*token, cell]) for token, cell in zip(sentence, own, strict=True))
        for sentence, own in zip(sentences, cells, strict=True)
    ]
    return "\n\n".join(blocks) + "\n"


def tuples(sentences: list[list[list[str]]]) -> list[list[tuple[str, ...]]]:
    return [[tuple(cells) for cells in sentence] for sentence in sentences]


# --- training -----------------------------------------------------------------------------------------------


def names_of(wanted: Wanted) -> list[str]:
    """Labels by first occurrence, those of a set by name."""
    return list(dict.fromkeys(name for own in wanted for labels in own for name in sorted(labels)))


@few(2)
@given(tasks(max_tokens=3), st.sampled_from(["avg", "last"]), st.sampled_from(["all", "seen"]), st.data())
def test_weights_are_those_of_the_definition(task: Task, estimator: str, edges: str, data: st.DataObject) -> None:
    """Gold is the best path among those that what is known allows; plain and latent."""
    wanted = hidden(task.labels, data.draw(st.integers(0, 999)), data.draw(st.sampled_from([0.3, 0.7, 1.0])))
    names = names_of(wanted)
    assume(names)
    seed, passes, states_per_label = (
        data.draw(st.integers(0, 99)),
        data.draw(st.integers(1, 3)),
        data.draw(st.sampled_from([1, 2])),
    )
    states = States(names, [states_per_label] * len(names))
    twin, shape = latent_twin(task.templates, states)
    examples = state_examples(parse(task.templates), task.sentences, wanted, states)
    if states_per_label > 1:
        twin.weights = random_start(shape, twin.order, SIZE, seed, rounded=True)
    twin.seen = seen_states(examples, twin.order, states) if edges == "seen" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "start_randomly", start_on_grid)
        model, outcome = fit(
            column_corpus(task.sentences, as_cells(wanted)), task.templates, partial=True, latent=states_per_label,
            estimator=estimator, passes=passes, seed=seed, edge_features=edges, init_size=SIZE,
        )  # fmt: skip
    orders = pass_orders(seed, len(outcome.training_log), len(examples))
    learnt = latent_perceptron(twin, examples, orders, tied_update=1.0 if states_per_label > 1 else 0.0, states=states)
    assert model.labels == names
    assert [p.updates for p in outcome.training_log] == learnt.updates
    assert [p.wrong for p in outcome.training_log] == learnt.wrong
    assert_learnt(state_weights(model), learnt, estimator)


@pytest.mark.parametrize("latent", [1, 2])
@pytest.mark.parametrize("anything", ["?", "_"])
def test_python_and_files_give_the_same_model(cli: Cli, latent: int, anything: str) -> None:
    sentences, labels = noisy()
    wanted = hidden(labels)
    path = cli.write("train.txt", as_columns(sentences, as_cells(wanted, anything)))
    cli.write("t.txt", TEMPLATES[1])
    options = {"template": "t.txt", "passes": 3, "latent": latent, "constraints": "none"}
    from_file = flat_tagger(partial=True, **options).fit_file(path)
    for partial in (None, True):
        from_items = flat_tagger(partial=partial, **options).fit(tuples(sentences), in_python(wanted))
        assert same_bits(from_file.model_, from_items.model_)
        assert from_items.model_.labels == from_file.model_.labels
    assert set(from_file.model_.labels) == {"N", "V", "D"}
    cli.fine(f"train train.txt -o m.palm -t t.txt --passes 3 --latent {latent} --constraints none --partial -q")
    assert state_weights(Tagger.load("m.palm").model_) == state_weights(from_file.model_)
    assert not same_bits(flat_tagger(**options).fit(tuples(sentences), labels).model_, from_file.model_)


def test_a_label_that_only_stands_in_choices_is_a_label() -> None:
    y = [["N", {"V", "D"}], [None, {"D", "V"}]]
    tagger = Tagger("pos", passes=2).fit([["a", "b"], ["a", "c"]], y)
    assert tagger.model_.labels == ["N", "D", "V"]
    assert tagger.predict([["a", "b"]], allowed=[[None, "D"]])[0][1] == "D"


def test_nothing_known_at_all_is_an_error() -> None:
    with pytest.raises(DataError, match="no label is known"):
        Tagger("pos").fit([["a", "b"]], [[None, None]])


@pytest.mark.parametrize("wrong", [set(), {1}, {""}, 3, ["N"]])
def test_what_is_no_partial_label(wrong: object) -> None:
    with pytest.raises(DataError, match=r"y\[0\]\[1\]"):
        Tagger("pos").fit([["a", "b"]], [["N", wrong]])


def test_a_choice_with_an_empty_part_is_an_error(cli: Cli) -> None:
    cli.write("train.txt", "a N\nb N|\n")
    ran = cli("train train.txt -o m.palm --partial -q")
    assert ran.code == 1
    assert "train.txt:2" in ran.err
    assert "empty part" in ran.err


# --- it must be said ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["?", "N|V", "V|N"])
def test_what_looks_partial_must_be_said_to_be(cli: Cli, cell: str) -> None:
    cli.write("train.txt", f"a N\nb V\n\nb V\na {cell}\n")
    ran = cli("train train.txt -o m.palm -q")
    assert ran.code == 1
    for part in ("train.txt:5", repr(cell), "--partial", "--no-partial"):
        assert part in ran.err
    assert not (cli.folder / "m.palm").exists()


@pytest.mark.parametrize("cell", ["NN|JJ", "N|JJ", "_", "|", "N|", "?!"])
def test_a_bar_between_what_are_no_labels_is_part_of_a_name(cli: Cli, cell: str) -> None:
    cli.write("train.txt", f"a N\nb V\n\nb V\na {cell}\n")
    cli.fine("train train.txt -o m.palm --passes 2 -q")
    assert Tagger.load("m.palm").model_.labels == ["N", "V", cell]


def penn(rare: int, total: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of ten words; of the `total` tokens, `rare` have the label NN|JJ."""
    labels = ["NN|JJ"] * rare + ["NN", "JJ", "VB"] * total
    y = [labels[i : i + 10] for i in range(0, total, 10)]
    return [[f"w{label}" for label in own] for own in y], y


def test_rare_choices_are_labels(logged: list[str]) -> None:
    X, y = penn(5, 500)
    tagger = Tagger("pos", passes=5).fit(X, y)
    assert "NN|JJ" in tagger.labels_
    assert tagger.predict(X[:1])[0][0] == "NN|JJ"
    assert any("'NN|JJ' is taken as labels (5 tokens); partial=True reads" in message for message in logged)
    assert tagger.score(X[:1], y[:1]) == 1.0  # scored as the label that it is, though it is half of this data
    assert Tagger("pos", partial=True, passes=1).fit(X, y).labels_ == ["JJ", "NN", "VB"]


def test_choices_that_are_neither_rare_nor_frequent_must_be_said_to_be() -> None:
    with pytest.raises(DataError, match="partial=False"):
        Tagger("pos", passes=1).fit(*penn(6, 500))


def test_frequent_choices_and_gaps_are_partial(cli: Cli) -> None:
    leave_demo(cli.folder)
    lines = cli.read("train.txt").split("\n")
    lines = [line.rpartition(" ")[0] + " ?" if line and k % 3 == 0 else line for k, line in enumerate(lines)]
    cli.write("holes.txt", "\n".join(lines))
    ran = cli("train holes.txt -o m.palm -f chunk --passes 2")
    assert ran.code == 0
    assert "taken as partial labels (--no-partial: as labels)" in ran.err
    assert "?" not in Tagger.load("m.palm").labels_
    cli.fine("train holes.txt -o n.palm -f chunk --passes 2 --partial -q")
    assert same_bits(Tagger.load("m.palm").model_, Tagger.load("n.palm").model_)
    assert Tagger.load("m.palm").model_.settings.partial is True
    ran = cli("train holes.txt -o h.palm --learner hmm")
    assert ran.code == 1
    assert "--no-partial" in ran.err


def test_a_frequent_choice_beside_other_bars_must_be_said_to_be() -> None:
    """Mac-Morpho's PREP|+ would become PREP or +, of which + is no label."""
    X, y = penn(200, 500)
    with pytest.raises(DataError, match=r"'NN\|JJ' looks like"):
        Tagger("pos", passes=1).fit([*X, ["de"]], [*y, ["PREP|+"]])


@pytest.mark.parametrize("words", [["?"], ["?", "??", "?!"]])
def test_a_question_mark_that_marks_punctuation_is_a_label(words: list[str]) -> None:
    X = [["why", "not", word] for word in words] * 60
    y = [["ADV", "ADV", "?"]] * len(X)
    tagger = Tagger("pos", passes=3).fit(X, y, dev=(X, y))
    assert tagger.labels_ == ["ADV", "?"]
    assert tagger.score(X, y) == 1.0
    with pytest.raises(DataError, match="looks like a partial one"):
        Tagger("pos", passes=3).fit([*X, ["who"]], [*y, ["?"]])


def test_a_mark_beside_frequent_choices_must_be_said_to_be() -> None:
    X, y = penn(200, 500)
    with pytest.raises(DataError, match="looks like a partial one"):
        Tagger("pos", passes=1).fit([*X, ["?"]], [*y, ["?"]])


def test_fixed_labels_may_be_a_question_mark_or_have_a_bar(cli: Cli) -> None:
    cli.write("train.txt", "a N\nb V\n\nc ?\nd N|V\n" * 3)
    cli.fine("train train.txt -o m.palm --no-partial --passes 9 -q")
    cli.write("known.txt", "a ?\na N|V\na _\na N|?\n")
    (found,) = last_cells(cli.fine("tag m.palm known.txt --known 1 -q"))
    assert found[:2] == ["?", "N|V"]
    assert found[3] in ("N", "?")
    tagger = Tagger.load("m.palm")
    assert tagger.predict([["a", "a"]], allowed=[["?", "N|V"]]) == [["?", "N|V"]]


def test_more_data_keep_the_decision() -> None:
    X, y = penn(5, 500)
    tagger = Tagger("pos", passes=1).partial_fit(X, y)
    assert tagger.partial_fit(X[:1], y[:1]).labels_ == ["NN|JJ", "NN", "JJ", "VB"]


def test_no_partial_trains_them_as_labels(cli: Cli) -> None:
    cli.write("train.txt", "a N\nb V\n\nc ?\nd N|V\n" * 3)
    cli.fine("train train.txt -o m.palm --no-partial --passes 9 -q")
    assert Tagger.load("m.palm").model_.labels == ["N", "V", "?", "N|V"]
    cli.write("test.txt", "c\nd\n")
    assert last_cells(cli.fine("tag m.palm test.txt -q")) == [["?", "N|V"]]
    cli.fine("train train.txt -o p.palm --partial --passes 9 -q")
    assert Tagger.load("p.palm").model_.labels == ["N", "V"]


def test_development_data_that_look_partial_must_be_said_to_be(cli: Cli) -> None:
    cli.write("train.txt", "a N\nb V\n")
    cli.write("dev.txt", "a N\n\nb ?\n")
    ran = cli("train train.txt --dev dev.txt -o m.palm -q")
    assert ran.code == 1
    assert "dev.txt:3" in ran.err
    cli.fine("train train.txt --dev dev.txt -o m.palm -q --partial")


# --- decoding -----------------------------------------------------------------------------------------------


@few()
@given(tasks(max_tokens=3), st.sampled_from([1, 2]), st.integers(0, 999))
def test_allowed_labels_give_the_best_path_that_fits(task: Task, states_per_label: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "start_randomly", start_on_grid)
        tagger = flat_tagger(
            template=parse(task.templates),
            estimator="last",
            passes=2,
            latent=states_per_label,
            init_size=SIZE,
            constraints="none",
        ).fit(tuples(task.sentences), task.labels)
    states = States(tagger.model_.labels, [states_per_label] * len(tagger.model_.labels))
    twin, _ = latent_twin(task.templates, states)
    twin.weights = state_weights(tagger.model_)
    wanted = hidden(task.labels, seed, 0.7)
    examples = state_examples(parse(task.templates), task.sentences, wanted, states)
    found = tagger.predict(tuples(task.sentences), allowed=in_python(wanted))
    for example, own in zip(examples, found, strict=True):
        best = best_of_all(twin, example.sentence, [sorted(one) for one in example.allowed])
        assert best is not None
        assert own == [states.names[h // states_per_label] for h in best.path]


# --- scores -------------------------------------------------------------------------------------------------


def chunked(passes: int = 2, **options) -> Tagger:
    X, y = load_demo("train")
    return flat_tagger("chunk", passes=passes, **options).fit(X[:150], y[:150])


@pytest.mark.parametrize("latent", [1, 2])
def test_scores_leave_out_what_is_not_known(latent: int) -> None:
    tagger = chunked(latent=latent)
    X, y = load_demo("test")
    rng = np.random.default_rng(1)
    half = [[None if s % 2 and rng.random() < 0.4 else label for label in own] for s, own in enumerate(y)]
    half[1][0] = {"B-NP", "O"}
    found = tagger.evaluate(corpus_from_items(X, half, mode="columns").corpus)
    guess = tagger.predict(X)
    pairs = [(a, b) for own, ours in zip(half, guess, strict=True) for a, b in zip(own, ours, strict=True)]
    sure = [(a, b) for a, b in pairs if isinstance(a, str)]
    assert found.tokens == len(sure) < len(pairs)
    assert found.left_out == len(pairs) - len(sure)
    assert found.accuracy == pytest.approx(np.mean([a == b for a, b in sure]))
    whole = [s for s, own in enumerate(half) if all(isinstance(label, str) for label in own)]
    assert len(X) / 2 <= len(whole) < len(X)
    only = tagger.evaluate(corpus_from_items([X[s] for s in whole], [y[s] for s in whole], mode="columns").corpus)
    assert (found.precision, found.recall, found.f1) == (only.precision, only.recall, only.f1)
    everything = tagger.evaluate(corpus_from_items(X, y, mode="columns").corpus)
    assert everything.left_out == 0
    assert everything.f1 != found.f1


def test_a_token_with_a_set_of_one_is_known() -> None:
    tagger = chunked()
    X, y = load_demo("test")
    sets = [[{label} for label in own] for own in y]
    found = tagger.evaluate(corpus_from_items(X, sets, mode="columns").corpus)
    assert found.left_out == 0
    assert found.f1 == pytest.approx(tagger.score(X, y), abs=1e-12)


def test_nothing_to_score_is_an_error() -> None:
    X, y = load_demo("test")
    with pytest.raises(DataError, match="nothing to score"):
        chunked().evaluate(corpus_from_items(X[:2], [[None] * len(own) for own in y[:2]], mode="columns").corpus)


def test_development_data_with_partial_labels() -> None:
    (X, y), (X_dev, y_dev) = load_demo("train"), load_demo("dev")
    rng = np.random.default_rng(3)
    half = [[None if s % 2 and rng.random() < 0.5 else label for label in own] for s, own in enumerate(y_dev)]
    for metric in ("f1", "accuracy"):
        tagger = Tagger("chunk", passes=4, metric=metric).fit(X[:60], y[:60], dev=(X_dev, half))
        told = max(p.dev for p in tagger.outcome_.training_log)
        found = tagger.evaluate(corpus_from_items(X_dev, half, mode="columns").corpus)
        assert told == pytest.approx(found.f1 if metric == "f1" else found.accuracy)
        assert found.left_out > 0
    with pytest.raises(DataError, match="development data is fully known"):
        Tagger("chunk", passes=1).fit(X[:9], y[:9], dev=(X_dev, [[None] * len(own) for own in y_dev]))


def test_eval_counts_what_it_left_out(cli: Cli) -> None:
    leave_demo(cli.folder)
    lines = cli.read("test.txt").split("\n")
    places = [k for k, line in enumerate(lines) if line][::7]
    for k in places:
        lines[k] = lines[k].rpartition(" ")[0] + " ?"
    cli.write("holes.txt", "\n".join(lines))
    cli.fine("train train.txt -o m.palm -f chunk --passes 1 --partial -q")
    found = Tagger.load("m.palm").evaluate(read_corpus("holes.txt", FormatSpec()))
    assert found.left_out == len(places)
    assert f"{len(places)}" in cli.fine("eval m.palm holes.txt")


# --- contradictions and schemes -----------------------------------------------------------------------------


def test_contradictory_knowledge_is_told(logged: list[str]) -> None:
    """I-X or I-Y after O: the scheme of the rest forbids both."""
    X = [["a", "b", "c"], ["b", "a", "c"], ["c", "b"]]
    y = [["B-X", "I-X", "O"], ["B-Y", "I-Y", "O"], ["O", {"I-X", "I-Y"}]]
    tagger = Tagger("ner", passes=3).fit(X, y)
    assert tagger.model_.scheme == "IOB2"
    (warning,) = [message for message in logged if "left out" in message]
    assert warning.startswith("1 training sentence is left out")
    without = Tagger("ner", passes=3, constraints="none").fit(X, y)
    assert len([message for message in logged if "left out" in message]) == 1
    assert without.predict(X)[2][1] in ("I-X", "I-Y")


@pytest.mark.parametrize("latent", [1, 2])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_every_sentence_contradictory_is_no_crash(logged: list[str], order: int, latent: int) -> None:
    y = [[{"N", "V"}, {"N", "V"}], ["D", "D"]]
    tagger = flat_tagger(
        "pos", order=order, passes=2, latent=latent, forbidden=[("N", "N"), ("N", "V"), ("V", "N"), ("V", "V")]
    ).fit([["a", "b"], ["c", "c"]], y)
    assert any("1 training sentence is left out" in message for message in logged)
    assert tagger.predict([["c", "c"]]) == [["D", "D"]]
    with pytest.raises(DataError, match="no label sequence is possible"):
        tagger.predict([["a", "b"]], allowed=y[:1])


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        ("B-X I-X O / O ? I-X", "IOB2"),  # what stands before I-X is not known, and may be B-X
        ("I-X B-X O / O I-X", "IOB1"),
        ("B-X ? O / ? I-X", "IOB2"),
        ("I-X B-X ? / ? O", "IOB1"),
        ("B-X E-X O / S-X ? E-X", "IOBES"),
    ],
)
def test_schemes_are_recognised_beside_unknown_labels(rows: str, scheme: str) -> None:
    y = [[None if cell == "?" else cell for cell in row.split()] for row in rows.split(" / ")]
    X = [[f"w{i}" for i in range(len(own))] for own in y]
    tagger = Tagger("ner", passes=2).fit(X, y)
    assert tagger.model_.scheme == scheme


def test_constraints_fill_the_gaps() -> None:
    """Between B-X and I-X of one chunk only I-X or B-X can stand, whatever the weights say."""
    X = [["a", "b", "c"]] * 3 + [["d", "e"]] * 3
    y = [["B-X", "I-X", "I-X"]] * 3 + [["O", "O"]] * 3
    tagger = Tagger("ner", passes=4).fit(X, y)
    (found,) = tagger.predict([["a", "e", "c"]], allowed=[["B-X", None, "I-X"]])
    assert found[1] in ("B-X", "I-X")


# --- is it any good -----------------------------------------------------------------------------------------


def three_ways(X: list, y: list, test: tuple[list, list], seed: int) -> list[float]:
    """F after training with half of the labels hidden in three quarters of the sentences; on the other quarter alone;
    with O in place of what is hidden."""
    rng = np.random.default_rng([seed, 7])
    whole = set(rng.permutation(len(y))[: len(y) // 4].tolist())
    half = [[None if s not in whole and rng.random() < 0.5 else label for label in own] for s, own in enumerate(y)]
    outside = [["O" if label is None else label for label in own] for own in half]
    quarter = [X[s] for s in sorted(whole)], [y[s] for s in sorted(whole)]
    corpus = corpus_from_items(*test, mode="columns").corpus
    taggers = [Tagger("chunk", passes=5, seed=seed).fit(*data) for data in ((X, half), quarter, (X, outside))]
    return [float(tagger.evaluate(corpus).f1 or 0.0) for tagger in taggers]


def test_partial_labels_teach_on_the_demo_corpus() -> None:
    """Measured, mean of five seeds: 93.1, 87.0, 65.4."""
    X, y = load_demo("train")
    partial, quarter, outside = np.mean([three_ways(X, y, load_demo("test"), seed) for seed in range(1, 6)], axis=0)
    assert partial > quarter + 0.04
    assert partial > outside + 0.2


# --- what an attack found -----------------------------------------------------------------------------------


def every_second(y: list[list[str]]) -> list[list[str | None]]:
    return [[label if i % 2 == 0 else None for i, label in enumerate(own)] for own in y]


def test_unknown_neighbours_prove_no_scheme() -> None:
    """With every second label hidden no I is seen at an end: that does not make it IOBES."""
    X, y = load_demo("train")
    tagger = Tagger("chunk", passes=5).fit(X, every_second(y))
    assert tagger.model_.scheme == "IOB2"
    assert tagger.score(*load_demo("test")) > 0.9


def test_more_training_keeps_the_scheme() -> None:
    X, y = load_demo("train")
    tagger = Tagger("chunk", passes=3).partial_fit(X, y)
    before = tagger.score(*load_demo("test"))
    tagger.partial_fit(X, every_second(y))
    assert tagger.model_.scheme == "IOB2"
    assert tagger.score(*load_demo("test")) > before - 0.03


def test_dev_without_a_complete_sentence_is_scored_by_tokens() -> None:
    X, y = load_demo("train")
    dev = load_demo("dev")
    tagger = Tagger("chunk", passes=2).fit(X[:100], y[:100], dev=(dev[0], every_second(dev[1])))
    assert all(row["dev"] > 0.5 for row in tagger.training_log_)


def test_partial_gold_is_not_scored_by_chance(cli: Cli) -> None:
    leave_demo(cli.folder)
    cli.fine("train train.txt -o m.palm -f chunk --passes 2 -q")
    lines = (cli.folder / "test.txt").read_text(encoding="utf-8").split("\n")
    hidden = [line.rsplit(" ", 1)[0] + " ?" if line and k % 2 else line for k, line in enumerate(lines)]
    (cli.folder / "half.txt").write_text("\n".join(hidden), encoding="utf-8")
    ran = cli("eval m.palm half.txt")
    assert ran.code == 1
    assert "--partial" in ran.err
    with_model = json.loads(cli.fine("eval m.palm half.txt --partial --json"))
    cli.fine("tag m.palm half.txt -o tagged.txt -q")
    tagged = json.loads(cli.fine("eval --guess tagged.txt --partial --json"))
    assert with_model["left_out"] == tagged["left_out"] > 0
    assert with_model["accuracy"] == tagged["accuracy"] > 0.8
    assert with_model["f1"] is None


def test_sets_with_partial_false_are_an_error() -> None:
    with pytest.raises(DataError, match="partial=False"):
        Tagger("pos", partial=False).fit([["a", "b"]], [["X", None]])
