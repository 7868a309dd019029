"""A trained model, or one of another tool, whose label sequences must follow a tag scheme from now on."""

from __future__ import annotations

from palmette.data.labels.schemes import Transitions, allowed_transitions, are_chunk_labels, recognise, scheme_named
from palmette.kernels.chain.forms import Chain
from palmette.options.declare import OptionError
from palmette.structures.chain.imported.model import ImportedModel
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import new_chain


def constrained(model: ChainModel, scheme: str = "auto") -> ChainModel:
    """The model with the transitions forbidden that a tag scheme forbids, besides its own; `auto`: the strictest scheme
    that its labels can be of."""
    if not are_chunk_labels(model.labels):
        raise OptionError(
            "scheme", f"{', '.join(model.labels[:8])} are no labels of a tag scheme (B-X, I-X, O)", "constraints"
        )
    if model.packed is not None:
        raise OptionError("scheme", "constrain the full model, and compact it then", "constraints")
    named = recognise(model.labels) if scheme == "auto" else scheme.upper()
    if named is None:
        raise OptionError("scheme", "the labels fit no tag scheme: name one, such as iob2", "constraints")
    scheme_named(named)
    own, new = model.allowed, allowed_transitions(model.labels, named)
    allowed = Transitions(own.start & new.start, own.pair & new.pair, own.end & new.end)
    if isinstance(model, ImportedModel):
        return model.with_bare(allowed, named, _restricted(model.bare, model, allowed))
    return model.changed(allowed=allowed, scheme=named, chain=_restricted(model.chain, model, allowed))


def _restricted(chain: Chain, model: ChainModel, allowed: Transitions) -> Chain:
    blank = new_chain(model.shape, {}, allowed, {})
    return chain._replace(order=blank.order, forbid=blank.forbid, first=blank.first, last=blank.last)
