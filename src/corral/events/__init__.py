"""What changed, for everyone who may see it: one resumable stream per browser."""
