"""From a start to a supervisor: refusals, the intent, the workspace, and whose start comes next.

The only room that brings something to life; the rest of the engine finds and follows it.
"""
