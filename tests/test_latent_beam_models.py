"""Models with hidden states that are searched with a beam: trained from templates, saved, gone on with, tagged with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus
from cli_run import Cli, last_cells, leave_demo
from fitting import arrays, fit, flat_tagger, noisy
from test_beam_models import TEMPLATES as READING

from palmette import Beam, LabelHistory, Latent, Mira, Tagger
from palmette.errors import UsageError
from palmette.features import parse
from palmette.structures import explain, load_chain

PLAIN = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
OPTIONS = {"search": "beam", "beam": 4, "latent": 2}


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    leave_demo(tmp_path)
    return Cli(tmp_path, capsys, monkeypatch)


def trained(text: str = READING, **more) -> Tagger:
    return flat_tagger(template=parse(text), **{**OPTIONS, "passes": 4, **more}).fit(*noisy(0))


@pytest.mark.parametrize("text", [PLAIN, READING])
@pytest.mark.parametrize("recombine", [True, False])
def test_round_trip(text: str, recombine: bool, tmp_path: Path) -> None:
    tagger, words = trained(text, recombine=recombine), noisy(1)[0]
    tagger.save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm")
    assert again._settings().beam == Beam(4, update="max-violation", recombine=recombine)
    assert again.predict_scored(words) == tagger.predict_scored(words)
    assert again.nbest(words, 3) == tagger.nbest(words, 3)
    assert tagger.score(*noisy(0)) > 0.8


@pytest.mark.parametrize("text", [PLAIN, READING])
def test_a_resumed_training_goes_on_exactly(text: str, tmp_path: Path) -> None:
    corpus = column_corpus(*noisy(0))
    whole, _ = fit(corpus, text, passes=5, checkpoint=True, **OPTIONS)
    part, _ = fit(corpus, text, passes=2, checkpoint=True, **OPTIONS)
    part.save(str(tmp_path / "m.palm"))
    resumed, _ = fit(corpus, None, passes=3, resume=load_chain(str(tmp_path / "m.palm")), checkpoint=True, **OPTIONS)
    for one, other in zip(arrays(whole), arrays(resumed), strict=True):
        assert one.tobytes() == other.tobytes()
    assert whole.label_contexts is not None
    assert resumed.label_contexts is not None
    assert whole.label_contexts.w.tobytes() == resumed.label_contexts.w.tobytes()


@pytest.mark.parametrize("learner", [Mira(nbest=3), "probperc", "pa"])
def test_learners_with_candidates_learn(learner: object) -> None:
    tagger = Tagger(template=parse(PLAIN), learner=learner, states=Latent(2), search=Beam(8), passes=6)
    assert tagger.fit(*noisy(0)).score(*noisy(0)) > 0.8


def test_states_have_the_labels_that_are_told() -> None:
    tagger, words = trained(), noisy(1)[0]
    corpus = column_corpus(words)
    states, _ = tagger.model_.tag(corpus, states=True)
    labels, _ = tagger.model_.tag(corpus)
    assert np.array_equal(tagger.model_.chain.label_of[states], labels)
    assert states.max() >= len(tagger.labels_)
    for listed in tagger.nbest(words, 4):
        assert len({tuple(one.output) for one in listed}) == len(listed) <= 4
    allowed = [[{"N", "D"}] * len(sentence) for sentence in words]
    assert {label for sentence in tagger.predict(words, allowed=allowed) for label in sentence} <= {"N", "D"}


def test_a_wide_beam_finds_what_exact_search_finds() -> None:
    """Order 1 with 3 labels of 2 states: six ends; and sums, explanations and lists are there as for other beams."""
    tagger, words = trained(PLAIN), noisy(1)[0]
    wide = tagger.search_with(beam=6).predict_scored(words)
    corpus = column_corpus(words[:1])
    explained = explain(tagger.model_, corpus)
    assert tagger.predict_marginals(words[:1])
    exact = tagger.search_with("viterbi").predict_scored(words)
    assert wide[1] == pytest.approx(exact[1], rel=1e-5)
    assert explain(tagger.model_, corpus) == explained
    latent = Tagger(template=parse(PLAIN), states=Latent(2), passes=3).fit(*noisy(0))
    assert latent.search_with("beam", 6).predict_scored(words)[1] == pytest.approx(
        latent.search_with("viterbi").predict_scored(words)[1], rel=1e-5
    )


def test_label_histories() -> None:
    """The labels determine the state: a wide beam is exact here, too, and gold is one path."""
    words, labels = noisy(0)
    tagger = Tagger(template=parse(PLAIN), states=LabelHistory("bigram"), search=Beam(16), passes=4).fit(words, labels)
    wide = tagger.predict_scored(words)
    assert wide[1] == pytest.approx(tagger.search_with("viterbi").predict_scored(words)[1], rel=1e-5)
    assert tagger.score(words, labels) > 0.8


def test_what_cannot_be() -> None:
    words, labels = noisy(0)
    with pytest.raises(UsageError, match="needs exact search"):
        Tagger(template=parse(PLAIN), states=Latent(2, split_after=2), search=Beam(4)).fit(words, labels)
    with pytest.raises(UsageError, match="read earlier labels"):
        explain(trained().model_, column_corpus(words[:1]))


def test_on_the_command_line(cli: Cli) -> None:
    cli.fine("train train.txt -o m.palm --features chunk --latent 2 --beam 4 --update early --passes 3 -q")
    cli.fine("tag m.palm test.txt -o states.txt --show-states -q")
    cli.fine("tag m.palm test.txt -o labels.txt -q")
    states, labels = (last_cells(cli.read(name)) for name in ("states.txt", "labels.txt"))
    assert [[state.rpartition("#")[0] for state in sentence] for sentence in states] == labels
    assert {state.rpartition("#")[2] for sentence in states for state in sentence} == {"1", "2"}
