"""The option of all estimators that read words: the Unicode normal form that features are made from."""

from __future__ import annotations

from palmette.options.declare import Options, option

FORMS = {
    "nfc": "letters with their accents as one character, however they are written",
    "none": "as they are written",
}


class UnicodeOptions(Options):
    """Shared by taggers, parsers, classifiers, hidden Markov models and language models."""

    unicode: str = option(
        default="nfc", choices=FORMS, group="features",
        help="Characters that features are made from. The text itself is written as it was read.",
    )  # fmt: skip
