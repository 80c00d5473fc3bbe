"""What Corral costs: `python -m benchmarks.api`, `python -m benchmarks.startup`."""
