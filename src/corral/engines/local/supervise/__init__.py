"""The supervisor: one process per attempt that outlives Corral.

It keeps the lock, the control groups, the output and the records of an attempt. It runs without site packages
and without asyncio, forked from `forkserver`, because it is there once for each attempt.
"""
