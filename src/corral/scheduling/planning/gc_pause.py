"""The collector of cyclic garbage is paused while a plan is made.

A plan makes many small objects that live until it is done and hardly any garbage: the collector would walk
over all of them again and again, and find nothing. Where others paused it already, it stays paused.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
