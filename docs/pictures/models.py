"""Records of models and searches: what trained models do with a sentence, and small models themselves."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palmette import HMM, Beam, Crf, LabelHistory, Latent, Tagger
from palmette.data.items import corpus_from_items
from palmette.datasets import load_acronyms, load_demo
from palmette.evaluation.rivals import SystemLabels, SystemOutputs, compare, label_rivals
from palmette.evaluation.significance import Interval
from palmette.lab import synth
from palmette.reports.inspection import transition_table
from pictures.beams import cuts_record
from pictures.curves import tagging_data

Words = list[tuple[str, str]]
TEMPLATE = Path(__file__).with_name("chunk.template")  # few features, with which a search goes wrong


def tagged_trellis() -> dict[str, Any]:
    """Parts of speech of an ambiguous sentence."""
    tagger = Tagger("pos").fit(*tagging_data("train"), dev=tagging_data("dev"))
    return tagger.trellis(["Time", "flies", "like", "an", "arrow", "."]).as_dict()


def chunk_trellis() -> dict[str, Any]:
    """Chunks of a short sentence whose last word can be a verb or an adjective."""
    tagger = Tagger("chunk").fit(*load_demo("train"), dev=load_demo("dev"))
    words = [("We", "PRP"), ("saw", "VBD"), ("the", "DT"), ("new", "JJ"), ("bridge", "NN"), ("close", "VB"), (".", ".")]
    return tagger.trellis(words).as_dict()


def beam_cuts() -> dict[str, Any]:
    """A sentence that a chunker has not learnt yet, after one pass over five others."""
    X, y = load_demo("train")
    tagger = Tagger(template=TEMPLATE, passes=1, search=Beam(2)).fit(X[:5], y[:5])
    sentence = next(k for k, words in enumerate(X) if words[1][0] == "peasants")
    return cuts_record(tagger.trellis(X[sentence]), list(y[sentence]), 2)


# Hidden states


def _ring_state(name: str, colour: str, bars: list[tuple[str, float]]) -> dict[str, Any]:
    return {"name": name, "colour": colour, "bars": [list(bar) for bar in bars]}


def _true_ring(name: str) -> dict[str, Any]:
    model = synth.ring()
    colours = ["blue", "orange"]
    states = [
        _ring_state(state, colours[label], list(zip(model.names.symbols, row, strict=True)))
        for state, label, row in zip(model.names.states, model.label_of.tolist(), model.emission.tolist(), strict=True)
    ]
    following = [model.transition[k, (k + 1) % len(states)].item() for k in range(len(states))]
    return {"name": name, "states": states, "next": following, "note": "bars: which symbol a state shows"}


def ring() -> dict[str, Any]:
    """The hidden Markov model of `palmette synth`."""
    made = _true_ring("blue: label y1, orange: label y2")
    return {"title": "Labels come from a ring of hidden states", "rings": [made]}


def _sequences(model: synth.Model, sample: synth.Sample) -> tuple[list[list[str]], list[list[str]]]:
    X, y = [], []
    for a, b in zip(sample.offset[:-1].tolist(), sample.offset[1:].tolist(), strict=True):
        X.append([model.names.symbols[k] for k in sample.symbols[a:b]])
        y.append([model.names.labels[model.label_of[k]] for k in sample.states[a:b]])
    return X, y


def ring_found() -> dict[str, Any]:
    """What the states of a latent perceptron have become: the hidden states of the tokens that they are given to."""
    model = synth.ring()
    train, test = (synth.sample(model, 1500, 20, np.random.default_rng(seed)) for seed in (1, 2))
    with TemporaryDirectory() as folder:
        template = Path(folder, "symbol.txt")
        template.write_text("U0:%x[0,0]\nB\n", encoding="utf-8")
        tagger = Tagger(template=str(template), states=Latent(2), estimator="mavg", mavg_every=2)
        tagger.fit(*_sequences(model, train))
    found = tagger.model_.tag(corpus_from_items(_sequences(model, test)[0]).corpus, None, states=True)[0]
    H = len(model.names.states)
    together, following = np.zeros((H, H)), np.zeros((H, H))
    np.add.at(together, (found, test.states), 1)
    inside = np.ones(len(found), bool)
    inside[test.offset[1:] - 1] = False
    before = np.flatnonzero(inside)
    np.add.at(following, (found[before], found[before + 1]), 1)
    together, following = (table / table.sum(axis=1, keepdims=True) for table in (together, following))
    order = [int(together[:, hidden].argmax()) for hidden in range(H)]  # the state that stands for h1, h2, ...
    states = [
        _ring_state(
            tagger.states_[k], "blue" if tagger.states_[k].startswith("y1") else "orange",
            list(zip(model.names.states, together[k].tolist(), strict=True)),
        )
        for k in order
    ]  # fmt: skip
    learnt = {
        "name": "found by a latent perceptron", "states": states,
        "next": [following[a, b].item() for a, b in zip(order, order[1:] + order[:1], strict=True)],
        "note": "bars: the hidden states of its tokens",
    }  # fmt: skip
    return {
        "title": "Training saw symbols and labels only, and found the ring again",
        "rings": [_true_ring("what the data were drawn from"), learnt],
    }


# States that are known


def automaton() -> dict[str, Any]:
    """Runs of O up to four, with the transition weights of a tagger that finds the letters of acronyms."""
    tagger = Tagger("char", states=LabelHistory("run:O:4")).fit(*load_acronyms("train"))
    names, weights = transition_table(tagger.model_)
    used = [k for k, name in enumerate(names) if name]
    edges = []
    for a, start in enumerate(used):
        for b, end in enumerate(used):
            weight = weights[start][end]
            if weight is not None:
                edges.append({
                    "from": a, "to": b, "text": f"{weight:+.1f}", "colour": "blue" if weight > 0 else "orange",
                    "width": 1 + min(abs(weight), 14) / 5,
                })  # fmt: skip
    states = [{"name": names[k], "colour": "teal" if names[k] == "I" else "grey"} for k in used]
    return {
        "title": "run:O:4 counts the letters since the last one that is in", "back": "below", "states": states,
        "edges": edges,
        "notes": [
            "Arrows: all steps that exist, since labels determine states, with their weights after training.",
            "After one, two or three letters that are out the next one is hardly ever in; later it may be.",
        ],
    }  # fmt: skip


def hmm() -> dict[str, Any]:
    """The model of docs/hmm.md in its linear form."""
    tables = HMM.from_tables(
        start={"D": 0.8, "V": 0.2},
        transition={"D": {"N": 1}, "N": {"D": 0.2, "N": 0.2, "V": 0.6}, "V": {"D": 0.8, "V": 0.2}},
        emission={"D": {"the": 1}, "N": {"can": 1}, "V": {"can": 1}},
    ).to_tables()
    labels = ["D", "N", "V"]
    states = []
    for label, colour in zip(labels, ("teal", "blue", "orange"), strict=True):
        state: dict[str, Any] = {"name": label, "colour": colour}
        if tables["start"].get(label, 0) > 0:
            state["start"] = tables["start"][label]
        state["emits"] = [[word, p] for word, p in tables["emission"][label].items() if p > 0]
        states.append(state)
    edges = [
        {"from": labels.index(a), "to": labels.index(b), "text": f"{p:g}", "colour": "ink", "width": 1 + 2 * p}
        for a, row in tables["transition"].items()
        for b, p in row.items()
        if p > 0
    ]
    return {
        "title": "Labels follow each other, and each label draws its word", "back": "above", "step": 170.0,
        "room": 96.0, "states": states, "edges": edges,
        "notes": ["Solid arrows: P(next label | label). Dashed: P(word | label). Grey: P(first label)."],
    }  # fmt: skip


# Lists


def nbest() -> dict[str, Any]:
    """The five best label sequences of a sentence."""
    tagger = Tagger("chunk", learner=Crf()).fit(*load_demo("train"))
    words = [("She", "PRP"), ("left", "VBD"), ("early", "JJ"), ("Monday", "NNP"), ("morning", "NN"), (".", ".")]
    found = tagger.nbest([words], 5)[0]
    return {
        "title": "The five best sequences differ at two words",
        "tokens": [word for word, _ in words],
        "candidates": [{"output": list(one.output), "probability": one.probability} for one in found],
        "note": "Marked: labels that differ from the best sequence.",
    }  # fmt: skip


def _ends(interval: Interval) -> list[float]:
    return [100 * interval.low, 100 * interval.high]


def intervals() -> dict[str, Any]:
    """F1 of four chunkers on the test part of the demo corpus, and the differences from the first."""
    train, dev, (X, y) = load_demo("train"), load_demo("dev"), load_demo("test")

    def words(part: tuple[Any, Any]) -> tuple[Any, Any]:
        return [[word for word, _ in sentence] for sentence in part[0]], part[1]

    systems = {
        "words and tags": Tagger("chunk").fit(*train, dev=dev),
        "order 0": Tagger("chunk", order=0).fit(*train, dev=dev),
        "CRF": Tagger("chunk", learner=Crf()).fit(*train, dev=dev),
        "words alone": Tagger("pos").fit(*words(train), dev=words(dev)),
    }
    labels = sorted({label for each in y for label in each})

    def numbered(rows: list[list[str]]) -> SystemLabels:
        return SystemLabels(np.array([labels.index(label) for row in rows for label in row], np.int32), labels)

    guesses = [
        numbered(tagger.predict(words((X, y))[0] if name == "words alone" else X)) for name, tagger in systems.items()
    ]
    outputs = SystemOutputs.of(list(systems), corpus_from_items(X).corpus, numbered(y), guesses)
    found = compare(label_rivals(outputs))
    rows = []
    for k, system in enumerate(found.systems):
        difference = None if k == 0 else found.pairs[k - 1].differences["f1"]
        rows.append({
            "name": system.name, "score": 100 * system.metrics["f1"].value,
            "interval": _ends(system.metrics["f1"].interval),
            "difference": None if difference is None else 100 * difference.value,
            "difference_interval": [] if difference is None else _ends(difference.interval),
            "p": None if difference is None else difference.p,
        })  # fmt: skip
    return {
        "title": "Intervals of differences are narrower than those of scores, and they decide",
        "score": "F1 with 95% interval", "difference": "difference from the first", "systems": rows,
        "notes": ["80 test sentences of the demo corpus. Orange: the interval of the difference leaves out zero."],
    }  # fmt: skip
