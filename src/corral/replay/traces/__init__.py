"""Readers of public traces, and of tables of one's own."""
