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

__all__ = ["app", "run"]

INTERRUPTED = 130

_RUN = "Run Corral"
_ACCESS = "Sign in"
_PEOPLE = "Organisations and people"
_WORK = "Work"
_SCHEDULE = "Schedule"
_WATCH = "Watch and settle"


@dataclass(frozen=True)
class _Entry:
    module: str
    about: str
    panel: str


# Importing a command's module costs up to a second (Pydantic, Rich); listing it here costs nothing.
_COMMANDS = {
    "up": _Entry("up", "Start Corral on this machine.", _RUN),
    "doctor": _Entry("doctor", "Check what this machine has, what is missing and how to get it.", _RUN),
    "config": _Entry("config", "Show the settings and where each one came from.", _RUN),
    "db": _Entry("db", "Back up, restore and upgrade the database.", _RUN),
    "completion": _Entry("completion", "Print the script that completes this command in a shell.", _RUN),
    "version": _Entry("version", "Show the version.", _RUN),
    "login": _Entry("login", "Sign in to a Corral, here or elsewhere.", _ACCESS),
    "logout": _Entry("logout", "Forget the saved sign-in and revoke its token.", _ACCESS),
    "whoami": _Entry("whoami", "Show who you are and what you may do.", _ACCESS),
    "token": _Entry("tokens", "Personal access tokens: list, create, revoke.", _ACCESS),
    "ssh-key": _Entry("ssh_keys", "SSH public keys: list, add, remove.", _ACCESS),
    "runtime": _Entry("runtimes", "Python environments for your work: list, create, build, delete.", _ACCESS),
    "secret": _Entry("secrets", "Secrets for your work: set, list, delete.", _ACCESS),
    "run": _Entry("run", "Run a command on the cluster and show its output.", _WORK),
    "apply": _Entry("apply", "Submit work that is described in a file.", _WORK),
    "ps": _Entry("ps", "List what runs and what waits.", _WORK),
    "top": _Entry("top", "Show what running work uses.", _WORK),
    "logs": _Entry("logs", "Show what work wrote, or what it writes.", _WORK),
    "describe": _Entry("describe", "Show one workload and all that happened to it.", _WORK),
    "why": _Entry("why", "Say why work waits, and what would help.", _WORK),
    "exec": _Entry("exec", "Run a command inside running work.", _WORK),
    "port-forward": _Entry("port_forward", "Reach ports of running work from here.", _WORK),
    "stop": _Entry("stop", "Stop work.", _WORK),
    "suspend": _Entry("suspend", "Suspend work: it gives its place back.", _WORK),
    "resume": _Entry("resume", "Let work go on.", _WORK),
    "rm": _Entry("rm", "Delete work that is over.", _WORK),
    "org": _Entry("organisations", "The organisation tree: list, create, rename, move, delete.", _PEOPLE),
    "user": _Entry("users", "People: list, create, import, invite, grant, disable.", _PEOPLE),
    "role": _Entry("roles", "Roles and the permissions they are made of.", _PEOPLE),
    "queue": _Entry("queues", "Who is entitled to what: list, show, set.", _SCHEDULE),
    "flavor": _Entry("flavors", "Bundles to choose from: list, create, change, delete.", _SCHEDULE),
    "nodes": _Entry("nodes", "List the machines.", _SCHEDULE),
    "devices": _Entry("devices", "List the GPUs.", _SCHEDULE),
    "node": _Entry("node", "Take a machine out of use for new work, and into use again.", _SCHEDULE),
    "pool": _Entry("pools", "Nodes that are shared alike: list, create, change.", _SCHEDULE),
    "plan": _Entry("plan", "Show what the scheduler makes of a snapshot, and why work waits.", _SCHEDULE),
    "simulate": _Entry("simulate", "Replay work on a simulated cluster and compare policies.", _SCHEDULE),
    "audit": _Entry("audit", "Who did what, on what, when; search and export.", _WATCH),
    "metrics": _Entry("metrics", "What a workload reported: loss, accuracy and the like.", _WATCH),
    "samples": _Entry("samples", "What work used over time: cores, memory, GPUs.", _WATCH),
    "usage": _Entry("usage", "Who used how much: GPUs, cores and memory.", _WATCH),
    "settings": _Entry("settings", "Outgoing mail, registration, the first-day checklist.", _WATCH),
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
