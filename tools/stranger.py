"""The environment of every check: that of a machine on which nobody has worked before.

The home is empty. PATH has Python, Node and the system's own programs; what somebody once installed by hand
is not there. Of the variables only those below are passed on: how package registries are reached, the caches
under `$CORRAL_CACHE`, and what a person tells the tests. Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SYSTEM_PATH = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
PASSED = re.compile(
    # proxies, and the certificates that are believed
    r"(?i:(http|https|all|no)_proxy)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    # where packages come from
    r"|PIP_(CERT|CONFIG_FILE|DEFAULT_TIMEOUT|EXTRA_INDEX_URL|FIND_LINKS|INDEX_URL|NO_INDEX|PROXY|TRUSTED_HOST)"
    r"|UV_(CONFIG_FILE|DEFAULT_INDEX|EXTRA_INDEX_URL|FIND_LINKS|HTTP_TIMEOUT|INDEX\w*|INSECURE_HOST|NATIVE_TLS)"
    r"|UV_SYSTEM_CERTS|(?i:npm_config_(cafile|https?_?proxy|noproxy|proxy|registry|userconfig))|NETRC"
    # what a person tells the tests, and what describes the machine
    r"|CI|STORM_SEED|TERM|TMPDIR|TZ"
)
# Where a client keeps its settings in a home, and the variable that names the file from elsewhere.
CONFIGURATIONS = {
    "PIP_CONFIG_FILE": (".config/pip/pip.conf", ".pip/pip.conf"),
    "UV_CONFIG_FILE": (".config/uv/uv.toml",),
    "NPM_CONFIG_USERCONFIG": (".npmrc",),
}
# Where a proxy looks into TLS, its authority is in the system's store, not in those that uv and Node carry.
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CACHES = {"UV_CACHE_DIR": "uv", "npm_config_cache": "npm", "PIP_CACHE_DIR": "pip"}


def cache_folder(own: Mapping[str, str]) -> Path:
    """Where what is big is downloaded and built once, for every checkout of this person."""
    return Path(own.get("CORRAL_CACHE") or Path.home() / ".cache" / "corral").absolute()


def _node_programs() -> dict[str, str]:
    """Node itself and what is installed beside it, past the shims of version managers."""
    found = shutil.which("node")
    if found is None:
        return {}
    asked = subprocess.run([found, "-p", "process.execPath"], capture_output=True, text=True, check=False)
    node = Path(asked.stdout.strip() or found)
    programs = {"node": str(node)}
    for name in ("npm", "npx"):
        beside = node.with_name(name)
        if program := str(beside) if beside.exists() else shutil.which(name):
            programs[name] = program
    return programs


def _certificates() -> dict[str, str]:
    """As tools/prepare does."""
    if not SYSTEM_CERTIFICATES.is_file():
        return {}
    return {"UV_SYSTEM_CERTS": "true", "NODE_EXTRA_CA_CERTS": str(SYSTEM_CERTIFICATES)}


def _configurations(home: Path) -> dict[str, str]:
    found = {}
    for variable, places in CONFIGURATIONS.items():
        for place in places:
            if (home / place).is_file():
                found[variable] = str(home / place)
                break
    return found


@contextmanager
def strangers_environment(own: Mapping[str, str] = os.environ) -> Iterator[dict[str, str]]:
    """The variables of one check; its home goes with it."""
    with tempfile.TemporaryDirectory(prefix="corral-stranger-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        folder.chmod(0o755)  # tests under other uids have the same PATH
        home, programs = folder / "home", folder / "bin"
        home.mkdir(mode=0o700)
        programs.mkdir(mode=0o755)
        python = getattr(sys, "_base_executable", sys.executable)
        for name, program in {"python3": python, **_node_programs()}.items():
            (programs / name).symlink_to(program)
        cache = cache_folder(own)
        yield {
            **_certificates(),
            **_configurations(Path.home()),
            **{name: value for name, value in own.items() if PASSED.fullmatch(name)},
            **{variable: str(cache / name) for variable, name in CACHES.items()},
            "CORRAL_CACHE": str(cache),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join((str(programs), *SYSTEM_PATH)),
        }
