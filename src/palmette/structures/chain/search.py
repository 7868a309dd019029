"""The search of a chain model: exact, or with a beam; as in training, or as chosen afterwards."""

from __future__ import annotations

from typing import NamedTuple

from palmette.errors import UsageError
from palmette.features.encode import Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.search import TAGGER_SEARCHES, Beam
from palmette.options.spelling import spelt
from palmette.structures.chain.weights import Shape


class BeamSearch(NamedTuple):
    """The settings of beam search."""

    width: int
    recombine: bool  # keep only the best of prefixes that no template can distinguish


class Searching:
    """The search of a chain model, and the searches that it allows."""

    shape: Shape
    encoder: Encoder | None
    beam: int
    recombine: bool

    @property
    def beam_search(self) -> BeamSearch:
        return BeamSearch(self.beam, self.recombine)

    @property
    def reads_earlier_labels(self) -> bool:
        """Whether templates read earlier labels, which only beam search supports."""
        return self.encoder is not None and LABEL_CONTEXT in self.encoder.programs

    def need_exact(self, what: str) -> None:
        """UsageError if something needs exact search and the model does not allow it."""
        if self.reads_earlier_labels:
            raise UsageError(f"{what}: that takes exact search, and templates of the model read earlier labels (%y)")

    def search_with(self, search: str | None, beam: int | None, recombine: bool | None = None) -> None:
        """Use another search than in training; None: no change, for a model of exact search the default of a beam."""
        if search is None:
            search = "beam" if self.beam or beam else "viterbi"
        if search not in TAGGER_SEARCHES:
            raise OptionError("search", f"there is no {search!r}; choose one of {', '.join(TAGGER_SEARCHES)}")
        if search == "viterbi":
            how = spelt(TaggerOptions, "search", "beam")
            if beam is not None:
                raise OptionError("beam", f"exact search has no width; leave it out, or use {how}")
            if recombine is not None:
                raise OptionError("recombine", f"exact search has no prefixes; leave it out, or use {how}")
            check_searchable(self.encoder, search)
            self.beam = 0
            return
        if self.shape.local:
            raise OptionError(
                "search", "maxent normalises the labels of each token, which takes exact search, not a beam"
            )
        if recombine is not None or not self.beam:
            self.recombine = recombine is not False
        if beam is not None:
            self.beam = Beam(beam).width
        elif not self.beam:
            self.beam = Beam().width


def check_searchable(encoder: Encoder | None, search: str) -> None:
    """UsageError if a search cannot use the templates."""
    if encoder is not None and search not in encoder.templates.searches:
        first = encoder.templates.label_contexts[0]
        raise UsageError(
            f"the template `{first.text}` (line {first.line} of {encoder.templates.name}) reads earlier labels, which "
            f"exact search cannot: use {spelt(TaggerOptions, 'search', 'beam')}, or leave templates with %y out"
        )
