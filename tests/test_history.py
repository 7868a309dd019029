"""States that remember labels: the automaton against its definition, label bigrams against order 2, training against
the naive perceptron and against plain models of the states, and files and commands."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, decoded, in_order_of_occurrence
from cli_run import Cli, last_cells
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_chain import Model, Token, best_path, path_score
from naive_history import Bigrams, state_names
from naive_latent import States, assert_learnt, latent_perceptron, latent_twin, pass_orders, state_examples
from naive_latent import state_weights as weights_of
from strategies import Task, few, random_model, random_sentence, shapes, tasks

from palmette import Crf, LabelHistory, Tagger
from palmette.data import LabelAutomaton
from palmette.data.labels.automaton import checked_automaton, make_automaton
from palmette.errors import DataError, ModelError, UsageError
from palmette.features import parse
from palmette.structures import Shape, everything_allowed, load_chain
from palmette.structures.chain.weights import of_states

KINDS = ["bigram", "trigram", "run:N:1", "run:N:2", "run:V:3"]
LABELS = ["N", "V", "D"]


def shape_of(labels: list[str], kind: str) -> Shape:
    history = make_automaton(labels, kind, 64)
    counts = history.counts
    return Shape(
        len(labels), 1, states_per_label=max(counts), states=() if len(set(counts)) == 1 else counts, history=history
    )


# --- the automaton ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_each_label_sequence_has_one_path_of_states(kind: str, n_labels: int) -> None:
    labels = LABELS[:n_labels]
    if kind == "run:V:3" and n_labels == 1:
        labels = ["V"]
    shape = shape_of(labels, kind)
    assert shape.history is not None
    allowed = of_states(everything_allowed(n_labels), shape)
    names, single = shape.state_names(labels), [own[0] for own in shape.history.names if len(own) == 1]
    states = [h for h, name in enumerate(names) if name]
    for n in (1, 2, 3, 4):
        found = [(h,) for h in states if allowed.start[h]]
        for _ in range(n - 1):
            found = [(*path, h) for path in found for h in states if allowed.pair[path[-1], h]]
        assert allowed.end[states].all()
        expected = {tuple(state_names(kind, own, single)) for own in itertools.product(labels, repeat=n)}
        assert {tuple(names[h] for h in path) for path in found} == expected
        assert len(found) == n_labels**n
        assert all(labels[h // shape.states_per_label] == names[h].partition("#")[0] for path in found for h in path)


@few()
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 9999))
def test_any_function_makes_an_automaton(n_labels: int, n_memories: int, seed: int) -> None:
    labels = LABELS[:n_labels]
    rng = np.random.default_rng(seed)
    table = {(m, y): int(rng.integers(n_memories)) for m in (None, *range(n_memories)) for y in labels}
    history = make_automaton(labels, lambda before, label: table[before, label], 64)
    transitions = history.transitions(max(history.counts))
    for own in itertools.product(labels, repeat=4):
        row, before, states = 0, None, []
        for label in own:
            before = table[before, label]
            y = labels.index(label)
            k = history.follow[row][y]
            states.append(y * max(history.counts) + k)
            row = 1 + sum(history.counts[:y]) + k
            name = history.names[y][k]
            assert name in (label, f"{label}#{before}")
        assert transitions.start[states[0]]
        assert all(transitions.pair[g, h] for g, h in itertools.pairwise(states))
    assert transitions.pair.sum() == sum(history.counts) * n_labels
    assert checked_automaton(json.loads(json.dumps(history)), n_labels, "x") == history


def test_states_without_end_are_refused() -> None:
    with pytest.raises(UsageError, match="more than 64 states"):
        make_automaton(["N"], lambda before, label: (before or 0) + 1, 64)
    with pytest.raises(UsageError, match="is not hashable"):
        make_automaton(["N"], lambda before, label: [label], 64)


def test_memories_that_do_not_read_well_are_numbered() -> None:
    history = make_automaton(["N", "V"], lambda before, label: "later on" if before else "at first", 64)
    assert history.names == (("N#1", "N#2"), ("V#1", "V#2"))


@pytest.mark.parametrize(
    "damage",
    [
        {}, [], [[["N"], ["V"]]], [[["N"]], [[0, 0]]], [[["N"], ["V"]], [[0, 0], [0, 0]]],
        [[["N"], ["V"]], [[0, 0], [0, 1], [0, 0]]], [[["N"], ["V"]], [[0, 0], [0, -1], [0, 0]]],
        [[["N"], [""]], [[0, 0]] * 3], [[["N"], []], [[0, 0]] * 2], [[["N"], ["V"]], [[0, 0], [0], [0, 0]]],
        [[["N"], ["V"]], [[0, 0], [0, 0.0], [0, 0]]], [["N", "V"], [[0, 0]] * 3],
    ],
)  # fmt: skip
def test_damaged_tables_are_found(damage: object) -> None:
    with pytest.raises(ModelError, match="damaged"):
        checked_automaton(damage, 2, "x.palm")


# --- label bigrams and order 2 ------------------------------------------------------------------------------


@few(2)
@given(st.integers(1, 3), shapes(2), st.integers(1, 5), st.sampled_from(["ties", "spread"]), st.integers(0, 99999))
def test_label_bigrams_of_order_1_are_order_2(
    n_labels: int, sizes: tuple[int, int, int], n: int, weights: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    two = random_model(rng, 2, n_labels, sizes, weights, forbid=float(rng.choice([0.0, 0.2])))
    sentence = random_sentence(rng, n, sizes, valued=bool(rng.integers(2)), most=3)
    bigrams = Bigrams(n_labels)
    one, tokens = bigrams.model(two), [Bigrams.token(token) for token in sentence]
    for labels in itertools.product(range(n_labels), repeat=n):
        assert path_score(one, tokens, bigrams.path(labels)) == path_score(two, sentence, labels)
    best = best_path(two, sentence)
    assume(np.isfinite(best.score))
    everything = [frozenset(range(n_labels))] * n
    plain = Case(two, tuple(range(n_labels)), sizes, [sentence], [everything], [1.0])
    ((score, path),) = decoded(chain_of(plain), data_of(plain))
    states = _numbered(one, tokens, bigrams, everything)
    ((state_score, state_path),) = decoded(chain_of(states), data_of(states))
    labels = tuple(h // bigrams.states_per_label for h in state_path)
    assert score == state_score == best.score
    assert state_path == bigrams.path(labels)
    assert path_score(two, sentence, labels) == best.score
    if best.unique:
        assert labels == path == best.path


def _numbered(model: Model, tokens: list[Token], bigrams: Bigrams, known: list[frozenset[int]]) -> Case:
    """Attributes by number, as the arrays want them."""
    used = [(kind, a) for token in tokens for kind in ("one", "two") for a, _ in getattr(token, kind)]
    used += [(f[0], f[1]) for f in model.weights if f[0] in ("one", "two")]
    of_kind = {kind: dict.fromkeys(a for k, a in used if k == kind) for kind in ("one", "two")}
    number = {kind: {a: k for k, a in enumerate(own)} for kind, own in of_kind.items()}
    model.weights = {
        (f[0], number[f[0]][f[1]], *f[2:]) if f[0] in number else f: weight for f, weight in model.weights.items()
    }
    given_ = [
        Token(*(tuple((number[kind][a], v) for a, v in getattr(token, kind)) for kind in ("one", "two")))
        for token in tokens
    ]
    label_of = tuple(h // bigrams.states_per_label for h in range(bigrams.n_states))
    sizes = (len(number["one"]), len(number["two"]), 0)
    return Case(model, label_of, sizes, [given_], [known], [1.0], states_per_label=bigrams.states_per_label)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_the_named_history_has_the_states_of_the_twin(n_labels: int) -> None:
    bigrams, shape = Bigrams(n_labels), shape_of(LABELS[:n_labels], "bigram")
    allowed = of_states(everything_allowed(n_labels), shape)
    banned = {("start", h) for h in np.flatnonzero(~allowed.start)} | {
        ("pair", g, h) for g, h in np.argwhere(~allowed.pair)
    }
    assert shape.n_states == bigrams.n_states
    assert banned == bigrams.forbidden()


# --- training -----------------------------------------------------------------------------------------------


def banned(shape: Shape) -> frozenset[tuple]:
    allowed = of_states(everything_allowed(shape.n_labels), shape)
    pairs = {("pair", int(g), int(h)) for g, h in np.argwhere(~allowed.pair)}
    ends = {(kind, int(h)) for kind in ("start", "end") for h in np.flatnonzero(~getattr(allowed, kind))}
    return frozenset(pairs | ends)


@few()
@given(
    tasks(max_tokens=3), st.sampled_from(["bigram", "run:N:2", "run:V:2"]), st.sampled_from([0.0, 1.0, 0.5]),
    st.sampled_from(["avg", "last"]), st.integers(0, 99),
)  # fmt: skip
def test_weights_are_those_of_the_definition(
    task: Task, kind: str, tied_update: float, estimator: str, seed: int
) -> None:
    names = in_order_of_occurrence(task.labels)
    assume(kind == "bigram" or kind[4] in names)
    model, outcome = fit(
        column_corpus(task.sentences, task.labels), task.templates, label_history=kind, tied_update=tied_update,
        estimator=estimator, passes=2, seed=seed,
    )  # fmt: skip
    assert model.shape.history is not None
    states = States(names, list(model.shape.history.counts))
    twin, shape = latent_twin(task.templates, states)
    ban = banned(model.shape)
    twin.forbidden, twin.order = ban, max(twin.order, 1 if any(f[0] == "pair" for f in ban) else 0)
    wanted = [[{label} for label in own] for own in task.labels]
    examples = state_examples(parse(task.templates), task.sentences, wanted, states)
    learnt = latent_perceptron(
        twin,
        examples,
        pass_orders(seed, len(outcome.training_log), len(examples)),
        tied_update=tied_update,
        states=states,
    )
    assert model.shape._replace(history=None) == shape
    for feature in ban:  # shared updates go there too, and no path does
        for part in (learnt.last, learnt.total, learnt.steps):
            part.pop(feature, None)
    assert_learnt(weights_of(model), learnt, estimator)
    assert [p.updates for p in outcome.training_log] == learnt.updates
    assert not learnt.infeasible


def test_a_history_crf_is_the_plain_crf_of_its_states() -> None:
    X, y = noisy(n_sentences=60, labels="NV")
    kind = "bigram"
    y_states = [state_names(kind, own) for own in y]
    names = sorted({name for own in y_states for name in own})
    assert len(names) == 6  # all there, so that both models have the same states
    after = [(g, h) for g in names for h in names if g[0] != h.partition("#")[2]]
    after += [("<s>", h) for h in names if not h.endswith("<s>")]
    options = {"learner": "crf", "template": parse(TEMPLATES[1]), "constraints": "none", "l2": 0.1, "iterations": 300}
    plain = flat_tagger(**options, forbidden=after, tolerance=1e-9).fit(X, y_states)
    own = flat_tagger(**options, label_history=kind, tolerance=1e-9).fit(X, y)
    ends = [tagger.training_log_[-1]["figures"]["objective"] for tagger in (plain, own)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)
    found, scores = own.predict_scored(X)
    expected, expected_scores = plain.predict_scored(X)
    assert [state_names(kind, labels) for labels in found] == expected
    assert scores == pytest.approx(expected_scores, rel=1e-2, abs=1e-2)


def test_a_run_of_one_is_the_plain_model() -> None:
    corpus = column_corpus(*noisy())
    plain, _ = fit(corpus, TEMPLATES[1], passes=3)
    model, _ = fit(corpus, TEMPLATES[1], passes=3, label_history=f"run:{plain.labels[0]}:1")
    assert same_bits(plain, model)


# --- what is known, what is forbidden -----------------------------------------------------------------------


def test_what_is_allowed_and_forbidden_of_labels_holds_for_states() -> None:
    X, y = noisy(labels="NVD")
    tagger = Tagger(
        states=LabelHistory("bigram"),
        template=parse(TEMPLATES[1]),
        forbidden=[("N", "N"), ("<s>", "D")],
        constraints="none",
    )
    y = [[a if a != b else "V" for a, b in zip(own, [None, *own[:-1]], strict=True)] for own in y]
    y = [["V" if i == 0 and a == "D" else a for i, a in enumerate(own)] for own in y]
    y = [_without(own) for own in y]
    tagger.fit(X, y)
    found = tagger.predict(X)
    pairs = {pair for own in found for pair in itertools.pairwise(own)}
    assert ("N", "N") not in pairs
    assert len(pairs) > 2
    assert all(own[0] != "D" for own in found)
    allowed = [[{"N", "D"} if i % 2 else None for i in range(len(own))] for own in y]
    found = tagger.predict(X, allowed=allowed)
    assert all(label in ("N", "D") for own in found for label in own[1::2])


def _without(own: list[str]) -> list[str]:
    """No N after N."""
    out: list[str] = []
    for label in own:
        out.append("V" if label == "N" and out[-1:] == ["N"] else label)
    return out


def test_partial_labels_and_marginals() -> None:
    X, y = noisy(n_sentences=80)
    half = [[None if i % 3 == 1 else label for i, label in enumerate(own)] for own in y]
    tagger = Tagger(learner=Crf(l2=0.1), states=LabelHistory("run:N:3"), template=parse(TEMPLATES[1])).fit(X, half)
    assert tagger.score(X, y) > 0.6
    for how in ("marginal", "exact"):
        assert set(itertools.chain(*tagger.predict(X, decode=how))) <= set("NVD")


def test_labels_of_a_tag_scheme_keep_to_it() -> None:
    X = [["a", "b", "c", "d"], ["b", "c", "a"], ["c", "c", "a", "b"]]
    y = [["B-X", "I-X", "O", "B-X"], ["O", "B-X", "I-X"], ["B-X", "I-X", "I-X", "O"]]
    tagger = Tagger("ner", states=LabelHistory("bigram"), passes=2).fit(X, y)
    assert tagger.model_.scheme == "IOB2"
    for own in tagger.predict([["z", "c", "b", "b", "a"], ["b", "b"]]):
        assert all(a != "O" or b != "I-X" for a, b in itertools.pairwise(["O", *own]))


# --- files, resumption, settings ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["trigram", "run:N:2", lambda before, label: label if label == "N" else before])
def test_saved_and_loaded(kind: object, tmp_path: Path) -> None:
    X, y = noisy()
    tagger = Tagger(states=LabelHistory(kind), template=parse(TEMPLATES[1]), passes=3).fit(X, y)
    tagger.save(tmp_path / "x.palm")
    other = Tagger.load(tmp_path / "x.palm")
    assert other.model_.shape == tagger.model_.shape
    assert isinstance(other.model_.shape.history, LabelAutomaton)
    assert other.predict_scored(X) == tagger.predict_scored(X)
    assert len(other.states_) == sum(other.model_.shape.history.counts)
    assert pickle.loads(pickle.dumps(tagger.model_)).shape == tagger.model_.shape
    if callable(kind):
        with pytest.raises(UsageError, match="give it again"):
            other.fit(X, y)
    else:
        assert same_bits(other.fit(X, y).model_, tagger.model_)


def test_training_goes_on_exactly_and_refuses_new_labels(tmp_path: Path) -> None:
    corpus = column_corpus(*noisy())
    whole, _ = fit(corpus, TEMPLATES[1], passes=4, label_history="bigram")
    half, _ = fit(corpus, TEMPLATES[1], passes=2, label_history="bigram", checkpoint=True)
    half.save(str(tmp_path / "half.palm"))
    rest, _ = fit(corpus, None, passes=2, label_history="bigram", resume=load_chain(str(tmp_path / "half.palm")))
    assert same_bits(whole, rest)
    with pytest.raises(DataError, match="new labels, and 'X' is one"):
        fit(column_corpus([[["w1", "c1"]]], [["X"]]), None, passes=2, label_history="bigram", resume=half)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_history": "fourgram"}, "'fourgram' is not bigram, trigram, run:LABEL:N"),
        ({"label_history": "run:N"}, "'run:N' is not bigram"),
        ({"label_history": "run:N:0"}, "'run:N:0' is not"),
        ({"label_history": "run:X:2"}, "no label 'X'"),
        ({"label_history": 3}, "3 is not bigram, trigram, run:LABEL:N or a function"),
        (
            {"label_history": "bigram", "latent": 2},
            "is an option of label-history; the states are latent",
        ),
    ],
)
def test_settings_that_do_not_fit(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        flat_tagger(template=parse(TEMPLATES[1]), **options).fit(*noisy())


# --- commands -----------------------------------------------------------------------------------------------


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    X, y = noisy(labels="NO")
    text = "\n\n".join(
        "\n".join(f"{' '.join(cells)} {label}" for cells, label in zip(x, own, strict=True))
        for x, own in zip(X, y, strict=True)
    )
    cli.write("train.txt", text + "\n")
    cli.write("template.txt", TEMPLATES[1])
    made = cli.fine("train train.txt -o m.palm --template template.txt --label-history run:O:3 --json")
    assert json.loads(made)["labels"] == 2
    states = last_cells(cli.fine("tag m.palm train.txt --show-states -q"))
    labels = last_cells(cli.fine("tag m.palm train.txt -q"))
    assert states == [state_names("run:O:3", own, ["N"]) for own in labels]
    assert "O#3+" in set(itertools.chain(*states))
    assert "accuracy" in cli.fine("eval m.palm train.txt")
    about = json.loads(cli.fine("inspect m.palm --json --data train.txt"))
    assert about["states"] == {"N": 1, "O": 3}
    assert about["settings"]["states"]["memory"] == "run:O:3"
    assert set(about["separation"]["usage"]) == {"N", "O#1", "O#2", "O#3+"}
    follows = {(t["from"], t["to"]) for t in about["transitions"]}
    assert follows
    assert all("#" not in b or b == "O#1" or a.startswith("O#") for a, b in follows)
    assert "O#3+" in cli.fine("inspect m.palm")
    again = cli("train train.txt -o m.palm --resume m.palm --label-history bigram")
    assert again.code == 2
    assert "--label-history" in again.err
    assert (
        "--label-history: 'x' is not bigram"
        in cli("train train.txt -o n.palm --template template.txt --label-history x").err
    )
