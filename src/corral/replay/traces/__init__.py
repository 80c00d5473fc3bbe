"""Readers of public traces, and of custom tables."""
