"""Where things lie. Records on disk in the data directory, sockets under a short runtime directory."""

import re

SPEC = "spec.json"
LOCK = "lock"
BEGUN = "begun.json"
COMMANDS = "commands"
SUPERVISOR_LOG = "supervisor.log"
CONTROL_SOCKET = "control.sock"
WORKLOAD_SOCKET = "workload.sock"
INSIDE_RUNTIME = "/run/corral"

# Names become directories and parts of paths of sockets.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}\Z")


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None


def attempt_name(workload: str, attempt: int) -> str:
    return f"{workload}-{attempt}"


def exit_name(index: int) -> str:
    return f"exit-{index}.json"


def output_name(index: int) -> str:
    return f"output-{index}"


def said_name(index: int) -> str:
    return f"said-{index}"


def forgotten_name(index: int) -> str:
    return f"forgotten-{index}"


def door_group_name(attempt: str) -> str:
    return f"{attempt}-door"


def group_name(attempt: str, index: int) -> str:
    return f"{attempt}-{index}"
