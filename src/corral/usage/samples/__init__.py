"""Samples of nodes, devices and workloads over time: stored as they come, rolled up, forgotten in the end."""
