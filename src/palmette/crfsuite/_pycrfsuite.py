"""The name under which some programs import python-crfsuite's classes: `from pycrfsuite._pycrfsuite import ...`."""

from __future__ import annotations

from palmette.crfsuite.sequences import ItemSequence
from palmette.crfsuite.tagger import CRFSuiteError, Tagger
from palmette.crfsuite.trainer import BaseTrainer

__all__ = ["BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger"]
