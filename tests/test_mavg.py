"""mavg against its definition: a pass whose number k divides starts from the mean of all weight vectors so far, and
that mean over all passes comes out. The choice of k on development data, and what must not be asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chain_arrays import Case, column_corpus, data_of, features_of, in_order_of_occurrence
from cli_run import Cli, leave_demo
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import perceptron_steps
from naive_chain import Example, Model, Token
from naive_latent import (
    Learnt,
    States,
    Tie,
    assert_learnt,
    latent_perceptron,
    latent_twin,
    pass_orders,
    random_start,
    start_on_grid,
    state_examples,
    state_weights,
)
from strategies import few

from palmette import Latent, Tagger
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.features import parse
from palmette.kernels.chain.forms import Chain, Data
from palmette.options.chain import EVERY
from palmette.structures import Shape, estimated, everything_allowed, load_chain, new_chain, restart_from_average
from palmette.training import Averaging, PathLearning
from palmette.training.chain import start as starting

TEXT = {0: "U0:%x[0,0]", 1: "U0:%x[0,0]\nB\nB1:%x[0,1]", 2: "U0:%x[0,0]\nB\nT"}
SHARE = 0.5
SIZE = 0.05


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# --- the definition -----------------------------------------------------------------------------------------


def small_task(seed: int, n_labels: int = 2) -> tuple[list, list, np.ndarray]:
    """Sentences of different words, and weights of sentences in odd steps of 1/64: means then seldom tie."""
    rng = np.random.default_rng(seed)
    sentences, labels = [], []
    for _ in range(6):
        words = rng.permutation(8)[: rng.integers(1, 4)]
        sentences.append([[f"w{word}", f"c{word % 2}"] for word in words])
        labels.append(["NVD"[y] for y in rng.integers(0, n_labels, words.size)])
    return sentences, labels, (rng.integers(32, 128, 6) / 64).astype(np.float32)


def twin_of(task: tuple, order: int, counts: int, seed: int, passes: int, every: int | None) -> Learnt:
    sentences, labels, shares = task
    names = in_order_of_occurrence(labels)
    states = States(names, [counts] * len(names))
    twin, shape = latent_twin(TEXT[order], states)
    if counts > 1:
        twin.weights = random_start(shape, twin.order, SIZE, seed, rounded=True)
    wanted = [[{label} for label in own] for own in labels]
    examples = state_examples(parse(TEXT[order]), sentences, wanted, states)
    weighted = [Example(e.sentence, e.allowed, float(w), e.certain) for e, w in zip(examples, shares, strict=True)]
    orders = pass_orders(seed, passes, len(examples))
    return latent_perceptron(twin, weighted, orders, every, tied_update=SHARE if counts > 1 else 0.0, states=states)


@few(1)
@given(st.integers(0, 10_000), st.integers(0, 2), st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]), st.data())
def test_weights_are_those_of_the_definition(
    seed: int, order: int, counts: int, every: int, data: st.DataObject
) -> None:
    task = small_task(seed, data.draw(st.sampled_from([2, 3])))
    corpus = column_corpus(*task[:2])
    corpus.weight = task[2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "start_randomly", start_on_grid)
        model, outcome = fit(
            corpus, TEXT[order], estimator="mavg", mavg_every=every, passes=data.draw(st.integers(1, 5)), seed=seed,
            latent=counts, init_size=SIZE, tied_update=SHARE,
        )  # fmt: skip
    try:
        learnt = twin_of(task, order, counts, seed, len(outcome.training_log), every)
    except Tie:
        assume(False)
    assert [p.updates for p in outcome.training_log] == learnt.updates
    assert_learnt(state_weights(model), learnt, "mavg", exact=False)


def test_the_definition_is_not_the_plain_mean() -> None:
    """The tasks above tell the estimators apart, so that comparing them means something."""
    corpus = column_corpus(*noisy())
    options = {"passes": 6, "latent": 2}
    models = [fit(corpus, TEMPLATES[1], estimator="mavg", mavg_every=k, **options)[0] for k in (1, 2, 3)]
    models += [fit(corpus, TEMPLATES[1], estimator=name, **options)[0] for name in ("avg", "last")]
    assert not any(same_bits(one, other) for i, one in enumerate(models) for other in models[:i])


@pytest.mark.parametrize("latent", [1, 2])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_restarts_that_never_come_make_the_plain_mean(order: int, latent: int) -> None:
    corpus = column_corpus(*noisy())
    mean, _ = fit(corpus, TEMPLATES[order], estimator="avg", passes=4, latent=latent)
    late, _ = fit(corpus, TEMPLATES[order], estimator="mavg", mavg_every=5, passes=4, latent=latent)
    assert same_bits(mean, late)


def test_a_restart_leaves_the_mean_and_the_clock_alone() -> None:
    chain, data, order = flipping_chain(), flipping_data(), np.tile(np.arange(2), 10)
    clock, *_ = perceptron_steps(chain, data, order)
    before = features_of(estimated(chain, clock))
    restart_from_average(chain, clock)
    assert features_of(estimated(chain, clock)) == features_of(estimated(chain, None)) == before
    assert before


@pytest.mark.parametrize("latent", [1, 2, {"N": 2, "D": 3}])
@pytest.mark.parametrize("split", [2, 3])
def test_a_checkpoint_goes_on_exactly(latent: int | dict[str, int], split: int, tmp_path: Path) -> None:
    """Also when the next pass is one that restarts."""
    corpus = column_corpus(*noisy())
    options = {"estimator": "mavg", "mavg_every": 3, "latent": latent}
    whole, _ = fit(corpus, TEMPLATES[2], passes=7, **options)
    part, _ = fit(corpus, TEMPLATES[2], passes=split, checkpoint=True, **options)
    part.save(str(tmp_path / "m"))
    more, _ = fit(corpus, None, passes=7 - split, resume=load_chain(str(tmp_path / "m")), **options)
    assert same_bits(more, whole)


# --- many small steps ---------------------------------------------------------------------------------------


def flipping_chain() -> Chain:
    return new_chain(Shape(2, 0), {1: 1}, everything_allowed(2), {})


def flipping_data() -> Data:
    """Two examples of weight 1/4 that contradict each other: taken in turn, each of them is an error."""
    sentences = [[Token(((0, 1.0),))]] * 2
    known = [[frozenset([label])] for label in (1, 0)]
    return data_of(Case(Model(0, 2), (0, 1), (1, 0, 0), sentences, known, [0.25] * 2))


@pytest.mark.parametrize(("every", "start"), [(None, 2.0**40 + 1), (1, 1.0), (2, 1.0), (2, 2.0**18)])
def test_means_are_right_after_many_small_steps(every: int | None, start: float) -> None:
    """In turn the weight of label 1 is 1/4 more than it was and the same again; after a restart from a mean above zero
    the same and 1/4 less. `start` vectors of zeros lie before, so that clocks are large."""
    n = 20_000
    learning = PathLearning(flipping_chain(), flipping_data(), Averaging("mavg", every), clock=start)
    order = np.tile(np.arange(2), n // 2)
    vectors, total, low, high = start, 0.0, 0.0, 0.25
    for number in range(1, 8):
        mean = total / vectors
        right = 0  # the mean may have the first example right, and then nothing but the first
        if every is not None and number % every == 0:
            low, high, right = (mean - 0.25, mean, 1) if mean > 0 else (mean, mean + 0.25, 0)
        learning.begin_epoch(number)
        assert learning.learn(order).updates == n - right
        total += (high + low) * n / 2
        vectors += n
    found = features_of(learning.snapshot())[("one", 0, 1)]
    assert found == pytest.approx(total / vectors, rel=1e-3 if every else 1e-6)


def test_32_bits_would_lose_these_steps() -> None:
    """The case above is one in which the width of the accumulator matters."""
    n, start = 20_000, 2.0**40 + 1
    steps = np.where(np.arange(n) % 2, -0.25, 0.25) * (start + np.arange(n))
    wide, narrow = (float(np.add.accumulate(steps.astype(kind))[-1]) for kind in (np.float64, np.float32))
    assert wide == -0.25 * n / 2
    assert abs(narrow - wide) > 0.5 * abs(wide)


# --- the choice ---------------------------------------------------------------------------------------------


def demo(n: int, part: str) -> tuple[list, list]:
    X, y = load_demo(part)
    return X[:n], y[:n]


def chosen(tagger: Tagger) -> tuple[str, int | None]:
    settings = tagger.model_.settings
    assert not isinstance(settings.mavg_every, str)
    return settings.estimator, settings.mavg_every


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("asked", "latent"), [({"estimator": "auto"}, 2), ({"estimator": "mavg", "mavg_every": "auto"}, 2),
                          ({"estimator": "mavg"}, 1)],
)  # fmt: skip
def test_the_best_on_dev_is_chosen(asked: dict, latent: int, seed: int) -> None:
    options = {"features": "chunk", "latent": latent, "passes": 9, "seed": seed}
    train, dev = demo(25, "train"), demo(40, "dev")
    found = flat_tagger(**asked, **options).fit(*train, dev=dev)
    choices: list[tuple[str, int | None]] = [("avg", None)] if asked["estimator"] == "auto" else []
    choices += [("mavg", k) for k in EVERY]
    by_hand = [flat_tagger(estimator=name, mavg_every=k, **options).fit(*train, dev=dev) for name, k in choices]
    figures = [max(p.dev for p in tagger.outcome_.training_log) for tagger in by_hand]
    best = figures.index(max(figures))  # of equals the first
    assert len(set(figures)) > 1
    assert chosen(found) == choices[best]
    assert same_bits(found.model_, by_hand[best].model_)


def test_without_dev_auto_is_the_plain_mean_and_mavg_every_fourth_pass() -> None:
    train = demo(20, "train")
    assert chosen(Tagger("chunk", states=Latent(2), passes=1).fit(*train)) == ("avg", None)
    assert chosen(Tagger("chunk", states=Latent(2), passes=1, estimator="mavg").fit(*train)) == ("mavg", 4)
    assert chosen(Tagger("chunk", passes=1).fit(*train, dev=demo(20, "dev"))) == ("avg", None)


@pytest.mark.parametrize("name", ["avg", "last"])
def test_other_estimators_have_no_restarts(name: str) -> None:
    with pytest.raises(UsageError, match="applies to the estimator mavg"):
        Tagger("chunk", estimator=name, mavg_every=2).fit(*demo(5, "train"))


def test_auto_without_mavg_or_dev_is_refused() -> None:
    with pytest.raises(UsageError, match="applies to the estimator mavg"):
        Tagger("chunk", mavg_every="auto").fit(*demo(5, "train"))
    with pytest.raises(UsageError, match=r"dev_share=0\.1"):
        Tagger("chunk", estimator="mavg", mavg_every="auto").fit(*demo(5, "train"))
    for wrong in (0, -1, 1.5, True, "two"):
        with pytest.raises(UsageError, match="mavg_every"):
            Tagger("chunk", estimator="mavg", mavg_every=wrong).fit(*demo(5, "train"))


def test_the_command_line_says_what_it_chose(cli: Cli) -> None:
    leave_demo(cli.folder)
    start = "train train.txt -o m.palm -f chunk --latent 2 --passes 3"
    ran = cli(f"{start} --dev dev.txt --estimator mavg --mavg-every auto")
    assert ran.code == 0
    assert [f"trying mavg every {k} passes" in ran.err + ran.out for k in EVERY] == [True] * 3
    assert "chose mavg every" in ran.err + ran.out
    assert cli(f"{start} --mavg-every 2").code == 2
    missing = cli(f"{start} --estimator mavg --mavg-every auto")
    assert missing.code == 2
    assert "--dev" in missing.err
    assert cli(f"{start} --estimator mavg --mavg-every never").code == 2
