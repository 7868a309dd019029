"""`PipelineModel`: the components of a pipeline, each built when it is first used, and how they work together."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np

from palmette.data.corpus import Column, column_of_strings
from palmette.data.files import FilePath
from palmette.data.stream import map_in_order
from palmette.data.treebank import FIELDS, Treebank, without_trees
from palmette.errors import UsageError, either
from palmette.pipeline.components import Annotates, Parts, Splits, component_class, in_order
from palmette.pipeline.file import (
    PipelineFile,
    PipelineMeta,
    StoredComponent,
    load_pipeline,
    pipeline_bytes,
    pipeline_from_bytes,
    save_pipeline,
)
from palmette.pipeline.options import SPLITTER
from palmette.pipeline.split_text import SplitText

FIELDS_OF = {"tag": ("upos", "xpos", "feats"), "lemma": ("lemma",), "parse": ("head", "deprel")}
"""The fields of CoNLL-U that a component writes."""

ANNOTATIONS = tuple(field for fields in FIELDS_OF.values() for field in fields)


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
                "the pipeline has no component 'tok', so it does not read plain text: give it words, "
                + either("by annotate(sentences)", "by --input conllu or --input tokens")
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

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or a copy holds the bytes of the pipeline's file: locks and what is remembered are made again."""
        return _from_bytes, (pipeline_bytes({name: self.parts(name) for name in self.names}, self.meta),)

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


def _from_bytes(data: bytes) -> PipelineModel:
    file = pipeline_from_bytes(data, "a pickled pipeline")
    return PipelineModel({}, file.meta, file)


def words_only(treebank: Treebank) -> Treebank:
    """The words of a treebank with nothing known but their forms, in its lines if it has some."""
    return without_trees(treebank.without(FIELDS[1:]).corpus)


def annotated(
    model: PipelineModel, treebank: Treebank, names: Iterable[str] | None = None, beam: int | None = None,
    threads: int = 1,
) -> Treebank:  # fmt: skip
    """`PipelineModel.annotate` by several threads, each with a part of the sentences."""
    if threads <= 1 or treebank.n_sentences < 2 * threads:
        return model.annotate(treebank, names, beam)
    parts = np.array_split(np.arange(treebank.n_sentences), 4 * threads)
    wanted = model.chosen(names)
    found = list(map_in_order(lambda part: model.annotate(treebank.take(part), wanted, beam), parts, threads))
    columns = [_joined([part.corpus.columns[k] for part in found]) for k in range(len(FIELDS))]
    made = msgspec.structs.replace(treebank, corpus=msgspec.structs.replace(treebank.corpus, columns=columns))
    heads = np.concatenate([part.heads for part in found])
    return made.with_trees(heads, _joined([part.relations for part in found]))


def _joined(columns: Sequence[Column]) -> Column:
    return column_of_strings(cell for column in columns for cell in column.cells())
