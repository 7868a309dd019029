"""The report of `palmette check`: a file's figures, how many findings of each kind, and the first ones."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from palmette.data.formats.spec import FormatSpec
from palmette.errors import counted
from palmette.evaluation.findings import KINDS, CheckResult, FileCheck, Finding
from palmette.options.spelling import spelt
from palmette.reports.tables import OutputConsole, plain_table, titled

WIDTH = 80


def _advice(kind: str) -> str:
    if kind == "columns":
        return f"padded or cut for the other checks; {spelt(FormatSpec, 'ragged', 'pad')} reads such files"
    return "probability is that of the label in the file" if kind == "noise" else ""


def print_check(result: CheckResult, console: Console | None = None) -> None:
    """All of it as tables."""
    console = console or OutputConsole(WIDTH)
    for k, one in enumerate(result.files):
        if k:
            console.print()
        _print_file(console, one)


def _print_file(console: Console, one: FileCheck) -> None:
    figures = [one.format, counted(one.sentences, "sentence"), counted(one.tokens, "token")]
    if one.labels:
        figures.append(counted(one.labels, "label") + (f" ({one.scheme})" if one.scheme else ""))
    console.print(f"{one.file}: {', '.join(figures)}", markup=False)
    for each in one.overlaps:
        share = 100 * each.shared / max(1, each.sentences)
        text = f"sentences of {each.file} that are in it: {each.shared:,} of {each.sentences:,} ({share:.1f}%)"
        console.print(text, markup=False)
    clean = [kind for kind, n in one.counts.items() if not n]
    for kind, n in one.counts.items():
        if n:
            _print_kind(console, kind, n, [finding for finding in one.findings if finding.kind == kind])
    if clean:
        console.print()
        console.print(f"nothing found: {', '.join(clean)}", markup=False)


def _print_kind(console: Console, kind: str, n: int, findings: list[Finding]) -> None:
    shown = f", {len(findings):,} shown" if len(findings) < n else ""
    advice = f"\n{_advice(kind)}" if _advice(kind) else ""
    title = f"{kind}: {KINDS[kind]}: {n:,}{shown}{advice}"
    if not findings:
        console.print(f"\n{title}", style="italic", markup=False)
        return
    if kind == "noise":
        table = plain_table(["line", "words", "label", "rather", "probability"], left=4)
        for finding in findings:
            about = finding.details
            cells = [" ".join(about[name]) for name in ("words", "gold", "guess")]
            table.add_row(_line(finding), *map(escape, cells), f"{about['probability']:.3f}")
    else:
        table = plain_table(["line", "finding"], left=2)
        for finding in findings:
            table.add_row(_line(finding), escape(finding.message))
    titled(console, title, table)


def _line(finding: Finding) -> str:
    return "-" if finding.line is None else str(finding.line)
