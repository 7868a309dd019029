"""`PipelineModel`: the components of a pipeline, each built when it is first used, and how they work together."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from palmette.data.files import FilePath
from palmette.data.split_text import SplitText
from palmette.data.treebank import Treebank
from palmette.errors import UsageError
from palmette.pipeline.components import SPLITTER, Annotates, Parts, Splits, component_class, in_order
from palmette.pipeline.file import TASK, PipelineFile, PipelineMeta, StoredComponent, load_pipeline, save_pipeline

FIELDS_OF = {"tag": ("upos", "xpos", "feats"), "lemma": ("lemma",), "parse": ("head", "deprel")}
"""The fields of CoNLL-U that a component writes."""


class PipelineModel:
    """Components of a file, or new ones."""

    def __init__(self, components: Mapping[str, Any], meta: PipelineMeta, file: PipelineFile | None = None) -> None:
        self.meta = meta
        self._built = dict(components)
        self._file = file
        self._lock = threading.RLock()

    @property
    def names(self) -> tuple[str, ...]:
        """The components that there are, in order."""
        return in_order(self.meta.components)

    @property
    def built(self) -> tuple[str, ...]:
        """The components that were used so far."""
        return in_order(self._built)

    def component(self, name: str) -> Any:
        """A component, which is checked and built if it was not used before."""
        if name not in self._built:
            if name not in self.meta.components:
                raise UsageError(f"the pipeline has no component {name!r}; it has {', '.join(self.names)}")
            assert self._file is not None
            with self._lock:
                if name not in self._built:
                    arrays, meta = self._file.parts(name)
                    self._built[name] = component_class(name).from_parts(arrays, meta, self._file.source)
        return self._built[name]

    def parts(self, name: str) -> Parts:
        """The arrays and the metadata of a component; those of the file if it was not used yet."""
        if name not in self._built and self._file is not None and name in self._file.arrays:
            return self._file.parts(name)
        found: Parts = self.component(name).parts()
        return found

    def chosen(self, names: Iterable[str] | None) -> tuple[str, ...]:
        """The components to run: those that are asked for, which must be there, or all."""
        if names is None:
            return self.names
        wanted = in_order(names)
        for name in wanted:
            if name not in self.meta.components:
                self.component(name)  # raises
        return wanted

    # Using

    def split(self, text: str) -> SplitText:
        """Sentences, tokens and words of a text."""
        if SPLITTER not in self.meta.components:
            raise UsageError(
                "the pipeline has no component 'tok', so it does not read plain text: give it words (--input conllu or "
                "tokens; in Python annotate)"
            )
        return cast(Splits, self.component(SPLITTER)).split(text)

    def annotate(self, treebank: Treebank, names: Iterable[str] | None = None, beam: int | None = None) -> Treebank:
        """The words with what the components find; `names`: which of them, the splitter aside."""
        for name in self.chosen(names):
            if name == "parse":
                treebank = self.component(name).apply(treebank, beam=beam)
            elif name != SPLITTER:
                treebank = cast(Annotates, self.component(name)).apply(treebank)
        return treebank

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the pipeline's file, whole or not at all."""
        save_pipeline(path, {name: self.parts(name) for name in self.names}, self.meta)

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> PipelineModel:
        """Read a pipeline's file; its arrays are mapped."""
        file = load_pipeline(path, copy=copy)
        return cls({}, file.meta, file)

    def with_component(self, name: str, component: Any, origin: str) -> PipelineModel:
        """This pipeline with another component, or one more."""
        kept = {own: self.component(own) for own in self.names if own != name}
        meta = self.meta.components | {name: StoredComponent({}, {}, origin)}
        return PipelineModel(kept | {name: component}, msgspec.structs.replace(self.meta, components=meta))

    def only(self, names: Iterable[str]) -> PipelineModel:
        """A pipeline with some of the components."""
        wanted = self.chosen(names)
        meta = msgspec.structs.replace(self.meta, components={name: self.meta.components[name] for name in wanted})
        return PipelineModel({name: self.component(name) for name in wanted}, meta)


def empty_model() -> PipelineModel:
    """A pipeline without components."""
    return PipelineModel({}, PipelineMeta(task=TASK, components={}))
