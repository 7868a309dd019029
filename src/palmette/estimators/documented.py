"""Docstrings of methods with sections on parameters and on what is returned, for `help` and notebooks.

What a parameter means is declared once, by its name; a key with a class or a method says where it means something else.
Types and defaults come from the signature. The sections are put together when a class is made, from strings alone, so
that an import does not wait for them.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

HEAD = "\n\nParameters\n----------\n"
PARAMETERS = {
    "X": "Sentences: lists of tokens, which are words, tuples of columns, dicts or lists of features.",
    "y": "The labels of each sentence, a list per sentence.",
    "Classifier.X": "Sentences: texts, lists of words, or lists of (word, tag).",
    "Classifier.y": "The class of each sentence.",
    "LinearClassifier.X": "Rows: dicts or lists of features, or an array of numbers.",
    "LinearClassifier.y": "The class of each row.",
    "HMM.X": "Sentences: lists of words.",
    "Tagger.evaluate.X": "Sentences as for `fit`, or a labelled corpus.",
    "about": "How the tags of the data were made, to be stored in the model.",
    "add": "Taggers that make the columns that the data lacks, in this order.",
    "again": "A model that the new one replaces, whose resources and names it keeps.",
    "allowed": "For each sentence a list with None (anything), a label or a set of labels for each token.",
    "arpa": "Whether to write the ARPA format; None: by the ending of the name.",
    "beam": "How many states or prefixes the search keeps; None: as in training.",
    "bias": "Scores to add to labels, by label; None: those of the model.",
    "cap": "Paths per sentence to look at before the proof is given up.",
    "changes": "Options that differ from the published setting, by the names of flags.",
    "classes": "The names of the classes.",
    "HMM.classes": "The names of the labels, in the order of the tables.",
    "cluster": "The address of a Ray cluster, `auto`, or `local`; None: threads of this process.",
    "compact": "The points that a compact model may lose; None: the model is not made compact.",
    "components": "What runs, of tok, tag, lemma, parse and entities; None: all that the pipeline has.",
    "conditions": "As for `draw`.",
    "confidence": "Whether to show how sure each label is.",
    "context": "The words before, the last one next to the word.",
    "copy": "Read the file into memory instead of mapping it: for files that are overwritten in place.",
    "corpus": "A corpus that was read.",
    "decode": "How labels are found: viterbi (the best path), marginal (token by token) or exact (summed over paths).",
    "deep": "Whether to include the options of a learner, search or state space.",
    "dev": "Development data of the same form, which chooses the pass that is kept.",
    "dictionary": "The labels of words that have only these, by word.",
    "emission": "The probabilities of the words of each label.",
    "entities": "Sentences with entities to learn from.",
    "entities_dev": "Sentences with entities to score them.",
    "exclude": "Sentences that are not drawn.",
    "fields": "Fields of CoNLL-U that are written besides heads and relations.",
    "format": "The format of the file; None: by its name or its first line.",
    "given": "What is told of the format; what it leaves open is as in training.",
    "gold": "The right answer, which is shown beside the guess.",
    "evaluate.gold": "Sentences with their right answers.",
    "input": "What is read: text, sentences, tokens or conllu; to evaluate, text or gold-tokens.",
    "labelled": "Whether the data has labels.",
    "labels": "The names of labels that are whole numbers.",
    "HMM.feature_vector.labels": "The labels of the words.",
    "lengths": "How many sentences of each length are drawn.",
    "max_length": "The most words of a sentence that is drawn.",
    "model": "A parser model.",
    "most_loss": "The most points, of 100, that may be lost on this data.",
    "n": "How many, at most.",
    "name": "The name of the method, or of the component.",
    "nbest": "How many answers are shown, best first.",
    "new": "Whether sentences of the training text are left out.",
    "options": "Further keywords of the same kind, such as `threads`, `progress` and `checkpoint`.",
    "output": "The format to write; in `fit_files` a model file that is written after each pass.",
    "params": "Parameters by name; `learner__nbest` is an option of the learner.",
    "path": "The name of the file.",
    "paths": "The names of the files.",
    "positive": "Which of the two classes is the positive one.",
    "prepare": "What happens to each part of the file before parsing.",
    "progress": "Is called as the work goes on.",
    "prune": "Leave out attributes whose weights are all zero.",
    "recombine": "Whether a beam keeps only the best of prefixes that no template distinguishes.",
    "sample_weight": "A number per sentence that scales its updates, or its share of a score.",
    "scheme": "The tag scheme, such as iob2; auto: the one that the labels show.",
    "search": "viterbi or beam; None: as in training.",
    "seed": "Equal seeds draw equal sentences.",
    "sentence": "One sentence: a list of words, or a text.",
    "sentences": "Sentences: lists of words or of (word, tag); trees come with them, or as `trees`.",
    "skip_bad": "Leave out sentences that are not trees, and report how many.",
    "source": "The file to read; `-` is standard input.",
    "Classifier.spec": "The encoding and the limits of the file.",
    "spec": "How the file is read: a FormatSpec or TextSpec; None: as its name or its first lines show.",
    "start": "The probabilities of the first labels.",
    "strip": "Leave out the attributes' names.",
    "structures": "Write the latent tags too.",
    "tags": "The tag of each word.",
    "target": "The file to write; `-` is standard output.",
    "texts": "Texts, one after another.",
    "threads": "How many threads work; the result is the same for any number. None: all cores.",
    "tokens": "One sentence, as in `fit`.",
    "transition": "The probabilities of a label after another.",
    "treebank": "Sentences with trees, tags and lemmas.",
    "trees": "The tree of each sentence: a (head, relation) per word; None: the sentences have trees.",
    "verbose": "Print a line per pass, and why training ended.",
    "vocabulary": "Only words of these are drawn.",
    "wanted": "Names of parameters with True, False, or the name that the caller has for it.",
    "word": "A word.",
    "words": "What to write for tokens that are dicts or lists of features; None: the feature that names the word.",
    "HMM.feature_vector.words": "The words of a sentence.",
}
EXAMPLES = {
    "Tagger.fit": ">>> tagger = Tagger(\"pos\", passes=3).fit([[\"Time\", \"flies\"]], [[\"NN\", \"VBZ\"]])",
    "Tagger.predict": ">>> tagger.predict([[\"Time\", \"flies\"]])\n[['NN', 'VBZ']]",
    "Tagger.score": ">>> tagger.score([[\"Time\", \"flies\"]], [[\"NN\", \"VBZ\"]])\n1.0",
    "Tagger.nbest": ">>> [one.output for one in tagger.nbest([[\"Time\", \"flies\"]], 2)[0]][0]\n['NN', 'VBZ']",
}  # fmt: skip


def document_methods(cls: type) -> None:
    """Add the sections to the docstrings of the public methods of a class."""
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and isinstance(function, FunctionType) and function.__doc__:
            function.__doc__ = _documented(cls.__name__, function)


def _documented(owner: str, function: FunctionType) -> str:
    text, code = str(function.__doc__).rstrip(), function.__code__
    if HEAD in text:
        return text
    rest = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # `*paths` and `**options`
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount + rest]
    lines = text.split("\n")
    text = "\n".join([lines[0], *(line.removeprefix("        ") for line in lines[1:])])
    if names:
        text += HEAD + "\n".join(_parameter(owner, function, name) for name in names)
    returned = function.__annotations__.get("return")
    if returned not in (None, "None"):
        text += f"\n\nReturns\n-------\n{returned}"
    example = EXAMPLES.get(f"{owner}.{function.__name__}")
    return text + (f"\n\nExamples\n--------\n{example}" if example else "") + "\n"


def _parameter(owner: str, function: FunctionType, name: str) -> str:
    default = _defaults(function).get(name, ...)
    shown = "" if default is ... else f", default {default!r}"
    return (
        f"{name} : {function.__annotations__.get(name, 'object')}{shown}\n    {about(owner, function.__name__, name)}"
    )


def about(owner: str, method: str, name: str) -> str:
    """What a parameter means; empty if nothing says so."""
    keys = (f"{owner}.{method}.{name}", f"{method}.{name}", f"{owner}.{name}", name)
    return next((PARAMETERS[key] for key in keys if key in PARAMETERS), "")


def _defaults(function: FunctionType) -> dict[str, Any]:
    code, own = function.__code__, function.__defaults__ or ()
    last = code.co_varnames[: code.co_argcount]
    return dict(zip(last[len(last) - len(own) :], own, strict=True)) | (function.__kwdefaults__ or {})
