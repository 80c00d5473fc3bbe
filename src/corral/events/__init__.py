"""What changed, told to whoever may see it: one stream per browser, resumable."""
