"""`Parser`: a dependency parser over treebanks, files or Python sentences.

    parser = Parser(search=Beam(8)).fit(read_treebank("train.conllu"), dev=read_treebank("dev.conllu"))
    parser.predict([[("Time", "NOUN"), ("flies", "VERB")]])

The command line is built on this class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from palmette.data.analysed import Candidate, Parse, ParsedSentence, SentenceTree
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.conllu import nbest_treebank_bytes, read_treebank, stream_treebank, treebank_bytes
from palmette.data.stream import BLOCK, Processed
from palmette.data.text import PLAIN, TextSpec
from palmette.data.treebank import FIELDS, NOTHING, Treebank, Word, treebank_from_sentences
from palmette.display import drawn_by
from palmette.errors import DataError, UsageError, counted
from palmette.estimators.base import Estimator, FileUse, FitOptions, PerSentence
from palmette.evaluation.attachment import AttachmentScores, score_trees
from palmette.options.declare import OptionError
from palmette.options.search import Beam
from palmette.parsing.compact import ParserCompaction, compact_parser
from palmette.parsing.fitted_templates import AUTO, fitted_templates
from palmette.parsing.model import ParserModel, best_trees
from palmette.parsing.options import ParserOptions, TreeSettings
from palmette.parsing.serialise import load_parser
from palmette.parsing.templates import Templates, choose_templates
from palmette.parsing.training import check_trained_on, finished, fit_parser, parsed
from palmette.training.clusters import clusters_of
from palmette.training.result import report_end, reporter

Tree = Sequence[tuple[int, str]]  # (head, relation) per word; heads count from 1, 0 is the root
Sentences = Treebank | Iterable[Iterable[Word]]
Labelled = Treebank | tuple[Iterable[Iterable[Word]], Iterable[Tree]]

TREES = BLOCK // 4
"""Bytes of a block: trees take a hundred times as long as labels, and threads should end together."""


class Parser(ParserOptions, Estimator):
    """An arc-standard parser with a beam.

    Parameters are declared options; `palmette parser train --help` and the reference pages explain all of them.
    """

    _repr_html_ = drawn_by("reports.notebook:model")

    def _settings(self) -> TreeSettings:
        """The options of learning, checked, every variant as a value."""
        self._check_values()
        return TreeSettings(**{name: getattr(self, name) for name in TreeSettings.__options__})

    # Training

    def fit(
        self,
        sentences: Sentences,
        trees: Iterable[Tree] | None = None,
        *,
        dev: Labelled | None = None,
        about: Mapping[str, Any] | None = None,
        **options: Unpack[FitOptions],
    ) -> Parser:
        """Learn from a treebank, or from sentences and their trees.

        sentences: a Treebank; or sentences of words, each a form, (form, upos), (form, upos, xpos) or a dictionary.
        trees: per sentence a list of (head, relation); left out if the words are dictionaries with head and deprel.
        dev: development data that chooses the pass: a Treebank, or a pair (sentences, trees).
        resume: the `model_` of a parser, which is trained further with its own templates; new relations are added.
        checkpoint: keep in the model what `resume` needs to continue exactly. threads: default all cores; the model is
        the same for any number. verbose: print a line per pass. about: how tags were made, which the model keeps."""
        settings = self._settings()
        asked: dict[str, Any] = dict(options)
        resume, verbose = options.get("resume"), asked.pop("verbose", False)
        asked["progress"] = reporter(options.get("progress"), verbose)
        if resume is not None and settings.chosen_learner.kind != resume.settings.chosen_learner.kind:
            raise OptionError("learner", f"training continues with {resume.settings.chosen_learner.kind}")
        if dev is None and self.patience is not None:
            raise OptionError("patience", "needs development data: dev=treebank")
        held_out = None if dev is None else _labelled(*dev) if isinstance(dev, tuple) else _treebank(dev)
        treebank = _labelled(sentences, trees)
        self.model_, self.outcome_ = fit_parser(
            treebank,
            held_out,
            self._templates(treebank, held_out, resume, options.get("threads")),
            settings,
            about=about,
            **asked,
        )
        report_end(self.outcome_, verbose)
        return self

    def _templates(
        self, treebank: Treebank, dev: Treebank | None, resume: ParserModel | None, threads: int | None
    ) -> Templates:
        """Those of the model that is trained further, or as the parameter `features` says."""
        if resume is not None:
            return resume.templates
        if self.features == AUTO:
            check_trained_on(treebank)
            found = fitted_templates(treebank, dev)
        else:
            found = choose_templates(self.features)
        clusters = clusters_of(self.clusters, self.raw, self.unicode, threads)
        if len(clusters) > 1:
            raise OptionError("clusters", f"a parser reads one: {', '.join(clusters)} are given")
        for own in clusters.values():
            found = found.with_clusters(own)
        found.check_clusters()
        return found

    def partial_fit(self, sentences: Sentences, trees: Iterable[Tree] | None = None) -> Parser:
        """Continue training with more data, which may bring new relations."""
        return self.fit(sentences, trees, resume=getattr(self, "model_", None), checkpoint=True)

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, skip_bad: bool = False, spec: TextSpec = PLAIN,
        **options: Any,
    ) -> Parser:  # fmt: skip
        """Learn from a CoNLL-U file; `options` as for `fit`. skip_bad: leave out sentences that are not trees. spec:
        the encoding of the files."""
        self._settings()  # wrong parameters are reported before any file is read
        treebank = read_treebank(path, skip_bad=skip_bad, spec=spec)
        held_out = None if dev is None else read_treebank(dev, skip_bad=skip_bad, spec=spec)
        return self.fit(treebank, dev=held_out, **options)

    # Making it small

    def compact(
        self,
        sentences: Sentences | None = None,
        trees: Iterable[Tree] | None = None,
        *,
        most_loss: float = 0.05,
        threads: int = 1,
    ) -> ParserCompaction:
        """Make the model small: weights of 8 or 16 bits, and without those that the sentences, which were not trained
        on, do not miss: at most `most_loss` points of LAS are lost on them. Without sentences no weight is dropped."""
        if not 0 <= most_loss <= 100:
            raise OptionError("most_loss", f"{most_loss} is not a number of points between 0 and 100")
        full, dev = self._fitted(), None if sentences is None else _with_trees(_labelled(sentences, trees))

        def figure(model: ParserModel) -> float:
            assert dev is not None
            return score_trees(dev, parsed(model, dev, self._width(None), self.merge, threads)).las

        self.model_, report = compact_parser(full, None if dev is None else figure, most_loss)
        return report

    # Using

    def parse(self, sentences: Sentences, *, beam: int | None = None, threads: int = 1) -> Treebank:
        """The sentences with guessed trees. Another beam than that of training is allowed."""
        return parsed(self._fitted(), _treebank(sentences), self._width(beam), self.merge, threads)

    def predict(self, sentences: Sentences) -> list[list[tuple[int, str]]]:
        """The tree of each sentence: per word its head (from 1; 0 is the root) and its relation."""
        found = self.parse(sentences)
        names = found.relations.cells()
        heads = found.heads.tolist()
        return PerSentence(list(zip(heads[a:b], names[a:b], strict=True)) for a, b in pairwise(found.offset.tolist()))

    def nbest(self, sentences: Sentences, n: int = 5, *, beam: int | None = None) -> list[list[Parse]]:
        """At most n different trees of each sentence, best first, as candidates with output, score and probability
        (None: a parser has none). They come from the last beam; with merging, from all that the search has seen."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise OptionError("nbest", f"{n!r} is not a whole number of at least 1")
        model, treebank, width = self._fitted(), _treebank(sentences), max(n, self._width(beam))
        Beam(width)
        words, grammar = model.encode(treebank), model.grammar()
        return [
            [
                Candidate(self._plain(treebank.take(np.array([s])), tree.heads, tree.relations), tree.score)
                for tree in best_trees(model, grammar, words, s, n, width, self.merge)
            ]
            for s in range(treebank.n_sentences)
        ]

    def _plain(self, treebank: Treebank, heads: np.ndarray, relations: np.ndarray) -> list[tuple[int, str]]:
        """A tree with lifted arcs put back."""
        made = finished(self._fitted(), treebank, heads, relations)
        return list(zip(made.heads.tolist(), made.relations.cells(), strict=True))

    def show(
        self,
        sentence: Iterable[Word],
        *,
        gold: Tree | None = None,
        nbest: int = 1,
        beam: int | None = None,
        tags: str = "upos",
    ) -> ParsedSentence:
        """One sentence with its tree, to look at: notebooks draw arcs over the words, `print` writes a word a line.
        gold: the right tree, which errors are drawn against. nbest: so many trees, below each other. tags: the field
        that stands below the words."""
        if isinstance(sentence, str):
            raise DataError("a sentence is a list of words, and this is a string")
        if tags not in FIELDS:
            raise UsageError(f"tags: there is no field {tags!r}; choose one of {', '.join(FIELDS)}")
        treebank = _treebank([list(sentence)])
        if not treebank.n_tokens:
            raise DataError("a sentence without words has nothing to show")
        if nbest > 1:
            trees = [SentenceTree.of(one.output, one.score) for one in self.nbest(treebank, nbest, beam=beam)[0]]
        else:
            found = self.parse(treebank, beam=beam)
            trees = [SentenceTree(found.heads.tolist(), found.relations.cells())]
        below = treebank.column(tags).cells()
        shown = None if set(below) == {NOTHING} else below
        return ParsedSentence(treebank.forms.cells(), trees, shown, None if gold is None else SentenceTree.of(gold))

    def evaluate(self, gold: Sentences, *, beam: int | None = None, threads: int = 1) -> AttachmentScores:
        """Attachment scores on sentences with trees, by the rules of the official UD scorer."""
        treebank = _with_trees(_treebank(gold))
        return score_trees(treebank, self.parse(treebank, beam=beam, threads=threads))

    def score(self, sentences: Sentences, trees: Iterable[Tree] | None = None) -> float:
        """Labelled attachment score (LAS)."""
        return self.evaluate(_labelled(sentences, trees)).las

    def parse_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        beam: int | None = None,
        prepare: Callable[[Treebank], Treebank] | None = None,
        fields: Iterable[str] = (),
        **options: Any,
    ) -> int:
        """Parse a CoNLL-U file into another, in blocks; returns the number of words. All but heads and relations is
        written as it was read. `prepare` changes a block before it is parsed (tags it, for example), and `fields` are
        the fields that it changes. `options` are those of `FileUse`: `threads`; `spec`, the encoding of the source,
        which is that of the target unless `output_encoding` is another one; `progress`."""
        check_apart([target], [source])
        use, model = FileUse(**options), self._fitted()
        width, changed = self._width(beam), ("head", "deprel", *fields)

        def work(treebank: Treebank) -> Processed:
            made = parsed(model, prepare(treebank) if prepare else treebank, width, self.merge)
            return Processed(treebank_bytes(made, fields=changed), (treebank.n_tokens,))

        return use.write(stream_treebank(source, labelled=False, block=TREES, spec=use.spec), work, target)

    def nbest_file(
        self,
        source: FilePath,
        target: FilePath,
        n: int = 5,
        *,
        beam: int | None = None,
        prepare: Callable[[Treebank], Treebank] | None = None,
        fields: Iterable[str] = (),
        **options: Any,
    ) -> int:
        """Write the n best trees of each sentence of a CoNLL-U file, with comments `# nbest` and `# score`; returns the
        number of words. The options are those of `parse_file`."""
        check_apart([target], [source])
        use, changed = FileUse(**options), tuple(fields)

        def work(treebank: Treebank) -> Processed:
            ready = prepare(treebank) if prepare else treebank
            return Processed(
                nbest_treebank_bytes(ready, self.nbest(ready, n, beam=beam), changed), (treebank.n_tokens,)
            )

        return use.write(stream_treebank(source, labelled=False, spec=use.spec), work, target)

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all."""
        self._fitted().save(str(path))

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> Parser:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        return cls.from_model(load_parser(str(path), copy=copy))

    @classmethod
    def from_model(cls, model: ParserModel) -> Parser:
        """The parser of a trained model."""
        parser = cls(model.templates.name, **model.settings.values())
        parser.model_ = model
        return parser

    @property
    def relations_(self) -> list[str]:
        return self._fitted().relations

    @property
    def training_log_(self) -> list[dict[str, Any]]:
        return self._fitted().meta["history"]

    def _width(self, beam: int | None) -> int:
        """The width of the beam: as in training, or as given."""
        if beam is not None:
            return Beam(beam).width
        return self.search.width if isinstance(self.search, Beam) else self._settings().beam.width


def _treebank(sentences: Sentences) -> Treebank:
    if isinstance(sentences, str):
        raise DataError("a list of sentences is expected, and this is a string")
    return sentences if isinstance(sentences, Treebank) else treebank_from_sentences(_several(sentences))


def _several(sentences: Iterable[Iterable[Word]]) -> list[Iterable[Word]]:
    """The sentences in a list. A string or a dictionary is a word, not a sentence."""
    given = list(sentences)
    if any(isinstance(words, str | Mapping) for words in given):
        raise DataError("this looks like one sentence: give a list of sentences, as in predict([sentence])")
    return given


def _with_trees(treebank: Treebank) -> Treebank:
    if not treebank.n_tokens or (treebank.heads < 0).any():
        raise DataError("scores compare trees, and some sentence has none", file=treebank.corpus.source)
    return treebank


def _labelled(sentences: Sentences, trees: Iterable[Tree] | None = None) -> Treebank:
    """Sentences with their trees."""
    if trees is None:
        return _treebank(sentences)
    if isinstance(sentences, Treebank):
        raise UsageError("trees: a Treebank has its own trees; leave them out")
    given, arcs = [list(words) for words in _several(sentences)], [list(tree) for tree in trees]
    if len(given) != len(arcs):
        raise DataError(f"{counted(len(given), 'sentence')} and {counted(len(arcs), 'tree')}")
    made = []
    for s, (words, tree) in enumerate(zip(given, arcs, strict=True)):
        if len(words) != len(tree):
            raise DataError(
                f"sentence {s + 1} has {counted(len(words), 'word')} and its tree "
                + counted(len(tree), "(head, relation) pair")
            )
        for i, arc in enumerate(tree):
            if not _is_arc(arc):
                raise DataError(
                    f"sentence {s + 1}, word {i + 1}: {arc!r} where a pair (head, relation) is expected",
                    hint="tags belong to the words: (form, upos); heads count from 1, and 0 is the root",
                )
        made.append([_with_arc(word, arc) for word, arc in zip(words, tree, strict=True)])
    return treebank_from_sentences(made)


def _is_arc(arc: Any) -> bool:
    """Whether it is a pair of a head, which is a whole number or its digits, and a relation."""
    if isinstance(arc, str) or not isinstance(arc, Sequence | np.ndarray) or len(arc) != 2:
        return False
    head, relation = arc
    whole = isinstance(head, int | np.integer) and not isinstance(head, bool)
    return (whole or (isinstance(head, str) and head.isdecimal())) and isinstance(relation, str)


def _with_arc(word: Word, arc: tuple[int, str]) -> dict[str, Any]:
    if isinstance(word, str):
        fields: dict[str, Any] = {"form": word}
    elif isinstance(word, Mapping):
        fields = dict(word)
    else:
        fields = dict(zip(("form", "upos", "xpos"), word, strict=False))
    return fields | {"head": arc[0], "deprel": arc[1]}
