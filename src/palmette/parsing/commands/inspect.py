"""`palmette parser inspect`: what a parser holds."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.options.declare import option


class InspectParser(JsonOptions, Command):
    """Show a parser: settings, sizes, relations, training log."""

    model: str = option(argument=True, path="input", help="The model file.")
    templates: bool = option(default=False, help="Print its templates too, as in a file for --features.")

    def run(self) -> None:
        from palmette.parsing.inspection import inspect_parser, print_parser_inspection
        from palmette.parsing.parser import Parser

        found = inspect_parser(Parser.load(self.model))
        if self.json:
            print_json(found.to_dict())
        else:
            print_parser_inspection(found, self.templates)
