"""Outcomes of test runs by token and by sentence, kept beside a record until two rows are compared, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from palmette import Tagger
from palmette.data.corpus import Corpus
from palmette.evaluation.significance import Tally, mcnemar, randomisation, span_tally
from palmette.evaluation.spans import ChunkTables
from palmette.structures.chain.gold import gold_and_guess
from studies.common import Cell


def kept(path: Path, tagger: Tagger, test: Corpus) -> float:
    """F of a tagger in per cent; its outcome is left in a file."""
    gold, guess, labels = gold_and_guess(tagger.model_, test)
    tally = span_tally(gold, guess, test.offset, ChunkTables.of(labels))
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, right=gold == guess, top=tally.top, bottom=tally.bottom)
    return 100 * tally.value


def compared(pairs: Iterable[tuple[Path, Path]]) -> Cell:
    """Tests of a latent row against a plain one from the files of each seed: approximate randomisation over sentences
    and all seeds, McNemar's test on the tokens of each seed."""
    tallies: tuple[list[Tally], list[Tally]] = ([], [])
    only, ps = np.zeros(2, np.int64), []
    for pair in pairs:
        right = []
        for path, own in zip(pair, tallies, strict=True):
            with np.load(path) as found:
                right.append(found["right"])
                own.append(Tally(found["top"], found["bottom"]))
        test = mcnemar(*right)
        only += (test.only_first, test.only_second)
        ps.append(test.exact)
    return {
        "randomisation": randomisation(*tallies),
        "mcnemar": ps,
        "only_latent": int(only[0]),
        "only_plain": int(only[1]),
    }
