"""All compiled code, and nothing else. Entries take flat arrays; NamedTuples of arrays group them."""
