"""Palmette inside other libraries. Each module needs the library of its name, and is imported only by those who ask."""
