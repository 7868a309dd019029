"""A verdict on every published claim of five papers, from the records of the studies and benchmarks.

`python -m studies claims` writes docs/studies/claims.md, one row per claim, and docs/studies/claims_parts.md, one row
per comparison. Nothing is trained: the claims and the comparisons behind them are in studies/verdicts/, one module per
paper, the rule by which they are judged in studies/verdicts/rule.py. A new cell in a record changes a verdict by
itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from studies.common import DOCS
from studies.verdicts import inexact, latent, latent_chunks, latent_costs, latent_tasks, notes, probperc, views
from studies.verdicts.rule import (
    CLOSE,
    ENOUGH,
    MISSING,
    NO,
    OPEN,
    RELEVANT,
    TASTE,
    VERDICTS,
    YES,
    Claim,
    Judged,
    Outcome,
    judged,
    unbroken,
)

NAME, PARTS = "claims", "claims_parts"
SHOWN = 3  # comparisons of a claim in its row; the others are on the second page
MARKS = {YES: "✓", NO: "✗", OPEN: "?", MISSING: "○", TASTE: "–"}
Sections = list[tuple[str, list[Claim]]]


LATENT = (latent, latent_tasks, latent_chunks, latent_costs)


class Paper(NamedTuple):
    """A paper: how it is called in headings, its full reference, its claims."""

    title: str
    reference: str
    sections: Callable[[], Sections]
    letter: str


PAPERS = (
    Paper(
        "Sun et al. (2009)",
        "X. Sun, T. Matsuzaki, D. Okanohara and J. Tsujii: *Latent variable perceptron algorithm for structured "
        "classification*. IJCAI 2009.",
        lambda: [part for own in LATENT for part in own.claims()], "S",
    ),
    Paper(
        "Sun (n. d.)",
        "X. Sun: *Probabilistic structured-output perceptron: an effective probabilistic method for structured NLP "
        "tasks*. "
        "A manuscript without a year, whose latest reference is of 2014. Our copy has no section of experiments, "
        "hence no "
        "figures.",
        probperc.claims, "P",
    ),
    Paper(
        "Clifton, Whitney and Sarkar (2013)",
        "A. Clifton, M. Whitney and A. Sarkar: *An online algorithm for learning over constrained latent "
        "representations "
        "using multiple views*. IJCNLP 2013.",
        views.claims, "C",
    ),
    Paper(
        "Huang (2013)",
        "L. Huang: *Structured learning*, lectures 9 and 10 on machine learning, CUNY 2013, with the experiments of "
        "Collins "
        "(2002) and of Huang, Fayong and Guo (2012) that they report, on the WSJ; ours are on UD English-EWT and "
        "CoNLL-2000, "
        "so that patterns are compared, not levels.",
        inexact.claims, "H",
    ),
    Paper("Wu Ke (2013)", "Wu Ke: *Discriminative sequence labeling*, notes, 2013.", notes.claims, "W"),
)  # fmt: skip


class Row(NamedTuple):
    """A judged claim with its number and section."""

    number: str
    section: str
    judged: Judged


def rows_of(paper: Paper) -> list[Row]:
    found: list[Row] = []
    for section, own in paper.sections():
        for claim in own:
            found.append(Row(f"{paper.letter}{len(found) + 1}", section, judged(claim)))
    return found


# --- words --------------------------------------------------------------------------------------------------


def anchor(title: str) -> str:
    """The anchor of a heading, as the site makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def links(claim: Claim) -> str:
    made = []
    for page in claim.pages:
        path = page if ".md" in page else f"{page}.md"
        name = Path(path.partition("#")[0]).stem
        if path.startswith("..") or (DOCS / path).is_file():
            made.append(f"[{name}]({path})")
    return ", ".join(made)


def reason(row: Judged) -> str:
    """How it was measured, and why: the claim's own sentence where it belongs to this verdict, else one from the
    outcomes."""
    return f"{row.claim.how} {_because(row)}".strip()


def _because(row: Judged) -> str:
    if row.claim.why_if in ("", row.verdict):
        return row.claim.why
    decisive = [outcome.part for outcome in row.outcomes if outcome.verdict == row.verdict]
    names = ", ".join(part for part in decisive[:SHOWN] if part) or "the comparison"
    told = {
        YES: f"All {len(row.outcomes)} comparisons hold." if len(row.outcomes) > 1 else "The comparison holds.",
        NO: f"Decided by {names}.",
        OPEN: f"The tests are too weak to decide {names}.",
        MISSING: f"Cells are missing for {names}.",
        TASTE: "Nothing to measure.",
    }
    return told[row.verdict]


def ours(number: str, row: Judged) -> str:
    """The decisive comparisons first."""
    ranked = sorted(row.outcomes, key=lambda outcome: outcome.verdict != row.verdict)
    lines = [outcome.told() for outcome in ranked[:SHOWN]]
    agree = sum(outcome.verdict == YES for outcome in ranked)
    if detailed(row):
        told = f"[all {len(ranked)}]({{}}): {agree} hold" if len(ranked) > SHOWN else "[details]({})"
        lines.append(told.format(f"{PARTS}.md#{number.lower()}"))
    return "<br>".join(lines)


def verdict_words(row: Judged) -> str:
    """The verdict; of what cannot be decided the lowest power of its tests."""
    told = f"{MARKS[row.verdict]}\u00a0**{row.verdict}**"
    if row.verdict != OPEN:
        return told
    powers = [o.power for o in row.outcomes if o.verdict == OPEN and o.power is not None]
    return f"{told} at this size" + (f" (power\u00a0{100 * min(powers):.0f}\u00a0%)" if powers else "")


def _table(rows: list[Row]) -> str:
    lines = ["| claim | published | ours | verdict | why |", "|---|---|---|---|---|"]
    for row in rows:
        claim = row.judged.claim
        figures, verdict = ours(row.number, row.judged), verdict_words(row.judged)
        why = f"{reason(row.judged)} {links(claim)}".strip()
        cells = [f"{row.number}. {claim.claim}", claim.published, figures, verdict, why]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _counts(rows: list[Row]) -> str:
    many = Counter(row.judged.verdict for row in rows)
    return ", ".join(f"{many[verdict]} {verdict}" for verdict in VERDICTS if many[verdict])


RULE = f"""## How a claim is judged

Verdicts are computed from the records, not written by hand. A claim has one comparison or several, and all of them must
hold: one that fails makes it **{NO}**; otherwise one that cannot be decided makes it **{OPEN}**, and one
whose cells were not run **{MISSING}** (the cells are named). **{TASTE}**: a judgement or a proof that no
figure can decide.

- *A is above B*: a two-sided test at 5 %, with Holm's correction for the comparisons of the claim. Over seeds: Welch's
  t. A single run is taken to vary like the other method's runs (not at all if its training has no seed), two single
  runs like other rows on the same data. Over sentences, where the record has it: approximate randomisation or
  McNemar's test. Significant in the claimed direction: {YES}; in the other one: {NO}. Not significant:
  {NO} if the test has a power of at least {100 * ENOUGH:.0f} % for the published difference (for {RELEVANT} points if
  none is printed), else {OPEN}, with that power.
- *A and B are about the same*: two one-sided tests at 5 % with the margin that the row names. The interval within the
  margin: {YES}; outside of it: {NO}; across its end: {OPEN}, with the power for two methods that are
  equal.
- *A figure has a size* (a level, a share, a ratio of times): the mean over seeds against the bound. A published level
  counts as reached from {CLOSE} points below it on; a published ratio of times from half of it on, unless the row
  says otherwise.
- *Theorems*: a test of the suite checks them on small problems, or holds a counterexample.

Figures are means ± standard deviations over seeds (no ± for single runs), of the published kind of model unless the row
says otherwise: F for spans, accuracy or error in per cent for labels. p is after correction. A test over seeds asks
whether another training would come out the same way, not whether other test sentences would."""


WORDS = """Words: *mavg* restarts from the average of all weights every k-th pass, *avg* does not; *DPLVM* is a CRF with
latent states; *tied updates* (ours) change all states of a label together; *cut-off* n leaves out features seen fewer
than n times; *order* is the number of labels before a token that weights see; *b* is the width of a beam; *n*
candidates are the n best label sequences; *LCLR* is a batch learner over latent structures, whose *variant* decodes
once per pass."""
# Claims that are asked for most, by their beginnings
MAIN = (
    "With strong hidden dependencies", "Latent perceptron and DPLVM have almost identical",
    "Four states per label instead",
    "With the same features the latent perceptron is above the perceptron", "Order 2 is above order 1",
    "The latent perceptron with mavg is the best",
    "Training the latent perceptron is 60", "ProbPerc is above the averaged", "ProbPerc is above MIRA",
    "ProbPerc is above the CRF",
    "Of three functions", "The online learner is significantly", "Several views bring",
    "Averaged weights are better than",
    "A cut-off makes maximum entropy", "With greedy search the standard update is", "Max-violation reaches early",
    "A regularised CRF and",
)  # fmt: skip


def _main(rows: list[Row]) -> str:
    """The claims of MAIN with their verdicts."""
    lines = ["| claim | verdict |", "|---|---|"]
    for row in rows:
        if row.judged.claim.claim.startswith(MAIN):
            lines.append(f"| {row.number}. {row.judged.claim.claim} | {verdict_words(row.judged)} |")
    return "\n".join(lines)


def page(papers: tuple[Paper, ...] = PAPERS) -> str:
    """One row per claim, from the records alone."""
    found = {paper: rows_of(paper) for paper in papers}
    everything = [row for rows in found.values() for row in rows]
    summary = ["| paper | claims | " + " | ".join(VERDICTS) + " |", "|---|" + "--:|" * (1 + len(VERDICTS))]
    for paper, rows in found.items():
        many = Counter(row.judged.verdict for row in rows)
        cells = [f"[{paper.title}](#{anchor(paper.title)})", str(len(rows)), *(str(many[v]) for v in VERDICTS)]
        summary.append("| " + " | ".join(cells) + " |")
    many = Counter(row.judged.verdict for row in everything)
    summary.append("| all | " + " | ".join([str(len(everything)), *(str(many[v]) for v in VERDICTS)]) + " |")
    parts = [
        "# Published claims and what became of them",
        "Made by `python -m studies claims` from the records of the other studies and of `python -m bench`; nothing "
        "is trained "
        "for it. Each claim of five papers, in our words, with the published figure, ours, a verdict, one sentence on "
        "why, and a "
        f"link. Every comparison behind it is on [another page]({PARTS}.md).",
        "\n".join(summary),
        "The ones that are asked for most; their rows are below, by number:",
        _main(everything),
        RULE,
        WORDS,
    ]
    for paper, rows in found.items():
        parts += [f"## {paper.title}", f"{paper.reference} {len(rows)} claims: {_counts(rows)}."]
        for section in dict.fromkeys(row.section for row in rows):
            parts += [f"### {section}", _table([row for row in rows if row.section == section])]
    return "\n\n".join(parts) + "\n"


# --- the second page ----------------------------------------------------------------------------------------


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _p(value: float | None) -> str:
    return "" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


HEAD = "| comparison | figures | difference | p | p, corrected | test | power | outcome |"
COLUMNS = "|---|---|--:|--:|--:|---|--:|---|"


def _part_row(outcome: Outcome) -> str:
    strength = "" if outcome.power is None else f"{100 * outcome.power:.0f} %"
    cells = [outcome.part or "—", outcome.figures, _number(outcome.difference), _p(outcome.p), _p(outcome.corrected),
             outcome.test, strength, outcome.verdict]  # fmt: skip
    return "| " + " | ".join(map(unbroken, cells)) + " |"


def _part_line(outcome: Outcome) -> str:
    """An outcome without a statistical test."""
    name = f"{outcome.part}: " if outcome.part else ""
    where = f" ({outcome.test})" if outcome.test else ""
    return f"- {name}{outcome.figures}{where}; {outcome.verdict}"


def _parts(row: Judged) -> str:
    if all(outcome.difference is None for outcome in row.outcomes):
        return "\n".join(map(_part_line, row.outcomes))
    return "\n".join([HEAD, COLUMNS, *map(_part_row, row.outcomes)])


def detailed(row: Judged) -> bool:
    """Whether a claim has more to it than its row shows."""
    return len(row.outcomes) > SHOWN or any(outcome.test for outcome in row.outcomes)


def parts_page(papers: tuple[Paper, ...] = PAPERS) -> str:
    """One row per comparison, from the records alone."""
    parts = [
        "# Every comparison behind the claims",
        f"Made by `python -m studies claims`: the comparisons that decide the rows of [the claims]({NAME}.md), by "
        f"their "
        "numbers, where a row does not show all of them. Tests are over seeds, over sentences, over seeds with the "
        "typical "
        "spread of other rows, or of equality within a margin; statements that a test of the suite checks name it. "
        "Power is "
        "that of finding the published difference, for equality that of confirming two equal methods.",
    ]
    for paper in papers:
        parts.append(f"## {paper.title}")
        for row in filter(lambda row: detailed(row.judged), rows_of(paper)):
            verdict = row.judged.verdict.capitalize()
            parts += [f"### {row.number}", f"{row.judged.claim.claim} {verdict}.", _parts(row.judged)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    for name, text in ((NAME, page()), (PARTS, parts_page())):
        (DOCS / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{DOCS / name}.md")


if __name__ == "__main__":
    main()
