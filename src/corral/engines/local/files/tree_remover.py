"""Trees of users are removed by a child of low priority, so that nothing else waits, however large they are.

Run as `python -I -S removing.py SOURCES DIRECTORY NAME`. It goes on if Corral ends, and what is left of it
after a power cut is removed at the next start.
"""

import asyncio
import os
import sys
from pathlib import Path

_FEW = 256
_GENTLE = 19
_SIDE_BY_SIDE = 2


class Remover:
    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def remove(self, directory: Path, name: str) -> None:
        """Removes what has this name in a directory of ours; OSError in words if it cannot."""
        if await asyncio.to_thread(_remove_few, directory, name):
            return
        async with self._places:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                __file__,
                str(Path(__file__).parents[4]),
                str(directory),
                name,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            _, message = await child.communicate()
        if child.returncode != 0:
            words = message.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise OSError(child.returncode or 0, words[:200] or "the removal was ended")


def _remove_few(directory: Path, name: str) -> bool:
    """At once where there is little; False if there is more."""
    from corral.engines.local.files import user_files

    with user_files.opened_directory(directory) as parent:
        if not user_files.is_directory(parent, name):
            user_files.remove(parent, name)
            return True
        try:
            with user_files.opened_directory(name, parent) as tree:
                for _ in user_files.walk(tree, _FEW):
                    pass
        except OSError:  # more, or closed to us, or moved meanwhile
            return False
        user_files.remove(parent, name)
        return True


def main() -> None:
    sources, directory, name = sys.argv[1:]
    sys.path.append(sources)
    from corral.engines.local.files import user_files

    os.nice(_GENTLE)
    try:
        with user_files.opened_directory(directory) as parent:
            user_files.remove(parent, name)
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
