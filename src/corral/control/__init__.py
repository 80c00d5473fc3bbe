"""The loops that make desired and actual meet. One loop class for all."""
