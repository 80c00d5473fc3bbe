"""Placing: which node and which devices a replica gets.

Free capacity is kept as arrays, refreshed where the board changed. Scores rank nodes per class of requests;
fragmentation is what a placement costs the work that usually arrives.
"""
