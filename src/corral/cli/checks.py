"""What `corral doctor` looks at. Each check is a function that answers; none of them changes anything."""

import os
import platform
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corral.accelerators.machine import detect_machine
from corral.cli.check import Check
from corral.engines.local.files.quotas import find_quotas
from corral.engines.local.kernel.cgroup_roots import missing_limits
from corral.engines.local.machine.bundled_tools import find_uv
from corral.engines.local.sandbox import probe
from corral.net.tls import TlsError, server_context
from corral.server.lock import running_corral
from corral.server.ports import PortError, listen, listeners_on
from corral.server.settings import Settings

__all__ = ["development_checks", "machine_checks", "settings_checks"]

LEAST_PYTHON = (3, 11)
LEAST_NODE = 20
LEAST_SQLITE = (3, 35, 0)
RENEW_BEFORE = timedelta(days=14)
_GIB = 1024**3
CONSOLE = Path(__file__).parents[1] / "server" / "console" / "index.html"


def machine_checks() -> Iterable[Check]:
    """What this machine has, whatever the settings say."""
    yield _python()
    yield _sqlite()
    yield _console()
    yield _sandbox()
    yield _cgroups()
    yield _uv()
    yield from _machine()


def settings_checks(settings: Settings) -> Iterable[Check]:
    """Whether the places that the settings name can be used."""
    yield _home(settings.home)
    yield _disk(settings.home)
    yield _disk_limits(settings.home)
    yield _port(settings)
    if settings.tls_certificate and settings.tls_key:
        yield _certificate(settings.tls_certificate, settings.tls_key)
    yield _database(settings)


def development_checks() -> Iterable[Check]:
    """What only building and testing Corral needs."""
    yield _node()
    yield _program("gcc", "compiles a driver for the tests", "apt install gcc")
    yield _chromium()
    yield _postgresql_server()


def _python() -> Check:
    version = platform.python_version()
    if sys.version_info[:2] >= LEAST_PYTHON:
        return Check("Python", "ok", f"{version} ({sys.executable})")
    return Check("Python", "missing", version, "Install Python 3.11 or newer.")


def _sqlite() -> Check:
    if sqlite3.sqlite_version_info >= LEAST_SQLITE:
        return Check("SQLite", "ok", sqlite3.sqlite_version)
    remedy = "Use a Python built with SQLite 3.35 or newer, or PostgreSQL (database_url)."
    return Check("SQLite", "missing", sqlite3.sqlite_version, remedy)


def _console() -> Check:
    if CONSOLE.exists():
        return Check("Console", "ok", "built")
    return Check(
        "Console", "warn", "not built: only the API answers", "Build it: make console (needs Node 20)."
    )


def _sandbox() -> Check:
    problem = probe.ask()
    if problem is not None:
        return Check("Sandbox", "warn", f"workloads cannot be isolated: {problem.found}", problem.remedy)
    kind = "a uid for every person" if os.geteuid() == 0 else "one uid for everyone"
    return Check("Sandbox", "ok", f"works ({kind}; {_version('bwrap', '--version')})")


def _cgroups() -> Check:
    missing = missing_limits()
    if missing:
        found = f"{', '.join(missing)} of work can be neither limited nor measured"
        return Check(
            "cgroups", "warn", f"{found}: only work of one trusted person is accepted", _how_to_get_them()
        )
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return Check("cgroups", "ok", "version 2")
    hybrid = " (version 2 beside it)" if (root / "unified").is_dir() else ""
    return Check("cgroups", "ok", f"version 1{hybrid}")


def _uv() -> Check:
    found = find_uv()
    if found is not None:
        return Check("uv", "ok", f"{_version(str(found), '--version')} ({found})")
    remedy = f"Install it where Corral is installed: {sys.executable} -m pip install uv"
    return Check("uv", "warn", "not installed: no runtime can be built", remedy)


def _how_to_get_them() -> str:
    if os.geteuid() == 0:
        return "Mount /sys/fs/cgroup so that it can be written; in a container, hand it a group of its own."
    if Path("/run/systemd/system").is_dir():
        return "Start it with a group of its own: systemd-run --user --scope -p Delegate=yes corral up"
    return "Run Corral as root, or let root hand over a group (docs/local-engine.md, Limits)."


def _machine() -> Iterable[Check]:
    machine = detect_machine()
    yield Check("CPU", "ok", f"{machine.cpu_count} x {machine.cpu_model}")
    yield Check("Memory", "ok", f"{machine.memory_mib / 1024:.1f} GiB")
    if machine.gpu_driver:
        yield Check("GPU driver", "ok", machine.gpu_driver)
    for gpu in machine.gpus:
        yield Check("GPU", "ok", f"{gpu.model}, {gpu.memory_mib} MiB, {gpu.uuid}")
    if machine.gpus and machine.gpu_note:
        yield Check("GPU", "warn", machine.gpu_note, "See nvidia-smi and the kernel log.")
    if not machine.gpus:
        note = machine.gpu_note or "The driver lists no device."
        yield Check("GPU", "warn", f"none: simulated. {note}", "With a GPU: install its NVIDIA driver.")


def _home(home: Path) -> Check:
    name, another = "Data directory", "Choose another: CORRAL_HOME or --home."
    if not home.exists():
        parent = next(each for each in home.parents if each.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return Check(name, "ok", f"{home} (will be created)")
        return Check(
            name, "missing", f"{home} cannot be created in {parent}", "Choose another: CORRAL_HOME or --home."
        )
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Check(name, "missing", f"{home} cannot be written", another)
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Check(
            name, "missing", f"{home}: others may write to it (mode {mode:04o})", f"chmod 700 {home}"
        )
    if mode & 0o077:
        return Check(name, "warn", f"{home}: others may read it (mode {mode:04o})", f"chmod 700 {home}")
    above = next(filter(_others_may_change, home.resolve().parents), None)
    if above is not None:
        return Check(name, "warn", f"others may change {above}, and with it {home}", another)
    return Check(name, "ok", f"{home} (mode {mode:04o})")


def _others_may_change(directory: Path) -> bool:
    """Whether somebody else could put another directory in the place of one in it."""
    found = directory.stat()
    shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return bool(shared) or found.st_uid not in (0, os.geteuid())


def _disk(home: Path) -> Check:
    place = next(each for each in (home, *home.parents) if each.exists())
    usage = shutil.disk_usage(place)
    found = f"{usage.free / _GIB:.1f} GiB free of {usage.total / _GIB:.1f} GiB"
    if usage.free < _GIB:
        return Check("Disk", "missing", found, "Free at least 1 GiB, or move CORRAL_HOME.")
    if usage.free < 5 * _GIB:
        return Check("Disk", "warn", found, "Free 5 GiB for images, volumes and backups.")
    return Check("Disk", "ok", found)


def _disk_limits(home: Path) -> Check:
    """Where the data directory will be, if it is not there yet."""
    place = next(path for path in (home, *home.absolute().parents) if path.is_dir())
    return Check("Disk limits", "ok", find_quotas(place).in_words)


def _port(settings: Settings) -> Check:
    name = f"Port {settings.port}"
    owners = listeners_on(settings.port)
    running = running_corral(settings.home)
    if running is not None and running in (pid for pid, _ in owners):
        return Check(name, "ok", f"Corral runs here (process {running})")
    try:
        listen(settings.host, settings.port).close()
    except PortError as error:
        return Check(name, "missing", str(error), error.remedy)
    return Check(name, "ok", "free")


def _certificate(certificate: Path, key: Path) -> Check:
    from cryptography import x509

    try:
        server_context(certificate, key)
    except TlsError as error:
        return Check("Certificate", "missing", str(error), error.remedy)
    (own, *_) = x509.load_pem_x509_certificates(certificate.read_bytes())
    ends = own.not_valid_after_utc
    found = f"{certificate}, valid until {ends:%Y-%m-%d}"
    if ends - datetime.now(UTC) < RENEW_BEFORE:
        return Check("Certificate", "warn", found, "Renew it, then start Corral again.")
    return Check("Certificate", "ok", found)


def _database(settings: Settings) -> Check:
    if settings.database_kind == "sqlite":
        return Check(
            "Database", "ok", "SQLite in the data directory" if not settings.database_url else "SQLite"
        )
    version = _version("pg_dump", "--version")
    shown = settings.shown("database_url")
    if version:
        return Check("Database", "ok", f"{shown} (client: {version})")
    remedy = "apt install postgresql-client"
    return Check("Database", "warn", f"{shown}; no pg_dump: corral db backup cannot work", remedy)


def _program(name: str, purpose: str, remedy: str) -> Check:
    version = _version(name, "--version")
    return Check(name, "ok", version) if version else Check(name, "warn", f"not found: {purpose}", remedy)


def _node() -> Check:
    version = _version("node", "--version")
    number = re.match(r"v(\d+)", version)
    if number and int(number[1]) >= LEAST_NODE:
        return Check("Node", "ok", version)
    found = f"{version} is too old" if version else "not found: builds the console"
    return Check("Node", "warn", found, "Install Node 20 or newer.")


def _chromium() -> Check:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        version = _version(name, "--version")
        if version:
            return Check("Chromium", "ok", version)
    return Check("Chromium", "warn", "not found: browser tests", "apt install chromium fonts-noto-cjk")


def _postgresql_server() -> Check:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    binary = shutil.which("postgres") or (str(installed[-1]) if installed else "")
    version = _version(binary, "--version") if binary else ""
    if version:
        return Check("PostgreSQL server", "ok", version)
    return Check("PostgreSQL server", "warn", "not found: database tests", "apt install postgresql")


def _version(program: str, flag: str) -> str:
    """The first line a program says about its version; empty where it is not there or does not answer."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        answer = subprocess.run(  # noqa: S603 - a program of the PATH, with a fixed flag
            [path, flag], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = (answer.stdout or answer.stderr).strip().splitlines()
    return lines[0] if lines else ""
