"""`palmette convert` of a model: the model of another tool as a Palmette model, or a model as CRFsuite's."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from palmette.errors import UsageError, counted

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)

PALMETTE, CRFSUITE = ".palm", ".crfsuite"
ENDINGS = (PALMETTE, CRFSUITE)


def convert_model(path: str, output: str, constraints: str | None = None) -> None:
    """Read a model and write it in the format that the name of the output asks for; `constraints`: a tag scheme."""
    from palmette.data import model_file
    from palmette.estimators.tagger import Tagger

    if not output.lower().endswith(ENDINGS):
        raise UsageError(
            f"{path} is a model: name what to write with -o, a file that ends in {PALMETTE} or {CRFSUITE} (CRFsuite's)"
        )
    model_file.check_output(output)
    tagger = Tagger.load(path)
    if constraints is not None:
        tagger.constrain(constraints)
    tagger.save(output)
    logger.info("%s; wrote %s", _said(tagger), output)


def _said(tagger: Tagger) -> str:
    """What a model is."""
    from palmette.reports.inspection import TOOLS

    model = tagger.model_
    attributes = counted(sum(index.size for index in model.feature_indexes.values()), "attribute")
    origin = model.meta.get("imported")
    named = f"a model of {TOOLS[origin['tool']]}" if origin else "a Palmette model"
    return f"{named} with {counted(len(model.labels), 'label')} and {attributes}"
