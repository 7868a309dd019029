"""Find day, month and year in dates of any format, and see how certain the model is."""

import random

from palmette import Tagger

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]  # fmt: skip


def date(draw: random.Random) -> tuple[list[str], list[str]]:
    """The tokens of a date in one of four formats, and their labels."""
    day, month, year = draw.randint(1, 28), draw.randint(1, 12), draw.randint(1900, 2030)
    name = MONTHS[month - 1]
    formats = [
        [(str(day), "day"), (name, "month"), (str(year), "year")],
        [(name[:3], "month"), (str(day), "day"), (",", "O"), (str(year), "year")],
        [(str(year), "year"), ("-", "O"), (f"{month:02}", "month"), ("-", "O"), (f"{day:02}", "day")],
        [(name, "month"), (str(year), "year")],
    ]
    tokens = draw.choice(formats)
    return [word for word, _ in tokens], [label for _, label in tokens]


draw = random.Random(2)
X, y = zip(*(date(draw) for _ in range(300)), strict=True)
tagger = Tagger("ner", learner="crf").fit(X, y)

for text in ("7 May 1999", "Oct 12 , 2021", "2003 - 11 - 02"):
    words = text.split()
    for word, sure in zip(words, tagger.predict_marginals([words])[0], strict=True):
        best = max(sure, key=sure.get)
        print(f"{word:5} {best:6} {sure[best]:.2f}")
    print()
