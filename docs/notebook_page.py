"""The page behind docs/images/notebook.png: cells as a notebook shows them, in light and in dark.

python docs/notebook_page.py notebook.html      # then a browser's screenshot, 1240 x 730
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Any

from palmette import Parser, Tagger
from palmette.datasets import load_demo, load_trees

SENTENCE = [("Time", "NN"), ("flies", "VBZ"), ("like", "IN"), ("an", "DT"), ("arrow", "NN")]
LEFT = ("tagger.show(test[3])", "tagger.show(sentence, nbest=3)", "tagger")
RIGHT = ("tagger.show(sentence, confidence=True)", 'tagger.evaluate(*load_demo("test"))', "parser.show(saw)")
# As JupyterLab names its colours
PAPERS = {
    "light": "background:#ffffff;color:#1f2328",
    "dark": "background:#111418;color:#d7dde3;--jp-layout-color0:#111418;--jp-content-font-color0:#e7ebef;"
    "--jp-content-font-color2:#9aa4ae",
}


def page() -> str:
    """Both columns."""
    train, labels = load_demo("train")
    names = {
        "load_demo": load_demo,
        "test": load_demo("test")[0],
        "sentence": SENTENCE,
        "saw": [("We", "PRON"), ("saw", "VERB"), ("the", "DET"), ("sea", "NOUN")],
        "tagger": Tagger("chunk", learner="crf").fit(train, labels, dev=load_demo("dev")),
        "parser": Parser().fit(load_trees("train")),
    }
    columns = [
        f'<td style="{PAPERS[paper]};vertical-align:top;padding:14px 18px;width:600px">{_cells(cells, names)}</td>'
        for paper, cells in (("light", LEFT), ("dark", RIGHT))
    ]
    head = '<!doctype html><meta charset="utf-8"><body style="margin:0;font:14px system-ui,sans-serif">'
    return f'{head}<table style="border-spacing:0;height:100vh"><tr>{"".join(columns)}</tr></table>'


def _cells(cells: tuple[str, ...], names: dict[str, Any]) -> str:
    code = "font:13px monospace;background:rgba(128,128,128,0.13);padding:5px 9px;margin:0 0 8px"
    return "".join(
        f'<div style="{code}">{escape(cell)}</div><div style="margin:0 0 18px 10px">{_shown(eval(cell, names))}</div>'
        for cell in cells
    )


def _shown(thing: Any) -> str:
    made: str = thing._repr_html_() if hasattr(thing, "_repr_html_") else thing._repr_svg_()
    return made


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
