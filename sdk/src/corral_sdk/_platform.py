"""The installation: settings, checklist, facts, and the stream of changes."""

import json
import time
from builtins import list as items
from collections.abc import Generator, Iterator

from corral_sdk._decode import decode
from corral_sdk._problems import UnexpectedAnswerError, UnreachableError
from corral_sdk._resource import Resource, given
from corral_sdk._transport import API, Transport
from corral_sdk.models import (
    Checklist,
    Event,
    LoginOptions,
    MailSettings,
    MailTested,
    RegistrationSettings,
    System,
)

__all__ = ["SettingsResource", "SystemResource", "events"]

_QUIET_SECONDS = 90.0
_FIRST_WAIT_SECONDS = 0.5
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

    def set_mail(
        self,
        *,
        host: str | None,
        port: int = 587,
        encryption: str = "starttls",
        user_name: str | None = None,
        password: str | None = None,
        sender: str | None = None,
        generation: int | None = None,
    ) -> MailSettings:
        """Sets the mail server. `password` None keeps the stored one, empty forgets it."""
        body = given(
            host=host,
            port=port,
            encryption=encryption,
            user_name=user_name,
            password=password,
            sender=sender,
        )
        return self._change("PUT", MailSettings, "settings", "mail", body=body, generation=generation)

    def test_mail(self, to: str) -> MailTested:
        """Sends a test mail now; raises `Problem` with the mail server's error."""
        return decode(MailTested, self._act("settings", "mail", "test", body={"to": to}))

    def registration(self) -> RegistrationSettings:
        return self._get(RegistrationSettings, "settings", "registration")

    def set_registration(
        self, *, sign_up: bool, organisation_id: str, generation: int | None = None
    ) -> RegistrationSettings:
        body = given(sign_up=sign_up, organisation_id=organisation_id)
        path = ("settings", "registration")
        return self._change("PUT", RegistrationSettings, *path, body=body, generation=generation)


def events(transport: Transport, last_event_id: str | None = None) -> Generator[Event, None, None]:
    """Changes the caller may see, endlessly; reconnects and continues after the last one seen."""
    wait = _FIRST_WAIT_SECONDS
    while True:
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        try:
            with transport.stream(f"{API}/events", headers=headers, timeout_seconds=_QUIET_SECONDS) as lines:
                wait = _FIRST_WAIT_SECONDS
                for event in _parse(line.decode("utf-8").rstrip("\r\n") for line in lines):
                    last_event_id = event.id or last_event_id
                    if event.kind != "ready":
                        yield event
        except (UnreachableError, OSError):
            wait = min(_LONGEST_WAIT_SECONDS, wait * 2)
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
        if fields.get("event") in ("ready", "changed", "reset"):
            yield _event(fields, "\n".join(data))
        fields, data = {}, []


def _event(fields: dict[str, str], data: str) -> Event:
    identifier = fields.get("id", "")
    if fields["event"] != "changed":
        return Event(id=identifier, kind=fields["event"])
    try:
        document = json.loads(data)
    except ValueError:
        raise UnexpectedAnswerError("An event is not valid JSON.") from None
    return decode(Event, {**document, "id": identifier, "object_id": document.get("id", "")})
