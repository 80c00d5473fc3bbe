"""The `corral` command: knows the names of its commands, and imports the module of the one that is used."""

import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from corral import __version__
from corral.cli.frame import new_app
from corral.cli.kinds import KINDS

__all__ = ["app", "run"]

INTERRUPTED = 130

_RUN = "Run Corral"
_ACCOUNT = "Your account"
_WORK = "Work"
_PEOPLE = "Organisations and people"
_CLUSTER = "Cluster and shares"
_RECORDS = "Records and settings"


@dataclass(frozen=True)
class _Entry:
    module: str
    about: str
    panel: str


def _of_kinds() -> dict[str, _Entry]:
    return {
        name: _Entry(command.module, command.about, _WORK)
        for kind in KINDS
        for name, command in kind.commands.items()
    }


# Importing a command's module costs up to a second (Pydantic, Rich); listing it here costs nothing.
_COMMANDS = {
    "up": _Entry("up", "Start Corral on this machine.", _RUN),
    "join": _Entry("join", "Make this machine another host of a Corral.", _RUN),
    "doctor": _Entry("doctor", "Check this machine: what works, what is missing, how to fix it.", _RUN),
    "config": _Entry("config", "Show the settings and where each one came from.", _RUN),
    "db": _Entry("db", "Back up, restore and upgrade the database.", _RUN),
    "completion": _Entry("completion", "Print a shell completion script.", _RUN),
    "version": _Entry("version", "Show the version.", _RUN),
    "login": _Entry("login", "Sign in to a Corral.", _ACCOUNT),
    "logout": _Entry("logout", "Sign out and revoke the saved token.", _ACCOUNT),
    "whoami": _Entry("whoami", "Show who you are and what you may do.", _ACCOUNT),
    "token": _Entry("tokens", "Manage your personal access tokens.", _ACCOUNT),
    "ssh-key": _Entry("ssh_keys", "Manage your SSH public keys.", _ACCOUNT),
    **_of_kinds(),
    "apply": _Entry("apply", "Submit work described in a file.", _WORK),
    "ps": _Entry("ps", "List running and waiting work.", _WORK),
    "top": _Entry("top", "Show what running work uses right now.", _WORK),
    "logs": _Entry("logs", "Show or follow the output of work.", _WORK),
    "describe": _Entry("describe", "Show one workload and its history.", _WORK),
    "why": _Entry("why", "Explain why work waits and what would help.", _WORK),
    "exec": _Entry("exec", "Run a command inside running work.", _WORK),
    "open": _Entry("open_app", "Open a port of running work in the browser.", _WORK),
    "port-forward": _Entry("port_forward", "Forward local ports to running work.", _WORK),
    "stop": _Entry("stop", "Stop work.", _WORK),
    "suspend": _Entry("suspend", "Suspend work and free what it holds.", _WORK),
    "resume": _Entry("resume", "Resume work that is suspended or has ended.", _WORK),
    "rm": _Entry("rm", "Delete work that has ended.", _WORK),
    "metrics": _Entry("metrics", "Show metrics that work reported, such as loss.", _WORK),
    "samples": _Entry("samples", "Show CPU, memory and GPU use over time.", _WORK),
    "secret": _Entry("secrets", "Manage secrets for your work.", _WORK),
    "org": _Entry("organisations", "Manage the organisation tree.", _PEOPLE),
    "user": _Entry("users", "Manage people, their roles, invitations and join codes.", _PEOPLE),
    "role": _Entry("roles", "Manage roles and their permissions.", _PEOPLE),
    "queue": _Entry("queues", "Show and change guarantees, limits and weights.", _CLUSTER),
    "flavor": _Entry("flavors", "Manage flavors: bundles of CPU, memory and GPUs.", _CLUSTER),
    "node": _Entry("nodes", "List, show, cordon and uncordon nodes.", _CLUSTER),
    "device": _Entry("devices", "List the GPUs.", _CLUSTER),
    "zone": _Entry("zones", "Manage zones: machines, clusters, simulations.", _CLUSTER),
    "host": _Entry("hosts", "Manage the hosts that run Corral.", _CLUSTER),
    "pool": _Entry("pools", "Manage pools of nodes.", _CLUSTER),
    "plan": _Entry("plan", "Run the scheduler on a snapshot and explain its decisions.", _CLUSTER),
    "simulate": _Entry("simulate", "Replay work on a simulated cluster and compare policies.", _CLUSTER),
    "usage": _Entry("usage", "Show GPU, CPU and memory use by person or organisation.", _RECORDS),
    "history": _Entry("history", "Show shares, changes of the cluster and arrivals over time.", _RECORDS),
    "audit": _Entry("audit", "Search and export the audit log.", _RECORDS),
    "settings": _Entry("settings", "Manage mail, sign-up and the first-day checklist.", _RECORDS),
}


class LazyGroup(TyperGroup):
    """Lists commands without importing them; imports one when it is run or completed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        entry = _COMMANDS.get(cmd_name)
        return TyperCommand(name=cmd_name, help=entry.about) if entry else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, *rest = args
        entry = _COMMANDS.get(name)
        if entry is None:
            if ctx.resilient_parsing:
                return None, None, rest
            close = get_close_matches(name, _COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise typer.BadParameter(f"there is no command {name!r}.{hint}", ctx=ctx)
        command = typer.main.get_command(import_module(f"corral.cli.{entry.module}").app)
        command.name = name
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        from corral.cli.output import warn

        try:
            return super().invoke(ctx)
        except typer.Abort:  # Ctrl-C, the end of input or "no" at a question
            warn("")
            warn("Nothing was changed.")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            warn("")
            warn("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        width = max(len(name) for name in _COMMANDS)
        for panel in dict.fromkeys(entry.panel for entry in _COMMANDS.values()):
            with formatter.section(panel):
                rows = [(name, entry.about) for name, entry in _COMMANDS.items() if entry.panel == panel]
                formatter.write_dl([(name.ljust(width), about) for name, about in rows])


# Plain help: Rich would take as long to import as all the rest of this command.
app = new_app(name="corral", cls=LazyGroup)


def _show_version(asked: bool) -> None:
    if asked:
        from corral.cli.output import say

        say(f"corral {__version__}")
        raise typer.Exit


@app.callback()
def corral(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Corral makes one pool from a pile of GPUs.

    Start it with: corral up. On the machine where it runs, the person who started it needs no sign-in.
    """


def run() -> None:
    """The entry point: runs the command and prints what it refuses in the API's words."""
    try:
        app()
    except BrokenPipeError:  # whoever reads our output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + 13)
    except Exception as error:
        from corral.cli.refusals import explain

        if not explain(error, as_json=False):
            raise
        sys.exit(1)
