"""Names in a text, with the English model that ships with the package."""

import palmette

nlp = palmette.load("en")
for entity in nlp("Marie Curie was born in Warsaw. In 1906 she became a professor in Paris.").entities:
    print(entity.start, entity.text, entity.label)
