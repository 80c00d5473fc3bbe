"""The process that reads an archive: `python -I -S child.py SOURCES REQUEST`, the archive as standard input.

It gives up what it does not need before it looks at the first byte: memory, time, files, the rights of root.
Its answer is one line of JSON; that it ends without one is an answer too.
"""

import json
import os
import resource
import sys
from typing import Any

_SPARE_BYTES = 1024 * 1024
_MOST_DESCRIPTORS = 256  # two ways down to the deepest directory


def confine(request: dict[str, Any]) -> None:
    from corral.engines.local.kernel import syscalls

    limits = request["limits"]
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_CPU, limits["cpu_seconds"]),
        (resource.RLIMIT_FSIZE, limits["unpacked_bytes"] + _SPARE_BYTES),
        (resource.RLIMIT_NOFILE, _MOST_DESCRIPTORS),
    ):
        resource.setrlimit(what, (most, most))
    uid = request["uid"]
    if uid is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    # After the change of uid, which forgets it: whoever asked must be there to tidy up.
    syscalls.die_with_parent(request["parent"])
    syscalls.hide_from_others()
    syscalls.drop_capabilities()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    from corral.engines.archives.limits import BadArchive, Form, Limits, UnreadableArchive
    from corral.engines.archives.reader import Reader, check
    from corral.engines.archives.writing import unpack

    limits, form = Limits(**request["limits"]), Form(request["form"])
    confine(request)
    try:
        with os.fdopen(0, "rb", closefd=False) as file:
            if request["target"] is None:
                found = check(file, form, limits)
            else:
                found = unpack(Reader(file, form, limits), request["target"])
    except BadArchive as error:
        return {"refused": str(error), "unreadable": isinstance(error, UnreadableArchive)}
    except MemoryError:
        return {"exhausted": True}
    except OSError as error:
        return {"errno": error.errno or 0}
    return {"entries": found.entries, "unpacked_bytes": found.unpacked_bytes}


def main() -> None:
    sys.path.append(sys.argv[1])
    os.umask(0o022)
    text = json.dumps(answer(json.loads(sys.argv[2])))
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
