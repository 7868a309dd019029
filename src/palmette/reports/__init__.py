"""Tables, drawings and progress for people.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.reports.plots import plot
    from palmette.reports.progress import TrainingDisplay
    from palmette.reports.svg import COLOURS, DARK, FONT, LIGHT, spread, text_of
    from palmette.reports.tables import OutputConsole, print_scores

__getattr__, __dir__ = door(__name__)
