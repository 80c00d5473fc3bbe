"""Replays work on virtual time: the scheduler, the simulated engine, and what came of it."""
