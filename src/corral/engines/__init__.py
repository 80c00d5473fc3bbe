"""Where work runs: one small interface, an implementation per kind of place."""
