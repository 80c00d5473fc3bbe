"""Corral: one pool from a pile of GPUs."""

__version__ = "0.1.0"
