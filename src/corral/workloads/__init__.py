"""The one workload model: what people run, in which state it is, and why."""
