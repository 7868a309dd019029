"""Which published results hold: methods and theorems, about 25 findings, and all claims as data.

`python -m studies findings` writes docs/studies/findings.md and docs/studies/claims.json from the records alone. A
finding rests on claims (studies/claims.py), named by their numbers; its verdict follows from theirs. The sentence that
says on what it depends is written for one verdict, and the page is not made if a new run has changed that verdict.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from studies.claims import as_json, rows
from studies.common import DOCS
from studies.verdicts.rule import (
    BETTER,
    ENOUGH,
    MISSING,
    NO,
    OPEN,
    SHORT,
    TASTE,
    VERDICTS,
    YES,
    Judged,
    p_words,
    unbroken,
)

NAME, DATA = "findings", "claims"
DEPENDS = "depends"
MARKS = {YES: "✓", NO: "✗", DEPENDS: "±", OPEN: "?", SHORT: "○"}
# Methods and theorems: claims that tests check, by number
CHECKED = (
    "S1", "S2", "S3", "S5", "P20", "P21", "P22", "P23", "C25", "C26", "H11", "H12", "H13", "H14", "H15", "W2", "W3",
    "W7", "W15",
)  # fmt: skip


class Finding(NamedTuple):
    """A statement, the claims that it rests on, the verdict that `on` was written for, and the comparisons to show as
    CLAIM or CLAIM:INDEX."""

    statement: str
    claims: tuple[str, ...]
    verdict: str
    on: str
    show: tuple[str, ...] = ()


LATENT = (
    Finding(
        "Where labels hide strong dependencies, latent perceptron and DPLVM are far above perceptron and CRF.",
        ("S6", "S7"), YES,
        "Only models with hidden states can follow the ring, and the gap grows with P (picture below).",
        ("S6:0", "S6:2"),
    ),
    Finding(
        "The latent perceptron follows DPLVM over the whole range of dependencies.", ("S8", "S10"), DEPENDS,
        "On P: at 0.95 the two are level; below 0.9 the published update does not find the states. Tied updates (our "
        "default) close most of the gap.",
        ("S10:4", "S10:8"),
    ),
    Finding(
        "More hidden states than needed do no harm.", ("S11", "S27", "S41"), DEPENDS,
        "On the learner: DPLVM keeps its accuracy, the published update of the perceptron loses accuracy.",
        ("S11:0", "S11:1"),
    ),
    Finding(
        "Over 40 % of the sequences are separated with hidden states, under 10 % without.", ("S12",), YES,
        "The length is not printed. Eight tokens give the published share; at twenty not even the true model could.",
        ("S12:1",),
    ),
    Finding(
        "With rich features the latent perceptron is above the perceptron (Bio-NER).", ("S18", "S19"), NO,
        "At order 1 our perceptron is stronger than the published one. With poor features hidden states do pay, see "
        "[where features are few](latent_gain.md).",
        ("S18:0", "S18:2"),
    ),
    Finding(
        "The latent perceptron with mavg is the best of nine learners on NP chunks.", ("S32", "S33"), DEPENDS,
        "It is above the same model with plain averaging, and below plain perceptron and CRF, which reach their "
        "published level here.",
        ("S32:0", "S32:4"),
    ),
    Finding(
        "For the latent perceptron modified averaging is better and steadier than plain averaging; for the perceptron "
        "the two do not differ.", ("S34", "S35", "S38", "S39"), YES,
        "Plain averaging is steadier here than in the paper.", ("S34", "S35"),
    ),
    Finding(
        "Order 2 is above order 1 on Bio-NER, and hidden states at order 1 replace it.", ("S25", "S26"), NO,
        "Weights at order 2 are for the label combinations of the training data.", ("S25:1",),
    ),
    Finding(
        "Training a latent perceptron is far cheaper than training DPLVM or CRF.",
        ("S44", "S45", "S46", "S49"), DEPENDS,
        "On the number of labels and on how long the rivals run: by a factor of about ten or more on entities, less on "
        "NP chunks. Our rivals had fewer iterations than the published ones.",
        ("S44:0", "S46:0", "S46:2"),
    ),
    Finding(
        "DPLVM is above CRF, and above itself trained by SGD.", ("S13", "S14"), SHORT,
        "DPLVM has two states per label here and was stopped early, so these figures decide nothing.", ("S13:0",),
    ),
)  # fmt: skip
LISTS = (
    Finding(
        "ProbPerc is above the averaged perceptron and above MIRA.", ("P1", "P2"), YES,
        "Four tasks pooled; every single difference is in its favour.", ("P1:0", "P1:2"),
    ),
    Finding(
        "ProbPerc is above n-best MIRA.", ("P3",), NO,
        "Over the same lists, margins are at least as good as probabilities. The published rival may have been a "
        "weaker variant.", ("P3:0", "P3:2"),
    ),
    Finding(
        "ProbPerc is above the CRF.", ("P4",), DEPENDS,
        "On how the CRF is trained: ProbPerc is above one of 60 iterations of L-BFGS; beside one by AdaGrad the tasks "
        "leave it open.", ("P4:0", "P4:4"),
    ),
    Finding(
        "Without probabilities the perceptron is below the CRF.", ("P7",), DEPENDS,
        "On how the CRF is trained: one by AdaGrad is above the perceptron, one of 60 iterations of L-BFGS is not.",
        ("P7:2", "P7:7"),
    ),
    Finding(
        "A perceptron is about as accurate as a CRF and trains much faster.", ("S43", "P15"), YES,
        "Within 0.6 points on NP chunks and one point on entities.", ("S43:0", "S43:3"),
    ),
    Finding(
        "ProbPerc is above the max-violation perceptron.", ("P5",), YES,
        "Max-violation has a beam of 4, where exact search is possible.", ("P5:2",),
    ),
    Finding(
        "Of three functions from scores to probabilities the log-linear one is best.", ("P8",), OPEN,
        "Linear probabilities are better on all chunks and on JNLPBA, worse on NP chunks and on EWT.", ("P8:0", "P8:2"),
    ),
    Finding(
        "ProbPerc trains almost as fast as the perceptron and ten times as fast as a CRF.", ("P13", "P16"), DEPENDS,
        "A pass costs two to four times that of the perceptron. Against the CRF the factor depends on the task: it is "
        "largest on JNLPBA and smallest on NP chunks.", ("P13:0", "P16:2"),
    ),
)  # fmt: skip
VIEWS = (
    Finding(
        "Online learning of latent chunks is above LCLR and its variant.", ("C1", "C2"), DEPENDS,
        "On the data: the published gap is four to eight points, ours is within two, in either direction.",
        ("C1:0", "C1:1"),
    ),
    Finding(
        "Several views bring a modest gain over one; co-training is the best combination.", ("C6", "C9"), DEPENDS,
        "The published gain of 0.1 is smaller than the spread over training seeds. On another "
        "corpus the views help, however they are combined.",
        ("C6:0", "C6:1"),
    ),
    Finding(
        "Accuracy is above 98 %.", ("C12",), NO,
        "The negatives decide: sentences of single random words are told apart that well, those of a trigram model are "
        "not ([how hard the negatives are](../benchmarks.md#how-hard-the-negatives-are)).", ("C12:0",),
    ),
    Finding(
        "Online learning makes fewer updates than LCLR and decodes fewer sentences; few negatives are decoded again.",
        ("C19", "C20", "C21", "C22"), YES, "Counted over all passes.", ("C19", "C22"),
    ),
)  # fmt: skip
SEARCH = (
    Finding(
        "Averaged weights are better and steadier than the last ones.", ("H1", "H2"), YES,
        "The gains are about as large as the published ones, in points.", ("H1:0", "H1:2"),
    ),
    Finding(
        "A frequency cut-off harms the perceptron and helps maximum entropy.", ("H4", "H5", "H6"), DEPENDS,
        "It harms the perceptron. Our maximum entropy has an L2 penalty, which does what the cut-off does.",
        ("H5:1", "H6:0"),
    ),
    Finding(
        "With greedy search the standard update is bad: half of its steps correct nothing. From a beam of 4 on this is "
        "rare.",
        ("H18", "H19", "H26"), YES, "Tagging UD English-EWT.", ("H18:1", "H19"),
    ),
    Finding(
        "In parsing the standard update fails even with a beam of 8.", ("H31", "H32", "H33"), YES,
        "Search errors are far more frequent than in tagging.", ("H31:0", "H32"),
    ),
    Finding(
        "Max-violation reaches the accuracy of early update in far fewer passes, and ends above it.",
        ("H27", "H28"), NO,
        "It is ahead at first and then stops (picture below). Its time to its own best pass is shorter.",
        ("H28", "H30"),
    ),
)  # fmt: skip
NOTES = (
    Finding(
        "Label dependencies, neighbouring words, affixes and parts of speech each improve a tagger or chunker.",
        ("W4", "W5", "W9", "W11", "W12", "W13"), YES, "One change at a time ([notes](notes.md)).", ("W4:2", "W11"),
    ),
    Finding(
        "Chunking needs label trigrams.", ("W14",), OPEN,
        "With rich features around the token no difference is found.", ("W14:1",),
    ),
    Finding(
        "For acronyms the run of skipped letters belongs into the state.", ("W16",), YES,
        "Whole acronyms, five-fold cross-validation.", ("W16",),
    ),
)  # fmt: skip
SECTIONS = {
    "Hidden states (Sun et al. 2009)": LATENT, "N-best lists (Sun n. d.)": LISTS,
    "Latent chunks and views (Clifton et al. 2013)": VIEWS, "Averaging and inexact search (Huang 2013)": SEARCH,
    "Features and states (Wu 2013)": NOTES,
}  # fmt: skip
PICTURES = {
    "N-best lists (Sun n. d.)": "![Learning curves of n-best learners and their rivals](probperc.svg)",
    "Hidden states (Sun et al. 2009)": "![Accuracy by the strength of the hidden dependency](synthetic.svg)",
    "Averaging and inexact search (Huang 2013)": "![Accuracy of parsers by pass and update](parsing.svg)",
}


def verdict_of(numbers: tuple[str, ...]) -> str:
    """The verdict that follows from claims: of their comparisons, of the rivals of pooled ones, or of the claim as a
    whole."""
    found: set[str] = set()
    for number in numbers:
        row = rows()[number].judged
        if row.verdict in (SHORT, BETTER):
            found.add(row.verdict)
        else:
            found |= {own.verdict for own in row.pooled.values()} or {outcome.verdict for outcome in row.outcomes}
    found = {YES if own == BETTER else own for own in found} - {MISSING, TASTE}
    if len(found) == 1:
        return found.pop()
    return DEPENDS if YES in found else NO if NO in found else OPEN


def check() -> None:
    """ValueError if a finding has another verdict than its sentence was written for."""
    for finding in (finding for own in SECTIONS.values() for finding in own):
        now = verdict_of(finding.claims)
        if now != finding.verdict:
            raise ValueError(f"{finding.statement!r} was {finding.verdict!r} and is {now!r}: rewrite its sentence")


def _figures(shown: str) -> str:
    number, _, index = shown.partition(":")
    return rows()[number].judged.outcomes[int(index or 0)].told()


def _pooled(finding: Finding) -> list[str]:
    answers = [(name, answer.p) for number in finding.claims for name, answer in rows()[number].judged.pooled.items()]
    return [unbroken(f"*pooled, {name}*: {p_words(p)}") for name, p in answers if p is not None]


def _row(finding: Finding) -> str:
    figures = "<br>".join([*map(_figures, finding.show), *_pooled(finding)])
    verdict = f"{MARKS[finding.verdict]} **{finding.verdict}**"
    return f"| {finding.statement} | {verdict} | {finding.on} | {figures} | {', '.join(finding.claims)} |"


def _checked(number: str) -> str:
    row: Judged = rows()[number].judged
    how = "tests" if row.verdict == YES else "a test has a counterexample" if row.verdict == NO else row.verdict
    return f"| {number}. {row.claim.claim} | {how} | {row.claim.note} |"


def _counted() -> str:
    many = Counter(row.judged.verdict for row in rows().values())
    return ", ".join(f"{many[verdict]} {verdict}" for verdict in VERDICTS if many[verdict])


HEAD = "| finding | verdict | on what it depends | figures | claims |\n|---|---|---|---|---|"
RULE = f"""## How a claim is judged

- A claim about several comparisons ("all", "at every cut-off") holds if each of them holds by itself at 5 %: an
  intersection-union test, which needs no correction for their number.
- A claim about tasks in general is pooled over tasks by Stouffer's sum; tasks on the same corpus count as one.
- *Above* is a two-sided test over seeds (Welch) or over sentences (approximate randomisation, McNemar). A test that
  finds nothing decides against a claim only if it would have found the **published** difference with a power of
  {100 * ENOUGH:.0f} %; where none is printed, the claim stays **{OPEN}**. *The same* is a test of equivalence within a
  margin.
- A figure that is better than the published one is no failure, and an absent weakness is **{BETTER}**.
- **{SHORT}**: a shortcut of ours, such as a stopped L-BFGS, would decide.

Figures are means ± standard deviations over seeds."""


def page() -> str:
    """The page, from the records alone."""
    check()
    parts = [
        "# Which published results hold",
        "Made by `python -m studies findings` from the records of the studies and benchmarks. Methods are in "
        "[from the papers to the code](../papers.md); each of them has a slow twin in the tests. Below are the "
        "theorems and the findings of the experiments, on public corpora where those of the papers are not. All "
        f"{len(rows())} single claims with every comparison, p-value and power are data: [{DATA}.json]({DATA}.json) "
        f"({_counted()}).",
        "## Methods and theorems",
        "| statement | checked by | note |\n|---|---|---|\n" + "\n".join(map(_checked, CHECKED)),
    ]
    for title, findings in SECTIONS.items():
        parts += [
            f"## {title}",
            "\n".join([HEAD, *map(_row, findings)]),
            *([PICTURES[title]] if title in PICTURES else []),
        ]
    return "\n\n".join([*parts, RULE]) + "\n"


def main() -> None:
    for name, text in ((f"{NAME}.md", page()), (f"{DATA}.json", as_json())):
        (DOCS / name).write_text(text, encoding="utf-8")
        print(f"{DOCS / name}")


if __name__ == "__main__":
    main()
