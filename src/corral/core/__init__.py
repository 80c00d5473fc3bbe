"""The nouns and refusals that every other package uses. Pure: no I/O, no imports from other packages."""
