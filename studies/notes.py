"""Claims of Wu Ke's notes on sequence labelling (2013), each as a pair of trainings that differ in one thing.

`python -m studies notes` trains both sides of every pair of PAIRS on UD English-EWT (UPOS), CoNLL-2000 and JNLPBA and
reads the test data. Perceptrons have 10 passes and averaged weights, fixed in advance, with the seeds of SEEDS; HMM and
CRF have no seed. The penalties of the CRF are chosen on a held-out tenth of the training sentences. Significance:
approximate randomisation over the sentences. Acronyms are compared by five-fold cross-validation with McNemar's test
on whole phrases, vowels by the share of held-out ones.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import data_folder
from bench.quality import np_file
from palmette import LinearClassifier, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.labels.schemes import are_chunk_labels
from palmette.data.subset import split
from palmette.datasets import load_vowels
from palmette.evaluation.significance import Tally, mcnemar_of, randomisation, span_tally, token_tally
from palmette.evaluation.spans import ChunkTables
from palmette.features.templates import parse
from palmette.structures.chain.gold import gold_and_guess, unseen
from studies import acronyms
from studies.common import Cell, Record, estimator_from, markdown, mean, run_study

NAME = "notes"
SEEDS = (1, 2, 3)
PASSES, ITERATIONS = 10, 100
VOWELS = ("i", "u", "a")
PENALTIES: dict[str, tuple[float, ...]] = {"l2": (0.03, 0.1, 0.3), "l1": (0.1, 0.3, 1.0)}
Settings = dict[str, Any]


def lines(*parts: str, mark: str = "U", order: int = 1) -> str:
    """A template of observations `parts` on labels (U) or on labels and label pairs (*), with plain transitions."""
    observations = [f"{mark}{k:02}:{part}" for k, part in enumerate(parts)]
    return "\n".join([*observations, *("B", "T")[:order]]) + "\n"


WORDS = [f"%x[{k},0]" for k in (-2, -1, 0, 1, 2)] + [f"%x[{k},0]/%x[{k + 1},0]" for k in (-2, -1, 0)]
WIDE = [f"%x[{k},0]" for k in (-4, -3, 3, 4)] + [f"%x[{k},0]/%x[{k + 1},0]/%x[{k + 2},0]" for k in (-2, -1, 0)]
SPELLING = [f"%x[0,0,{side}{n}]" for side in ("prefix", "suffix") for n in (1, 2, 3, 4)]
SPELLING += [f"%x[0,0,{what}]" for what in ("digits", "capital", "hyphen")]
TAGS = [f"%x[{k},1]" for k in (-2, -1, 0, 1, 2)] + [f"%x[{k},1]/%x[{k + 1},1]" for k in (-2, -1, 0, 1)]
TAGS += [f"%x[{k},1]/%x[{k + 1},1]/%x[{k + 2},1]" for k in (-2, -1, 0)]


GREEDY: Settings = {"search": "beam", "beam": 1, "update": "max-violation"}


class Pair(NamedTuple):
    """Two settings of a task that differ in one thing; `words`: scored on all words, or on those that training had
    ("seen") or did not have ("unseen")."""

    title: str
    task: str
    names: tuple[str, str]
    first: Settings
    second: Settings
    words: str = "all"


def _template(*parts: str, mark: str = "U", order: int = 1) -> Settings:
    return {"template": lines(*parts, mark=mark, order=order)}


def _crf(**settings: Any) -> Settings:
    return {"learner": "crf", "iterations": ITERATIONS} | _template(*WORDS, *TAGS) | settings


PAIRS = [
    *(
        Pair("transitions between labels", task, ("order 1", "order 0"), _template(*own), _template(*own, order=0))
        for task, own in (("upos", [*WORDS, *SPELLING]), ("chunks", [*WORDS, *TAGS]), ("np", [*WORDS, *TAGS]))
    ),
    Pair("label trigrams", "np", ("order 2", "order 1"), _template(*WORDS, *TAGS, order=2), _template(*WORDS, *TAGS)),
    Pair("features", "upos", ("perceptron with features", "HMM"), _template(*WORDS, *SPELLING),
         {"learner": "hmm", "order": 1}),
    Pair("the previous label in word features", "upos", ("words on label pairs too", "words on labels"),
         _template(*WORDS, *SPELLING, mark="*"), _template(*WORDS, *SPELLING)),
    Pair("neighbouring words", "upos", ("words up to 2 away", "the word alone"), _template(*WORDS, *SPELLING),
         _template("%x[0,0]", *SPELLING)),
    Pair("a wider window", "upos", ("words up to 4 away and trigrams too", "words up to 2 away"),
         _template(*WORDS, *WIDE, *SPELLING), _template(*WORDS, *SPELLING)),
    Pair("spelling, unknown words", "upos", ("with affixes, digits, capitals", "words alone"),
         _template(*WORDS, *SPELLING), _template(*WORDS), "unseen"),
    Pair("spelling, known words", "upos", ("with affixes, digits, capitals", "words alone"),
         _template(*WORDS, *SPELLING), _template(*WORDS), "seen"),
    Pair("subsets of templates", "np", ("pairs and triples with their parts", "pairs and triples alone"),
         _template(*WORDS, *TAGS), _template(*(part for part in (*WORDS, *TAGS) if "/" in part))),
    Pair("the search of training", "upos", ("greedy in training too", "exact in training"),
         _template(*WORDS, *SPELLING) | GREEDY, _template(*WORDS, *SPELLING) | {"tag_greedily": True}),
    Pair("parts of speech", "np", ("words and parts of speech", "words alone"), _template(*WORDS, *TAGS),
         _template(*WORDS)),
    Pair("spelling, entities", "jnlpba", ("with affixes, digits, capitals", "words alone"),
         _template(*WORDS, *SPELLING), _template(*WORDS)),
    Pair("regularisation", "np", ("CRF with L2", "CRF without"), _crf(l2="chosen"), _crf(l2=0.0)),
    Pair("L2 and L1", "np", ("CRF with L2", "CRF with L1"), _crf(l2="chosen"), _crf(l2=0.0, l1="chosen")),
    Pair("L1, then L2", "np", ("L1 to select, then L2", "CRF with L1"),
         _crf(l2="chosen", l1="chosen", l1_then_l2=True), _crf(l2=0.0, l1="chosen")),
]  # fmt: skip
TASKS = {
    "upos": "UD English-EWT, UPOS (accuracy)", "chunks": "CoNLL-2000, all chunks (F)", "np": "CoNLL-2000, NP (F)",
    "jnlpba": "JNLPBA (F)",
}  # fmt: skip


# --- trainings ----------------------------------------------------------------------------------------------


@cache
def corpora(task: str, data: Path) -> tuple[Corpus, Corpus]:
    """Training and test data."""
    if task == "upos":
        files, spec = [data / "ud-ewt" / f"en_ewt-ud-{part}.conllu" for part in ("train", "test")], "upos"
        train, test = (read_corpus(file, FormatSpec(label=spec)) for file in files)
        return train, test
    folder = data / ("jnlpba" if task == "jnlpba" else "conll2000")
    files = [folder / f"{part}.txt" for part in ("train", "test")]
    if task == "np":
        made = Path(tempfile.mkdtemp())
        files = [np_file(file, made / file.name) for file in files]
    train, test = (read_corpus(file, FormatSpec()) for file in files)
    return train, test


def trained(train: Corpus, settings: Settings, seed: int) -> Tagger:
    own = dict(settings)
    if own.get("learner") == "hmm":
        return Tagger(**own).fit_corpus(train, None)
    greedily = own.pop("tag_greedily", False)
    own |= {"template": parse(own["template"]), "constraints": "none"}
    if "learner" not in own:
        own |= {"passes": PASSES, "seed": seed}
    tagger = estimator_from(Tagger, own).fit_corpus(train, None)
    return tagger.search_with("beam", 1) if greedily else tagger


def chosen(task: str, data: Path, settings: Settings) -> Settings:
    """The settings with the penalties that are best on a held-out tenth in place of "chosen"."""
    found = dict(settings)
    for name in ("l1", "l2"):
        if settings.get(name) == "chosen":
            found[name] = best_penalty(task, data, name)
    return found


@cache
def best_penalty(task: str, data: Path, name: str) -> float:
    rest, held_out = split(corpora(task, data)[0], 0.1, 1)
    scores = {}
    for value in PENALTIES[name]:
        tagger = trained(rest, _crf(**{"l1": 0.0, "l2": 0.0} | {name: value}), 1)
        scores[value] = float(tagger.evaluate(held_out).f1 or 0.0)
    return max(scores, key=lambda value: scores[value])


@cache
def _runs(task: str, data: Path, settings: str, words: str) -> tuple[list[Tally], int, Settings]:
    """Counts by sentence on test for each seed, the size of the model file in bytes, and the settings."""
    train, test = corpora(task, data)
    own = chosen(task, data, _settings_of(settings))
    seeds = SEEDS if own.get("learner", "perceptron") == "perceptron" else SEEDS[:1]
    tallies, size = [], 0
    for seed in seeds:
        tagger = trained(train, own, seed)
        gold, guess, labels = gold_and_guess(tagger.model_, test)
        if are_chunk_labels(labels):
            tallies.append(span_tally(gold, guess, test.offset, ChunkTables.of(labels)))
        else:
            new = unseen(tagger.model_, test)
            known = {"all": None, "unseen": new, "seen": None if new is None else ~new}[words]
            tallies.append(token_tally(gold, guess, test.offset, known))
        with tempfile.TemporaryDirectory() as folder:
            tagger.save(Path(folder, "model.palm"))
            size = Path(folder, "model.palm").stat().st_size
    return tallies, size, own


_KNOWN: dict[str, Settings] = {}


def _settings_of(key: str) -> Settings:
    return _KNOWN[key]


def _keyed(settings: Settings) -> str:
    """Settings as something that a cache can hold."""
    key = repr(sorted(settings.items()))
    _KNOWN[key] = settings
    return key


def compared(pair: Pair, data: Path) -> Cell:
    """Scores of both sides on test, and p by approximate randomisation."""
    sides = [_runs(pair.task, data, _keyed(own), pair.words) for own in (pair.first, pair.second)]
    many = max(len(side[0]) for side in sides)
    tallies = [side[0] * (many // len(side[0])) for side in sides]
    return {
        "scores": [[100 * tally.value for tally in side[0]] for side in sides],
        "p": randomisation(*tallies),
        "bytes": [side[1] for side in sides],
        "penalties": [{k: side[2].get(k, 0.0) for k in ("l1", "l2")} for side in sides],
    }


def disagreement(data: Path) -> Cell:
    """The share of test tokens on which a CRF and a perceptron with the same features differ."""
    train, test = corpora("np", data)
    settings = (_template(*WORDS, *TAGS), chosen("np", data, _crf(l2="chosen")))
    guesses = []
    for own in settings:
        tagger = trained(train, own, SEEDS[0])
        _, guess, labels = gold_and_guess(tagger.model_, test)
        guesses.append([labels[y] for y in guess])
    return {"differ": 100 * statistics.mean(a != b for a, b in zip(*guesses, strict=True))}


def acronym_cell(first: str, second: str) -> Cell:
    """Whole acronyms by cross-validation; McNemar's test on phrases."""
    right = [_phrases_right(acronyms.STATES[name]) for name in (first, second)]
    only = [sum(a and not b for a, b in zip(*pair, strict=True)) for pair in (right, right[::-1])]
    return {"scores": [[100 * statistics.mean(own)] for own in right], "p": mcnemar_of(*only).exact}


def _phrases_right(states: Settings) -> list[bool]:
    data, right = acronyms.phrases(), []
    for fold in range(acronyms.FOLDS):
        rest = [pair for k, pair in enumerate(data) if k % acronyms.FOLDS != fold]
        held_out = [pair for k, pair in enumerate(data) if k % acronyms.FOLDS == fold]
        tagger = estimator_from(Tagger, {"features": "char"} | states).fit(*map(list, zip(*rest, strict=True)))
        guesses = tagger.predict([own for own, _ in held_out])
        right += [gold == guess for (_, gold), guess in zip(held_out, guesses, strict=True)]
    return right


def vowel_cell() -> Cell:
    """The share of held-out vowels of [i], [u], [a] that a linear classifier over two formants gets right."""
    parts = []
    for part in ("train", "test"):
        rows = [(x, y) for x, y in zip(*load_vowels(part), strict=True) if y in VOWELS]
        parts.append(([x for x, _ in rows], [y for _, y in rows]))
    (X, y), (X_test, y_test) = parts
    scores = [LinearClassifier("perceptron", passes=100, seed=seed).fit(X, y).score(X_test, y_test) for seed in SEEDS]
    return {"scores": [[100 * score for score in scores]], "held_out": len(y_test)}


def run(record: Record, data: Path) -> None:
    record.cell({"pair": "vowels", "task": "vowels"}, vowel_cell)
    what = {"pair": "run length in the states", "task": "acronyms", "names": ["`run:O:4`", "order 1"]}
    record.cell(what, lambda: acronym_cell("`run:O:4`", "order 1"))
    for pair in PAIRS:
        what = {"pair": pair.title, "task": pair.task, "names": list(pair.names)}
        record.cell(what, lambda own=pair: compared(own, data))
    record.cell({"pair": "CRF and perceptron", "task": "np"}, lambda: disagreement(data))


# --- the page -----------------------------------------------------------------------------------------------


def _rows(record: Record) -> list[list[str]]:
    rows = []
    for cell in record.cells:
        if "names" in cell:
            sides = [f"{name}: {mean(own)}" for name, own in zip(cell["names"], cell["scores"], strict=True)]
            sizes = [f"{size / 1e6:.1f}" for size in cell.get("bytes", [])]
            task = TASKS.get(cell["task"], "acronyms, all right (%)")
            p = f"{cell['p']:.4f}"
            rows.append([f"{cell['pair']}; {task}", *sides, p, " / ".join(sizes) or "—"])
    return rows


def _differ(record: Record) -> str:
    found = record.some(pair="CRF and perceptron")
    if not found:
        return "How often CRF and perceptron differ was not run."
    return f"On NP chunks CRF and perceptron give different labels to {found[0]['differ']:.1f} % of the test tokens."


def _grid(name: str) -> str:
    return ", ".join(f"{value:g}" for value in PENALTIES[name])


def page(record: Record) -> str:
    """The page, from the record alone."""
    vowels = record.some(pair="vowels")
    found = f"{mean(vowels[0]['scores'][0])} % of {vowels[0]['held_out']}" if vowels else "not run"
    chosen_here = sorted(
        f"{TASKS[c['task']]}: {' and '.join(f'{k} {v:g}' for k, v in side.items() if v)}"
        for c in record.some(pair="L2 and L1") for side in c["penalties"]
    )  # fmt: skip
    return f"""# Wu Ke's notes (2013) in pairs of trainings

{record.origin()}

Each row has two trainings that differ in one thing. Perceptrons have {PASSES} passes and averaged weights, fixed in
advance; HMM and CRF have no seed. CRFs have at most {ITERATIONS} iterations of L-BFGS; their penalties were chosen on a
held-out tenth of the training sentences from L2 {_grid("l2")} and L1 {_grid("l1")}
({"; ".join(chosen_here) or "not run"}). Tag schemes are not enforced. The rows
on unknown and known words have the accuracy on words that training did not have and had. p by approximate randomisation
over sentences, for acronyms by McNemar's test on phrases (five-fold cross-validation). Megabytes are those of the model
files.

{markdown(["what differs; task", "first", "second", "p", "MB"], _rows(record))}

A linear classifier over the first two formants tells [i], [u] and [a] apart: {found} held-out vowels are right (data of
[classifying rows](../classify.md)). {_differ(record)}

Which published results hold: [findings](findings.md).
"""


def smallest(data: Path) -> tuple[Cell, Cell]:
    """The settings of a cell that is quickly run again, and what comes out now."""
    return {"pair": "vowels", "task": "vowels"}, vowel_cell()


def main() -> None:
    run_study(NAME, SEEDS, lambda record: run(record, data_folder()), page)


if __name__ == "__main__":
    main()
