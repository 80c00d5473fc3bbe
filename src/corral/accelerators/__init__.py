"""Talks to drivers: discovers devices. One file per vendor; a missing driver is an answer, not a failure."""
