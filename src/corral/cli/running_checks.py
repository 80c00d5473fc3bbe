"""What `corral doctor` asks a Corral that runs here, and what it would find out at its start."""

import http.client
import json
import os
import ssl
from collections.abc import Iterable
from typing import Any

from corral.cli.check import Check
from corral.engines.local.files.user_ids import FILE, UserIds
from corral.server.lock import running_corral
from corral.server.settings import Settings

_ANSWER_SECONDS = 10
_ANYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, not listened on


def running_checks(settings: Settings) -> Iterable[Check]:
    work = settings.home / "work"
    if os.geteuid() == 0 and work.is_dir():
        problem = UserIds(work, settings.first_uid).problem()
        if problem is not None:
            found, _, remedy = problem.partition(": no uid is given. ")
            yield Check(FILE, "missing", f"{found}: no work can start", remedy)
    if running_corral(settings.home) is not None:
        yield from _readiness(settings)


def _readiness(settings: Settings) -> Iterable[Check]:
    """What /readyz says: each thing that does not work by its name."""
    try:
        status, body = _ask(settings)
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield Check("Running", "missing", f"it does not answer: {error}", "Start it again: corral up")
        return
    if status == http.client.OK:
        yield Check("Running", "ok", "its loops do their work")
        return
    errors = body.get("errors") or [
        {
            "field": "Running",
            "message": str(body.get("detail", status)),
            "remedy": str(body.get("remedy", "")),
        }
    ]
    for one in errors:
        yield Check(str(one["field"]), "missing", str(one["message"]), str(one["remedy"]))


def _ask(settings: Settings) -> tuple[int, dict[str, Any]]:
    host = "127.0.0.1" if settings.host in _ANYWHERE else settings.host
    connection: http.client.HTTPConnection
    if settings.tls_certificate is not None:
        # It is this machine's own; whether others trust its certificate is another check.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            host, settings.port, timeout=_ANSWER_SECONDS, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, settings.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz", headers={"Host": settings.allowed_hosts[0]})
        answer = connection.getresponse()
        body = json.loads(answer.read(1024 * 1024))
        return answer.status, body if isinstance(body, dict) else {}
    finally:
        connection.close()
