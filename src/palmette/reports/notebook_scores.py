"""Scores and comparisons in notebooks: the tables that the command line prints, as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.errors import counted
from palmette.evaluation.attachment import AttachmentScores
from palmette.evaluation.binary import BinaryScores
from palmette.evaluation.class_comparison import ClassComparison
from palmette.evaluation.comparison import Comparison
from palmette.evaluation.findings import CheckResult
from palmette.evaluation.scores import Scores
from palmette.evaluation.tree_comparison import TreeComparison
from palmette.reports.attachment import BY_RELATION, arcs_table, print_tree_comparison, totals_of
from palmette.reports.checking import print_check
from palmette.reports.class_comparison import print_class_comparison
from palmette.reports.comparison import print_ablation, print_comparison
from palmette.reports.evaluation import CONFUSIONS, confusion_table, figures_table, rules_said, totals_table
from palmette.reports.html import Html, element, facts, folded, page, printed, rich_table
from palmette.reports.tables import percent

if TYPE_CHECKING:
    from palmette.lab.ablation import Ablation
    from palmette.lab.lm.scores import TextScore
    from palmette.tuning.tune import TuneResult

ROWS = 30  # of a table by type, label or relation
GOLD = "gold"  # how comparisons call the data that they are on


def scores(found: Scores) -> str:
    """Totals, figures by type of span or by label, and confusions."""
    spans = bool(found.by_type)
    what = f"spans by type ({rules_said(found.chunk_rules)})" if spans else "labels"
    parts = [rich_table(totals_table(found)), _title(what)]
    parts.append(rich_table(figures_table(found.by_type if spans else found.by_label, ROWS)))
    if spans:
        parts.append(folded("labels", rich_table(figures_table(found.by_label, ROWS))))
    if found.confusions:
        table = rich_table(confusion_table(found.confusions[:CONFUSIONS]))
        parts.append(folded("confusions: gold in rows, guess in columns", table))
    return page(*parts)


def attachment(found: AttachmentScores) -> str:
    """Totals, figures by relation, and by length of the arc."""
    words = f"{counted(found.words, 'word')}, {counted(found.sentences, 'sentence')}"
    return page(
        element("div", f"{words}; trees without an error: {percent(found.trees)}%"),
        rich_table(totals_of(found)),
        _title(BY_RELATION),
        rich_table(arcs_table(found.by_relation, True)),
        folded("by length of the arc in words", rich_table(arcs_table(found.by_length, False))),
    )


def binary(found: BinaryScores) -> str:
    """The figures of a classifier of two classes."""
    return page(
        facts(
            {
                "sentences": f"{found.positives + found.negatives:,}, {found.positives:,} of them positive",
                "accuracy": percent(found.accuracy),
                "precision": f"{percent(found.precision)} ({found.right_positive:,} of {found.said_positive:,} found)",
                "recall": percent(found.recall),
                "F1": element("b", percent(found.f1)),
                "area under the ROC": None if found.auc is None else percent(found.auc),
                "certified": None if found.certified is None else percent(found.certified),
            }
        )
    )


def text_score(found: TextScore) -> str:
    """The figures of a text by a language model."""
    return page(
        facts(
            {
                "sentences": f"{found.sentences:,}",
                "tokens": f"{found.tokens:,}, {found.unknown:,} of them unknown",
                "logarithm of the probability": f"{found.logprob:,.2f}",
                "perplexity": element("b", f"{found.perplexity:,.2f}"),
                "perplexity without unknown words": f"{found.perplexity_without_unknown:,.2f}",
            }
        )
    )


def comparison(found: Comparison) -> str:
    return printed(lambda console: print_comparison(found, GOLD, console))


def tree_comparison(found: TreeComparison) -> str:
    return printed(lambda console: print_tree_comparison(found, GOLD, console))


def class_comparison(found: ClassComparison) -> str:
    return printed(lambda console: print_class_comparison(found, GOLD, console))


def ablation(found: Ablation) -> str:
    return printed(lambda console: print_ablation(found, "", console))


def tuning(found: TuneResult) -> str:
    from palmette.tuning.report import print_tuning

    return printed(lambda console: print_tuning(found, console))


def check(found: CheckResult) -> str:
    return printed(lambda console: print_check(found, console))


def _title(text: str) -> Html:
    return element("div", text, style="font-style:italic;margin-top:0.4em")
