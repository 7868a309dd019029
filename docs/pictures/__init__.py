"""The pictures of the documentation: records from runs of the library, and how they are drawn. See
docs/draw_pictures.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # curves are drawn as those of studies are: studies/charts.py
