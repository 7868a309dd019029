"""The pictures of the documentation: records from runs of the library, and how they are drawn. See
docs/draw_pictures.py."""
