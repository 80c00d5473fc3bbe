"""Corral's client, with the standard library only, so that any workload can carry it.

from corral_sdk import Client

client = Client()                      # finds the Corral of this machine, or the saved login
print(client.session.get().user.name)

Inside of work that Corral runs, the module itself speaks to it: `report`, `checkpoint`, `done`. That part is
small; the client is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from corral_sdk._inside import checkpoint, done, leaving, on_leave, report, resume_path, resuming
from corral_sdk._version import __version__

if TYPE_CHECKING:
    from corral_sdk import models
    from corral_sdk._client import Client
    from corral_sdk._decode import decode, encode
    from corral_sdk._endpoint import (
        Endpoint,
        SavedLogin,
        find_endpoint,
        forget_login,
        save_login,
        saved_logins,
    )
    from corral_sdk._problems import (
        CorralError,
        FieldProblem,
        NotConfiguredError,
        Problem,
        UnexpectedAnswerError,
        UnreachableError,
        UntrustedError,
    )
    from corral_sdk._resource import UNCHANGED, Page
    from corral_sdk._sign_in import SignedIn, sign_in
    from corral_sdk._streams import Connection, Execution, LostError

__all__ = [
    "UNCHANGED",
    "Client",
    "Connection",
    "CorralError",
    "Endpoint",
    "Execution",
    "FieldProblem",
    "LostError",
    "NotConfiguredError",
    "Page",
    "Problem",
    "SavedLogin",
    "SignedIn",
    "UnexpectedAnswerError",
    "UnreachableError",
    "UntrustedError",
    "__version__",
    "checkpoint",
    "decode",
    "done",
    "encode",
    "find_endpoint",
    "forget_login",
    "leaving",
    "models",
    "on_leave",
    "report",
    "resume_path",
    "resuming",
    "save_login",
    "saved_logins",
    "sign_in",
]

# Where the rest is, until somebody asks for it.
_LATER = {
    "_client": ("Client",),
    "_decode": ("decode", "encode"),
    "_endpoint": ("Endpoint", "SavedLogin", "find_endpoint", "forget_login", "save_login", "saved_logins"),
    "_problems": (
        "CorralError",
        "FieldProblem",
        "NotConfiguredError",
        "Problem",
        "UnexpectedAnswerError",
        "UnreachableError",
        "UntrustedError",
    ),
    "_resource": ("UNCHANGED", "Page"),
    "_sign_in": ("SignedIn", "sign_in"),
    "_streams": ("Connection", "Execution", "LostError"),
}


def __getattr__(name: str) -> Any:
    if name == "models":
        return import_module("corral_sdk.models")
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"corral_sdk.{module}"), name)
    raise AttributeError(f"module 'corral_sdk' has no attribute {name!r}")
