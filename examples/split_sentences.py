"""Split text into sentences and tokens, with the places of each in the text."""

import palmette

text = "Dr. Smith arrived at 5 p.m. on Monday. He didn't stay long! Was it raining?"
nlp = palmette.load("en")
for sentence in nlp(text).sentences:
    print(sentence.start, sentence.end, sentence.text)
    print("   ", " | ".join(token.text for token in sentence.tokens))
