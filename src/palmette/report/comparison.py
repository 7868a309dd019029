"""Systems and learners side by side, as tables for people, and how far the comparison is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING

from rich.console import Console, OverflowMethod
from rich.markup import escape
from rich.table import Table

from palmette.comparing import Comparison, Difference, Pair, Sentence, Where
from palmette.metrics.significance import Interval
from palmette.report.console import OutputConsole

if TYPE_CHECKING:
    from palmette.ablation import Ablation, Learner, Run, Spread
    from palmette.learn.online import Pass, Progress

ROWS = 30  # of the table who wins where
_WORDS = 12  # of a sentence on each side of what differs


def letters(n: int) -> list[str]:
    """Short names of n systems: A, B, ..., Z, A2, B2, ..."""
    return [f"{ascii_uppercase[k % 26]}{k // 26 + 1 if k >= 26 else ''}" for k in range(n)]


# Outputs


def print_comparison(found: Comparison, gold: str, console: Console | None = None) -> None:
    """Scores, tests of each system against the first, who wins where, and sentences on which they differ."""
    console = console or OutputConsole(100)
    short = dict(zip([system.name for system in found.systems], letters(len(found.systems)), strict=True))
    console.print(f"{gold}: {found.sentences:,} sentences, {found.tokens:,} tokens", markup=False)
    _titled(console, f"scores, with {100 * found.level:.0f}% bootstrap intervals over sentences", _scores(found, short))
    _titled(console, "differences", _tests(found.pairs, short))
    console.print(_legend(found.rounds, found.pairs), style="dim", markup=False)
    _titled(console, "tokens that only one of the two has right, McNemar's test", _mcnemar(found.pairs, short))
    what = f"spans, F1 ({found.chunk_rules}'s rules)" if found.chunk_rules else "labels, F1"
    _titled(console, f"who wins where: {what}", _where([w for w in found.where if w.kind != "words"], short))
    words = [w for w in found.where if w.kind == "words"]
    if words:
        _titled(console, f"words in the training data of {found.unseen_for} or not, accuracy", _where(words, short))
    _differences(console, found, list(short.values()))


def _titled(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(title, style="italic", markup=False)
    console.print(table)


def _table(heads: Sequence[str], left: int = 1) -> Table:
    """Without lines; the first `left` columns are text, the others figures."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for k, head in enumerate(heads):
        # A name too long for its place goes on in the next line; it is never cut.
        overflow: OverflowMethod = "fold" if k < left else "ellipsis"
        table.add_column(escape(head), justify="left" if k < left else "right", no_wrap=k >= left, overflow=overflow)
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _between(span: Interval | None, sign: str = "") -> str:
    return "" if span is None else f"[{100 * span.low:{sign}.2f}, {100 * span.high:{sign}.2f}]"


def p_text(p: float) -> str:
    """A p-value with two or three digits that count."""
    return "<0.0001" if p < 0.00005 else f"{p:.4f}"


def _scores(found: Comparison, short: dict[str, str]) -> Table:
    spans = found.chunk_rules is not None
    table = _table(["", "system", "accuracy", "", *(["F1", ""] if spans else []), "sentences right"], 2)
    for system in found.systems:
        f1 = [_percent(system.f1), escape(_between(system.f1_interval))] if spans else []
        whole = _percent(system.scores["sentence_accuracy"])
        accuracy = [_percent(system.accuracy), escape(_between(system.accuracy_interval))]
        table.add_row(short[system.name], escape(system.name), *accuracy, *f1, whole)
    return table


def _tests(pairs: Sequence[Pair], short: dict[str, str]) -> Table:
    several = len(pairs) > 1
    table = _table(["", "", "difference", "", "p", *(["p (Holm)"] if several else [])], 2)
    for pair in pairs:
        name = f"{short[pair.second]} - {short[pair.first]}"
        for metric, difference in (("accuracy", pair.accuracy), ("F1", pair.f1)):
            if difference is not None:
                table.add_row(name, metric, *_difference(difference, several))
                name = ""
    return table


def _difference(found: Difference, several: bool) -> list[str]:
    cells = [f"{100 * found.value:+.2f}", escape(_between(found.interval, "+")), p_text(found.p)]
    return [*cells, p_text(found.p_holm)] if several else cells


def _mcnemar(pairs: Sequence[Pair], short: dict[str, str]) -> Table:
    table = _table(["", "only first", "only second", "exact p", "chi2", "corrected p"])
    for pair in pairs:
        found = pair.mcnemar
        if found is not None:
            cells = (f"{found.only_first:,}", f"{found.only_second:,}", p_text(found.exact), f"{found.chi2:.2f}")
            table.add_row(f"{short[pair.first]}, {short[pair.second]}", *cells, p_text(found.corrected))
    return table


def _legend(rounds: int, pairs: Sequence[Pair]) -> str:
    text = f"p: approximate randomisation over sentences, {rounds:,} rounds"
    return text + (f"; Holm: corrected for {len(pairs)} pairs" if len(pairs) > 1 else "")


def _where(rows: Sequence[Where], short: dict[str, str]) -> Table:
    table = _table(["", "gold", *short.values(), "best"])
    for row in rows[:ROWS]:
        best = "=" if len(row.best) == len(short) else " ".join(short[name] for name in row.best)
        table.add_row(escape(row.name) or "(no type)", f"{row.gold:,}", *map(_percent, row.scores), best)
    if len(rows) > ROWS:
        table.caption = f"and {len(rows) - ROWS} rarer ones"
    return table


def _differences(console: Console, found: Comparison, short: list[str]) -> None:
    console.print()
    n, shown = found.differing_sentences, len(found.differences)
    if n == 0:
        console.print("the systems agree on every token")
        return
    which = "" if shown in (0, n) else f"; the {shown} with most such tokens" if shown > 1 else "; the one with most"
    console.print(f"sentences that are labelled differently: {n:,} of {found.sentences:,}{which}", style="italic")
    for sentence in found.differences:
        console.print()
        console.print(_headline(sentence), soft_wrap=True)
        table = _table(["    ", "word", "gold", *short], 3 + len(short))
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


# Learners


def use_of_dev(dev: str | None, share: float | None, gold: str) -> str:
    """What development data was used for, in a sentence."""
    kept = f"{gold} was only scored: nothing was chosen on it"
    if dev is None and share is None:
        return f"no development data: each training keeps its last pass; {kept}"
    source = dev or f"a share of {share:g} of the training sentences"
    return f"{source} chose what each training keeps (the pass; the estimator where it is auto); {kept}"


def print_ablation(found: Ablation, note: str, console: Console | None = None) -> None:
    """One table: mean and standard deviation over seeds, time, and significance against the first learner."""
    console = console or OutputConsole(100)
    seeds = len(found.learners[0].runs)
    spans = found.learners[0].f1 is not None
    several = len(found.pairs) > 1
    console.print(
        f"{found.sentences:,} sentences, {found.tokens:,} tokens; mean and standard deviation over {seeds} "
        f"seed{'s' if seeds > 1 else ''}"
    )
    main = "F1" if spans else "accuracy"
    heads = ["learner", *(["F1"] if spans else []), "accuracy", "seconds", f"{main} - first", "p"]
    table = _table([*heads, *(["p (Holm)"] if several else [])])
    for learner in found.learners:
        pair = next((pair for pair in found.pairs if pair.second == learner.name), None)
        tested: list[str] = []
        if pair is not None:
            difference, _, *p_values = _difference(pair.f1 or pair.accuracy, several)
            tested = [difference, *p_values]
        cells = [_spread(one, 100) for one in (learner.f1, learner.accuracy) if one is not None]
        table.add_row(escape(learner.name), *cells, _spread(learner.seconds, 1), *tested)
    console.print(table)
    paired = "; seeds are paired, and a sentence is exchanged in all pairs at once" if seeds > 1 else ""
    console.print(f"{_legend(found.rounds, found.pairs)}{paired}", style="dim", markup=False)
    console.print(note, style="dim", markup=False)


def _spread(found: Spread, scale: float) -> str:
    return f"{scale * found.mean:.2f}" + ("" if found.sd is None else f" ±{scale * found.sd:.2f}")


# Progress


class Meter:
    """Tells on stderr how far it is: what is going on from the second second on, and trainings as they end."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.next = time.perf_counter() + 1.0
        self.said: set[str] = set()
        self.first_run = True
        self.unfinished = False

    def begins(self, learner: Learner, seed: int) -> Progress:
        self.first_run = seed == 1

        def passes(number: int, done: int, total: int, finished: Pass | None) -> None:
            self.tell(f"{learner.name}, seed {seed}: pass {number}, {100 * done // max(1, total)}%")

        return passes

    def ended(self, learner: Learner, run: Run) -> None:
        if not self.quiet:
            self.clear()
            spans = "" if run.f1 is None else f"F1 {100 * run.f1:.2f}, "
            text = f"{learner.name}, seed {run.seed}: {spans}accuracy {100 * run.accuracy:.2f}, {run.seconds:.2f} s"
            print(text, file=sys.stderr, flush=True)

    def tell(self, message: str) -> None:
        now = time.perf_counter()
        if not self.quiet and now >= self.next:
            # A log of lines needs fewer of them than a line that is written over.
            self.next = now + (0.2 if self.live else 5.0)
            self.unfinished = self.live
            text = f"\r\x1b[K{message}" if self.live else f"{message}\n"
            print(text, end="", file=sys.stderr, flush=True)

    def say(self, message: str) -> None:
        """A message of a learner's first training, once: the other seeds would repeat it."""
        if not self.quiet and self.first_run and message not in self.said:
            self.said.add(message)
            self.clear()
            print(message, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take away a line that was to be written over."""
        if self.unfinished:
            self.unfinished = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
