"""Small treebanks for components of pipelines: regular endings, so that what is to be found is known."""

from __future__ import annotations

import random

from palmette.data import Treebank, treebank_from_sentences

NOUNS = ["kalu", "mira", "tofu", "seno", "balo", "rika", "domi", "pelu", "gano", "wira"]
VERBS = ["tam", "sik", "por", "lum", "ned", "vak", "hol", "rem"]


def noun(stem: str, plural: bool, genitive: bool) -> dict[str, str]:
    form = stem + ("ler" if plural else "") + ("in" if genitive else "")
    feats = f"Case={'Gen' if genitive else 'Nom'}|Number={'Plur' if plural else 'Sing'}"
    return {"form": form, "lemma": stem, "upos": "NOUN", "xpos": "N", "feats": feats}


def verb(stem: str, past: bool) -> dict[str, str]:
    feats = f"Tense={'Past' if past else 'Pres'}"
    return {
        "form": stem + ("di" if past else "yor"),
        "lemma": stem + "mek",
        "upos": "VERB",
        "xpos": "V",
        "feats": feats,
    }


STOP = {"form": ".", "lemma": ".", "upos": "PUNCT", "xpos": "P", "feats": "_"}


def sentences(n: int, seed: int, nouns: list[str], verbs: list[str]) -> list[list[dict[str, str]]]:
    draw = random.Random(seed)
    flip = lambda: draw.random() < 0.5  # noqa: E731
    made = []
    for _ in range(n):
        words = [noun(draw.choice(nouns), flip(), flip()) for _ in range(draw.randint(1, 3))]
        first = words[0]
        words[0] = first | {"form": first["form"].capitalize()}
        made.append([*words, verb(draw.choice(verbs), flip()), STOP])
    return made


def treebank(n: int, seed: int, *, unseen: bool = False, without: tuple[str, ...] = ()) -> Treebank:
    """Sentences with tags and lemmas; of stems that training data does not have if `unseen`."""
    nouns, verbs = (NOUNS[8:], VERBS[6:]) if unseen else (NOUNS[:8], VERBS[:6])
    rows = sentences(n, seed, nouns, verbs)
    return treebank_from_sentences(
        [[{name: cell for name, cell in word.items() if name not in without} for word in row] for row in rows]
    )
