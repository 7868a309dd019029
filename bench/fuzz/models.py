"""Valid model files of every kind, small enough that a case of the fuzzer takes a few milliseconds.

They are trained here, in milliseconds each and always the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
    MaxEnt,
    Mira,
    Parser,
    Pipeline,
    Tagger,
)
from palmette.connect.wapiti_models import read_crfpp
from palmette.data import model_file
from palmette.data.formats.conllu import parse_treebank
from palmette.features.templates import parse

SENTENCES = [
    [("The", "DT"), ("old", "JJ"), ("boat", "NN"), ("stopped", "VBD")],
    [("Rain", "NN"), ("fell", "VBD"), ("on", "IN"), ("the", "DT"), ("lake", "NN")],
    [("We", "PRP"), ("sing", "VBP")],
]
LABELS = [["B-NP", "I-NP", "I-NP", "O"], ["B-NP", "O", "O", "B-NP", "I-NP"], ["B-NP", "O"]]
ATTRIBUTES = [[{"w": word, tag: 0.5} for word, tag in sentence] for sentence in SENTENCES]
TREES = [
    [("The", "DET", 2, "det"), ("boat", "NOUN", 3, "nsubj"), ("stops", "VERB", 0, "root"), ("here", "ADV", 3, "adv")],
    [("We", "PRON", 2, "nsubj"), ("sing", "VERB", 0, "root")],
]
TREEBANK: list[list[dict[str, str | int]]] = [
    [{"form": form, "upos": tag, "head": head, "deprel": name} for form, tag, head, name in tree] for tree in TREES
]
TREE_TEMPLATES = "s0.w\ns1.wu\nq0.u\ns0.u s1.u\ns0.l.rel s0.u\ns0.vl\ns1.sr\ndistance"
TEXT_TREES = """\
# text = The boat stopped, didn't it?
1	The	the	DET	DT	PronType=Art	2	det	_	_
2	boat	boat	NOUN	NN	Number=Sing	3	nsubj	_	_
3	stopped	stop	VERB	VBD	Tense=Past	0	root	_	SpaceAfter=No
4	,	,	PUNCT	,	_	5	punct	_	_
5-6	didn't	_	_	_	_	_	_	_	_
5	did	do	AUX	VBD	Tense=Past	3	parataxis	_	_
6	n't	not	PART	RB	_	5	advmod	_	_
7	it	it	PRON	PRP	_	5	nsubj	_	SpaceAfter=No
8	?	?	PUNCT	.	_	3	punct	_	_

# newpar
# text = We sing.
1	We	we	PRON	PRP	Case=Nom	2	nsubj	_	_
2	sing	sing	VERB	VBP	Tense=Pres	0	root	_	SpaceAfter=No
3	.	.	PUNCT	.	_	2	punct	_	_

"""
ROWS, CLASSES = [[0.3, 1.0], [0.9, -1.0], [0.1, 0.5], [1.2, 0.0]], ["a", "b", "a", "b"]
CLASSIFIED = [*SENTENCES, SENTENCES[0][::-1]], ["yes", "yes", "no", "no"]
TEXT = ["the boat stopped", "rain fell on the lake", "the rain stopped", "we sing on the lake"]

ORDER_0 = "U0:%x[0,0]\nU1:%x[0,1]"
ORDER_1 = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB"
EDGES = "U0:%x[0,0]\nB1:%x[0,1]\nB"
ORDER_2 = "U0:%x[0,0]\nB1:%x[0,1]\nT2:%x[0,1]\nB\nT"
EARLIER = "U0:%x[0,0]\nU1:%y[-1]/%x[0,1]\nU2:%y[-1]/%y[-2]"
RESOURCES = "U0:%x[0,0,lexicon:place]\nU1:%x[0,0,cluster:kind]\nU2:%x[0,0,lower.suffix3]\nB"
CRFPP = (
    "version: 100\ncost-factor: 1\nmaxid: 12\nxsize: 2\n\nB-NP\nO\n\nU0:%x[0,0]\nB\nB1:%x[0,1]\n\n"
    "0 B\n4 B1:NN\n8 U0:The\n10 U0:We\n\n" + "".join(f"{k / 8}\n" for k in range(-5, 7))
)
CLASSIFIER = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]"


class Model(NamedTuple):
    """A valid model file."""

    name: str
    task: str
    data: bytes
    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]


def write_models(folder: Path) -> None:
    """Train and write one file of every kind."""
    for name, save in _trained(folder):
        save(folder / f"{name}.palm")


def read_models(folder: Path) -> list[Model]:
    """The models that `write_models` wrote, always in the same order."""
    models = []
    for path in sorted(folder.glob("*.palm")):
        arrays, meta = model_file.load(path)
        copies = {name: array.copy() for name, array in sorted(arrays.items())}
        models.append(Model(path.stem, meta["task"], path.read_bytes(), copies, meta))
    return models


def _trained(folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    for name, tagger in _taggers().items():
        yield name, tagger.fit(SENTENCES, LABELS).save
        yield f"{name}, compact", _compacted(tagger)
    for name, tagger in _taggers().items():
        if not name.startswith(("crf", "dplvm", "maxent")):
            yield f"{name}, checkpoint", tagger.partial_fit(SENTENCES, LABELS).save
    stripped = Tagger(template=parse(ORDER_1), passes=2).fit(SENTENCES, LABELS)
    yield "stripped", lambda path: stripped.save(path, strip=True, prune=True)
    calibrated = Tagger(template=parse(ORDER_1), passes=2).fit(SENTENCES, LABELS)
    calibrated.calibrate(SENTENCES, [*LABELS[:2], ["B-NP", "B-NP"]])  # one is wrong: else no temperature is best
    yield "calibrated", calibrated.save
    yield "attributes", Tagger(passes=2).fit(ATTRIBUTES, LABELS).save
    yield "attributes, checkpoint", Tagger(passes=2).partial_fit(ATTRIBUTES, LABELS).save
    many = Tagger(template=parse(ORDER_1), passes=1)
    rare = Tagger(template=parse(EDGES), passes=2, min_feature_count=2, edge_features="seen")
    yield "many labels", many.fit([[(f"w{k}", "X")] for k in range(300)], [[f"L{k}"] for k in range(300)]).save
    yield "seen labels", rare.fit(SENTENCES * 2, LABELS * 2).save
    yield from _imported(folder)
    yield "linear classifier", LinearClassifier(Crf(iterations=2)).fit(ROWS, CLASSES).save
    for order in (1, 2):
        yield f"hmm {order}", HMM(order).fit([[word for word, _ in s] for s in SENTENCES], LABELS).save
    yield "resources", _with_resources(folder).save
    yield from _others(folder)


def _imported(folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Models of other tools, with float64 weights."""
    Tagger(passes=2, ends=False, constraints="none").fit(ATTRIBUTES, LABELS).save(folder / "imported.crfsuite")
    yield "imported, attributes", Tagger.load(folder / "imported.crfsuite").save
    pairs = read_crfpp(CRFPP.encode(), "a text model of CRF++")
    yield "imported, pairs", lambda path: pairs.save(str(path))


def _taggers() -> dict[str, Tagger]:
    """Of every kind of chain, not trained yet."""

    def tagger(template: str, **options: Any) -> Tagger:
        return Tagger(template=parse(template), **{"passes": 2, **options})

    return {
        "order 0": tagger(ORDER_0),
        "order 1": tagger(ORDER_1),
        "order 1, edges": tagger(EDGES, learner=Mira(nbest=2)),
        "order 1, seen": tagger(EDGES, edge_features="seen"),
        "order 2": tagger(ORDER_2),
        "order 2, seen": tagger(ORDER_2, edge_features="seen", learner=Mira(nbest=2)),
        "latent": tagger(ORDER_1, states=Latent(2)),
        "latent, seen": tagger(EDGES, states=Latent(2), edge_features="seen"),
        "latent, all at random": tagger(EDGES, states=Latent(2, init="all")),
        "beam": tagger(ORDER_1, search=Beam(2)),
        "beam, latent": tagger(EARLIER, search=Beam(2), states=Latent(2)),
        "beam, earlier labels": tagger(EARLIER, search=Beam(2)),
        "beam, seen": tagger(ORDER_2, search=Beam(2), edge_features="seen"),
        "history, bigram": tagger(ORDER_1, states=LabelHistory("bigram")),
        "history, run": tagger(ORDER_0, states=LabelHistory("run:O:2")),
        "crf": tagger(ORDER_1, learner=Crf(iterations=5), passes=None),
        "dplvm": tagger(ORDER_1, learner=Dplvm(iterations=5), states=Latent(2), passes=None),
        "maxent": tagger(ORDER_1, learner=MaxEnt(iterations=5), passes=None),
    }


def _compacted(tagger: Tagger) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        tagger.compact()
        tagger.save(path)

    return save


def _with_resources(folder: Path) -> Tagger:
    lexicon, clusters = folder / "lexicon.txt", folder / "clusters.txt"
    lexicon.write_text("the lake\tplace\nboat\tthing\n")
    clusters.write_text("0010\tboat\n0011\tlake\n")
    files: dict[str, Any] = {"lexicons": {"place": str(lexicon)}, "clusters": {"kind": str(clusters)}}
    return Tagger(template=parse(RESOURCES), passes=2, **files).fit(SENTENCES, LABELS)


def _others(folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    templates = folder / "templates.txt"
    templates.write_text(TREE_TEMPLATES)
    for merge in (False, True):
        parser = Parser(str(templates), search=Beam(2), passes=2, merge=merge).fit(TREEBANK)
        yield f"parser{', merging' if merge else ''}", parser.save
    parser.compact()
    yield "parser, compact", parser.save
    for name, learner in (("checkpoint", "perceptron"), ("checkpoint, adaptive", "arow")):
        parser = Parser(str(templates), learner=learner, search=Beam(2), passes=2, min_count=1)
        yield f"parser, {name}", parser.fit(TREEBANK, checkpoint=True).save
    templates.write_text(f"{TREE_TEMPLATES}\ns0.l.v s0.u")
    parser = Parser(str(templates), search=Beam(3, update="max-violation"), passes=2, variants=2)
    yield "parser, variants", parser.fit(TREEBANK, checkpoint=True).save
    for name, options in {
        "one view": {}, "all views": {"views": "all", "combine": "cotrain"}, "states": {"latent": 3},
        "none": {"latent": "none"}, "joint": {"views": "all", "combine": "joint"},
    }.items():  # fmt: skip
        made = Classifier(template=parse(CLASSIFIER), types=1, passes=2, **options)  # type: ignore[arg-type]
        yield f"classifier, {name}", made.fit(*CLASSIFIED).save
        yield f"classifier, {name}, checkpoint", made.fit(*CLASSIFIED, checkpoint=True).save
    for full in (False, True):
        trees = parse_treebank(TEXT_TREES.encode(), "trees")
        made_pipeline = Pipeline(passes=2, folds=2, beam=2, full=full).fit(trees, threads=1)
        yield f"pipeline{', full' if full else ''}", made_pipeline.save
    for order in (1, 2.5, 3):
        yield f"language model {order}", LanguageModel(order).fit(TEXT).save
