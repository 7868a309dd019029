"""Palmette with other libraries and tools: spaCy, datasets, Arrow, Ray, tables in batches, files of annotators, and
models of CRFsuite, CRF++ and Wapiti.

Each module needs the library of its name, and is imported only by those who ask."""
