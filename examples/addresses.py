"""Split postal addresses into fields. The training data are made from lists; replace them with your own addresses."""

import random

from palmette import Tagger

STREETS = ["Oak Street", "Main St", "Martin Luther King Blvd", "5th Avenue", "Lake Shore Drive", "Elm Ct", "Ash Road"]
CITIES = ["Springfield", "New York", "San Jose", "Boulder", "St Paul", "Fort Worth", "Reno"]
STATES = ["IL", "NY", "CA", "CO", "MN", "TX", "NV"]


def address(draw: random.Random) -> tuple[list[str], list[str]]:
    """The tokens of an address, and the field of each."""
    fields = [("number", str(draw.randint(1, 9999))), ("street", draw.choice(STREETS))]
    if draw.random() < 0.3:
        fields.append(("unit", f"{draw.choice(['Apt', 'Suite', '#'])} {draw.randint(1, 400)}"))
    fields += [("city", draw.choice(CITIES)), ("state", draw.choice(STATES)), ("zip", f"{draw.randint(0, 99999):05}")]
    tokens = [(word, f"{'I' if k else 'B'}-{name}") for name, text in fields for k, word in enumerate(text.split())]
    return [word for word, _ in tokens], [label for _, label in tokens]


draw = random.Random(1)
words, labels = zip(*(address(draw) for _ in range(400)), strict=True)
tagger = Tagger("char").fit(words[:300], labels[:300])
print(f"F1 on new addresses: {tagger.score(words[300:], labels[300:]):.2f}")

mine = ["77", "Massachusetts", "Ave", "Suite", "12", "Cambridge", "MA", "02139"]
for word, label in zip(mine, tagger.predict([mine])[0], strict=True):
    print(f"{label:9} {word}")
