"""`Lemmas`: the component of a pipeline that finds lemmas.

A lemma is an edit script of its form. Pairs of a form and its UPOS that the treebank has keep the script that is most
frequent there, in a dictionary of hashes; where that depends on FEATS, so does the dictionary. Of other words a model
of single words chooses the script, by affixes, shape and tags (`WordScripts`). All is done once for each distinct word
and tags of a text.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from palmette.data.array_specs import ArraySpec, unpack
from palmette.data.corpus import Column, Corpus, column_of_strings
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import ModelError, UsageError, not_fitted
from palmette.features.encode import Encoder, hash_optional
from palmette.features.resources import Resources
from palmette.features.templates import parse
from palmette.pipeline.bundles import (
    BundleMeta,
    BundleModel,
    Lesson,
    Rising,
    Schedule,
    bundle_from_parts,
    bundle_parts,
    compact_bundles,
    learn_bundles,
    lists_of,
)
from palmette.pipeline.chains import accuracy
from palmette.pipeline.kernels.bundles import Bundles
from palmette.pipeline.known_words import SHORT, WordMemo, keys_of_cells, looked_up, lower, mixed
from palmette.training.result import Progress

# Lemmas as edit scripts: what to do with a form to get its lemma, as a text that many forms share.
#
# A script changes the casing of the form, cuts characters off both ends of that, and adds others there:
#
#     l0-1:0:         lower case, one character off the end              Dogs -> dog
#     l0-3:0:y        lower case, three off the end, then `y`            parties -> party
#     k0-0:0:         the form as it is written                          NASA -> NASA
#     l2-1:0:en       two off the beginning, one off the end, `en`       gemacht -> machen
#     =be             the lemma itself, where the two share nothing      is -> be
#
# After the second colon come the characters that are added at the beginning, as many as the number before it, and then
# those for the end. `script_of` finds the script of a form and its lemma, any two strings; `applied` does what a script
# says to any form.

WHOLE = "="
_FORM = re.compile(r"([a-z])(\d{1,4})-(\d{1,4}):(\d{1,4}):(.*)", re.DOTALL)
_LONG = 100  # characters from which only the common beginning is looked for
_MOST = 9999  # characters that a script counts


def _lower_dotless(form: str) -> str:
    """Lower case where I is the capital of a dotless i."""
    return lower(form.replace("I", "ı"))


# By letter; of casings that lead to equally short scripts the first one is taken
CASINGS: dict[str, Callable[[str], str]] = {
    "l": lower,
    "k": lambda form: form,
    "c": lambda form: form[:1].upper() + lower(form[1:]),
    "u": str.upper,
    "t": _lower_dotless,
}


class EditScript(NamedTuple):
    """A script of a casing, cuts and additions."""

    casing: str
    front: int  # characters that are cut off
    back: int
    prefix: str  # characters that are added
    suffix: str

    def __str__(self) -> str:
        return f"{self.casing}{self.front}-{self.back}:{len(self.prefix)}:{self.prefix}{self.suffix}"

    @property
    def cost(self) -> int:
        return self.front + self.back + len(self.prefix) + len(self.suffix)


def script_of(form: str, lemma: str) -> str:
    """The script that makes the lemma of the form."""
    found: dict[str, EditScript] = {}
    for casing, cased in CASINGS.items():
        start = cased(form)
        if start not in found and (script := _edits(casing, start, lemma)) is not None:
            found[start] = script
            if not script.cost:
                break
    best = min(found.values(), key=lambda script: script.cost, default=None)
    return WHOLE + lemma if best is None or max(best.front, best.back) > _MOST else str(best)


def applied(script: str, form: str) -> str:
    """The lemma that a script makes of a form. A form that is too short for its cuts keeps its characters and only
    changes its casing."""
    if script.startswith(WHOLE):
        return script[len(WHOLE) :]
    steps = parsed(script)
    if steps is None:
        return form
    start = CASINGS[steps.casing](form)
    if steps.front + steps.back >= len(start):
        return start
    return steps.prefix + start[steps.front : len(start) - steps.back] + steps.suffix


def is_script(text: str) -> bool:
    """Whether a text is a script."""
    return text.startswith(WHOLE) or parsed(text) is not None


@lru_cache(1 << 14)
def parsed(script: str) -> EditScript | None:
    """What a script does; None for a whole lemma, and for what is no script."""
    found = _FORM.fullmatch(script)
    if found is None:
        return None
    casing, front, back, size, added = found.groups()
    if casing not in CASINGS or int(size) > len(added):
        return None
    return EditScript(casing, int(front), int(back), added[: int(size)], added[int(size) :])


def _edits(casing: str, start: str, lemma: str) -> EditScript | None:
    """The script from a form in its casing; None if the two share nothing, or one character by chance."""
    a, b, size = _longest_common(start, lemma)
    if size < min(2, len(start), len(lemma)) or not size:
        return None
    return EditScript(casing, a, len(start) - a - size, lemma[:b], lemma[b + size :])


def _longest_common(one: str, other: str) -> tuple[int, int, int]:
    """Where the longest common substring begins in each of two strings, and its size; of several the first one."""
    shorter = min(len(one), len(other))
    size = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    if size == shorter or shorter > _LONG:
        return 0, 0, size
    for more in range(shorter, size, -1):
        for b in range(len(other) - more + 1):
            a = one.find(other[b : b + more])
            if a >= 0:
                return a, b, more
    return 0, 0, size


# Edit scripts of words that no dictionary has: a model of single words with their tags.
#
# Scripts are bundles of their casing, what happens at the beginning, what happens at the end, and the whole. The model
# chooses among those that the treebank has with the UPOS, of several words. Of the best few one that leads to a lemma
# of the treebank with this UPOS is preferred, since most unknown words are other forms of words that are known.

READ = ("form", "upos", "feats")
SCRIPT_PASSES = 5
SCRIPT_CAP = 0.1
SEVERAL = 2  # forms that a script must have to be one for other words
CHOICES = 8  # scripts that are looked at
BONUS = 1.0  # of a lemma that is known, in units of the cost of a wrong script

_AFFIXES = [*(f"prefix{n}" for n in (1, 2, 3, 4)), *(f"suffix{n}" for n in (1, 2, 3, 4, 5))]


def _templates() -> str:
    lines = ["%x[0,0]", "%x[0,0,lower]", "%x[0,1]", "%x[0,2]", "%x[0,1]/%x[0,2]"]
    for atom in [*(f"lower.{affix}" for affix in _AFFIXES), "short_shape", "length"]:
        cell = f"%x[0,0,{atom}]"
        lines += [cell, f"%x[0,1]/{cell}"]
        if "suffix" in atom:
            lines.append(f"%x[0,2]/{cell}")
    return "".join(f"U{k:02}:{line}\n" for k, line in enumerate(lines))


TEMPLATES = _templates()


class WordScripts(NamedTuple):
    """A trained model."""

    model: BundleModel
    upos: list[str]  # the group of each has its number; the next one is that of any other UPOS
    known: np.ndarray  # u64[]  keys of the lemmas of the treebank with their UPOS, rising

    def lemmas(self, words: Corpus, scripts: Sequence[str]) -> list[str]:
        """The lemmas of words, each a sentence of its own."""
        form, upos, _ = words.columns
        number = {tag: k for k, tag in enumerate(self.upos)}
        group = np.array([number.get(tag, len(number)) for tag in upos.types], np.int32)[upos.ids]
        found, scores = self.model.best(words, group, CHOICES)
        forms = [form.types[f] for f in form.ids.tolist()]
        made = [
            [applied(scripts[k], word) if k >= 0 else word for k in row]
            for word, row in zip(forms, found.tolist(), strict=True)
        ]
        hash, _ = hash_optional([lemma for row in made for lemma in row])
        tags = np.repeat(upos.hash[upos.ids], CHOICES)
        edits = np.array([not script.startswith(WHOLE) for script in scripts], np.bool_)[
            found
        ]  # others are always known
        seen = edits & (looked_up(self.known, mixed(hash, tags)).reshape(found.shape) >= 0)
        total = np.where(found >= 0, scores + BONUS * self.model.unit * seen, -np.inf)
        return [row[k] for row, k in zip(made, total.argmax(axis=1).tolist(), strict=True)]


def numbered_parts(scripts: Iterable[str]) -> list[list[int]]:
    """The parts of each script as numbers, by first occurrence."""
    names: dict[str, int] = {}
    return [[names.setdefault(part, len(names)) for part in _parts(script)] for script in scripts]


def _parts(script: str) -> list[str]:
    steps = parsed(script)
    if steps is None:
        return [script]
    return [
        script, f"casing {steps.casing}", f"front {steps.front} {steps.prefix}", f"back {steps.back} {steps.suffix}",
        f"cut {steps.back}",
    ]  # fmt: skip


def learn_scripts(
    rows: Sequence[tuple[str, str, str, int]], scripts: Sequence[str], lemmas: Iterable[tuple[str, str]], *,
    passes: int | None = None, seed: int = 1, progress: Progress | None = None,
) -> WordScripts:  # fmt: skip
    """The model of words: form, UPOS, FEATS and number of the script. lemmas: those that are known, with their UPOS."""
    forms: dict[int, set[str]] = defaultdict(set)
    for form, _, _, script in rows:
        forms[script].add(form)
    kept = [row for row in rows if len(forms[row[3]]) >= SEVERAL] or list(rows)
    columns = [column_of_strings(cells) for cells in list(zip(*kept, strict=True))[:3]]
    gold = np.array([row[3] for row in kept], np.int32)
    upos = columns[1]
    lists = [np.unique(gold[upos.ids == k]).tolist() for k in range(len(upos.types))]
    lists.append(np.unique(gold).tolist())
    bundles = Bundles(*lists_of(numbered_parts(scripts)), *lists_of(lists))
    corpus = Corpus(np.arange(len(kept) + 1, dtype=np.int64), columns)
    encoder = Encoder(parse(TEMPLATES, "lemmas", "crfpp"), Resources())
    schedule = Schedule(passes or SCRIPT_PASSES, seed, SCRIPT_CAP)
    model = learn_bundles(corpus, encoder, Lesson(bundles, gold, upos.ids), schedule, progress)
    return WordScripts(model, upos.types, np.unique(keys_of_cells(lemmas)))


# The component

logger = logging.getLogger(__name__)

STORED = (
    ArraySpec("dictionary.key", np.uint64, ("entries",), rules=(Rising(),)),
    ArraySpec("dictionary.script", np.int32, ("entries",), low=0, high="scripts"),
    ArraySpec("lemmas.key", np.uint64, ("lemmas",), rules=(Rising(),)),
)


class LemmasMeta(msgspec.Struct, frozen=True):
    """The metadata that is stored with the arrays."""

    scripts: list[str]
    upos: list[str]
    model: BundleMeta


class Lemmas:
    """Lemmas of words that have tags."""

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None) -> Self:
        """Learn from the lemmas of a treebank."""
        if all(cell == NOTHING for cell in treebank.column("lemma").types):
            raise UsageError(f"there are no lemmas to learn: every cell is {NOTHING!r}")
        counts = Counter(zip(*(treebank.column(field).cells() for field in (*READ, "lemma")), strict=True))
        made = {pair: script_of(*pair) for pair in dict.fromkeys((row[0], row[-1]) for row in counts)}
        scripts = {script: k for k, script in enumerate(dict.fromkeys(made.values()))}
        numbers = {pair: scripts[script] for pair, script in made.items()}
        self.scripts_ = list(scripts)
        self.keys_, self.numbers_ = _dictionary(counts, numbers)
        rows = [(form, upos, feats, numbers[form, lemma]) for form, upos, feats, lemma in counts]
        lemmas = {(row[-1], row[1]) for row in counts}
        self.model_ = learn_scripts(rows, self.scripts_, lemmas, passes=self.passes, seed=self.seed, progress=progress)
        if dev is not None and dev.n_tokens:
            found = self.apply(dev).column("lemma")
            logger.info(
                "lemmas: on dev %.2f, by their UPOS and FEATS there", 100 * accuracy(found, dev.column("lemma"))
            )
        return self

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the lemmas of its words, by their forms, UPOS and FEATS."""
        if not hasattr(self, "model_"):
            raise not_fitted("Lemmas")
        if not treebank.n_tokens:
            return treebank
        columns = [treebank.column(field) for field in READ]
        if treebank.n_tokens <= SHORT:
            words = list(zip(*(column.cells() for column in columns), strict=True))
            return treebank.with_column("lemma", column_of_strings(self._memo.of(words)))
        ids = columns[0].ids.astype(np.int64)
        for column in columns[1:]:
            ids = ids * len(column.types) + column.ids
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        distinct = [column.with_ids(column.ids[first]) for column in columns]
        made = column_of_strings(self._lemmas(distinct))
        return treebank.with_column("lemma", made.with_ids(made.ids[inverse]))

    @cached_property
    def _memo(self) -> WordMemo[tuple[str, ...], str]:
        return WordMemo(lambda words: self._lemmas([column_of_strings(cells) for cells in zip(*words, strict=True)]))

    def _lemmas(self, words: Sequence[Column]) -> list[str]:
        """The lemmas of words, each with its tags."""
        number = self._known(words)
        unknown = np.flatnonzero(number < 0)
        forms, scripts = words[0].types, self.scripts_
        lemmas = [
            applied(scripts[k], forms[f]) if k >= 0 else ""
            for k, f in zip(number.tolist(), words[0].ids.tolist(), strict=True)
        ]
        if unknown.size:
            others = [column.with_ids(column.ids[unknown]) for column in words]
            offset = np.arange(unknown.size + 1, dtype=np.int64)
            found = self.model_.lemmas(Corpus(offset, others), scripts)
            for k, lemma in zip(unknown.tolist(), found, strict=True):
                lemmas[k] = lemma
        return lemmas

    def _known(self, words: Sequence[Column]) -> np.ndarray:
        """The script i64[] of each word by the dictionary, -1 if it has none."""
        form, upos, feats = (column.hash[column.ids] for column in words)
        small, _ = hash_optional([lower(cell) for cell in words[0].types])
        number = np.full(form.size, -1, np.int64)
        for key in (mixed(form, upos, feats), mixed(form, upos), mixed(small[words[0].ids], upos)):
            place = looked_up(self.keys_, key)
            hit = (number < 0) & (place >= 0)
            number[hit] = self.numbers_[place[hit]]
        return number

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the model small, losing at most `most_loss` points on `dev`, whose other columns are as the lemmas will
        find them."""
        if dev is None or not dev.n_tokens:
            return
        gold = dev.column("lemma")

        def use(model: BundleModel) -> None:
            self.model_ = self.model_._replace(model=model)
            self.__dict__.pop("_memo", None)  # what other weights have found

        def score(model: BundleModel) -> float:
            use(model)
            return accuracy(self.apply(dev).column("lemma"), gold)

        use(compact_bundles(self.model_.model, score, most_loss / 100))

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, model = bundle_parts(self.model_.model)
        arrays |= {"dictionary.key": self.keys_, "dictionary.script": self.numbers_, "lemmas.key": self.model_.known}
        return arrays, {"scripts": self.scripts_, "upos": self.model_.upos, "model": model}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        stored = read_metadata(meta, LemmasMeta, "metadata", source)
        check_text([*stored.scripts, *stored.upos], "a script", source)
        if not all(map(is_script, stored.scripts)) or any(mark in text for text in stored.scripts for mark in "\t\n\r"):
            raise ModelError("damaged model: a text that is not a script", file=source, hint=AGAIN)
        found = unpack(arrays, STORED, {"scripts": len(stored.scripts)}, source)
        rest = {name: array for name, array in arrays.items() if name not in found}
        model = bundle_from_parts(rest, stored.model, numbered_parts(stored.scripts), len(READ), source)
        if model.bundles.begin.size - 1 <= len(stored.upos):
            raise ModelError("damaged model: a tag has no group of scripts", file=source, hint=AGAIN)
        made = cls()
        made.scripts_ = stored.scripts
        made.keys_, made.numbers_ = found["dictionary.key"], found["dictionary.script"]
        made.model_ = WordScripts(model, stored.upos, found["lemmas.key"])
        return made


def _dictionary(counts: Counter[tuple[str, ...]], numbers: dict[tuple[str, str], int]) -> tuple[np.ndarray, np.ndarray]:
    """Keys u64[] in rising order and the most frequent script i32[] of each: of form and UPOS, and of form, UPOS and
    FEATS where that is not the same."""
    by_tag: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    by_all: dict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)
    for (form, upos, feats, lemma), n in counts.items():
        by_tag[form, upos][numbers[form, lemma]] += n
        by_all[form, upos, feats][numbers[form, lemma]] += n
    best = {key: scripts.most_common(1)[0][0] for key, scripts in by_tag.items()}
    more = {key: scripts.most_common(1)[0][0] for key, scripts in by_all.items()}
    more = {key: script for key, script in more.items() if script != best[key[:2]]}
    keys, first = np.unique(np.concatenate((keys_of_cells(best), keys_of_cells(more))), return_index=True)
    return keys, np.array([*best.values(), *more.values()], np.int32)[first]
