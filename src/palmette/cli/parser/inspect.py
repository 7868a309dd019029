"""`palmette inspect` of a parser."""

from __future__ import annotations

from palmette.cli.options import Flag, Json
from palmette.cli.telling import print_json


def inspect_parse(model: str, /, *, templates: Flag = False, json: Json = False) -> None:
    """Look into a parser: settings, sizes, relations, and the history of its training.

    Parameters
    ----------
    model: str
        The model file.
    templates: bool
        Print its templates too, as a file for --features has them.
    json: bool
        Print one JSON object.
    """
    from palmette.estimators.parser import Parser
    from palmette.reports.parser_inspection import parser_inspection, print_parser_inspection

    about = parser_inspection(Parser.load(model))
    if json:
        print_json(about)
    else:
        print_parser_inspection(about, templates)
