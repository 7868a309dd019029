"""Compile every kernel: each way through the package once, on tiny data."""

from __future__ import annotations

import tempfile
from pathlib import Path

from palmette.data.formats.conllu import write_treebank
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.sentences import parse_sentences
from palmette.data.formats.spec import FormatSpec
from palmette.data.treebank import Word, treebank_from_sentences
from palmette.estimators.classifier import Classifier
from palmette.estimators.hmm import HMM
from palmette.estimators.language_model import LanguageModel
from palmette.estimators.parser import Parser
from palmette.estimators.tagger import Tagger
from palmette.evaluation.shallow_cues import shallow_cues
from palmette.options.learners import OPTIMISERS, Crf
from palmette.options.search import Beam
from palmette.structures.chain.model import DECODINGS
from palmette.structures.chain.separation import separation
from palmette.structures.tree.projective import deprojectivised, projectivised

COLUMNS = "a x B-N\nb y I-N\nc x O\n\nb x O\na y B-N\n\n"
ATTRIBUTES = "B\tw=a\\:b\tv:2.5\nI\tw=b\n\nB\tw=a\n\n"
CONLLU = "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n2\tb\tb\tY\tY\t_\t1\tdep\t_\t_\n\n"
TEMPLATES = "U0:%x[0,0]/%x[0,1]\n*1:%x[0,0]\nB\nT\n"


def throw_away(folder: Path | None) -> tuple[int, int]:
    """Delete compiled kernels, of this version and others; returns the number of files and bytes. Running processes
    have loaded what they need, or compile it again."""
    files, size = 0, 0
    for path in folder.glob("*.kernel") if folder is not None else ():
        bytes_of_it = path.stat().st_size
        path.unlink(missing_ok=True)
        files, size = files + 1, size + bytes_of_it
    return files, size


def compile_all() -> None:
    """Train and tag with columns, CoNLL-U and attributes; with orders 1 and 2, development data, names and pruning; by
    passes and by likelihood; with every way to decode; and inspect the result."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("c.txt", "a.crfsuite", "u.conllu", "t.txt", "m.palm")}
        for name, text in (("c.txt", COLUMNS), ("a.crfsuite", ATTRIBUTES), ("u.conllu", CONLLU), ("t.txt", TEMPLATES)):
            files[name].write_text(text, encoding="utf-8")
        tagger = Tagger(template=files["t.txt"], passes=2, min_count=1).fit_file(files["c.txt"], files["c.txt"])
        tagger.save(files["m.palm"], prune=True)
        Tagger.load(files["m.palm"]).tag_file(files["c.txt"], Path(folder, "out.txt"))
        attributes = Tagger(passes=1, min_count=2).fit_file(files["a.crfsuite"])
        attributes.tag_file(files["a.crfsuite"], Path(folder, "out.txt"))
        Tagger(template=files["t.txt"], search="beam", passes=1).fit_file(files["c.txt"], files["c.txt"])
        Tagger("pos", passes=1).fit_file(files["u.conllu"], spec=FormatSpec(label="upos"))
        _compile_parser(Path(folder, "out.conllu"))
        tagger.predict([[("a", "x"), ("b", "y")]], allowed=[[None, "O"]])
        for optimiser in OPTIMISERS:
            Tagger(template=files["t.txt"], learner=Crf(optimiser=optimiser), passes=2).fit_file(files["c.txt"])
        Tagger(template=files["t.txt"], learner="maxent", passes=2).fit_file(files["c.txt"])
        corpus = read_corpus(files["c.txt"], FormatSpec())
        for how in DECODINGS:
            tagger.model_.decode(corpus, how)
        tagger.nbest([[("a", "x")]])
        tagger.predict_confidence([[("a", "x"), ("b", "y")]])
        separation(tagger.model_, corpus)
        for learner in ("pa", "lclr"):
            Classifier(learner=learner, passes=1).fit([[("a", "x")], [("b", "y")]], ["yes", "no"])
        HMM().fit([["a", "b"]], [["X", "Y"]]).log_likelihood([["a"]])
        plain = parse_sentences(b"a b\n" * 5)
        language = LanguageModel().fit(plain)
        language.score(plain)
        language.sample(1)
        shallow_cues(plain, plain)


def _compile_parser(path: Path) -> None:
    """Train on trees of which one has a crossing arc; parse, list and write, with merging and without."""
    heads = ([2, 0], [3, 0, 2, 1])
    words: list[list[Word]] = [[{"form": "a", "head": head, "deprel": f"r{head}"} for head in each] for each in heads]
    trees = treebank_from_sentences(words)
    for merge in (False, True):
        parser = Parser("basic", merge=merge, passes=2, search=Beam(2)).fit(trees, dev=trees)
        parser.nbest(trees, 2)
    write_treebank(path, deprojectivised(projectivised(trees)[0]))
    parser.parse_file(path, path)
