"""How a Tagger tags files; kept apart from training and from Python data, and part of the same class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.files import FilePath
from palmette.data.formats.spec import FormatSpec
from palmette.structures.chain.files import TagRequest, decoded_file, nbest_file, tag_file
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    import numpy as np

    from palmette.data.corpus import Corpus
    from palmette.estimators.tagger import Tagger


class TaggedFiles:
    """From a file to a file, in bounded memory."""

    _fitted: Callable[[], ChainModel]
    proven_: tuple[int, int]

    def tag_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        spec: FormatSpec | None = None,
        add: Sequence[Tagger] = (),
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> int:
        """Tag a file of any size in bounded memory; returns the number of tokens.

        `add` are taggers that make the columns the input lacks. `options` are the other fields of `TagRequest`:
        `output` is the format to write, `scores` writes the score of each sentence, `known` names a column with what is
        known about the labels (a label, `A|B`, or `?`), `states` writes the latent state, `NP#2`, instead of the label;
        `decode` is viterbi, marginal or exact, whose proofs (at most `cap` paths each) `proven_` counts; `confidence`
        and `marginals` write confidences as data/formats/labelling.py describes.
        """
        request = self._request(source, spec, add, options)
        done = tag_file(self._fitted(), source, target, request, threads=threads, progress=progress)
        self.proven_ = (done.proven, done.searched)
        return done.tokens

    def nbest_file(
        self,
        source: FilePath,
        target: FilePath,
        n: int = 5,
        *,
        spec: FormatSpec | None = None,
        add: Sequence[Tagger] = (),
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> int:
        """Write the n best label sequences of each sentence of a file; returns the number of tokens. `output` is crfpp
        (a block per candidate), columns (labels side by side) or jsonl; `known` and `bias` are those of `tag_file`."""
        request = self._request(source, spec, add, options)
        return nbest_file(self._fitted(), source, target, n, request, threads=threads, progress=progress)

    def decoded_file(
        self, source: FilePath, *, spec: FormatSpec | None = None, add: Sequence[Tagger] = (), threads: int = 1,
        **options: Any,
    ) -> tuple[Corpus, np.ndarray]:  # fmt: skip
        """A file as a corpus, for `gold_and_guess`, and the labels i32[N] that the model finds; with `add` and options
        as of `tag_file`."""
        return decoded_file(self._fitted(), source, self._request(source, spec, add, options), threads=threads)

    def _request(
        self, source: FilePath, spec: FormatSpec | None, add: Sequence[Tagger], options: dict[str, Any]
    ) -> TagRequest:
        helpers = [tagger._fitted() for tagger in add]
        return TagRequest(spec=spec or self.spec_for(source), helpers=helpers, **options)

    def spec_for(self, source: FilePath, given: FormatSpec | None = None, *, labelled: bool = False) -> FormatSpec:
        """How to read input that looks like the training data, with its labels or without. What `given` sets holds."""
        trained = self._fitted().meta.get("reading") or FormatSpec()
        spec = (given or FormatSpec()).like(trained, source)
        return spec.labelled() if labelled else spec
