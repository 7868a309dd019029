"""Two ways to split and annotate one text, as CoNLL-U: what the scorer of the CoNLL 2018 shared task compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

TAGS = ("NOUN", "VERB", "_")
FEATURES = ("Case=Nom", "Number=Sing", "Number=Plur", "Typo=Yes", "Person[psor]=1")  # the last two are not universal
RELATIONS = ("nsubj", "nsubj:pass", "obj", "det", "case", "aux:pass", "cc", "punct", "conj", "mark")


@dataclass
class Word:
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    deprel: str
    head: int = 0


@dataclass
class Token:
    """A stretch of the text; it has a line of its own if it is a multi-word token."""

    form: str
    words: list[Word]
    several: bool


@dataclass
class Sentence:
    tokens: list[Token] = field(default_factory=list)

    @property
    def words(self) -> list[Word]:
        return [word for token in self.tokens for word in token.words]


def two_splittings(random: Random) -> tuple[str, str]:
    """The CoNLL-U of gold and of a system."""
    text = "".join(random.choice("abA") for _ in range(random.randint(1, 40)))
    cuts = [random.random() < 0.5 for _ in text]
    gold = _sentences(random, text, cuts, 0.2)
    noise = random.choice((0.0, 0.05, 0.3))
    if random.random() < 0.3:
        system = _sentences(random, text, [random.random() < 0.5 for _ in text], 0.3)
    else:
        system = _sentences(random, text, [cut ^ (random.random() < noise) for cut in cuts], 0.2)
        _copied(random, gold, system, noise)
    return _conllu(random, gold), _conllu(random, system)


def _sentences(random: Random, text: str, cuts: list[bool], share: float) -> list[Sentence]:
    """Tokens end at cuts; sentences end at some of them."""
    found, begin = [Sentence()], 0
    for end in (k + 1 for k in range(len(text)) if cuts[k] or k + 1 == len(text)):
        if found[-1].tokens and random.random() < share:
            found.append(Sentence())
        found[-1].tokens.append(_token(random, text[begin:end]))
        begin = end
    for sentence in found:
        _grow_tree(random, sentence.words)
    return found


def _token(random: Random, text: str) -> Token:
    if random.random() < 0.7:
        return Token(text, [_word(random, text)], False)
    forms = [text] if random.random() < 0.1 else list(text)  # its letters, of which some are exchanged for others
    forms = [random.choice(("a", "b", "B", "x", "ab")) if random.random() < 0.2 else form for form in forms]
    return Token(text, [_word(random, form) for form in forms], True)


def _word(random: Random, form: str) -> Word:
    features = "|".join(random.sample(FEATURES, random.randint(0, 2))) or "_"
    return Word(
        form, random.choice(("a", "b", "_")), random.choice(TAGS), random.choice(TAGS), features,
        random.choice(RELATIONS),
    )  # fmt: skip


def _grow_tree(random: Random, words: list[Word]) -> None:
    """A random tree: every word hangs on one that came before it in a random order."""
    order = random.sample(range(len(words)), len(words))
    for k, i in enumerate(order):
        words[i].head = order[random.randrange(k)] + 1 if k else 0
    if random.random() < 0.8:
        words[order[0]].deprel = "root"


def _copied(random: Random, gold: list[Sentence], system: list[Sentence], noise: float) -> None:
    """The system's words are annotated as gold's in the same place of the same sentence, but for some noise."""
    for here, there in zip(gold, system, strict=False):
        theirs, ours = there.words, here.words
        same_tree = len(ours) == len(theirs)
        for right, guess in zip(ours, theirs, strict=False):
            for name in ("lemma", "upos", "xpos", "feats", "deprel"):
                if random.random() >= noise:
                    setattr(guess, name, getattr(right, name))
            if random.random() < 0.3:  # the order of features does not matter
                guess.feats = "|".join(reversed(guess.feats.split("|")))
            if same_tree:
                guess.head = right.head
        if same_tree and random.random() < noise:
            _grow_tree(random, theirs)


def _conllu(random: Random, sentences: list[Sentence]) -> str:
    lines = []
    for sentence in sentences:
        if random.random() < 0.3:
            lines.append("# text = whatever")
        n = 0
        for token in sentence.tokens:
            if token.several:
                span = f"{n + 1}-{n + len(token.words)}"
                lines.append("\t".join((span, _blanks(random, token.form), *"_" * 8)))
            for word in token.words:
                n += 1
                form = word.form if token.several else _blanks(random, word.form)
                tags = (form, word.lemma, word.upos, word.xpos, word.feats)
                lines.append("\t".join((str(n), *tags, str(word.head), word.deprel, f"{word.head}:dep", "_")))
                if random.random() < 0.05:
                    lines.append("\t".join((f"{n}.1", "empty", *"_" * 6, "0:root", "_")))
        lines.append("")
    return "\n".join(lines) + "\n"


def _blanks(random: Random, form: str) -> str:
    """Blanks inside of a form do not count."""
    if len(form) > 1 and random.random() < 0.1:
        return form[0] + random.choice(" \u00a0\u3000") + form[1:]
    return form
