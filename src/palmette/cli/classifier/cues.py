"""`palmette check`: is telling two files of sentences apart too easy?"""

from __future__ import annotations

from palmette.cli.options import File, Json, Quiet, announce_compiling
from palmette.cli.telling import print_json


def check(positives: File, negatives: File, /, *, seed: int = 1, json: Json = False, quiet: Quiet = False) -> None:
    """Is telling two files of sentences apart too easy? Words, lengths, overlap, repetitions.

    A learner that should find structure needs negatives that words and lengths do not give away.

    Parameters
    ----------
    positives: str
        Text: a sentence a line, words between white space.
    negatives: str
        The sentences to be told from them.
    seed: int
        For the folds of the held-out sentences.
    json: bool
        Print one JSON object; accuracies and shares are fractions of 1.
    quiet: bool
        No messages.
    """
    announce_compiling(quiet)
    from palmette.data.formats.sentences import read_sentences
    from palmette.evaluation.shallow_cues import shallow_cues

    found = shallow_cues(read_sentences(positives), read_sentences(negatives), seed=seed)
    if json:
        print_json(found)
    else:
        from palmette.reports.shallow_cues import check_text

        print(check_text(found))
