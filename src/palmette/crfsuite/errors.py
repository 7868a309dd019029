"""Errors of the drop-in. Where python-crfsuite raises one class and its documentation lets one expect another, both
catch ours."""

from __future__ import annotations


class CRFSuiteError(Exception):
    """python-crfsuite's error for a training that failed, for programs that catch it. Ours say what is wrong, as
    ValueErrors."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error {code} of CRFsuite")
        self.code = code


class NotOpenError(ValueError, RuntimeError):
    """The tagger has no model."""

    def __init__(self) -> None:
        super().__init__("the tagger is not opened: call open(name) first")


class UnknownLabelError(ValueError, RuntimeError):
    """The model has no such label."""

    def __init__(self, label: str) -> None:
        super().__init__(f"the model has no label {label!r}; labels() lists them")
