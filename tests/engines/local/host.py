"""An engine in a process of its own that can be killed: starts what it is told and says so."""

import asyncio
import sys
from pathlib import Path

from tests.engines.local.places import LocalPlace


async def host(directory: Path, command: list[str]) -> None:
    place = LocalPlace(directory)
    await place.engine.start([place.sized("a", *command)])
    print("started", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(host(Path(sys.argv[1]), sys.argv[2:]))
