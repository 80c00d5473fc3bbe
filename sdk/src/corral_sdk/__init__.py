"""Corral's client, with the standard library only."""

__version__ = "0.1.0"
