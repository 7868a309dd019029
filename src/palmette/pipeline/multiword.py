"""Multi-word tokens: which tokens are several words, and which words.

Those of the treebank are in a dictionary. Others are cut by a rule: it takes an affix off and puts words in its place
(`n't`: nothing and `n't`, so that needn't is need and n't). A classifier over the spelling of tokens chooses the rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, column_of_strings, column_of_types
from palmette.data.model_file import AGAIN, check_text
from palmette.errors import ModelError
from palmette.estimators.tagger import Tagger
from palmette.features.templates import parse
from palmette.options.learners import Mira
from palmette.pipeline.chains import compacted, trained_chain
from palmette.pipeline.split_text import SplitText
from palmette.structures.chain.model import ChainModel

NO_RULE = "-"
_OFTEN = 2  # tokens that a rule must explain
_USUAL = 0.1  # and their share among those that have its affix
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


class AffixRule(NamedTuple):
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


class _Affixes:
    """The affixes of rules, to find the tokens that have one."""

    def __init__(self, rules: Iterable[AffixRule]) -> None:
        self._known = {(rule.at_end, rule.affix) for rule in rules}
        self._sizes = sorted({(at_end, len(affix)) for at_end, affix in self._known})
        self._ends, self._starts = (
            tuple(sorted(affix for at_end, affix in self._known if at_end == which)) for which in (True, False)
        )

    def of(self, token: str) -> list[tuple[bool, str]]:
        """The affixes of a token that is longer than them."""
        found = [
            (at_end, token[len(token) - n :] if at_end else token[:n]) for at_end, n in self._sizes if n < len(token)
        ]
        return [affix for affix in found if affix in self._known]

    def any_of(self, token: str) -> bool:
        """Whether a token has one; most have none, which is found out fast."""
        return (token.endswith(self._ends) or token.startswith(self._starts)) and bool(self.of(token))

    def candidates(self, tokens: Iterable[str]) -> list[str]:
        """The tokens that have one."""
        return [token for token in tokens if self.any_of(token)]


def rules_of(token: str, words: Sequence[str]) -> tuple[AffixRule, AffixRule]:
    """The rules with the shortest affixes that make these words: at the end, and at the beginning."""
    front = _common(token, words[0])
    back = _common(token[::-1], words[-1][::-1])
    return (
        AffixRule(True, token[front:], (words[0][front:], *words[1:])),
        AffixRule(False, token[: len(token) - back], (*words[:-1], words[-1][: len(words[-1]) - back])),
    )


def _common(a: str, b: str) -> int:
    """How many characters two strings begin with together, not all of the first."""
    n = 0
    while n < min(len(a) - 1, len(b)) and a[n] == b[n]:
        n += 1
    return n


class MultiwordTokens:
    """The multi-word tokens of a language."""

    def __init__(self, words: Mapping[str, Sequence[str]], model: ChainModel | None) -> None:
        self.words = {token: tuple(parts) for token, parts in words.items()}
        self.model = model
        self._lower = {token.lower(): parts for token, parts in self.words.items()} | {
            token: parts for token, parts in self.words.items() if token == token.lower()
        }
        names = [] if model is None else model.labels
        self._rules = [None if name == NO_RULE else msgspec.json.decode(name, type=AffixRule) for name in names]
        self._affixes = _Affixes(rule for rule in self._rules if rule is not None)

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
            elif self._affixes.any_of(token):
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

    def compact(self) -> MultiwordTokens:
        """The multi-word tokens with a classifier of 8-bit weights."""
        return self if self.model is None else MultiwordTokens(self.words, compacted(self.model, None, 0.0))

    @property
    def stored(self) -> dict[str, list[str]]:
        """The dictionary as a file has it."""
        return {token: list(words) for token, words in self.words.items()}

    @classmethod
    def from_stored(cls, words: dict[str, list[str]], model: ChainModel | None, source: str) -> MultiwordTokens:
        """What `stored` gave, with the model; ModelError if that cannot be."""
        check_text((text for token, parts in words.items() for text in (token, *parts)), "a word", source)
        if any(len(parts) < 2 or not all(map(_is_word, parts)) for parts in words.values()):
            raise ModelError("damaged model: a multi-word token without words", file=source, hint=AGAIN)
        try:
            made = cls(words, model)
        except msgspec.DecodeError:
            raise ModelError("damaged model: a label that is not a rule for words", file=source, hint=AGAIN) from None
        if not all(rule is None or _is_clean(rule) for rule in made._rules):
            raise ModelError("damaged model: a rule that makes no words", file=source, hint=AGAIN)
        return made


def _is_word(text: str) -> bool:
    return bool(text) and not any(map(str.isspace, text))


def _is_clean(rule: AffixRule) -> bool:
    """Whether a rule makes several words without white space, if the token has none."""
    return len(rule.words) > 1 and not any(c.isspace() for word in rule.words for c in word)


def _as_corpus(tokens: Sequence[str]) -> Corpus:
    """Each token as a sentence."""
    return Corpus(np.arange(len(tokens) + 1), [column_of_strings(tokens)], source="multi-word tokens")


# Learning


def learn_multiword(split: SplitText, *, seed: int = 1) -> MultiwordTokens:
    """The multi-word tokens of a treebank, and the rules that they show."""
    usual = _usual_words(split)
    several = {token: words for token, words in usual.items() if len(words) > 1}
    if not several:
        return MultiwordTokens({}, None)
    rules = _common_rules(several)
    often = _good_rules(list(rules.values()), list(usual))
    if not often:
        return MultiwordTokens(several, None)
    candidates = _Affixes(often).candidates(list(usual))
    labels = [rules[token].name() if rules.get(token) in often else NO_RULE for token in candidates]
    corpus = _as_corpus(candidates)
    names = sorted(set(labels))
    corpus.labels = column_of_types(np.array([names.index(label) for label in labels], np.int32), names)
    learner = Mira(nbest=3, aggressiveness=0.02)
    tagger = Tagger(template=parse(_TEMPLATES), learner=learner, passes=_PASSES, seed=seed, ends=False)
    return MultiwordTokens(several, trained_chain(corpus, tagger))


def _common_rules(several: Mapping[str, Sequence[str]]) -> dict[str, AffixRule]:
    """For each token that one of its two rules that more tokens share."""
    both = {token: rules_of(token, words) for token, words in several.items()}
    count = Counter(rule for rules in both.values() for rule in rules)
    return {token: max(rules, key=lambda rule: (count[rule], -len(rule.affix))) for token, rules in both.items()}


def _good_rules(rules: Sequence[AffixRule], tokens: Sequence[str]) -> set[AffixRule]:
    """The rules that explain several tokens, and a good share of those that have their affix."""
    often = {rule: n for rule, n in Counter(rules).items() if n >= _OFTEN}
    affixes = _Affixes(often)
    having = Counter(affix for token in tokens for affix in affixes.of(token))
    return {rule for rule, n in often.items() if n >= _USUAL * having[rule.at_end, rule.affix]}


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
