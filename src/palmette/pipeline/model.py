"""`PipelineModel`: the components of a pipeline, each built when it is first used, how they work together, their file,
and components taken out or put in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import msgspec
import numpy as np

from palmette.data import model_file
from palmette.data.corpus import Column, column_of_strings
from palmette.data.files import FilePath, shown
from palmette.data.stream import map_in_order
from palmette.data.treebank import ENTITY, FIELDS, Treebank, without_trees
from palmette.errors import ModelError, UsageError, either
from palmette.lazy import loaded
from palmette.pipeline.options import COMPONENTS, SPLITTER, components_from_text
from palmette.pipeline.split_text import SplitText

if TYPE_CHECKING:
    from palmette.pipeline.tags import Tags
    from palmette.structures.chain.model import ChainModel

# The components of a pipeline: their names, their order, and what each of them offers.

Parts = tuple[Mapping[str, np.ndarray], dict[str, Any]]  # arrays and metadata, as a file holds them

# Where the class of each component is
_CLASSES = {
    "tok": "pipeline.splitter:Splitter",
    "tag": "pipeline.tags:Tags",
    "lemma": "pipeline.lemmas:Lemmas",
    "parse": "pipeline.trees:Trees",
    "entities": "pipeline.entities:Entities",
}
ABOUT = {
    "tok": "sentences, words",
    "tag": "UPOS, XPOS, FEATS",
    "lemma": "lemmas",
    "parse": "heads, relations",
    "entities": "named entities",
}
METRICS = {
    "tok": ("Tokens", "Sentences", "Words"), "tag": ("UPOS", "XPOS", "UFeats"), "lemma": ("Lemmas",),
    "parse": ("UAS", "LAS", "CLAS"), "entities": ("Entities",),
}  # fmt: skip
"""The scores on development data that are kept: of tok from raw text, of the others from gold words."""


class Stored(Protocol):
    """What goes into a pipeline's file."""

    def parts(self) -> Parts: ...

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self: ...


class Splits(Stored, Protocol):
    """The component `tok`."""

    def split(self, text: str) -> SplitText: ...


class Annotates(Stored, Protocol):
    """The components that fill columns of a treebank."""

    def apply(self, treebank: Treebank) -> Treebank: ...


def component_class(name: str) -> Any:
    """The class of a component, imported when it is needed."""
    return loaded(_CLASSES[name])


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names of components in the order of the pipeline, each once; UsageError for any other name."""
    given = list(names)
    unknown = [name for name in given if name not in COMPONENTS]
    if unknown:
        raise UsageError(f"there is no component {unknown[0]!r}: choose from {', '.join(COMPONENTS)}")
    return tuple(name for name in COMPONENTS if name in given)


# The pipeline's file: a model file with the arrays and the metadata of all components.
#
# Arrays are named `component/array`. What a component stores is its own affair: it is handed to `from_parts` of its
# class, which checks it, when the component is used for the first time. Loading the file checks its layout, its
# checksum, and that every array belongs to a component.

TASK = "pipeline"
TRAINED = "trained"
_MARK = "/"


class StoredComponent(msgspec.Struct, frozen=True):
    """The metadata of a component: everything in the file but its arrays."""

    meta: dict[str, Any]  # its own
    dev: dict[str, float] = {}  # its scores on development data, in percent, by the names of the CoNLL 2018 scorer
    origin: str = TRAINED  # or the file that it was taken from


class TrainedOn(msgspec.Struct, frozen=True):
    """The data that a pipeline was trained on."""

    sentences: int = 0
    words: int = 0
    dev_sentences: int = 0
    dev_words: int = 0


class PipelineMeta(msgspec.Struct, kw_only=True, frozen=True):
    """Everything of a pipeline's file that is not an array."""

    task: str
    components: dict[str, StoredComponent]
    settings: dict[str, Any] = {}
    trained_on: TrainedOn = TrainedOn()


class PipelineFile(msgspec.Struct, eq=False):
    """The content of a pipeline's file: arrays are mapped, and no component is built."""

    meta: PipelineMeta
    arrays: dict[str, dict[str, np.ndarray]]  # by component and name
    source: str

    def parts(self, name: str) -> Parts:
        """The arrays and the metadata of a component."""
        return self.arrays[name], self.meta.components[name].meta

    def size(self, name: str) -> int:
        """The bytes of the arrays of a component."""
        return sum(array.nbytes for array in self.arrays[name].values())


def save_pipeline(path: FilePath, parts: Mapping[str, Parts], meta: PipelineMeta) -> None:
    """Write a pipeline's file, whole or not at all. The metadata of the components is that of the parts."""
    model_file.save(path, *_content(parts, meta))


def pipeline_bytes(parts: Mapping[str, Parts], meta: PipelineMeta) -> bytes:
    """The bytes that `save_pipeline` writes."""
    return model_file.to_bytes(*_content(parts, meta))


def _content(parts: Mapping[str, Parts], meta: PipelineMeta) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a pipeline's file."""
    arrays = {f"{name}{_MARK}{own}": array for name, (found, _) in parts.items() for own, array in found.items()}
    components = {
        name: msgspec.structs.replace(meta.components[name], meta=dict(own)) for name, (_, own) in parts.items()
    }
    return arrays, msgspec.to_builtins(msgspec.structs.replace(meta, components=components))


def load_pipeline(path: FilePath, *, copy: bool = False) -> PipelineFile:
    """Read a pipeline's file; ModelError if it is not one."""
    return _pipeline_file(*model_file.load(path, TASK, copy=copy), shown(path))


def pipeline_from_bytes(data: bytes, source: str) -> PipelineFile:
    """As `load_pipeline`, from the bytes of a pipeline's file."""
    return _pipeline_file(*model_file.from_bytes(data, TASK, source), source)


def _pipeline_file(found: Mapping[str, np.ndarray], meta: dict[str, Any], file: str) -> PipelineFile:
    model_file.check_task(meta, TASK, file)
    stored = model_file.read_metadata(meta, PipelineMeta, "metadata", file)
    unknown = [name for name in stored.components if name not in COMPONENTS]
    if unknown or not stored.components:
        what = f"an unknown component {unknown[0][:60]!r}" if unknown else "no component"
        raise ModelError(f"damaged model: {what}", file=file, hint=model_file.AGAIN)
    model_file.check_text((stored.components[name].origin for name in stored.components), "an origin", file)
    model_file.check_text((key for one in stored.components.values() for key in one.dev), "a score's name", file)
    arrays: dict[str, dict[str, np.ndarray]] = {name: {} for name in stored.components}
    for full, array in found.items():
        name, mark, own = full.partition(_MARK)
        if not mark or name not in arrays:
            raise ModelError(f"damaged model: the array {full[:60]!r} belongs to no component", file=file)
        arrays[name][own] = array
    return PipelineFile(stored, arrays, file)


# `PipelineModel`: the components of a pipeline, each built when it is first used, and how they work together.

FIELDS_OF = {"tag": ("upos", "xpos", "feats"), "lemma": ("lemma",), "parse": ("head", "deprel"),
             "entities": (ENTITY,)}  # fmt: skip
"""The fields of a treebank that a component writes."""

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
                + either("by annotate(sentences)", "by --format conllu or --format tokens")
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
    entities = [part.entities for part in found if part.entities is not None]
    made = made.with_entities(_joined(entities) if len(entities) == len(found) else None)
    return made.with_trees(heads, _joined([part.relations for part in found]))


def _joined(columns: Sequence[Column]) -> Column:
    return column_of_strings(cell for column in columns for cell in column.cells())


# Take components out of a pipeline into separate files, and put other models into it.

TAGGER = "upos"
_READING = {"format": "conllu", "columns": ["form"], "label": TAGGER}  # what the tagger of a pipeline was trained on


def extract(model: PipelineModel, what: str, path: FilePath) -> str:
    """Write a parser (`parse`), a tagger (`upos`) or a pipeline of the named components to a file; returns what it
    is."""
    if what == "parse":
        model.component("parse").parser.save(path)
        return "a parser"
    if what == TAGGER:
        from palmette.structures.chain.serialise import chain_parts

        arrays, meta = chain_parts(_tagger(model))
        model_file.save(path, arrays, meta | {"reading": _READING})
        return "a tagger of UPOS"
    names = components_from_text(what)
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown or not names:
        known = ", ".join((*COMPONENTS, TAGGER))
        raise UsageError(
            f"there is no {unknown[0]!r} to take out: choose from {known}" if unknown else "name something"
        )
    made = model.only(names)
    made.save(path)
    return f"a pipeline of {', '.join(made.names)}"


def _tagger(model: PipelineModel) -> ChainModel:
    found: ChainModel | None = model.component("tag").upos_
    if found is None:
        raise UsageError("the pipeline does not tag UPOS")
    return found


def replaced(model: PipelineModel, name: str, path: str) -> PipelineModel:
    """The pipeline with a component from a file: a parser as `parse`, a tagger as `upos`, or a component of another
    pipeline under its own name."""
    if name not in (*COMPONENTS, TAGGER):
        raise UsageError(f"there is no component {name!r}: choose from {', '.join((*COMPONENTS, TAGGER))}")
    component = _with_tagger(model, path) if name == TAGGER else _from_file(name, path)
    return model.with_component("tag" if name == TAGGER else name, component, os.path.basename(path))


def _from_file(name: str, path: str) -> Any:
    if name == "parse" and model_file.peek_task(path) != TASK:
        from palmette.parsing.parser import Parser
        from palmette.pipeline.trees import Trees

        return Trees(Parser.load(path))
    return PipelineModel.load(path).component(name)


def _with_tagger(model: PipelineModel, path: str) -> Tags:
    """The tags of a pipeline with another model for UPOS, which reads the words alone."""
    from palmette.estimators.tagger import Tagger
    from palmette.pipeline.tags import Tags

    tagger = Tagger.load(path)
    encoder = tagger.model_.encoder
    if encoder is None or encoder.n_columns > 1:
        raise UsageError(f"{path} reads more than the words; a pipeline's tagger is trained on forms alone")
    made = Tags()
    made.upos_ = tagger.model_
    made.morphology_ = model.component("tag").morphology_ if "tag" in model.names else None
    return made
