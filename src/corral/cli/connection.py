"""The client that API commands use, and times as people write and read them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from corral_sdk import UNCHANGED, Client

from corral.cli.refusals import CommandError
from corral.core import quantities

__all__ = ["Until", "ask_name", "connect", "hours_until", "instant", "shown_time"]

Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="When it expires: 12h, 7d, 2026-12-31. [7d, or with your own role]"),
]


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
    """A time as people give it: 2026-11-15, 2026-11-15T10:00, or 90min, 12h, 7d, 2w from now (or ago)."""
    if text is None:
        return None
    try:
        distance = timedelta(seconds=quantities.seconds(text))
    except ValueError:
        return _calendar_time(text, option)
    except OverflowError:
        raise _no_time(text, option) from None
    try:
        return datetime.now(UTC) + (distance if future else -distance)
    except OverflowError:
        raise _no_time(text, option) from None


def hours_until(text: str | None) -> int:
    """For the API, which counts whole hours: rounded up, as nobody minds a few minutes more.

    Without a time the API chooses.
    """
    if text is None:
        chosen_by_the_api: int = UNCHANGED
        return chosen_by_the_api
    end = instant(text, "--until", future=True)
    assert end is not None
    return math.ceil((end - datetime.now(UTC)).total_seconds() / 3600)


def _calendar_time(text: str, option: str) -> datetime:
    try:
        # A time without a zone is meant as the clock on the wall.
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _no_time(text, option) from None


def _no_time(text: str, option: str) -> CommandError:
    return CommandError(
        f"{option} {text!r} is not a time.",
        remedy="Write 2026-11-15, 2026-11-15T10:00, 90min, 12h, 7d or 2w.",
    )


def ask_name(what: str, name: str, sure: bool) -> None:
    """Before something shared is destroyed: its name has to be typed, unless --yes was given."""
    if sure:
        return
    typed = typer.prompt(
        f"This deletes {what} {name!r}. Type its name to confirm", default="", show_default=False
    )
    if typed.strip() != name:
        raise CommandError(
            "Nothing was deleted.", "The name does not match.", "Use --yes to skip the question."
        )
