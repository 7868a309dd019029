"""Models that are searched with a beam: trained from templates, saved, gone on with, tagged with; what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beam_arrays import BACKS
from chain_arrays import column_corpus, gold_examples, in_order_of_occurrence, tokens_of, weights_by_name
from cli_run import Cli
from fitting import arrays, assert_equal_weights, epochs, fit, flat_tagger, labelled, noisy, orders, twin_of
from hypothesis import given
from hypothesis import strategies as st
from naive_beam import beam_perceptron
from naive_templates import expand
from strategies import Task, few, tasks

from palmette import Beam, Parser, Tagger
from palmette.data import model_file
from palmette.errors import DataError, ModelError, TemplateError, UsageError
from palmette.features import LABEL_CONTEXT, parse, to_text
from palmette.features.lint import lint
from palmette.features.templates import MOST_LABELS
from palmette.kernels.chain.label_context import LABEL_BITS
from palmette.options import ChainOptions, ChainSettings, assemble
from palmette.structures import ChainModel, fit_temperature, load_chain, pruned, separation
from palmette.structures.chain.label_context import carried, restart_contexts

PAST_LINES = ["Y0:%y[-1]/%x[0,0]", "Y1:%y[-2]/%y[-1]", "Y2:%y[-3]/%x[-1,1]", "Y3:%x[0,1]/%y[-1]"]
TEMPLATES = "U0:%x[0,0]\nB\n" + "".join(f"U{line}\n" for line in PAST_LINES)
BEAM = {"search": "beam", "beam": 2}


def trained(**more) -> Tagger:
    return flat_tagger(template=parse(TEMPLATES), **{**BEAM, "passes": 3, **more}).fit(*noisy(0))


def everything(model: ChainModel) -> list[np.ndarray]:
    assert model.label_contexts is not None
    return [
        *arrays(model),
        model.label_contexts.template,
        model.label_contexts.owner,
        model.label_contexts.code,
        model.label_contexts.w,
    ]


# --- templates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("syntax", ["crfpp", "wapiti"])
def test_templates_that_read_earlier_labels(syntax: str) -> None:
    text = "U0:%x[0,0]\nU1:%y[-1]/%y[-12]/%x[0,0]\nU2:%y[-3]\nB\n"
    made = parse(text, syntax=syntax)
    assert [template.earlier_labels for template in made.templates] == [(), (1, 12), (3,), ()]
    assert [template.orders for template in made.label_contexts] == [(LABEL_CONTEXT,)] * 2
    assert (made.order, made.searches) == (1, ("beam",))
    assert parse(to_text(made), syntax=syntax).templates == made.templates
    assert parse("U0:%x[0,0]\nB").searches == ("viterbi", "beam")
    assert MOST_LABELS * LABEL_BITS < 63


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("U0:%y[0]", "not an earlier label"),
        ("U0:%y[1]", "not an earlier label"),
        ("U0:%y[-21]", "not an earlier label"),
        ("U0:%y[-1,0]", "%y[-1] for the label before"),
        ("B0:%y[-1]", "do not go together"),
        ("*0:%y[-1]/%x[0,0]", "starts with U"),
        ("U0:%y[-1]%y[-2]%y[-3]%y[-4]%y[-5]", "reads 5 earlier labels"),
    ],
)
def test_bad_templates(line: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(line)
    assert message in str(caught.value)
    assert ":1:" in str(caught.value)


def test_the_linter_knows_them() -> None:
    found = lint(parse("U1:%y[-1]/%x[0,0]\nU2:%x[0,0]/%y[-1]\nU3:%y[-1]/%y[-1]\nU4:%y[-2]\nU5:%x[0,0]\nU4:%y[-2]\n"))
    assert [(warning.line, warning.kind) for warning in found] == [
        (2, "redundant"), (3, "repeated"), (6, "duplicate"),
    ]  # fmt: skip


# --- whole trainings ----------------------------------------------------------------------------------------


@few()
@given(tasks(), st.lists(st.sampled_from(PAST_LINES), min_size=1, unique=True), st.integers(1, 3), st.integers(0, 99))
def test_whole_trainings_are_those_of_the_definition(task: Task, lines: list[str], B: int, seed: int) -> None:
    """From templates and cells to weights, with their names."""
    text = "\n".join([task.templates, *(f"U{line}" for line in lines)])
    templates = parse(text)
    corpus = column_corpus(task.sentences, task.labels)
    model, outcome = fit(corpus, text, search="beam", beam=B, update="max-violation", passes=2, seed=seed)
    names = in_order_of_occurrence(task.labels)
    sentences = [tokens_of(templates, sentence) for sentence in task.sentences]
    readings = [
        [
            [(expand(t, "crfpp", sentence, i), t.earlier_labels) for t in templates.label_contexts]
            for i in range(len(sentence))
        ]
        for sentence in task.sentences
    ]
    examples = gold_examples(sentences, task.labels, names)
    order = np.concatenate(orders(seed, outcome, len(examples))).tolist()
    reach = max(templates.order, max(b for t in templates.label_contexts for b in t.earlier_labels))
    twin = beam_perceptron(twin_of(templates, len(names)), examples, readings, order, B, "max-violation", reach=reach)
    observed = {feature: w for feature, w in twin.mean.items() if feature[0] != "past"}
    assert_equal_weights(weights_by_name(model), labelled(observed, names))
    assert_equal_weights(contexts_by_name(model), {f: w for f, w in twin.mean.items() if f[0] == "past"})
    assert sum(row.updates for row in outcome.training_log) == twin.updates


def contexts_by_name(model: ChainModel) -> dict:
    contexts, found = model.label_contexts, {}
    assert contexts is not None
    for row in range(contexts.owner.size):
        template = contexts.template[contexts.owner[row]]
        rest, labels = int(contexts.code[row]), []
        for _ in range(int(contexts.first[template + 1] - contexts.first[template])):
            rest, label = divmod(rest, 1 << LABEL_BITS)
            labels.insert(0, label - 1)
        name = model.names[LABEL_CONTEXT][int(contexts.owner[row])]
        for h in np.flatnonzero(contexts.w[row]):
            found["past", name, tuple(labels), int(h)] = float(contexts.w[row, h])
    return found


def test_mavg_restarts_from_the_mean_of_all_weights() -> None:
    tagger = trained(estimator="mavg", mavg_every=1, passes=4)
    other = trained(estimator="avg", passes=4)
    assert tagger.predict(noisy(1)[0]) != other.predict(noisy(1)[0])
    assert tagger.model_.label_contexts is not None
    contexts = tagger.model_.label_contexts._replace(a=np.ones(tagger.model_.label_contexts.w.shape))
    before = contexts.w.copy()
    restart_contexts(contexts, 4.0)
    assert np.array_equal(contexts.w, before - np.float32(0.25))
    assert not contexts.a.any()


def test_history_tells_bad_updates_and_where_they_are_cut() -> None:
    figures = [row["figures"] for row in trained(beam=1, update="standard", passes=6).training_log_]
    assert any(row["bad"] > 0 for row in figures)
    assert all(row["cut"] == 1.0 for row in figures)
    figures = [row["figures"] for row in trained(beam=1, update="early", passes=6).training_log_]
    assert all(row["bad"] == 0 for row in figures)
    assert all(0 < row["cut"] < 1.0 for row in figures)


# --- the model file -----------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    tagger, words = trained(), noisy(1)[0]
    tagger.save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm")
    assert again.model_.beam == 2
    assert again._settings().beam == Beam(2, update="max-violation", recombine=True)
    assert again.predict_scored(words) == tagger.predict_scored(words)
    assert again.nbest(words, 2) == tagger.nbest(words, 2)
    small = pruned(tagger.model_, rows=True, names=True)
    small.save(str(tmp_path / "s.palm"))
    assert Tagger.load(tmp_path / "s.palm").predict_scored(words) == tagger.predict_scored(words)


def test_recombination_is_on_unless_it_is_turned_off(tmp_path: Path) -> None:
    apart = trained(recombine=False)
    apart.save(tmp_path / "m.palm")
    assert Tagger.load(tmp_path / "m.palm").model_.recombine is False
    assert trained().model_.recombine is True
    assert Tagger(search=Beam(3))._settings().resolved().search == Beam(3, update="max-violation", recombine=True)
    with pytest.raises(UsageError, match="a parser merges states with merge=True"):
        Parser(search=Beam(3, recombine=False))._settings()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("past.owner", lambda a: np.full_like(a, a.max() + 1000)),
        ("past.owner", lambda a: np.full_like(a, -1)),
        ("past.code", lambda a: np.full_like(a, 1 << 50)),
        ("past.code", lambda a: a + 100),
        ("past.code", lambda a: -a - 1),
        ("past.code", lambda a: np.zeros_like(a)),
        ("past.template", lambda a: np.full_like(a, 9)),
        ("past.weights", lambda a: a[:-1]),
    ],
)
def test_every_number_is_checked(tmp_path: Path, name: str, change) -> None:
    trained().save(tmp_path / "m.palm")
    found, meta = model_file.load(tmp_path / "m.palm")
    model_file.save(tmp_path / "bad.palm", {**found, name: change(found[name])}, meta)
    with pytest.raises(ModelError):
        load_chain(str(tmp_path / "bad.palm"))


def test_a_width_that_is_none(tmp_path: Path) -> None:
    trained().save(tmp_path / "m.palm")
    found, meta = model_file.load(tmp_path / "m.palm")
    for wrong in ({"beam": 0}, {"beam": 1 << 40}, {"beam": "2"}, {"search": "viterbi"}):
        model_file.save(tmp_path / "bad.palm", found, meta | {"settings": meta["settings"] | wrong})
        with pytest.raises(ModelError):
            load_chain(str(tmp_path / "bad.palm"))


# --- going on -----------------------------------------------------------------------------------------------


def test_a_resumed_training_goes_on_exactly(tmp_path: Path) -> None:
    corpus = column_corpus(*noisy(0))
    whole, _ = fit(corpus, TEMPLATES, passes=5, checkpoint=True, **BEAM)
    part, _ = fit(corpus, TEMPLATES, passes=2, checkpoint=True, **BEAM)
    part.save(str(tmp_path / "m.palm"))
    resumed, _ = fit(corpus, None, passes=3, resume=load_chain(str(tmp_path / "m.palm")), checkpoint=True, **BEAM)
    for one, other in zip(everything(whole), everything(resumed), strict=True):
        assert one.tobytes() == other.tobytes()


def test_more_labels_and_attributes() -> None:
    """From 3 labels to 8: rows become wider, and what was learnt stays."""
    tagger, words = trained(), noisy(0)[0]
    old = tagger.model_.label_contexts
    assert old is not None
    wide = carried(tagger.model_.encoder, old.template, 8, old)
    n = old.owner.size
    assert np.array_equal(wide.w[:n, : old.w.shape[1]], old.w)
    assert not wide.w[:n, old.w.shape[1] :].any()
    assert (wide.used[0], wide.owner[:n].tolist(), wide.code[:n].tolist()) == (n, old.owner.tolist(), old.code.tolist())
    more, labels = noisy(3, labels="ABCDE")
    tagger.partial_fit([*words, *more], [*noisy(0)[1], *labels])
    assert set(tagger.labels_) == set("NVDABCE")
    assert tagger.score(more, labels) > 0.5


# --- tagging ------------------------------------------------------------------------------------------------


def test_masks_and_dead_ends() -> None:
    tagger, words = trained(), noisy(1)[0][:5]
    allowed = [[None if i % 2 else {"N", "D"} for i in range(len(sentence))] for sentence in words]
    for sentence in tagger.predict(words, allowed=allowed):
        assert all(label in "ND" for label in sentence[::2])
    strict = Tagger(search=Beam(1), template=parse("U0:%x[0,0]\nB"), forbidden=[("N", "V")], passes=3)
    strict.fit([[["n"], ["n"]], [["v"], ["v"]]], [["N", "N"], ["V", "V"]])
    with pytest.raises(DataError, match="a beam of 1 is too narrow"):
        strict.predict([[["n"], ["n"]]], allowed=[[None, "V"]])
    assert strict.search_with(beam=2).predict([[["n"], ["n"]]], allowed=[[None, "V"]]) == [["V", "V"]]


def test_other_searches_at_tag_time() -> None:
    words, labels = noisy(0)
    tagger = flat_tagger(template=parse("U0:%x[0,0]\nB"), passes=3, **BEAM).fit(words, labels)
    wide = tagger.search_with(beam=2000).predict_scored(words)
    assert tagger.model_.beam_search == (2000, True)
    apart = tagger.search_with(recombine=False)
    assert apart.model_.beam_search == (2000, False)
    narrow = tagger.search_with(beam=len(tagger.labels_), recombine=True).predict_scored(words)  # order 1: exact
    exact = tagger.search_with("viterbi").predict_scored(words)
    assert tagger.model_.beam == 0
    assert wide[1] == pytest.approx(exact[1], rel=1e-5)
    assert narrow[1] == pytest.approx(exact[1], rel=1e-5)
    with pytest.raises(UsageError, match="exact search has no prefixes"):
        tagger.search_with(recombine=False)
    assert tagger.predict_marginals(words[:1])
    with pytest.raises(UsageError, match="exact search has no width"):
        tagger.search_with("viterbi", 3)
    with pytest.raises(UsageError, match="from 1 to"):
        tagger.search_with("beam", 0)
    local = Tagger(template=parse("U0:%x[0,0]\nB"), **epochs(1, "maxent")).fit(words, labels)
    with pytest.raises(UsageError, match="maxent normalises"):
        local.search_with("beam", 3)


def test_lists_are_the_last_beam() -> None:
    tagger = trained()
    for n, expected in ((1, 1), (2, 2), (5, 2)):
        found = tagger.nbest([[["w0", "c0"], ["w1", "c1"]]], n)[0]
        assert len(found) == expected
        assert found[0].output == tagger.predict([[["w0", "c0"], ["w1", "c1"]]])[0]
        assert all(candidate.probability is None for candidate in found)


def test_what_takes_exact_search_is_refused() -> None:
    tagger, words = trained(), noisy(0)[0][:1]
    corpus = column_corpus(*noisy(0))
    for ask in (
        lambda: tagger.predict(words, decode="marginal"),
        lambda: tagger.predict_exact(words),
        lambda: tagger.predict_marginals(words),
        lambda: tagger.search_with("viterbi"),
        lambda: separation(tagger.model_, corpus),
        lambda: fit_temperature(tagger.model_, corpus),
    ):
        with pytest.raises(UsageError, match=r"read earlier labels|reads earlier labels"):
            ask()


def test_a_sentence_that_is_too_long_for_its_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.structures.chain.beam.MOST_BYTES", 1000)
    with pytest.raises(DataError, match=r"sentence 2 has 40 tokens.*\n?.*narrower beam"):
        trained().predict([[["w0", "c0"]], [["w0", "c0"]] * 40])


# --- what cannot be trained ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"update": "early"}, "is an option of beam"),
        ({"search": "depth"}, "choose one of viterbi, beam"),
        ({"search": "beam", "beam": 0}, "from 1 to"),
        ({"search": "beam", "beam": 2.5}, "whole number"),
        ({"search": "beam", "update": "late"}, "choose one of standard, early"),
        ({"search": "beam", "learner": "crf"}, "sums over all label sequences"),
        ({"search": "beam", "learner": "mira", "update": "laso"}, "laso is for the perceptron"),
        ({"search": "beam", "learner": "mira", "update": "laso-mean"}, "laso-mean is for the perceptron"),
        ({"beam": 2, "learner": "mira", "nbest": 5}, "the beam has 2"),
        ({"search": "beam", "latent": 2, "split_after": 2}, "split_after: needs exact search"),
        ({"search": "beam", "tune_bias": True}, "tune_bias: needs exact search"),
        ({"search": "beam", "learner": "hmm"}, "has no effect with the learner hmm"),
    ],
)
def test_settings_that_do_not_fit(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ChainSettings(**assemble(ChainOptions, settings))


def test_exact_search_with_earlier_labels_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"line 3 of templates.*use search='beam'"):
        Tagger(template=parse(TEMPLATES)).fit(*noisy(0))


def test_partial_labels_are_refused() -> None:
    words, labels = noisy(0)
    with pytest.raises(DataError, match="learns from full labels"):
        flat_tagger(template=parse("U0:%x[0,0]\nB"), partial=True, **BEAM).fit(
            words, [[None, *own[1:]] for own in labels]
        )


# --- the command line ---------------------------------------------------------------------------------------


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = Cli(tmp_path, capsys, monkeypatch)
    words, labels = noisy(0)
    rows = [
        "\n".join(f"{a} {b} {y}" for (a, b), y in zip(*pair, strict=True)) for pair in zip(words, labels, strict=True)
    ]
    run.write("x.txt", "\n\n".join(rows) + "\n\n")
    run.write("t.txt", TEMPLATES)
    assert "searches: beam (--search beam); 4 templates, the first on line 3" in run.fine("features t.txt")
    assert "use --search beam" in run("train x.txt -t t.txt -o m.palm").err
    ran = run("train x.txt -t t.txt -o m.palm --beam 2 --dev x.txt --passes 2 --update standard")
    assert ran.code == 0
    assert "bad  cut at" in ran.err
    assert "100.0%" in ran.err
    one = run.fine("tag m.palm x.txt --threads 3")
    assert one == run.fine("tag m.palm x.txt")
    told = run("tag m.palm x.txt --beam 4 -o out.txt").err
    assert "searching with a beam of 4; the model was trained with a beam of 2" in told
    assert "accuracy" in run.fine("eval m.palm x.txt --beam 1")
    assert "read earlier labels" in run("tag m.palm x.txt --confidence").err
    assert "# 1" in run.fine("tag m.palm x.txt --nbest 2")
    shown = run.fine("inspect m.palm")
    assert "beam of 2" in shown
    assert "earlier labels" in shown
    assert "bad updates, %" in shown
    ran = run("train x.txt --resume m.palm -o n.palm --passes 1 --beam 3")
    assert ran.code == 0
    assert Tagger.load(tmp_path / "n.palm").model_.beam == 3


def test_templates_of_the_arrays_are_alike() -> None:
    """The shapes that the kernels are tested with are those that templates can have."""
    assert all(1 <= len(back) <= MOST_LABELS for back in BACKS)
