"""Systems side by side, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.errors import counted
from palmette.evaluation.rivals import Comparison, Pair, Sentence, Where
from palmette.evaluation.scores import rules_said
from palmette.evaluation.significance import Difference, Interval
from palmette.reports.tables import OutputConsole, letters, p_text, percent, plain_table, titled

ROWS = 40  # of a table by type, label or relation
WHERE = {
    "type": "F1 by type of span ({rules})",
    "label": "F1 by label",
    "relation": "F1 of labelled arcs by relation",
    "words": "accuracy on words seen or unseen in the training data of {model}",
}
_WORDS = 12  # of a sentence on each side of what differs


def print_comparison(found: Comparison, gold: str = "gold", console: Console | None = None) -> None:
    """Scores, tests of each system against the first, scores by type, and sentences on which they differ."""
    console = console or OutputConsole(100)
    short = dict(zip([system.name for system in found.systems], letters(len(found.systems)), strict=True))
    units = "" if found.unit == "sentence" else f", {counted(found.units, found.unit)}"
    console.print(f"{gold}: {counted(found.sentences, 'sentence')}{units}", markup=False)
    titled(console, f"scores, with {100 * found.level:.0f}% bootstrap intervals over sentences", _scores(found, short))
    titled(console, "differences", _differences(found.pairs, short))
    console.print(rounds_legend(found.rounds, found.pairs), style="dim", markup=False)
    right = "words with arc and relation" if found.unit == "word" else f"{found.unit}s"
    titled(console, f"{right} that only one of the two has right, McNemar's test", _only(found.pairs, short))
    rules, model = rules_said(found.about.get("chunk_rules")), found.about.get("unseen_for")
    for kind, rows in groupby(found.where, lambda row: row.kind):
        titled(console, WHERE[kind].format(rules=rules, model=model), _where(list(rows), short))
    _sentences(console, found, list(short.values()))


def _between(span: Interval, sign: str = "") -> str:
    return escape(f"[{100 * span.low:{sign}.2f}, {100 * span.high:{sign}.2f}]")


def _scores(found: Comparison, short: dict[str, str]) -> Table:
    metrics = [name for name, metric in found.systems[0].metrics.items() if metric is not None]
    last = "sentences right" if found.systems[0].share is not None else "right" if found.unit == "sentence" else ""
    table = plain_table(["", found.noun, *(cell for name in metrics for cell in (_named(name), "")), last], 2)
    for system in found.systems:
        values = [system.metrics[name] for name in metrics]
        cells = [cell for one in values if one for cell in (percent(one.value), _between(one.interval))]
        right = percent(system.share) if system.share is not None else f"{system.right:,}" if last else ""
        table.add_row(short[system.name], escape(system.name), *cells, right)
    return table


def _named(metric: str) -> str:
    return metric if metric == "accuracy" else metric.upper()


def _differences(pairs: Sequence[Pair], short: dict[str, str]) -> Table:
    several = len(pairs) > 1
    table = plain_table(["", "", "difference", "", "p", *(["p (Holm)"] if several else [])], 2)
    for pair in pairs:
        name = f"{short[pair.second]} - {short[pair.first]}"
        for metric, difference in pair.differences.items():
            if difference is not None:
                table.add_row(name, _named(metric), *difference_cells(difference, several))
                name = ""
    return table


def difference_cells(found: Difference, several: bool) -> list[str]:
    cells = [f"{100 * found.value:+.2f}", _between(found.interval, "+"), p_text(found.p)]
    return [*cells, p_text(found.p_holm)] if several else cells


def _only(pairs: Sequence[Pair], short: dict[str, str]) -> Table:
    table = plain_table(["", "only first", "only second", "exact p", "chi2", "corrected p"])
    for pair in pairs:
        found = pair.mcnemar
        if found is not None:
            cells = (f"{found.only_first:,}", f"{found.only_second:,}", p_text(found.exact), f"{found.chi2:.2f}")
            table.add_row(f"{short[pair.first]}, {short[pair.second]}", *cells, p_text(found.corrected))
    return table


def rounds_legend(rounds: int, pairs: Sequence[Pair]) -> str:
    text = f"p: approximate randomisation over sentences, {rounds:,} rounds"
    return text + (f"; Holm: corrected for {len(pairs)} pairs" if len(pairs) > 1 else "")


def _where(rows: Sequence[Where], short: dict[str, str]) -> Table:
    table = plain_table(["", "gold", *short.values(), "best"])
    for row in rows[:ROWS]:
        best = "=" if len(row.best) == len(short) else " ".join(short[name] for name in row.best)
        table.add_row(escape(row.name) or "(no type)", f"{row.gold:,}", *map(percent, row.scores), best)
    if len(rows) > ROWS:
        table.caption = f"and {len(rows) - ROWS} rarer ones"
    return table


def _sentences(console: Console, found: Comparison, short: list[str]) -> None:
    console.print()
    n, shown = found.differing_sentences, len(found.differences)
    if n == 0:
        console.print(f"the {found.noun}s agree on every {found.unit}")
        return
    which = "" if shown in (0, n) else f"; the {shown} with most such tokens" if shown > 1 else "; the one with most"
    console.print(f"sentences that are {found.done} differently: {n:,} of {found.sentences:,}{which}", style="italic")
    for sentence in found.differences:
        console.print()
        console.print(_headline(sentence), soft_wrap=True)
        table = plain_table(["    ", "word", "gold", *short], 3 + len(short))
        for token in sentence.tokens:
            guesses = [_judged(guess, token.gold) for guess in token.guesses]
            table.add_row("", escape(token.word or f"token {token.token + 1}"), escape(token.gold), *guesses)
        console.print(table)


def _judged(guess: str, gold: str) -> str:
    return f"[green]{escape(guess)}[/green]" if guess == gold else f"[red]{escape(guess)}[/red]"


def _headline(sentence: Sentence) -> str:
    """Where the sentence stands, and its words around what differs."""
    place = f"sentence {sentence.sentence + 1}" + ("" if sentence.line is None else f", line {sentence.line}")
    if not sentence.text:
        return place
    marked = {token.token for token in sentence.tokens}
    lo, hi = max(0, min(marked) - _WORDS), max(marked) + _WORDS + 1
    words = [
        f"[bold]{escape(word)}[/bold]" if i in marked else escape(word)
        for i, word in enumerate(sentence.text)
        if lo <= i < hi
    ]
    text = " ".join([*(["..."] if lo else []), *words, *(["..."] if hi < len(sentence.text) else [])])
    return f"[dim]{place}:[/dim] {text}"
