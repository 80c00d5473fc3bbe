"""The client that API commands use, and times as people write and read them."""

import re
from datetime import UTC, datetime, timedelta

from corral_sdk import Client

from corral.cli.refusals import CommandError

__all__ = ["ask_name", "connect", "instant", "shown_time"]

_AGO = re.compile(r"(\d{1,6})\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def connect() -> Client:
    """The Corral that CORRAL_URL, CORRAL_HOME or the saved login names, or the one on this machine."""
    client = Client()
    if client.endpoint.token is None:
        raise CommandError(
            f"You are not signed in to {client.endpoint.url}.",
            remedy=f"Sign in: corral login --url {client.endpoint.url}, or set CORRAL_TOKEN.",
        )
    return client


def shown_time(time: datetime | None) -> str:
    """In this machine's zone, to the second."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M:%S") if time else ""


def instant(text: str | None, option: str, *, future: bool = False) -> datetime | None:
    """A time as people give it: 2026-11-15, 2026-11-15T10:00, or 90m, 12h, 7d, 2w from now (or ago)."""
    if text is None:
        return None
    duration = _AGO.fullmatch(text.strip())
    if duration:
        distance = timedelta(**{_UNITS[duration[2]]: int(duration[1])})
        return datetime.now(UTC) + (distance if future else -distance)
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CommandError(
            f"{option} {text!r} is no time.", remedy="Write 2026-11-15, 2026-11-15T10:00, 90m, 12h, 7d or 2w."
        ) from None
    # A time without a zone is meant as the clock on the wall.
    return time.astimezone(UTC)


def ask_name(what: str, name: str, sure: bool) -> None:
    """Before something shared is destroyed: its name has to be typed, unless --yes was given."""
    if sure:
        return
    import typer

    typed = typer.prompt(
        f"This deletes {what} {name!r}. Type its name to go on", default="", show_default=False
    )
    if typed.strip() != name:
        raise CommandError(
            "Nothing was deleted.", "The name does not match.", "Use --yes to skip the question."
        )
