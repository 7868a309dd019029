"""US addresses with the features that parsers of addresses use: a dict per token, with those of its neighbours inside.

The labels are those of the usaddress project; an address is a sentence.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

Item = dict[str, Any]
Address = tuple[list[str], list[str]]  # tokens, labels

DIRECTIONS = {"n", "s", "e", "w", *(a + b for a in "ns" for b in "ew"), "north", "south", "east", "west"}
DIRECTIONS |= {a + b for a in ("north", "south") for b in ("east", "west")}
STREETS = set(
    re.findall(
        r"\w+",
        """alley aly avenue ave av boulevard blvd bypass center ctr circle cir court ct cove cv crescent cres crossing
        xing drive dr estates expressway expy extension ext freeway fwy garden gardens grove highway hwy hill hills
        hollow island junction lake landing lane ln loop mall manor meadows mews mill park parkway pkwy pass path pike
        place pl plaza plz point pt ranch ridge rdg road rd route rte row run shore spring springs square sq station
        street st summit terrace ter trace trail trl turnpike tpke union valley view village vista walk way""",
    )
)


def read_addresses(path: Path) -> list[Address]:
    """The labelled addresses of an XML file: an element per address, and in it one per token, named by its label."""
    found = []
    for address in ElementTree.parse(path).getroot():
        pairs = [(token, part.tag) for part in address for token in (part.text or "").split()]
        if pairs:
            found.append(([token for token, _ in pairs], [label for _, label in pairs]))
    return found


def token_features(token: str) -> Item:
    """What a token looks like."""
    bare = re.sub(r"^\W+|[^\w.]+$", "", token)
    word = bare.lower().replace(".", "")
    digits = sum(char.isdigit() for char in word)
    number = bool(word) and digits == len(word)
    zeros = re.search(r"0+$", word)
    return {
        "abbreviation": bare.endswith("."),
        "digits": "all" if number else "some" if digits else "none",
        "word": False if number else word,
        "zeros": zeros.group() if number and zeros else "",
        "length": f"{'d' if number else 'w'}:{len(word)}",
        "punctuation": token[-1] if not token[-1].isalnum() and token[-1] != "." else False,
        "direction": word in DIRECTIONS,
        "street": word in STREETS,
        "vowels": any(char in "aeiou" for char in word[1:]),
    }


def address_features(tokens: list[str]) -> list[Item]:
    """The features of each token, with those of the tokens before and after it."""
    alone = [token_features(token) for token in tokens]
    items: list[Item] = [dict(own) for own in alone]
    for k, item in enumerate(items):
        if k > 0:
            item["previous"] = alone[k - 1] | ({"start": True} if k == 1 else {})
        else:
            item["start"] = True
        if k + 1 < len(items):
            item["next"] = alone[k + 1] | ({"end": True} if k + 2 == len(items) else {})
        else:
            item["end"] = True
    if len(items) == 1:
        items[0]["single"] = True
    return items
