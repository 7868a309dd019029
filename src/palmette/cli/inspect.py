"""`palmette inspect`: what a model is and what it learnt."""

from __future__ import annotations

from palmette.cli.options import Json, MaybeFile, Repeated, announce_compiling, reading_from
from palmette.cli.telling import print_json


def inspect(
    model: str, /, *, top: int = 10, label: Repeated = None, data: MaybeFile = None, json: Json = False
) -> None:
    """Look into a model: settings, history, sizes, strongest weights, transitions, latent states, separation.

    Parameters
    ----------
    model: str
        The model file.
    top: int
        How many of the strongest attributes to show for each label.
    label: list[str]
        Only these labels; repeatable. Default: all, the table shows the first twelve.
    data: str
        Labelled sentences, such as the training data: tell how far the model separates right from wrong on them, the
        bounds on mistakes that follow, and how often each latent state is used.
    json: bool
        Print one JSON object.
    """
    from palmette.estimators.tagger import Tagger
    from palmette.reports.inspection import inspection, print_inspection

    tagger, found = Tagger.load(model), None
    if data is not None:
        from palmette.data.formats.registry import read_corpus
        from palmette.structures.chain.separation import separation

        announce_compiling(quiet=False)
        reading = tagger.reading_for(data, labelled=True).overridden(reading_from(None, "auto", None, None))
        found = separation(tagger.model_, read_corpus(data, reading))
    about = inspection(tagger.model_, top, label, found)
    if json:
        print_json(about)
    else:
        print_inspection(about, all_labels=label is not None)
