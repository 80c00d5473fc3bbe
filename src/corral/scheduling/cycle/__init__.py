"""Cycle: one pool with its board, queue tree and workloads, and the order in which an action visits them.

Everything that the actions share is here. The state survives between cycles and is updated by changes.
"""
