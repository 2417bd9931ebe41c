"""mini: the miniature Z-Image that ships with the project, what it was trained on, and how it is measured."""
