"""The loop that rolls samples up and forgets old ones."""

from corral.control.loop import Done, Loop
from corral.control.term import Term
from corral.store.database import Database
from corral.usage.samples.sampler import Samples

PERIOD_SECONDS = 60.0
# Going through all series for what is old is enough so often.
_TURNS_BETWEEN = 60


def samples_loop(database: Database, samples: Samples) -> Loop:
    """One process at a time, every minute, in small transactions; what is done twice is done once."""
    turns = 0

    async def turn(_term: Term) -> Done:
        nonlocal turns
        more = await samples.tidy()
        if turns % _TURNS_BETWEEN == 0:
            await samples.forget()
        turns += 1
        return Done(things=0, more=more)

    return Loop("samples", database, turn, PERIOD_SECONDS)
