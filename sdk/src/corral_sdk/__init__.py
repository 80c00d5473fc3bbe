"""Corral's client, with the standard library only, so that any workload can carry it.

from corral_sdk import Client

client = Client()                      # finds the Corral of this machine, or the saved login
print(client.session.get().user.name)
"""

from corral_sdk import models
from corral_sdk._client import Client
from corral_sdk._decode import decode, encode
from corral_sdk._endpoint import Endpoint, SavedLogin, find_endpoint, forget_login, save_login, saved_logins
from corral_sdk._inside import checkpoint, done, leaving, on_leave, report, resume_path, resuming
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
from corral_sdk._version import __version__

__all__ = [
    "UNCHANGED",
    "Client",
    "CorralError",
    "Endpoint",
    "FieldProblem",
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
