"""The nouns and refusals every other package speaks in. Pure: no I/O, imports nothing of ours."""
