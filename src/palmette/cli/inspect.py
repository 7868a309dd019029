"""`palmette inspect`: what a model is and what it learnt."""

from __future__ import annotations

from palmette.cli.options import Json, Repeated


def inspect(model: str, /, *, top: int = 10, label: Repeated = None, json: Json = False) -> None:
    """Look into a model: settings, history, sizes, strongest weights, transitions.

    Parameters
    ----------
    model: str
        The model file.
    top: int
        How many of the strongest attributes to show for each label.
    label: list[str]
        Only these labels; repeatable. Default: all, the table shows the first twelve.
    json: bool
        Print one JSON object.
    """
    from palmette.report.inspection import inspection, print_inspection
    from palmette.tagger import Tagger

    about = inspection(Tagger.load(model).model_, top, label)
    if json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(about), indent=2).decode())
    else:
        print_inspection(about, all_labels=label is not None)
