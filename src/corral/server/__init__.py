"""The application: settings, start-up, what is served."""
