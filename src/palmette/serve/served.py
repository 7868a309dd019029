"""A model that is served: the estimator of a file, whatever its kind, and the taggers that make columns for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from palmette.data.labels.schemes import reading, unseen_scheme
from palmette.data.model_file import load_any, peek_kind
from palmette.errors import UsageError
from palmette.estimators.tagger import Tagger
from palmette.parsing.retag import TAGS, Preparation, tag_field, tags_read
from palmette.serve.types import ModelDescription

FILES = ("train", "dev", "test", "pool")


class Served:
    """An estimator as it was loaded at one time. It does not change; a replaced file makes another one."""

    def __init__(self, name: str, path: str, helpers: Mapping[str, Tagger], *, copy: bool, generation: int = 1) -> None:
        self.name, self.path, self.generation = name, path, generation
        self.stamp = stamp_of(path)
        self.loaded = datetime.now(UTC).isoformat(timespec="seconds")
        self.kind = peek_kind(path).name
        self.estimator: Any = load_any(path, "serve", copy=copy)
        self.helpers = self._helpers(helpers)
        self.scheme: str | None = None
        self.has_spans = False
        if self.kind == "tagger":
            model = self.estimator.model_
            self.scheme = unseen_scheme(model.scheme)
            self.has_spans = reading(sorted(model.labels), self.scheme) is not None
            self.named = model.label_numbers is not None

    def _helpers(self, given: Mapping[str, Tagger]) -> dict[str, Tagger]:
        """The taggers that this model needs to read text."""
        if self.kind == "tagger":
            return dict(list(given.items())[: max(0, self.columns - 1)])
        if self.kind == "parser":
            if not tags_read(self.estimator, Preparation()):
                return {}
            return {name: tagger for name, tagger in given.items() if field_of_helper(name, tagger) is not None}
        if self.kind == "classifier":
            return self._helper_of_classifier(given)
        return {}

    def _helper_of_classifier(self, given: Mapping[str, Tagger]) -> dict[str, Tagger]:
        """One tagger of parts of speech: a given one, or that of its training if the file is still there."""
        if self.columns < 2:
            return {}
        name, tagger = next(iter(given.items()), ("", None))
        trained = self.estimator.model_.meta.get("tagger")
        if tagger is None and isinstance(trained, str) and os.path.isfile(trained):
            name, tagger = "pos", Tagger.load(trained)
        self.estimator.tagger = tagger
        return {} if tagger is None else {name: tagger}

    @property
    def columns(self) -> int:
        """The columns that are read; 0: attributes, or the fields of a treebank."""
        encoder = getattr(getattr(self.estimator, "model_", None), "encoder", None)
        return 0 if encoder is None else int(encoder.n_columns)

    @property
    def preparation(self) -> Preparation:
        """What tags the words of a parser."""
        pairs = [(field_of_helper(name, tagger) or name, tagger) for name, tagger in self.helpers.items()]
        return Preparation(pairs, tuple(self.estimator.model_.meta.get("ignored", ())))

    @property
    def reads_text(self) -> bool:
        """Whether plain text is enough."""
        if self.kind in ("tagger", "classifier"):
            stored = getattr(getattr(self.estimator, "model_", None), "helpers", ())
            return 1 <= self.columns <= 1 + max(len(self.helpers), len(stored))
        if self.kind == "parser":
            return not tags_read(self.estimator, self.preparation)
        return "tok" in self.estimator.components_

    @property
    def scheme_of_spans(self) -> str | None:
        """The tag scheme by which spans become labels; None: the labels are not those of spans."""
        return self.estimator.model_.scheme if self.kind == "tagger" and self.has_spans else None

    def check_text(self) -> None:
        """UsageError if the model does not read plain text."""
        if self.reads_text:
            return
        if self.kind == "pipeline":
            raise UsageError("the pipeline has no component 'tok', so it does not read text: send sentences of words")
        if self.kind == "tagger" and not self.columns:
            raise UsageError("the model reads attributes, not text: send tokens as lists or objects of attributes")
        if self.kind == "parser":
            fields = tags_read(self.estimator, self.preparation)
            raise UsageError(
                f"the parser reads {' and '.join(fields)}: send words as [form, upos, xpos], or start the server with "
                f"a tagger that makes them: --with {fields[0]}=tagger.palm"
            )
        raise UsageError(
            "the model reads more than words: send tokens with their columns, or start the server with a tagger that "
            "makes them: --with pos=pos.palm"
        )

    @property
    def labels(self) -> list[str]:
        """Labels, classes or relations."""
        if self.kind == "tagger":
            return list(self.estimator.labels_)
        if self.kind == "classifier":
            return [str(name) for name in self.estimator.classes_]
        return list(self.estimator.relations_) if self.kind == "parser" else []

    def description(self, files: Sequence[str], corrections: int, **more: str | None) -> ModelDescription:
        return ModelDescription(
            name=self.name, kind=self.kind, labels=self.labels, columns=self.columns, helpers=list(self.helpers),
            text=self.reads_text, probabilities=self.kind == "tagger" and bool(self.estimator.calibrated_),
            scheme=self.estimator.model_.scheme if self.kind == "tagger" else None, loaded=self.loaded,
            generation=self.generation, files=list(files), corrections=corrections, **more,
        )  # fmt: skip


def field_of_helper(name: str, tagger: Tagger) -> str | None:
    """The field of a treebank that a tagger makes, by the name that it was given or by its training; None: neither."""
    if name in TAGS:
        return name
    try:
        return tag_field(tagger)
    except UsageError:
        return None


def stamp_of(path: str) -> tuple[int, int, int]:
    """What changes when a file is replaced."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_size
