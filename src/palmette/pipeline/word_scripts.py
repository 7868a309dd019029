"""Edit scripts of words that no dictionary has: a model of single words with their tags.

Scripts are bundles of their casing, what happens at the beginning, what happens at the end, and the whole. The model
chooses among those that the treebank has with the UPOS, of several words. Of the best few one that leads to a lemma of
the treebank with this UPOS is preferred, since most unknown words are other forms of words that are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus, column_of_strings
from palmette.features.encode import Encoder, hash_optional
from palmette.features.resources import Resources
from palmette.features.templates import parse
from palmette.kernels.bundle.forms import Bundles
from palmette.pipeline.bundles import BundleModel, Lesson, Schedule, learn_bundles, lists_of
from palmette.pipeline.edit_scripts import WHOLE, applied, parsed
from palmette.pipeline.keys import keys_of_cells, looked_up, mixed
from palmette.training.result import Progress

READ = ("form", "upos", "feats")
PASSES = 5
CAP = 0.1
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
    schedule = Schedule(passes or PASSES, seed, CAP)
    model = learn_bundles(corpus, encoder, Lesson(bundles, gold, upos.ids), schedule, progress)
    return WordScripts(model, upos.types, np.unique(keys_of_cells(lemmas)))
