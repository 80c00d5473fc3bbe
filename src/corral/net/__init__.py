"""Connections, whatever is spoken on them: who may have how many and for how long, TLS, descriptors."""
