"""The scheduler: a snapshot in, a plan out; pure and deterministic."""
