"""The scores of a parser as tables for people: one parser, and several side by side."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.errors import counted
from palmette.evaluation.attachment import METRICS, Arcs, AttachmentScores
from palmette.evaluation.tree_comparison import TreeComparison
from palmette.reports.console import OutputConsole
from palmette.reports.tables import letters, p_text, percent, plain_table, titled

BY_RELATION = "by relation: labelled arcs, and the share of heads found (UAS)"
RELATIONS = 40  # rows of the table of relations


def print_attachment(found: AttachmentScores, console: Console | None = None) -> None:
    """Totals, then relations and lengths of arcs."""
    console = console or OutputConsole(100)
    console.print(
        f"{counted(found.words, 'word')}, {counted(found.sentences, 'sentence')}; "
        f"trees without an error: {percent(found.trees)}%"
    )
    console.print(totals_of(found))
    titled(console, BY_RELATION, arcs_table(found.by_relation, True))
    titled(console, "by length of the arc in words", arcs_table(found.by_length, False))


def totals_of(found: AttachmentScores) -> Table:
    """UAS, LAS and CLAS, with punctuation and without."""
    totals = plain_table(["", "UAS", "LAS", "CLAS", "words"])
    totals.add_row(
        "all words", *(f"[bold]{percent(f)}[/bold]" for f in (found.uas, found.las, found.clas)), f"{found.words:,}"
    )
    rest = found.no_punctuation
    totals.add_row("without punctuation", percent(rest.uas), percent(rest.las), "", f"{rest.words:,}")
    return totals


def arcs_table(rows: Mapping[str, Arcs], by_number: bool) -> Table:
    """Figures by relation, the most frequent first, or by length."""
    table = plain_table(["", "precision", "recall", "F1", "UAS", "gold", "found", "right"])
    ordered = sorted(rows.items(), key=lambda item: -item[1].labelled.gold) if by_number else list(rows.items())
    for name, arcs in ordered[:RELATIONS]:
        f = arcs.labelled
        figures = map(percent, (f.precision, f.recall, f.f1, arcs.uas))
        table.add_row(escape(name), *figures, *(f"{n:,}" for n in (f.gold, f.guessed, f.correct)))
    if len(ordered) > RELATIONS:
        table.caption = f"and {len(ordered) - RELATIONS} rarer ones"
    return table


# Several parsers


def print_tree_comparison(found: TreeComparison, gold: str, console: Console | None = None) -> None:
    """Scores, tests against the first, and who wins at which relation."""
    console = console or OutputConsole(100)
    short = dict(zip([system.name for system in found.systems], letters(len(found.systems)), strict=True))
    console.print(f"{gold}: {counted(found.sentences, 'sentence')}, {counted(found.words, 'word')}", markup=False)
    scores = plain_table(["", "parser", *(cell for m in METRICS for cell in (m.upper(), ""))], 2)
    for system in found.systems:
        cells = []
        for metric in METRICS:
            span = system.intervals[metric]
            cells += [percent(system.scores[metric]), escape(f"[{percent(span.low)}, {percent(span.high)}]")]
        scores.add_row(short[system.name], escape(system.name), *cells)
    titled(console, f"scores, with {100 * found.level:.0f}% bootstrap intervals over sentences", scores)
    titled(console, "differences", _differences(found, short))
    holm = f"; Holm: corrected for {len(found.pairs)} pairs" if len(found.pairs) > 1 else ""
    console.print(
        f"p: approximate randomisation over sentences, {found.rounds:,} rounds{holm}", style="dim", markup=False
    )
    titled(
        console, "words with arc and relation that only one of the two has right, McNemar's test", _only(found, short)
    )
    titled(console, "F1 of labelled arcs by relation", _where(found, short))
    console.print()
    console.print(f"sentences that are parsed differently: {found.differing_sentences:,} of {found.sentences:,}")


def _differences(found: TreeComparison, short: Mapping[str, str]) -> Table:
    several = len(found.pairs) > 1
    table = plain_table(["", "", "difference", "", "p", *(["p (Holm)"] if several else [])], 2)
    for pair in found.pairs:
        name = f"{short[pair.second]} - {short[pair.first]}"
        for metric, one in pair.differences.items():
            span = escape(f"[{100 * one.interval.low:+.2f}, {100 * one.interval.high:+.2f}]")
            p_values = [p_text(one.p), p_text(one.p_holm)] if several else [p_text(one.p)]
            table.add_row(name, metric.upper(), f"{100 * one.value:+.2f}", span, *p_values)
            name = ""
    return table


def _only(found: TreeComparison, short: Mapping[str, str]) -> Table:
    table = plain_table(["", "only first", "only second", "exact p"])
    for pair in found.pairs:
        counts = (f"{pair.mcnemar.only_first:,}", f"{pair.mcnemar.only_second:,}")
        table.add_row(f"{short[pair.first]}, {short[pair.second]}", *counts, p_text(pair.mcnemar.exact))
    return table


def _where(found: TreeComparison, short: Mapping[str, str]) -> Table:
    table = plain_table(["", "gold", *short.values(), "best"])
    each = [system.scores["by_relation"] for system in found.systems]
    gold = {name: row["labelled"]["gold"] for by_name in each for name, row in by_name.items()}
    ordered = sorted(gold, key=lambda name: (-gold[name], name))
    for name in ordered[:RELATIONS]:
        values = [by_name[name]["labelled"]["f1"] if name in by_name else 0.0 for by_name in each]
        best = [letter for letter, value in zip(short.values(), values, strict=True) if value == max(values)]
        table.add_row(
            escape(name), f"{gold[name]:,}", *map(percent, values), "=" if len(best) == len(each) else " ".join(best)
        )
    if len(ordered) > RELATIONS:
        table.caption = f"and {len(ordered) - RELATIONS} rarer ones"
    return table
