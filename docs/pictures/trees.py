"""Records of trees: a forest, a step of a parser, a parse beside gold."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from palmette import Parser, load
from palmette.data.formats.conllu_light import DrawnTree, tree_of
from palmette.datasets import load_trees
from palmette.parsing import Hypergraph
from palmette.parsing.drawing import svg_of

RULES = {
    ("S", "NP", "VP"): -0.1, ("VP", "V", "NP"): -0.5, ("VP", "VP", "PP"): -1.2,
    ("NP", "NP", "PP"): -1.5, ("PP", "P", "NP"): -0.1, ("NP", "D", "N"): -0.7,
}  # fmt: skip
LEXICON = {
    "she": {"NP": -2.0}, "saw": {"V": -1.0, "N": -4.0}, "a": {"D": -0.5}, "man": {"N": -1.5, "V": -5.0},
    "with": {"P": -0.5}, "telescope": {"N": -3.0},
}  # fmt: skip


def _forest(words: list[str]) -> Hypergraph:
    """CKY, as in docs/hypergraph.md."""
    forest = Hypergraph()
    for i, word in enumerate(words):
        for category, score in LEXICON[word].items():
            forest.add((category, i, i + 1), score=score, label=word)
    for i, j in combinations(range(len(words) + 1), 2):
        for k in range(i + 1, j):
            for (head, left, right), score in RULES.items():
                forest.add((head, i, j), [(left, i, k), (right, k, j)], score)
    return forest


def hypergraph() -> dict[str, Any]:
    """The forest of an ambiguous sentence: what its two derivations use."""
    words = ["she", "saw", "a", "man", "with", "a", "telescope"]
    first, second = _forest(words).kbest(("S", 0, len(words)), 2)
    best = set(first.edges())
    edges = sorted({*best, *second.edges()}, key=lambda edge: (edge.head[2] - edge.head[1], edge.head, edge.tails))
    level: dict[Any, int] = {}
    for edge in edges:
        level[edge.head] = max(level.get(edge.head, 0), 1 + max((level[tail] for tail in edge.tails), default=-1))
    in_best = {edge.head for edge in best}
    return {
        "title": "Two readings share most of the forest", "words": words,
        "vertices": [
            {"name": "{}{}{}".format(*v), "label": v[0], "from": v[1], "to": v[2], "level": high, "best": v in in_best}
            for v, high in level.items()
        ],
        "edges": [
            {
                "head": "{}{}{}".format(*edge.head), "tails": ["{}{}{}".format(*tail) for tail in edge.tails],
                "best": edge in best, "text": f"{edge.score:g}",
            }
            for edge in edges if edge.tails
        ],
        "notes": [
            [f"thick: the best derivation, {first.score:.1f}", "blue"],
            [f"dashed: what only the second one uses, {second.score:.1f}", "orange"],
        ],
    }  # fmt: skip


def derivation(tree: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """The arc-standard actions that make a projective tree, each with stack, queue and arcs before it; a word is
    attached as soon as it has all its dependants."""
    heads = [head - 1 for head, _ in tree]
    missing = [heads.count(word) for word in range(len(tree))]
    stack: list[int] = []
    queue, arcs, steps = list(range(len(tree))), [], []
    while queue or len(stack) > 1:
        before = {"stack": list(stack), "queue": list(queue), "arcs": [[*arc, False] for arc in arcs]}
        low, top = stack[-2:] if len(stack) > 1 else (None, None)
        if low is not None and heads[low] == top and not missing[low]:
            action, head, dependant = "left", top, stack.pop(-2)
        elif low is not None and heads[top] == low and not missing[top]:
            action, head, dependant = "right", low, stack.pop()
        elif queue:
            stack.append(queue.pop(0))
            steps.append({"action": "shift", "before": before})
            continue
        else:
            raise ValueError("the tree is not projective")
        missing[head] -= 1
        arcs.append([head, dependant, tree[dependant][1]])
        steps.append({"action": f"{action} {arcs[-1][2]}", "before": before})
    end = {"stack": list(stack), "queue": [], "arcs": [[*arc, False] for arc in arcs]}
    return [*steps, {"action": "end", "before": end}]


def parser_step() -> dict[str, Any]:
    """A step in the derivation of the tree that a trained parser finds."""
    parser = Parser(passes=10).fit(load_trees("train"))
    tagged = [("The", "DET", "DT"), ("old", "ADJ", "JJ"), ("sailor", "NOUN", "NN"), ("told", "VERB", "VBD"),
              ("a", "DET", "DT"), ("story", "NOUN", "NN")]  # fmt: skip
    steps = derivation(parser.predict([tagged])[0])
    here = next(k for k, step in enumerate(steps) if step["action"] == "left nsubj")
    after = steps[here + 1]["before"]
    after["arcs"][-1][-1] = True
    return {
        "title": "One step of the parser joins the two words on top of the stack",
        "words": [word for word, *_ in tagged], "before": steps[here]["before"], "after": after,
        "action": "left, with the relation nsubj",
        "meaning": "the best of all actions by the weights of what stack, queue and arcs show",
        "notes": [
            f"Step {here + 1} of {len(steps) - 1}. Other actions: right (the lower word becomes the head) and shift "
            "(the next word of",
            "the queue goes to the stack). Grey words without a box have their head, and are done.",
        ],
    }  # fmt: skip


def parse_errors() -> dict[str, Any]:
    """The sentence of the demo treebank that its parser gets most wrong, beside gold."""
    gold = load_trees("test")
    guess = Parser().fit(load_trees("train"), dev=gold).parse(gold)
    pairs = [(tree_of(guess, s), tree_of(gold, s)) for s in range(gold.n_sentences)]
    worst = max(range(len(pairs)), key=lambda s: _wrong(*pairs[s]))
    found, right = ({name: list(value) for name, value in tree._asdict().items()} for tree in pairs[worst])
    title = f"sentence {worst + 1}: {_wrong(*pairs[worst])} wrong heads"
    return {"title": title, "guess": found, "gold": right}


def _wrong(guess: DrawnTree, gold: DrawnTree) -> int:
    return sum(a != b for a, b in zip(guess.heads, gold.heads, strict=True))


def parse_errors_svg(record: dict[str, Any]) -> str:
    return svg_of([(record["title"], DrawnTree(**record["guess"]), DrawnTree(**record["gold"]))])


def english() -> dict[str, Any]:
    """A sentence as the English model that ships with the package analyses it."""
    document = load("en")("Marie Curie moved from Warsaw to Paris and won two Nobel Prizes.")
    return tree_of(document.treebank, 0)._asdict()


def english_svg(record: dict[str, Any]) -> str:
    """The tree above the words, the entities around and below them."""
    return svg_of([("", DrawnTree(**record), None)])
