"""Live: the planner of a running control loop, fed with changes and asked questions in between.

Work that could not run even alone on the empty cluster leaves the queue here and comes back when nodes, pools
or quotas change.
"""
