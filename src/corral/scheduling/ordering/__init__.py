"""Ordering: whose turn it is, in the normal order and from its end.

Keys are tuples of integers. Waiting workloads that ask for the same form one class, so that a cycle looks at
one of each class; the indexes survive between cycles.
"""
