"""State: nodes, devices, queues and workloads while a cycle runs.

The board changes only by four moves, each logged and undoable, so that a rehearsal costs what it changes and
leaves nothing behind. Counts, indexes and numbers of nodes follow the board.
"""
