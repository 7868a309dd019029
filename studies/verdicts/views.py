"""Clifton, Whitney and Sarkar (2013), "An online algorithm for learning over constrained latent representations using
multiple views": grammaticality."""

from __future__ import annotations

import statistics

from studies.common import Cell
from studies.verdicts.data import cells, typical_spread
from studies.verdicts.rule import (
    Claim,
    Figures,
    Part,
    above,
    at_least,
    at_most,
    between,
    holds,
    level,
    missing,
    same,
)
from studies.verdicts.views_theory import theory

PUBLISHED = {"lclr": 90.27, "lclr-variant": 94.55, "online": 98.75, "add": 98.70, "vote": 98.78, "cotrain": 98.85}
NAMES = {"lclr": "LCLR", "lclr-variant": "LCLR variant", "online": "one view", "add": "add", "vote": "vote",
         "cotrain": "co-training", "n-grams": "n-grams without structure"}  # fmt: skip
MULTI = ("add", "vote", "cotrain")
KINDS = {"part": "reviews", "all": "brown", "mv": "brown"}  # kind of negatives -> the corpus of the test
SETTINGS = {"part": "same corpus", "all": "other corpus", "mv": "published setting"}


def one(kind: str, method: str, start: str = "zero") -> Cell | None:
    found = cells("grammaticality", stage="test", kind=kind, method=method, start=start)
    return found[0] if found else None


def accuracy(kind: str, method: str) -> Figures:
    """Accuracy on the test of a setting, means of the five sets of negatives, one per training seed; from zero."""
    test = KINDS.get(kind, "brown")
    first = one(kind, method)
    found = [first] if first else []
    found += cells("grammaticality", stage="seeds", kind=kind, method=method)
    return Figures(f"{NAMES[method]}, {SETTINGS.get(kind, kind)}", [c[test] for c in found], typical(test))


def typical(test: str) -> float | None:
    """The spread over training seeds of the methods that have several."""
    rows: dict[str, list[float]] = {}
    for c in cells("grammaticality", stage="seeds", kind="part"):
        rows.setdefault(c["method"], []).append(c[test])
    for method, values in rows.items():
        first = one("part", method)
        values += [first[test]] if first else []
    return typical_spread(rows.values())


DOSES = {1: "unigram negatives", 2: "bigram negatives", 3: "trigram negatives"}


def dosed(order: int, method: str) -> Figures:
    """Accuracy on the same corpus with negatives from a language model of this order."""
    rows = {m: [c["brown"] for c in cells("grammaticality", stage="dose", order=order, method=m)] for m in PUBLISHED}
    return Figures(f"{NAMES[method]}, {DOSES[order]}", rows[method], typical_spread(rows.values()))


def _gaps(first: str, second: str) -> list[Part]:
    """A comparison in every setting that was run, and in the published one."""
    gap = PUBLISHED[first] - PUBLISHED[second]
    part = f"{NAMES[first]}, {NAMES[second]}"
    found = [
        above(f"{part}; {name}", accuracy(kind, first), accuracy(kind, second), gap) for kind, name in SETTINGS.items()
    ]
    for order, name in DOSES.items():
        sides = dosed(order, first), dosed(order, second)
        if all(side.values for side in sides):
            found.append(above(f"{part}; {name}", *sides, gap))
    return found


def _soon(cell: Cell) -> int:
    """The first pass within one point of the best on development data."""
    return next(k for k, value in enumerate(cell["dev"], 1) if value >= max(cell["dev"]) - 1)


def _sooner(part: str, quick: str, slow: str, factor: float) -> Part:
    pair = one("part", quick), one("part", slow)
    if pair[0] is None or pair[1] is None:
        return missing(part, f"{quick} and {slow}, negatives part")
    told = f"pass {_soon(pair[0])} against {_soon(pair[1])}"
    return holds(part, told, _soon(pair[1]) >= factor * _soon(pair[0]))


def order() -> list[Claim]:
    batch = [part for rival in ("lclr", "lclr-variant") for part in _gaps("online", rival)]
    return [
        Claim(
            "The online learner is significantly above LCLR.", "98.75 against 90.27", _gaps("online", "lclr"),
        ),
        Claim(
            "The online learner is above the LCLR variant.", "98.75 against 94.55", _gaps("online", "lclr-variant"),
        ),
        Claim(
            "All online learners are above both batch learners.", "98.70 to 98.85 against 90.27 and 94.55",
            [*batch, *(p for m in MULTI for rival in ("lclr", "lclr-variant") for p in _gaps(m, rival))],
        ),
        Claim(
            "The LCLR variant is competitive with the online learner.", "94.55 and 98.75",
            [same(SETTINGS[kind], accuracy(kind, "lclr-variant"), accuracy(kind, "online"), 4.2)
             for kind in SETTINGS if kind != "mv" or one("mv", "lclr-variant")],
            "Competitive: within the published difference of 4.2.",
        ),
        Claim(
            "The LCLR variant is above strict LCLR.", "94.55 against 90.27", _gaps("lclr-variant", "lclr"),
        ),
        Claim(
            "Several views bring a modest gain over one.", "co-training 98.85, vote 98.78 against 98.75",
            [part for m in ("cotrain", "vote") for part in _gaps(m, "online")],
        ),
        Claim(
            "Adding the views brings nothing over one view.", "98.70 and 98.75",
            [same(SETTINGS[kind], accuracy(kind, "add"), accuracy(kind, "online"), 0.5) for kind in ("part", "all")],
        ),
        Claim(
            "Co-training and voting combine views better than adding.", "98.85 and 98.78 against 98.70",
            [part for m in ("cotrain", "vote") for part in _gaps(m, "add")],
        ),
        Claim(
            "Co-training is the best way to combine views.", "98.85, 98.78, 98.70",
            [part for m in ("vote", "add") for part in _gaps("cotrain", m)],
        ),
        Claim(
            "Latent structure tells more than word histories.", "motivation, without figures",
            [above(f"{NAMES[m]}, {NAMES['n-grams']}; {SETTINGS[k]}", accuracy(k, m), accuracy(k, "n-grams"))
             for k in ("part", "all") for m in ("online", "add")],
            "Beside a classifier over the same n-grams.",
        ),
        Claim(
            "Real sentences can be told from samples of a trigram model (cited: Okanohara and Tsujii 2007; Cherry and "
            "Quirk 2008).", "no figure",
            [at_least(f"add; {SETTINGS[kind]}", accuracy(kind, "add"), 65, " %") for kind in ("part", "all")],
            "Holds from 65 % on, where guessing has 50 %.",
        ),
        Claim(
            "The level of accuracy.", "98.7 to 98.85",
            [level(f"{NAMES[m]}, published setting", accuracy("mv", m), PUBLISHED[m]) for m in ("online", *MULTI)],
        ),
    ]  # fmt: skip


def _negative() -> list[Part]:
    """Strict LCLR: the share of the positives that it gets right below that of the negatives."""
    parts = []
    for kind, test in KINDS.items():
        cell = one(kind, "lclr")
        if cell is None:
            parts.append(missing(SETTINGS[kind], "LCLR in the published setting"))
            continue
        recall = cell[f"{test}_recall"]
        right = 2 * cell[test] - recall
        told = f"{recall:.1f} % of the positives, {right:.1f} % of the negatives"
        parts.append(holds(SETTINGS[kind], told, recall < right - 5))
    errors = [100 - c["train"] for c in cells("grammaticality", stage="dose", order=3, method="lclr") if "train" in c]
    return [
        *parts,
        at_most("errors on training data, few trigram negatives", Figures("LCLR", errors, digits=1), 5, " %"),
    ]


def _updates() -> Part:
    pair = one("part", "online"), one("part", "lclr")
    if pair[0] is None or pair[1] is None:
        return missing("", "online and LCLR, negatives part")
    counts = [sum(cell["updates"]) for cell in pair if cell]
    told = f"{counts[0]:,} in {len(pair[0]['updates'])} passes, {counts[1]:,} in {len(pair[1]['updates'])}"
    return holds("one view, LCLR", told, counts[0] < counts[1])


def _decodings() -> Part:
    pair = one("part", "lclr"), one("part", "online")
    if pair[0] is None or pair[1] is None:
        return missing("", "online and LCLR, negatives part")
    many = [sum(cell["decoded"]) / len(cell["decoded"]) for cell in pair if cell]
    return holds("LCLR, one view", f"{many[0]:,.0f} against {many[1]:,.0f} a pass", many[0] > 1.5 * many[1])


def _again() -> Figures:
    """Of negatives that are decoded again in a pass, the share that needs it once."""
    shares = []
    for method in ("online", *MULTI):
        cell = one("part", method)
        if cell and sum(cell["again"][1:]):
            shares.append(100 * cell["again"][1] / sum(cell["again"][1:]))
    return Figures("online learners", [statistics.mean(shares)] if shares else [], digits=1)


def _redecoded() -> Figures:
    """The share of negatives that are decoded again in a pass, in per cent."""
    found = [cell["again"] for method in ("online", *MULTI) if (cell := one("part", method))]
    return Figures("online learners", [100 * sum(own[1:]) / sum(own) for own in found], digits=1)


def _steady() -> list[Part]:
    parts = []
    for method in ("online", *MULTI):
        cell = one("part", method)
        if cell:
            off = max(cell["dev"]) - cell["dev"][-1]
            parts.append(holds(NAMES[method], f"last pass {off:.1f} below the best", off <= 1))
    return parts or [missing("", "online learners")]


def _range(method: str, published: float) -> Part:
    cell = one("mv", method, "auto")
    part = f"{NAMES[method]}, published setting"
    if cell is None or cell.get("range") is None:
        return missing(part, f"{method} from the chunker in the published setting")
    return between(part, Figures("", [cell["range"]]), published / 2, published * 2)


def course() -> list[Claim]:
    return [
        Claim(
            "Strict LCLR overfits: it calls too many test sentences negative.", "text, section 4.2", _negative(),
        ),
        Claim(
            "Co-training needs at most half the passes of one view and of adding to get near its best.",
            "over 98 by pass 5; the others at least twice as many",
            [_sooner("one view", "cotrain", "online", 2), _sooner("add", "cotrain", "add", 2)],
        ),
        Claim(
            "Voting and co-training get there sooner than the simpler models.", "figure 1",
            [_sooner(f"{NAMES[m]}, {NAMES[rival]}", m, rival, 1.01)
             for m in ("vote", "cotrain") for rival in ("online", "add")],
        ),
        Claim(
            "The batch learners improve more slowly and need more passes.", "figure 1",
            [_sooner(f"one view, {NAMES[m]}", "online", m, 1.01) for m in ("lclr", "lclr-variant")],
        ),
        Claim(
            "The LCLR variant overfits after pass 35.", "figure 1", [_late()],
            "Holds if a pass after the 35th is more than 0.5 below the best one before.",
        ),
        Claim(
            "Online learners stay at their high accuracy.", "figure 1", _steady(),
        ),
    ]  # fmt: skip


def counts() -> list[Claim]:
    return [
        Claim(
            "The online learner makes fewer updates in all than LCLR.", "no figure", [_updates()],
        ),
        Claim(
            "LCLR decodes many more sentences in a pass, since all negatives are decoded again.",
            "on the order of the negatives",
            [_decodings()],
            "Counted over all passes.",
        ),
        Claim(
            "A negative that is labelled wrongly usually needs to be decoded again only once.", "usually once",
            [at_least("of those decoded again, once", _again(), 75, " %")],
        ),
        Claim(
            "Only a small number of negatives need to be decoded again in a pass.", "generally few",
            [at_most("decoded again", _redecoded(), 10, " %")],
            "Few: at most a tenth of them.",
        ),
        Claim(
            "Weights after training from zero lie within ± 0.1 (one view) and ± 0.01 (five).", "0.1 and 0.01",
            [_range("online", 0.1), _range("add", 0.01)],
            "Largest weight after three passes from zero, features not normalised; holds within a factor of two.",
        ),
        Claim(
            "If positives and negatives differ in their words, a unigram model alone tells them apart.",
            "high accuracy",
            [_unigrams("other", True), _unigrams("part", False)],
        ),
    ]  # fmt: skip


def _late() -> Part:
    found = cells("grammaticality", stage="late", method="lclr-variant")
    if not found:
        return missing("", "LCLR variant, 40 outer passes scored one by one")
    curve = found[0]["dev"]
    told = f"best of the first 35 passes {max(curve[:35]):.1f}, lowest of the others {min(curve[35:]):.1f}"
    return holds("same corpus, development data", told, min(curve[35:]) < max(curve[:35]) - 0.5)


def _unigrams(kind: str, told: bool) -> Part:
    cell = one(kind, "unigrams")
    name = "words differ" if told else "words matched"
    if cell is None:
        return missing(name, f"bag of words, negatives {kind}")
    return holds(
        name, f"bag of words {cell['reviews']:.1f} %", cell["reviews"] >= 80 if told else cell["reviews"] <= 60
    )


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [
        ("Which learner is best", order()),
        ("The course of training", [*course(), *counts()]),
        ("Theory and background", theory()),
    ]
