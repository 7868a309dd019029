"""Words of other tools for what palmette has under another name: hints in error messages, never synonyms."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palmette.options.declare import Options


# Commands and verbs of CRFsuite, Wapiti, CRF++, UDPipe, spaCy, scikit-learn
COMMAND_WORDS = {
    "learn": "train", "fit": "train", "crf_learn": "train",
    "predict": "tag", "label": "tag", "annotate": "tag", "run": "tag", "crf_test": "tag", "test": "eval",
    "evaluate": "eval", "score": "eval", "accuracy": "eval",
    "dump": "inspect", "show": "inspect", "info": "inspect", "debug": "explain",
    "parse": "parser parse", "classify": "classifier classify", "init": "demo",
}  # fmt: skip
# Parameters of CRFsuite, sklearn-crfsuite, Wapiti and CRF++: the option with the same meaning, and the difference
PARAMETERS = {
    "algorithm": ("learner", ""),
    "algo": ("learner", ""),
    "a": ("learner", ""),
    "c1": ("l1", "with the learner crf"),
    "rho1": ("l1", "with the learner crf"),
    "c2": ("l2", "with the learner crf"),
    "rho2": ("l2", "with the learner crf: half of rho2"),
    "c": ("l2", "with the learner crf: 1 / (2 c)"),
    "epochs": ("passes", ""),
    "min_freq": ("min_feature_count", ""),
    "minfreq": ("min_feature_count", ""),
    "freq": ("min_count", ""),
    "all_possible_states": ("state_features", "all is the default"),
    "devel": ("dev", ""),
    "valid": ("dev", ""),
    "pattern": ("template", ""),
    "delta": ("tolerance", "with the learner crf"),
    "stopeps": ("tolerance", "with the learner crf"),
    "nthread": ("threads", ""),
    "n_jobs": ("threads", ""),
    "thread": ("threads", ""),
    "random_state": ("seed", ""),
}  # fmt: skip
# Iterations of L-BFGS, or passes of an online learner: which of the two depends on what the command or class has
ITERATION_WORDS = ("max_iterations", "max_iter", "maxiter", "iterations")
ITERATIONS = (
    ("iterations", "for crf, dplvm and maxent; other learners have passes"),
    ("learners", "as in --learners crf:iterations=50"),
    ("passes", ""),
)
# Flags with another meaning in each command or tool: what to type instead, by command
FLAGS = {
    "train": {
        "m": "-o FILE is the model to write (CRFsuite's -m), --iterations N their limit (CRF++'s), --resume MODEL "
        "one to continue (Wapiti's)",
        "model": "-o FILE is the model to write, --resume MODEL one to continue",
        "p": "--template FILE (Wapiti's -p), --threads N (CRF++'s), --l2 X and others (CRFsuite's)",
        "d": "it is --dev FILE here",
        "i": "--iterations N with the learner crf, --passes N with others",
        "1": "it is --l1 X here, with the learner crf",
        "2": "it is --l2 X here, with the learner crf: half of rho2",
        "f": "it is --min-count N here",
        "e": "--tolerance X (CRF++'s -e), --stop-error X (Wapiti's)",
        "w": "it is --stop-window N here",
        "heldout": "it is --dev FILE here",
    },
    "pipeline run": {
        "tokenize": "plain text is what is read, unless --format says otherwise",
        "tokenizer": "plain text is what is read, unless --format says otherwise",
        "tag": "all components run; --components tok,tag,lemma stops before the parser",
        "tagger": "all components run; --components tok,tag,lemma stops before the parser",
        "parse": "all components run",
        "parser": "all components run",
        "outfile": "it is -o FILE here",
        "input": "it is --format here",
    },
    "pipeline train": {
        "heldout": "it is --dev FILE here",
        "tokenizer": "--components NAME,... chooses what is trained",
        "tagger": "--components NAME,... chooses what is trained",
        "parser": "--components NAME,... chooses what is trained",
    },
    "convert": {"output-format": "it is --to here; a tag scheme is --to-scheme"},
    "tag": {
        "m": "the model is the first argument here",
        "model": "the model is the first argument here",
        "n": "it is --nbest N here",
        "v": "--confidence (-v1 of CRF++), --marginals (-v2)",
        "p": "--decode marginal --confidence (-p of Wapiti), --marginals (of CRFsuite)",
        "post": "it is --decode marginal --confidence here",
        "s": "it is --scores here; --confidence has probabilities",
        "score": "it is --scores here; --confidence has probabilities",
        "l": "labels are the last column of the output",
        "label": "labels are the last column of the output",
        "c": "a column with gold labels may be there; `palmette eval MODEL DATA` scores",
        "check": "a column with gold labels may be there; `palmette eval MODEL DATA` scores",
        "force": "it is --known COLUMN here",
        "t": "`palmette eval MODEL DATA` scores",
    },
}
# Flags that had another name before 0.3: the first of these that the command has
BEFORE = {
    "plot": ("picture",), "svg": ("picture",), "cost": ("margin-cost",), "when": ("update-when",),
    "rare": ("rare-words",), "init": ("latent-init", "chunker-init"), "init-range": ("chunker-init-range",),
    "init-size": ("latent-init-size", "variants-init-size"), "merge": ("merge-states",), "nbest": ("learner-nbest",),
    "cap": ("exact-cap", "negative-cap"), "by": ("uncertainty",), "what": ("chart",), "label": ("show-label",),
    "tagger": ("with",), "data": ("dataset",), "dev": ("dev-output",), "test": ("test-output",),
    "p": ("ring-probability",),
}  # fmt: skip
# What stands where other tools have further files
ARGUMENTS = {
    "train": "the template is -t FILE here, and the model -o FILE",
    "tag": "the output is -o FILE here",
    "parser train": "the model is -o FILE here",
    "parser parse": "the output is -o FILE here",
}


def renamed(name: str) -> tuple[tuple[str, str], ...]:
    """What another tool's parameter is called here, with a remark; of several names the first that there is."""
    word = name.lstrip("-").replace("-", "_").rpartition(".")[2].lower()
    if word in ITERATION_WORDS:
        return ITERATIONS
    return (PARAMETERS[word],) if word in PARAMETERS else ()


def flag_hint(name: str, flags: Container[str], command: str = "") -> str:
    """What to type instead of another tool's flag, if the command has it."""
    own = FLAGS.get(command, {}).get(name.lstrip("-"))
    if own is not None:
        return own
    for option, remark in renamed(name):
        flag = "--" + option.replace("_", "-")
        if flag in flags:
            return f"it is {flag} here{f' ({remark})' if remark else ''}"
    now = next((f"--{word}" for word in BEFORE.get(name.lstrip("-"), ()) if f"--{word}" in flags), None)
    return "" if now is None else f"it is {now} now"


def unknown_parameter(owner: type[Options], name: str) -> str:
    """What is wrong with the parameter, and where it belongs."""
    owners = _owners(owner, name)
    if owners:
        kinds = " and ".join(getattr(variant, "kind", variant.__name__) for _, variant, _ in owners)
        outer, variant, inner = owners[0]
        return (
            f"{owner.__name__} has no parameter {name!r}: it is an option of {kinds}, "
            f"as in {outer}={variant.__name__}({inner}=...)"
        )
    for other, remark in renamed(name):
        told = f" ({remark})" if remark else ""
        if other in owner.__options__:
            return f"{owner.__name__} has no parameter {name!r}: it is {other} here{told}"
        if other != name and _owners(owner, other):
            return unknown_parameter(owner, other).replace(repr(other), repr(name), 1) + told
    return f"{owner.__name__} has no parameter {name!r}; it has {', '.join(owner.__options__)}"


def _owners(owner: type[Options], name: str) -> list[tuple[str, type[Options], str]]:
    """Variants of one option that have an option or flag of this name: (option, variant, option of the variant)."""
    for option in owner.__options__.values():
        owners = [
            (option.name, variant, inner.name)
            for variant in (option.variants or {}).values()
            for inner in variant.__options__.values()
            if name in (inner.name, inner.flag_name.replace("-", "_"))
        ]
        if owners:
            return owners
    return []
