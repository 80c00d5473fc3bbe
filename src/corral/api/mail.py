"""Outgoing mail, as those who send it see it; `corral.platform` provides it."""

from typing import Protocol

from corral.core.refusals import Refusal


class MailNotSentError(Exception):
    """Why no mail went out, in words for whoever wanted it sent."""


class Mailer(Protocol):
    async def send(self, to: str, subject: str, text: str) -> None:
        """Hands the mail to the mail server; raises `MailNotSentError` otherwise."""


class MailRefused(Refusal):
    slug, title, status = "mail-not-sent", "The mail was not sent", 422
