"""The report of a simulation: one HTML file that needs nothing else."""
