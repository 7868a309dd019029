"""Labels as bundles of parts: scores, search among the labels that a token may have, learning."""
