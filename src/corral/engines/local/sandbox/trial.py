"""Starts a sandbox as the engine does and looks around in it; `probe` runs this file as a program.

It prints one line of JSON: the step at which it failed, the error's number, and what was said; or nothing of
these when it worked.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[4]))

from corral.engines.local.files import user_files
from corral.engines.local.sandbox import launch
from corral.engines.local.sandbox.bubblewrap import (
    Mode,
    Sandbox,
    SandboxRefused,
    base_environment,
    look_at_host,
)
from corral.engines.local.sandbox.namespaces import NamespaceFailed, open_attempt

_NOBODY = 65534
# Ends with 1 when another namespace could be made, which must not be.
_LOOK = "cat /proc/self/status && ! unshare --user true 2>/dev/null"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="corral-probe-") as directory:
        print(json.dumps(_try(directory)))


def _try(directory: str) -> dict[str, object]:
    mode = Mode.ROOT if os.geteuid() == 0 else Mode.USER
    uid, gid = (_NOBODY, _NOBODY) if mode is Mode.ROOT else (os.getuid(), os.getgid())
    for name in ("shm", "workspace"):
        Path(directory, name).mkdir()
        # Under the server's umask nobody else could enter it.
        os.chown(Path(directory, name), uid, gid)
    try:
        with user_files.opened_directory(directory) as opened:
            user_files.status(opened, "workspace")
    except OSError as error:
        return {"step": "files", "said": error.strerror or str(error)}
    try:
        host = look_at_host()
    except SandboxRefused as refused:
        return {"step": "programs", "said": str(refused)}
    sandbox = Sandbox(
        mode, uid, gid, "probe", ("sh", "-c", _LOOK), f"{directory}/workspace", f"{directory}/shm", tmp_mib=1
    )
    read, write = os.pipe()
    try:
        attempt = open_attempt(mode, sandbox.shm, 1, out_door=True)
        replica = launch.start(host, sandbox, attempt, base_environment(sandbox), stdio=(0, write, write))
    except NamespaceFailed as failed:
        return {"step": "namespaces", "number": failed.number, "said": failed.step}
    except SandboxRefused as refused:
        os.close(write)
        return {"step": "sandbox", "said": _rest(read) or str(refused)}
    os.close(write)
    replica.release()
    message = _rest(read)
    code = os.waitstatus_to_exitcode(os.waitpid(replica.pid, 0)[1])
    if code == 1:
        return {"step": "inside", "said": "another user namespace can be made in it"}
    if code:
        return {"step": "sandbox", "said": f"its command ended with {code}: {message}"}
    return {} if _is_harmless(message) else {"step": "inside", "said": "capabilities are left in it"}


def _is_harmless(status: str) -> bool:
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    capabilities = (values.get(name, "1") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    return not any(int(value, 16) for value in capabilities) and values.get("NoNewPrivs") == "1"


def _rest(fd: int) -> str:
    with os.fdopen(fd, "rb") as file:
        return file.read().decode("utf-8", "replace").strip()


if __name__ == "__main__":
    main()
