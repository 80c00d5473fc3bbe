"""How checked settings travel from the command to the parent and its children: an unlinked file, never argv.

Argv is visible to every user of the machine and the environment to every grandchild; a database password must
be in neither.
"""

import json
import os
import tempfile
from typing import Any

from corral.server.settings import Settings

__all__ = ["hand_over", "take_over"]


def hand_over(settings: Settings, command: str = "corral") -> int:
    """Writes the settings to an anonymous file and returns its inheritable descriptor.

    `command` is what one types in another terminal to reach this Corral.
    """
    payload = {
        "settings": settings.model_dump(mode="json"),
        "home": str(settings.home),
        "log": str(settings.log_path) if settings.log_path else None,
        "command": command,
        "host": settings.host,
        "port": settings.port,
        "public_url": settings.public_url,
        "local_url": settings.local_url,
        "is_loopback": settings.is_loopback,
        "database": settings.database_kind,
        "certificate": str(settings.tls_certificate) if settings.tls_certificate else None,
        "apps": _apps(settings),
    }
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(payload).encode())
        file.flush()
        descriptor = os.dup(file.fileno())
    os.set_inheritable(descriptor, True)
    return descriptor


def _apps(settings: Settings) -> dict[str, Any] | None:
    """What the gateway has to know; None where there are no apps."""
    if settings.apps_names is None:
        return None
    scheme, domain = settings.apps_names
    return {
        "port": settings.apps_port,
        "scheme": scheme,
        "domain": domain,
        "certificate": str(settings.tls_certificate) if settings.tls_certificate else None,
        "key": str(settings.tls_key) if settings.tls_key else None,
        "limits": {
            "connections": settings.connections,
            "per_address": settings.connections_per_address,
            "header_seconds": settings.header_seconds,
            "stalled_seconds": settings.stalled_seconds,
        },
    }


def take_over(descriptor: int) -> Settings:
    """Reads what `hand_over` wrote. Several children share the descriptor, so its position is left alone."""
    size = os.fstat(descriptor).st_size
    return Settings(**json.loads(os.pread(descriptor, size, 0))["settings"])
