"""A turn waits a moment for what it began, and not again for what is late already."""

import asyncio

from corral.control.errands import Errands
from corral.control.troubles import Troubles
from corral.core.steps import Step


async def test_what_is_late_is_not_waited_for_again_and_tells_when_it_ends() -> None:
    ended: list[str] = []
    loop = asyncio.get_running_loop()
    errands = Errands(Troubles(), loop.time, lambda: ended.append("late"))
    released = asyncio.Event()
    assert errands.begin("w1", Step.SIGNAL, released.wait)
    assert not errands.begin("w1", Step.SIGNAL, released.wait), "it is under way"
    await errands.wait(0.05)
    began = loop.time()
    await errands.wait(30)
    assert loop.time() - began < 10
    released.set()
    async with asyncio.timeout(10):
        while not ended:  # noqa: ASYNC110 - another task ends
            await asyncio.sleep(0.01)
    await errands.wait(30)
    assert errands.begin("w1", Step.SIGNAL, released.wait), "it is over, and may be asked again"
    await errands.cancel()
