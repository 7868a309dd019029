"""Multi-word tokens: which tokens are several words, and which words.

Those of the treebank are in a dictionary. Others are cut by a rule: it takes an affix off and puts words in its place
(`n't`: nothing and `n't`, so that needn't is need and n't). A classifier over the spelling of tokens chooses the rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, column_of_strings, column_of_types
from palmette.data.model_file import check_text, read_metadata
from palmette.data.split_text import SplitText
from palmette.errors import ModelError
from palmette.estimators.tagger import Tagger
from palmette.features.templates import parse
from palmette.options.learners import Mira
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.serialise import chain_from_parts, chain_parts

NO_RULE = "-"
_OFTEN = 2  # tokens that a rule must explain
_PASSES = 8
_TEMPLATES = "\n".join(
    [
        "U00:%x[0,0]",
        "U01:%x[0,0,lower]",
        *(f"U1{n}:%x[0,0,lower.suffix{n}]" for n in range(1, 6)),
        *(f"U2{n}:%x[0,0,lower.prefix{n}]" for n in range(1, 6)),
        *(f"U3{n}:%x[0,0,lower.suffix{n}]/%x[0,0,length]" for n in range(1, 4)),
        "U40:%x[0,0,short_shape]",
        "U41:%x[0,0,short_shape]/%x[0,0,lower.suffix2]",
        "U50:",
    ]
)


class Rule(NamedTuple):
    """Takes `affix` off the end of a token, or off its beginning, and puts `words` there: the part that is left is
    joined to the first of them, or to the last."""

    at_end: bool
    affix: str
    words: tuple[str, ...]

    def applied(self, token: str) -> list[str] | None:
        """The words of a token; None if it has not the affix."""
        size = len(self.affix)
        if len(token) <= size:
            return None
        if self.at_end:
            made = [token[: len(token) - size] + self.words[0], *self.words[1:]] if token.endswith(self.affix) else []
        else:
            made = [*self.words[:-1], self.words[-1] + token[size:]] if token.startswith(self.affix) else []
        return made if made and all(made) else None

    def name(self) -> str:
        """The rule as a label."""
        return msgspec.json.encode(self).decode()


def rule_of(token: str, words: Sequence[str]) -> Rule:
    """The rule with the shortest affix that makes these words."""
    front = _common(token, words[0])
    back = _common(token[::-1], words[-1][::-1])
    if front >= back:
        return Rule(True, token[front:], (words[0][front:], *words[1:]))
    return Rule(False, token[: len(token) - back], (*words[:-1], words[-1][: len(words[-1]) - back]))


def _common(a: str, b: str) -> int:
    """How many characters two strings begin with together, not all of the first."""
    n = 0
    while n < min(len(a) - 1, len(b)) and a[n] == b[n]:
        n += 1
    return n


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: dict[str, list[str]]
    model: dict[str, Any] | None = None


class Multiword:
    """The multi-word tokens of a language."""

    def __init__(self, words: Mapping[str, Sequence[str]], model: ChainModel | None) -> None:
        self.words = {token: tuple(parts) for token, parts in words.items()}
        self.model = model
        self._lower = {token.lower(): parts for token, parts in self.words.items()} | {
            token: parts for token, parts in self.words.items() if token == token.lower()
        }
        names = [] if model is None else model.labels
        self._rules = [None if name == NO_RULE else msgspec.json.decode(name, type=Rule) for name in names]

    def apart(self, tokens: Sequence[str]) -> dict[int, tuple[str, ...]]:
        """The words of those tokens, by number, that are several."""
        made: dict[int, tuple[str, ...]] = {}
        if not self.words:
            return made
        unknown: list[int] = []
        for k, token in enumerate(tokens):
            found = self.words.get(token) or self._other_case(token)
            if found is not None:
                made[k] = found
            elif len(token) > 1:
                unknown.append(k)
        if self.model is not None and unknown:
            for k, words in zip(unknown, self._by_rule([tokens[k] for k in unknown]), strict=True):
                if words is not None:
                    made[k] = words
        return made

    def _other_case(self, token: str) -> tuple[str, ...] | None:
        """The words of a token that the dictionary has in lower case, in the case of the token."""
        lower = token.lower()
        found = self._lower.get(lower) if lower != token and len(lower) == len(token) else None
        if found is None:
            return None
        if "".join(found).lower() == lower:
            ends = np.cumsum([len(word) for word in found]).tolist()
            return tuple(token[a:b] for a, b in zip([0, *ends], ends, strict=False))
        if token == token.upper() and len(token) > 1:
            return tuple(word.upper() for word in found)
        return (found[0][:1].upper() + found[0][1:], *found[1:]) if token[:1] != lower[:1] else found

    def _by_rule(self, tokens: Sequence[str]) -> list[tuple[str, ...] | None]:
        assert self.model is not None
        chosen, _ = self.model.tag(_as_corpus(tokens))
        found = []
        for token, k in zip(tokens, chosen.tolist(), strict=True):
            rule = self._rules[k]
            words = None if rule is None else rule.applied(token)
            found.append(None if words is None else tuple(words))
        return found

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, meta = ({}, None) if self.model is None else chain_parts(self.model)
        return arrays, {"words": {token: list(words) for token, words in self.words.items()}, "model": meta}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Multiword:
        stored = read_metadata(meta, _Stored, "multi-word tokens", source)
        check_text((text for token, words in stored.words.items() for text in (token, *words)), "a word", source)
        if any(len(words) < 2 or not all(map(_is_word, words)) for words in stored.words.values()):
            raise ModelError("damaged model: a multi-word token without words", file=source)
        if stored.model is None:
            return cls(stored.words, None)
        model = chain_from_parts(dict(arrays), stored.model, source)
        try:
            made = cls(stored.words, model)
        except msgspec.DecodeError:
            raise ModelError("damaged model: a label that is no rule for multi-word tokens", file=source) from None
        if not all(rule is None or (len(rule.words) > 1 and _is_clean(rule)) for rule in made._rules):
            raise ModelError("damaged model: a rule for multi-word tokens that makes no words", file=source)
        return made


def _is_word(text: str) -> bool:
    return bool(text) and not any(map(str.isspace, text))


def _is_clean(rule: Rule) -> bool:
    """Whether a rule makes words without white space, if the token has none."""
    return not any(c.isspace() for word in rule.words for c in word)


def _as_corpus(tokens: Sequence[str]) -> Corpus:
    """Each token as a sentence."""
    return Corpus(np.arange(len(tokens) + 1), [column_of_strings(tokens)], source="multi-word tokens")


# Learning


def learn_multiword(split: SplitText, *, seed: int = 1) -> Multiword:
    """The multi-word tokens of a treebank, and the rules that they show."""
    usual = _usual_words(split)
    several = {token: words for token, words in usual.items() if len(words) > 1}
    if not several:
        return Multiword({}, None)
    rules = {token: rule_of(token, words).name() for token, words in several.items()}
    often = {name for name, n in Counter(rules.values()).items() if n >= _OFTEN}
    if not often:
        return Multiword(several, None)
    labels = [rules[token] if rules.get(token) in often else NO_RULE for token in usual]
    corpus = _as_corpus(list(usual))
    names = sorted(set(labels))
    corpus.labels = column_of_types(np.array([names.index(label) for label in labels], np.int32), names)
    learner = Mira(nbest=3, aggressiveness=0.02)
    tagger = Tagger(
        template=parse(_TEMPLATES), learner=learner, passes=_PASSES, seed=seed, ends=False, constraints="none"
    )
    tagger.fit_corpus(corpus, None, names=False)
    return Multiword(several, tagger.model_)


def _usual_words(split: SplitText) -> dict[str, tuple[str, ...]]:
    """The words that each token without white space is most often."""
    counts: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    forms, first = split.forms.cells(), split.first_word.tolist()
    for token, a, b in zip(split.tokens(), first, first[1:], strict=False):
        words = tuple(forms[a:b])
        if b - a == 1:
            counts[token][(token,)] += 1
        elif all(map(_is_word, (token, *words))):
            counts[token][words] += 1
    return {token: found.most_common(1)[0][0] for token, found in counts.items() if _is_word(token)}
