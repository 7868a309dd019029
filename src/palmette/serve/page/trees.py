"""Views of trees: the tree of a sentence, the best of its rivals, and the search as a film: for every step of the
parser its stack, its buffer, the arcs so far and what the beam holds.

The film is read from the workspace of the search itself, which the library runs for its n-best lists. With merging
(`merge`), a state stands for several stacks; the film then shows the search without merging, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.formats.raw import parse_text
from palmette.data.treebank import NOTHING, Treebank, treebank_from_sentences
from palmette.errors import DataError, UsageError
from palmette.kernels.learning.violation import STANDARD
from palmette.parsing.explain import ActionExplainer
from palmette.parsing.kernels.forms import LEFT, SHIFT, WORD, Grammar, SearchOptions, States, make_workspace
from palmette.parsing.kernels.lists import list_parses
from palmette.parsing.model import ParserModel
from palmette.parsing.parser import Parser
from palmette.parsing.retag import Preparation, tag_field, tags_read
from palmette.pipeline.pipeline import Pipeline
from palmette.serve.page.models import PageModel, first_sentence, page_model, text_in, whole

RIVALS = 5
MOST_WORDS = 400
MOST_BEAM = 256
MOST_SHOWN = 16  # items of the beam in a frame


def tree(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """The tree of a sentence by a parser or a pipeline: `text`, or `words` (form, or form, upos, xpos each). `beam`:
    another width than in training."""
    shown = page_model(model)
    parser, bank, lacks = prepared(shown, request)
    if bank.n_tokens > MOST_WORDS:
        raise DataError(f"the sentence has {bank.n_tokens:,} words, and the page shows at most {MOST_WORDS}")
    beam = parser._width(None) if request.get("beam") is None else whole(request["beam"], "beam", MOST_BEAM, 1)
    found = parser.parse(bank, beam=beam)
    rivals = parser.nbest(bank, RIVALS, beam=max(beam, RIVALS))[0]
    below = [bank.column("upos").cells(), bank.column("xpos").cells()]
    tags = next((cells for cells in below if set(cells) != {NOTHING}), [""] * bank.n_tokens)
    return {
        "kind": "tree",
        "tokens": bank.forms.cells(),
        "tags": tags,
        "heads": found.heads.tolist(),
        "relations": found.relations.cells(),
        "rivals": [
            {"heads": [head for head, _ in one.output], "relations": [name for _, name in one.output],
             "score": one.score}
            for one in rivals
        ],
        **searched(parser.model_, bank, beam),
        "merged": bool(parser.merge),
        "lacks": lacks,
    }  # fmt: skip


def prepared(shown: PageModel, request: Mapping[str, Any]) -> tuple[Parser, Treebank, list[str]]:
    """The parser, the sentence with its tags, and the tags that the parser reads and a typed sentence lacks."""
    if isinstance(shown.estimator, Pipeline):
        return *_of_pipeline(shown.estimator, request), []
    if not isinstance(shown.estimator, Parser):
        raise UsageError(f"{shown.name} is a {shown.kind}: trees are for parsers and pipelines")
    parser = shown.estimator
    ignored = tuple(parser.model_.meta.get("ignored", ()))
    if request.get("words") is not None:
        return parser, Preparation((), ignored)(words_in(request)), []
    ready = shown.preparation
    if ready is None:
        ready = Preparation([(tag_field(tagger), tagger) for tagger in shown.helpers], ignored)
    return parser, ready(words_in(request)), tags_read(parser, ready)


def words_in(request: Mapping[str, Any]) -> Treebank:
    """The words of a sentence that is no text of a pipeline."""
    words = request.get("words", request.get("tokens"))
    if words is None:
        typed = parse_text(" ".join(text_in(request).split()).encode(errors="replace"), "the sentence")
        words = typed.columns[0].cells() if typed.n_tokens else []
    if not isinstance(words, list) or not words:
        raise DataError("words: a list is expected, of forms or of [form, upos, xpos]")
    if not all(isinstance(word, (str, list, dict)) for word in words):
        raise DataError("words: each is a form, or a list [form, upos, xpos]")
    return treebank_from_sentences([words])


def _of_pipeline(pipeline: Pipeline, request: Mapping[str, Any]) -> tuple[Parser, Treebank]:
    model = pipeline.model_
    if "parse" not in model.names:
        raise UsageError("the pipeline has no component 'parse': there is no tree to show")
    words = request.get("words") is not None or request.get("tokens") is not None
    bank = first_sentence(pipeline, text_in(request)) if not words and "tok" in model.names else words_in(request)
    bank = model.annotate(bank, [name for name in model.names if name not in ("tok", "parse")])
    return model.component("parse").parser, bank


# The film


def searched(model: ParserModel, bank: Treebank, width: int) -> dict[str, Any]:
    """The search for a tree. `film` has a frame per step: what the winner's last action was, and the items of the beam,
    best first. An item has its number (`id`), that of the item it came from, its action, score, stack, the next word
    and its new arc. `why` has for each frame but the first what spoke for its action and against it."""
    words, g = model.encode(bank), model.grammar()
    n, how = bank.n_tokens, SearchOptions(width, False, STANDARD)
    workspace = make_workspace(g, n, how)
    out = [np.full((width, n), -1, np.int32) for _ in range(2)]
    list_parses(workspace, g, model.weights, words, 0, how, *out, np.zeros(width))
    z, b, names = workspace.z, workspace.b, model.relations
    winners = _derivation(z, int(b.items[2 * n - 1, 0]))
    frames = []
    for step, winner in enumerate(winners):
        states = [int(x) for x in b.items[step, : int(b.size[step])]]
        items = [_item(z, g, names, x) for x in states[:MOST_SHOWN]]
        frame = {"step": step, "items": items, "size": len(states), "winner": _item(z, g, names, winner)}
        frames.append(frame | {"rank": states.index(winner)})
    return {"film": frames, "why": _why(ActionExplainer(model, g, z, bank), z, winners)}


def _why(explainer: ActionExplainer, z: States, winners: list[int]) -> list[dict[str, Any] | None]:
    """What spoke for each action of a derivation, and against it."""
    made: list[dict[str, Any] | None] = [None]
    for before, after in pairwise(winners):
        found = explainer.explain(before, int(z.action[after]))
        told = None if found is None else found._asdict() | {"parts": [part._asdict() for part in found.parts]}
        made.append(told)
    return made


def _before(z: States, x: int) -> int:
    """The state that a state was made from by one action; -1: it is the first."""
    action = int(z.action[x])
    return -1 if action < 0 else int(z.under[x] if action == SHIFT else z.over[x])


def _derivation(z: States, last: int) -> list[int]:
    """The states from the first one to this one."""
    path = [last]
    while (before := _before(z, path[-1])) >= 0:
        path.append(before)
    return path[::-1]


def _item(z: States, g: Grammar, names: list[str], x: int) -> dict[str, Any]:
    stack, at = [], x
    while at >= 0 and z.action[at] >= 0:
        stack.append(int(z.node[at, WORD]))
        at = int(z.left[at])
    action = int(z.action[x])
    made: dict[str, Any] = {
        "id": x, "from": _before(z, x), "score": float(z.score[x]), "stack": stack[::-1], "next": int(z.front[x]),
        "action": "start" if action < 0 else "shift", "arc": None,
    }  # fmt: skip
    if action > SHIFT:
        s1, s0 = int(z.node[z.under[x], WORD]), int(z.node[z.over[x], WORD])
        left = int(g.move[action]) == LEFT
        child, head = (s1, s0) if left else (s0, s1)
        made["action"] = "left" if left else "right"
        made["arc"] = {"child": child, "head": head, "relation": names[int(g.relation[action])]}
    return made
