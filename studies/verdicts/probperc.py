"""Sun (n.d.), "Probabilistic structured-output perceptron", a manuscript without a year whose latest reference is of
2014; its section of experiments is not in our copy, so that the claims have no figures."""

from __future__ import annotations

from studies.common import Cell
from studies.verdicts.data import bench, by_test, cells, curve_best, figures, ratio, typical_spread
from studies.verdicts.rule import (
    MISSING,
    TASTE,
    Claim,
    Figures,
    Outcome,
    Part,
    above,
    at_least,
    at_most,
    holds,
    level,
    missing,
)

PAGES = ("probperc",)
CORPORA = {"chunks": "CoNLL-2000", "np": "CoNLL-2000", "jnlpba": "JNLPBA", "ewt": "EWT"}
TASKS = {"chunks": "chunks", "np": "NP", "jnlpba": "JNLPBA", "ewt": "EWT"}
SOFTMAX = ("probPerc, n = 2", "probPerc, n = 5", "probPerc, n = 10")


def scores(task: str, method: str) -> Figures:
    found = cells("probperc", stage="test", task=task, method=method)
    values = found[0]["scores"] if found else []
    typical = typical_spread(c["scores"] for c in cells("probperc", stage="test", task=task))
    return Figures(f"{method} ({TASKS[task]})", values, typical, fixed=method == "CRF, L-BFGS")


def parser(learner: str) -> Figures:
    """UAS of a learner on the beam of a parser; the spread is that of the updates with several seeds on the same "
    "data."""
    updates = ("early", "max-violation", "laso")
    typical = typical_spread([max(c["uas"]) for c in cells("parsing", stage="seeds", update=u)] for u in updates)
    return figures(learner, cells("parsing", stage="learners", learner=learner), curve_best("uas"), typical)


def recorded_p(task: str, method: str, against: str = "perceptron") -> float | None:
    """p of approximate randomisation over sentences, where the record has it."""
    found = cells("probperc", stage="test", task=task, method=method)
    if not found:
        return None
    if against == "perceptron":
        return float(found[0]["p"])
    return found[0].get("p_against", {}).get(against)


def search_best(task: str, method: str) -> Cell | None:
    found = cells("probperc", stage="search", task=task, method=method)
    return max(found, key=lambda c: (c["best"], -c["passes"])) if found else None


def chosen(task: str) -> str:
    """The length of the list that is best on development data, with the published (log-linear) probabilities."""
    best = {m: cell["best"] for m in SOFTMAX if (cell := search_best(task, m))}
    return max(best, key=lambda m: best[m]) if best else SOFTMAX[1]


def _against(rival: str) -> list[Part]:
    parts = []
    for task, name in TASKS.items():
        own = chosen(task)
        if rival == "5-best MIRA, span cost" and task == "ewt":
            continue
        p = recorded_p(task, own, rival)
        part = above(f"{name}, {own.removeprefix('probPerc, ')}", scores(task, own), scores(task, rival), p=p)
        parts.append(part._replace(corpus=CORPORA[task], rival=rival))
    return parts


def _where_run(rival: str) -> list[Part]:
    """The tasks on which a rival was run."""
    return [part for part in _against(rival) if part.outcome.verdict != MISSING]


def _functions() -> list[Part]:
    return [
        above(f"{name}, {rival}", scores(task, "probPerc, n = 5"), scores(task, f"probPerc, n = 5, {rival}"),
              p=recorded_p(task, "probPerc, n = 5", f"probPerc, n = 5, {rival}"))
        ._replace(corpus=CORPORA[task], rival=rival)
        for task, name in TASKS.items() for rival in ("linear", "polynomial")
    ]  # fmt: skip


def _first_share(task: str) -> Part:
    """The share of the first candidate by each function of its score, with the same weights."""
    part = f"{TASKS[task]}, share of the first"
    found = cells("probperc", stage="shares", task=task)
    if not found:
        return missing(part, f"probabilities of candidates on {TASKS[task]}")
    first = {kind: 100 * found[0][kind][0] for kind in ("softmax", "linear", "polynomial")}
    told = ", ".join(f"{kind} {share:.0f} %" for kind, share in first.items())
    return holds(part, told, first["softmax"] == max(first.values()))


def _falling(task: str) -> Part:
    """The best falling rate beside the best constant one, on development data."""
    found: dict[str, float] = {}
    for c in cells("probperc", stage="search", task=task, method="probPerc, n = 5"):
        schedule = c["settings"]["rate_schedule"]
        found[schedule] = max(c["best"], found.get(schedule, 0.0))
    if len(found) < 2:
        return missing(TASKS[task], f"rates of probPerc on {TASKS[task]}")
    told = f"falling {found['falling']:.2f}, constant {found['constant']:.2f}"
    return holds(TASKS[task], told, found["falling"] >= found["constant"] - 0.1)


def _pass_cost(learner: str) -> Figures:
    training = bench("nbest").get("training", {})
    own, plain = training.get(learner), training.get("perceptron")
    return ratio(f"bench nbest, {learner}", [own] if own else [], [plain] if plain else [])


def _to_best(task: str, first: str, second: str) -> Figures:
    pair = [search_best(task, method) for method in (first, second)]
    return ratio(f"{first} to {second} on {task}", *([c["to_best"]] if c else [] for c in pair))


def _claim(text: str, parts: list[Part], note: str = "") -> Claim:
    return Claim(text, "no figure", parts, note, pooled=True)


def accuracy() -> list[Claim]:
    crf = [*_against("CRF, L-BFGS"), *_against("CRF, AdaGrad")]
    plain = [
        above(f"{name}, {rival}", scores(task, rival), scores(task, "perceptron"), p=recorded_p(task, rival))
        ._replace(corpus=CORPORA[task], rival=rival)
        for rival in ("CRF, L-BFGS", "CRF, AdaGrad") for task, name in TASKS.items()
    ]  # fmt: skip
    return [
        _claim("ProbPerc is above the averaged perceptron.", _against("perceptron"), "p is over sentences."),
        _claim("ProbPerc is above MIRA.", _against("MIRA"), "MIRA over the best path alone."),
        _claim("ProbPerc is above n-best MIRA, which treats all candidates alike.",
               [*_against("5-best MIRA"), *_where_run("5-best MIRA, capped sum")]),
        _claim("ProbPerc is above the CRF.", crf, "Two ways to train the CRF: 60 iterations of L-BFGS, and AdaGrad."),
        _claim("ProbPerc is above the max-violation perceptron.", _against("max-violation, beam 4"),
               "Max-violation has a beam of 4."),
        Claim("ProbPerc is above an LSTM.", "no figure", [missing("", "an LSTM")],
            "Palmette has no neural networks."),
        _claim("Without probabilities the perceptron has a relatively low accuracy, below the CRF.",
               plain),
        _claim("Of three functions from scores to probabilities the log-linear one is best.", _functions()),
        Claim(
            "The log-linear function is best because it puts more weight on the first candidates.", "an explanation",
            [*(_first_share(task) for task in TASKS), *_functions()],
            "Mean share of the first of five candidates on development data, with the weights that it learnt.",
        ),
        Claim(
            "ProbPerc reaches the state of the art.", "no figure",
            [
                level("chunks, CRF++ 93.74", scores("chunks", chosen("chunks")), 93.74),
                level("NP, Sha and Pereira (2003) 94.38", scores("np", chosen("np")), 94.38),
                level("JNLPBA, best system of the shared task 72.55", scores("jnlpba", chosen("jnlpba")), 72.55),
            ],
        ),
        Claim(
            "A rate that falls with the passes is the choice.", "γ₀ / (1 + passes), a typical choice",
            [_falling(task) for task in TASKS],
            "On development data, five candidates; holds if it is at most 0.1 below the best constant rate.",
        ),
        Claim(
            "ProbPerc serves trees too.", "no figure",
            [above("parser, UAS on dev", parser("probperc"), parser("perceptron"))],
            f"On the beam of a parser, 1,500 sentences, {len(parser('probperc').values)} seeds.",
        ),
    ]  # fmt: skip


def speed() -> list[Claim]:
    return [
        Claim(
            "Training probPerc is almost as fast as training the perceptron.", "almost as fast",
            [at_most(f"a pass, n = {n}", _pass_cost(f"probperc, {n}"), 1.5, " times") for n in (5, 10)],
            "Almost: at most 1.5 times; by `python -m bench nbest` on CoNLL-2000.",
        ),
        Claim(
            "Tagging with probPerc is as fast as with the perceptron.", "the same",
            [holds("", "the same search over the same kind of model", True)],
            "By construction: only training differs.",
        ),
        Claim(
            "Perceptrons train faster than gradient-based learners.", "fast",
            [at_least(name, _to_best(task, "CRF, L-BFGS", "perceptron"), 2, " times") for task, name in TASKS.items()],
            "Time of the CRF to its best pass, to the perceptron's; holds from twice on.",
        ),
        Claim(
            "Training probPerc is ten times faster than training the CRF.", "an order of magnitude",
            [at_least(f"{name}, to the best pass", _to_best(task, "CRF, L-BFGS", chosen(task)), 5, " times")
             for task, name in TASKS.items()],
            "Holds from half of the published ratio on; times to the best pass on development data, on a machine with "
            "other "
            "work.",
        ),
        Claim(
            "Training probPerc is ten times faster than training an LSTM.", "an order of magnitude",
            [missing("", "an LSTM")],
            "Palmette has no neural networks.",
        ),
        Claim(
            "Lists of n best paths cost little more than the best path.", "very efficient",
            [at_most("5 paths by A*", _search_cost("A*, 5"), 2, " times"),
             at_most("10 paths by A*", _search_cost("A*, 10"), 2, " times"),
             by_test("A* and lazy lists agree", "test_both_ways_agree_on_longer_sentences")],
            "Little: at most twice the time of Viterbi, over CoNLL-2000.",
        ),
        Claim(
            "ProbPerc is easy to implement, and the first probabilistic extension of perceptrons.", "a judgement",
            [Part(Outcome("", TASTE, "nothing to measure"))],
            "Not a statement about figures.",
        ),
    ]  # fmt: skip


def _search_cost(kind: str) -> Figures:
    search = bench("nbest").get("search", {})
    return ratio(
        f"bench nbest, {kind}", [search[kind]] if kind in search else [], [search["viterbi"]] if search else []
    )


def theory() -> list[Claim]:
    return [
        Claim(
            "On separable data probPerc makes at most R²/δ² updates.", "theorem 1",
            [by_test("counterexample", "test_the_printed_bound_does_not_hold_everywhere", holds=False)],
        ),
        Claim(
            "ProbPerc converges on separable data, as fast as the perceptron.", "theorem 1",
            [
                by_test("updates on errors end", "test_probperc_on_errors_ends_within_its_bound"),
                by_test("as published, always updating", "test_always_updating_never_ends", holds=False),
            ],
        ),
        Claim(
            "On inseparable data the first pass of probPerc makes at most (R + D)²/δ² mistakes.", "theorem 2",
            [by_test("", "test_the_first_pass_on_inseparable_data")],
            "Measured on twelve problems with noise; proven only with a larger constant.",
        ),
        Claim(
            "The perceptron is the case n = 1.", "related work",
            [by_test("", "test_without_candidates_to_share_with_it_is_the_perceptron")],
            "Exactly so with a rate of 1 and without adding gold to the list; with gold added the step is smaller.",
        ),
    ]  # fmt: skip


def claims() -> list[tuple[str, list[Claim]]]:
    """Sections with their claims."""
    return [("Accuracy", accuracy()), ("Speed", speed()), ("Theory", theory())]
