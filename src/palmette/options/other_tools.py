"""Words of other tools for what palmette has under another name: hints in error messages, never synonyms."""

from __future__ import annotations

from collections.abc import Container

# Commands and verbs of CRFsuite, Wapiti, CRF++, UDPipe, spaCy, scikit-learn
COMMAND_WORDS = {
    "learn": "train", "fit": "train", "crf_learn": "train",
    "predict": "tag", "label": "tag", "annotate": "tag", "run": "tag", "crf_test": "tag", "test": "eval",
    "evaluate": "eval", "score": "eval", "accuracy": "eval",
    "dump": "inspect", "show": "inspect", "info": "inspect", "debug": "explain",
    "parse": "parser parse", "classify": "classifier classify", "init": "demo",
}  # fmt: skip
# Parameters of CRFsuite, sklearn-crfsuite, Wapiti and CRF++: the option that says the same, and how where it differs
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
    "model": ("output", "the model file that is written; one that is read is an argument without a flag"),
    "m": ("output", "the model file that is written; one that is read is an argument without a flag"),
}  # fmt: skip
# Iterations of L-BFGS, or passes of an online learner: which of the two depends on what the command or class has
ITERATION_WORDS = ("max_iterations", "max_iter", "maxiter", "iterations")
ITERATIONS = (
    ("iterations", "for crf, dplvm and maxent; other learners have passes"),
    ("learners", "as in --learners crf:iterations=50"),
    ("passes", ""),
)


def renamed(name: str) -> tuple[tuple[str, str], ...]:
    """What another tool's parameter is called here, with a remark; of several names the first that there is."""
    word = name.lstrip("-").replace("-", "_").rpartition(".")[2].lower()
    if word in ITERATION_WORDS:
        return ITERATIONS
    return (PARAMETERS[word],) if word in PARAMETERS else ()


def flag_hint(name: str, flags: Container[str]) -> str:
    """What to type instead of another tool's flag, if the command has it."""
    for option, remark in renamed(name):
        flag = "--" + option.replace("_", "-")
        if flag in flags:
            return f"it is {flag} here{f' ({remark})' if remark else ''}"
    return ""
