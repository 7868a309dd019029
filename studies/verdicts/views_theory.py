"""Clifton, Whitney and Sarkar (2013): statements about the objective, and about representations of chunks."""

from __future__ import annotations

from studies.chunk_views import TASKS, VIEWS, VOTE
from studies.verdicts.data import by_test, cells, figures
from studies.verdicts.rule import TASTE, Claim, Figures, Outcome, Part, above, missing

PAGES, CHUNKERS = ("grammaticality",), ("chunk_views",)


def chunker(task: str, view: str, figure: str = "f1") -> Figures:
    """A figure of chunkers in one representation."""
    return figures(f"{view} ({TASKS[task]})", cells("chunk_views", task=task, view=view), figure)


def theory() -> list[Claim]:
    return [
        Claim(
            "The sum of squared losses is bounded by (‖u‖ + 2 √Σ l*²)².", "section 3.3 (printed with =)",
            [
                by_test("any data", "test_the_bound_is_kept"),
                by_test("separable data", "test_the_bound_on_separable_data"),
            ],
            "As an upper bound, for features of length 1 and with the loss of u taken at the learner's structure.",
        ),
        Claim(
            "Five chunk representations that convert into each other, as in table 1.", "table 1",
            [by_test("", "test_five_views_convert_into_each_other")],
        ),
        Claim(
            "The objective stays semi-convex with several views.", "section 3.4",
            [Part(Outcome("", TASTE, "a statement about the objective; nothing was measured"))],
            "A sum of the views' objectives has the kind of curvature that each of them has.",
        ),
        Claim(
            "Learning structure and classifier together is better than a pipeline (cited: Chang et al. 2009 and "
            "others).",
            "no figure", [missing("", "a classifier over fixed chunks of a supervised chunker")],
            "Our chunker serves as a start only.",
        ),
        Claim(
            "Voting between representations is better than one of them in chunking (cited: Shen and Sarkar 2005).",
            "no figure",
            [above(f"{TASKS[task]}: vote, {view}", chunker(task, VOTE), chunker(task, view))
             for task in TASKS for view in VIEWS],
            "A vote by token between perceptrons on CoNLL-2000.",
        ),
        Claim(
            "IOB views are better at where a chunk begins, IOE views at where it ends.", "section 3.4",
            [above(f"{TASKS[task]}, {figure}: {first}, {second}", chunker(task, first, figure),
                   chunker(task, second, figure))
             for task in TASKS
             for figure, first, second in (("starts", "IOB2", "IOE2"), ("starts", "IOB1", "IOE1"),
                                           ("ends", "IOE2", "IOB2"), ("ends", "IOE1", "IOB1"))],
            "F of beginnings and of ends, perceptrons on CoNLL-2000.",
        ),
        Claim(
            "The chunks that are learnt for the task are not the linguistic ones.", "text, section 4.4",
            [missing("", "learnt chunks scored against annotated ones")],
            "Our sentences of this task have no annotated chunks.",
        ),
        Claim(
            'The views\' structures differ in a way that helps ("conspicuous example" as a chunk).', "table 3",
            [Part(Outcome("", TASTE, "one sentence as an illustration"))],
            "The study shows such a sentence of ours.",
        ),
    ]  # fmt: skip
