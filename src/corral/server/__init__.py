"""The application: settings, start-up, the parent of `corral up` and its children."""
