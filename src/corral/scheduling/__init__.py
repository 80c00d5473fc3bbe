"""The scheduler: a snapshot in, a plan out; pure and deterministic.

The rooms, from the top: live, explaining, planning, actions, timing, cycle, ordering and validate, placing,
state. Imports point downward; each room says why it exists.
"""
