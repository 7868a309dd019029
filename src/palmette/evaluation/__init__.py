"""Metrics, significance tests and checks of data; one record per verb.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.evaluation.attachment import score_trees
    from palmette.evaluation.findings import CheckResult, FileCheck, Finding
    from palmette.evaluation.rivals import CompareOptions, SystemOutputs, compare, label_rivals, tree_rivals
    from palmette.evaluation.scores import LabelScores, errors, score
    from palmette.evaluation.significance import randomisation
    from palmette.evaluation.spans import ChunkTables, seqeval_text, span_counts, strict_span_counts

__getattr__, __dir__ = door(__name__)
