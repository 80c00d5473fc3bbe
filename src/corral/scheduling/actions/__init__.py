"""Actions: allocate, consolidate, reclaim, preempt and evict_stale_gangs.

The three in the middle search for victims. A search rehearses the next cycle with each set of victims;
feasibility tests refuse what cannot work before it is rehearsed, and change no decision.
"""
