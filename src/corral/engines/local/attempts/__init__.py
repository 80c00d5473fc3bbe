"""Attempts from Corral's side: which are there, what their supervisors say, and how they are reached.

Nothing in this room is needed after a restart: all of it is found again from records and supervisors.
"""
