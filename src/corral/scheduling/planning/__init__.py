"""Planning: a snapshot and then changes go in, plans come out.

`PlannerState` keeps a cycle per pool between plans. A plan depends only on the present state, never on how
it came to be.
"""
