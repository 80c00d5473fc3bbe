"""The installation: settings, checklist, facts, and the stream of changes."""

import json
import time
from builtins import list as items
from collections.abc import Iterator

from corral_sdk._decode import decode
from corral_sdk._problems import UnexpectedAnswerError, UnreachableError
from corral_sdk._resource import Resource
from corral_sdk._transport import API, Transport
from corral_sdk.models import (
    Checklist,
    Event,
    LoginOptions,
    MailSettings,
    RegistrationSettings,
    System,
)

__all__ = ["SettingsResource", "SystemResource", "events"]

_QUIET_SECONDS = 90.0
_LONGEST_WAIT_SECONDS = 10.0


class SystemResource(Resource):
    """The installation itself."""

    def get(self) -> System:
        return self._get(System, "system")

    def checklist(self) -> Checklist:
        return self._get(Checklist, "checklist")

    def login_options(self) -> LoginOptions:
        """What can be known before signing in."""
        return self._get(LoginOptions, "login-options")


class SettingsResource(Resource):
    """What an administrator changes while Corral runs."""

    def mail(self) -> MailSettings:
        return self._get(MailSettings, "settings", "mail")

    def registration(self) -> RegistrationSettings:
        return self._get(RegistrationSettings, "settings", "registration")


def events(transport: Transport, last_event_id: str | None = None) -> Iterator[Event]:
    """Changes the caller may see, for ever; reconnects by itself and goes on after the last one seen."""
    wait = 0.0
    while True:
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        try:
            with transport.stream(f"{API}/events", headers=headers, timeout_seconds=_QUIET_SECONDS) as lines:
                wait = 0.0
                for event in _parse(line.decode("utf-8").rstrip("\r\n") for line in lines):
                    last_event_id = event.id or last_event_id
                    yield event
        except (UnreachableError, OSError):
            wait = min(_LONGEST_WAIT_SECONDS, wait * 2 or 0.5)
        time.sleep(wait)


def _parse(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    data: items[str] = []
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name:
                fields[name] = value
            continue
        if fields.get("event") in ("changed", "reset"):
            yield _event(fields, "\n".join(data))
        fields, data = {}, []


def _event(fields: dict[str, str], data: str) -> Event:
    identifier = fields.get("id", "")
    if fields["event"] == "reset":
        return Event(id=identifier, kind="reset")
    try:
        document = json.loads(data)
    except ValueError:
        raise UnexpectedAnswerError("An event is no JSON.") from None
    return decode(Event, {**document, "id": identifier, "object_id": document.get("id", "")})
