"""Templates compiled to arrays, and attributes as hashes.

Names that other folders use are imported here on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.lazy import door

if TYPE_CHECKING:
    from palmette.features.atoms import atom_function, lexicon_name
    from palmette.features.encode import Encoder, in_order_of_keys, kept_attributes, keys_of, without_keys
    from palmette.features.named import NAMED_SETS, named_set, named_text
    from palmette.features.resources import Clusters, Lexicon, Resources, read_clusters, read_lexicon
    from palmette.features.templates import (
        LABEL_CONTEXT,
        Macro,
        TemplateSet,
        boundary,
        outside,
        parse,
        read_templates,
        to_text,
    )

__getattr__, __dir__ = door(__name__)
