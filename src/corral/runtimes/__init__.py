"""The kind `runtime`: work that builds a Python environment, and the runtimes that come of it."""
