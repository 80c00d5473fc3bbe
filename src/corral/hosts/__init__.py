"""Hosts of one Corral: machines with a data directory each, on one database and with the same keys."""
