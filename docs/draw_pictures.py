"""The pictures of the documentation, from records of real runs: `python docs/draw_pictures.py [NAME ...] [--kept]`.

Each picture is drawn by a function from a plain record, docs/pictures/records/NAME.json, which a run of the library
makes on the demo corpus or on synthetic data with fixed seeds. `--kept` draws from the records as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pictures import beams, curves, graphs, models, tables, trees

from palmette.reports.trellis import trellis_svg
from palmette.structures.chain.trellis import TrellisRecord
from studies.charts import Chart, chart_svg

HERE = Path(__file__).resolve().parent
IMAGES, RECORDS = HERE / "images", HERE / "pictures" / "records"
DIGITS = 5  # of numbers in records


class Picture(NamedTuple):
    """How a record is made and drawn."""

    record: Callable[[], dict[str, Any]]
    draw: Callable[[dict[str, Any]], str]


def _chart(record: dict[str, Any]) -> str:
    return chart_svg(msgspec.convert(record, Chart))


def _trellis(most: int) -> Callable[[dict[str, Any]], str]:
    return lambda record: trellis_svg(msgspec.convert(record, TrellisRecord), most)


PICTURES = {
    "english": Picture(trees.english, trees.english_svg),
    "trellis": Picture(models.tagged_trellis, _trellis(7)),
    "chunk_trellis": Picture(models.chunk_trellis, _trellis(6)),
    "averaged": Picture(curves.averaged, _chart),
    "beam_cuts": Picture(models.beam_cuts, beams.cuts_svg),
    "ring": Picture(models.ring, graphs.rings_svg),
    "ring_found": Picture(models.ring_found, graphs.rings_svg),
    "crf_objective": Picture(curves.objective, _chart),
    "cluster": Picture(curves.cluster, _chart),
    "l1_path": Picture(curves.l1_path, _chart),
    "intervals": Picture(models.intervals, tables.intervals_svg),
    "nbest": Picture(models.nbest, tables.nbest_svg),
    "automaton": Picture(models.automaton, graphs.automaton_svg),
    "hmm": Picture(models.hmm, graphs.automaton_svg),
    "hypergraph": Picture(trees.hypergraph, graphs.hypergraph_svg),
    "parser_step": Picture(trees.parser_step, tables.step_svg),
    "parse_errors": Picture(trees.parse_errors, trees.parse_errors_svg),
}


def plain(value: Any) -> Any:
    """A record as it is kept: numbers with so many digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def kept(name: str) -> dict[str, Any]:
    """The record of a picture as it is in its file."""
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(PICTURES)} (default: all)")
    parser.add_argument("--kept", action="store_true", help="draw from the kept records, run nothing")
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.names} - {*PICTURES}):
        parser.error(f"no picture {unknown[0]!r}")
    RECORDS.mkdir(exist_ok=True)
    for name in given.names or PICTURES:
        if not given.kept:
            record = plain(PICTURES[name].record())
            text = json.dumps(record, indent=1, ensure_ascii=False)
            (RECORDS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        drawn = PICTURES[name].draw(kept(name))
        (IMAGES / f"{name}.svg").write_text(drawn, encoding="utf-8")
        print(f"{name}.svg: {len(drawn.encode()):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
