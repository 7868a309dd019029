"""Palmette with other libraries and tools: spaCy, datasets, Arrow, Ray, tables in batches, and files of annotators.

Each module needs the library of its name, and is imported only by those who ask."""
