"""Timing: reservations, holds, and what is known about run times.

Work that cannot start now may get a time and places that later work must not push back; capacity that was
evicted for somebody is held until they start.
"""
