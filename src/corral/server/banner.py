"""What `corral up` says on the terminal. Standard library only; colour only where there is a terminal."""

import contextlib
import os
import sys
from typing import Any

__all__ = [
    "say_error",
    "say_progress",
    "say_ready",
    "say_recovered",
    "say_restart",
    "say_stopped",
    "say_stopping",
]

_LABEL_WIDTH = 12


def say_progress(what: str) -> None:
    _out(_dim(f"{what} …"))


def say_ready(handed_over: dict[str, Any], report: dict[str, Any]) -> None:
    """The banner: where to go, who to be, where things are, and how to stop."""
    console, link = str(report["console"]), report.get("login_link")
    lines = ["", _bold("Corral is ready."), ""]
    if link:
        lines += [_row("Console", _strong(str(link))), _row("", _dim("opens once, without a password"))]
    else:
        lines += [_row("Console", _strong(console))]
    if report.get("admin_name"):
        lines.append(_row("Later", f"{console}  as {_bold(str(report['admin_name']))}"))
    if report.get("password_file"):
        lines.append(_row("Password", f"in {report['password_file']}"))
    lines += [
        _row("Run work", _strong(f"{handed_over['command']} run -- echo hello")),
        _row("", _dim("in another terminal; it is queued, placed and run, and its output comes back")),
        _row("Data", str(handed_over["home"])),
    ]
    if handed_over.get("log"):
        lines.append(_row("Log", str(handed_over["log"])))
    if report.get("database"):
        lines.append(_row("Database", str(report["database"])))
    lines += [_row(label, text) for label, text in _machine_rows(report.get("machine") or {})]
    if handed_over.get("is_loopback") and not str(handed_over["public_url"]).startswith("https:"):
        ports = [handed_over["port"], *([handed_over["apps"]["port"]] if handed_over["apps"] else [])]
        tunnels = " ".join(f"-L {port}:127.0.0.1:{port}" for port in ports)
        lines += [
            "",
            _dim("From another machine, through an SSH tunnel:"),
            _dim(f"  ssh {tunnels} <user>@<this machine>"),
            _dim(f"  then open {console} there"),
        ]
    lines += ["", _dim("Ctrl-C stops Corral. Work goes on."), ""]
    _out("\n".join(lines))


def _machine_rows(machine: dict[str, Any]) -> list[tuple[str, str]]:
    if not machine:
        return []
    cpu = f"{machine['cpu_count']} x {machine['cpu_model']}"
    rows = [("CPU", cpu), ("Memory", f"{machine['memory_mib'] / 1024:.1f} GiB")]
    counted: dict[str, int] = {}
    for gpu in machine.get("gpus", []):
        name = f"{gpu['model']}, {gpu['memory_mib'] / 1024:.0f} GiB"
        counted[name] = counted.get(name, 0) + 1
    if counted:
        rows += [("GPUs" if not at else "", f"{n} x {name}") for at, (name, n) in enumerate(counted.items())]
    else:
        rows.append(("GPUs", "none: simulated"))
    return rows


def say_restart(what: str, wait_seconds: float) -> None:
    _err(f"{_yellow('!')} {what} It starts again in {wait_seconds:.1f} s.")


def say_recovered(what: str) -> None:
    _err(what)


def say_stopping() -> None:
    _out(_dim("\nStopping Corral. Ctrl-C again stops at once."))


def say_stopped(clean: bool, going_on: int) -> None:
    """`going_on` counts attempts of workloads that outlive Corral."""
    _out(
        "Corral has stopped."
        if clean
        else "Corral has stopped; a process did not end in time and was killed."
    )
    if going_on:
        work = "1 workload goes" if going_on == 1 else f"{going_on} workloads go"
        _out(f"{work} on without it and will be found again. To end them: corral up, then corral stop.")


def say_error(message: str, remedy: str) -> None:
    _err(f"{_red('Corral cannot run.')} {message}")
    if remedy:
        _err(f"  {remedy}")


def _row(label: str, text: str) -> str:
    return f"  {_dim(label.ljust(_LABEL_WIDTH))}{text}"


def _out(text: str) -> None:
    _write(1, text, sys.stdout.encoding)


def _err(text: str) -> None:
    _write(2, text, sys.stderr.encoding)


def _write(descriptor: int, text: str, encoding: str) -> None:
    # A terminal that has gone away must not keep Corral from stopping in order.
    with contextlib.suppress(OSError):
        os.write(descriptor, f"{text}\n".encode(encoding, "replace"))


def _styled(text: str, code: str, is_terminal: bool) -> str:
    plain = not is_terminal or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not text.strip() else f"\033[{code}m{text}\033[0m"


def _bold(text: str) -> str:
    return _styled(text, "1", sys.stdout.isatty())


def _strong(text: str) -> str:
    return _styled(text, "1;36", sys.stdout.isatty())


def _dim(text: str) -> str:
    return _styled(text, "2", sys.stdout.isatty())


def _yellow(text: str) -> str:
    return _styled(text, "1;33", sys.stderr.isatty())


def _red(text: str) -> str:
    return _styled(text, "1;31", sys.stderr.isatty())
