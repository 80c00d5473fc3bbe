"""Outgoing mail over SMTP, as the settings say at the moment of sending."""

import ssl
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

import structlog

from corral.api.mail import MailNotSentError
from corral.platform.models import MailSettings
from corral.platform.settings import mail_password, read_mail
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring, KeyringError

TIMEOUT_SECONDS = 15

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SmtpMailer:
    database: Database
    keyring: Keyring

    async def send(self, to: str, subject: str, text: str) -> None:
        """Hands one mail to the mail server; raises `MailNotSentError` with the error."""
        settings, password = await self.database.read(self._configured)
        if settings.host is None or settings.sender is None:
            raise MailNotSentError("No mail server is set up; an administrator does that under Settings.")
        message = _message(settings.sender, to, subject, text)
        message["Date"] = format_datetime(self.database.now())
        await _deliver(settings, password, message)
        log.info("mail sent", subject=subject)

    def _configured(self, transaction: Transaction) -> tuple[MailSettings, str | None]:
        try:
            return read_mail(transaction), mail_password(transaction, self.keyring)
        except KeyringError as error:
            raise MailNotSentError(f"The stored mail password cannot be read: {error}.") from error


def _message(sender: str, to: str, subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = Address("Corral", addr_spec=sender)
    message["To"] = _address(to)
    message["Subject"] = subject
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    return message


def _address(text: str) -> Address:
    try:
        return Address(addr_spec=text)
    except (ValueError, HeaderParseError) as error:
        raise MailNotSentError(f"{text} is not an address that mail can be sent to.") from error


async def _deliver(settings: MailSettings, password: str | None, message: EmailMessage) -> None:
    # Imported where mail is sent: most starts never send one.
    import aiosmtplib

    place = f"{settings.host}:{settings.port}"
    try:
        await aiosmtplib.send(
            message,
            hostname=settings.host,
            port=settings.port,
            username=settings.user_name,
            password=password,
            use_tls=settings.encryption == "tls",
            start_tls=settings.encryption == "starttls",
            timeout=TIMEOUT_SECONDS,
        )
    except aiosmtplib.SMTPAuthenticationError as error:
        raise MailNotSentError(f"{place} rejected the user name or password: {error.message}.") from error
    except aiosmtplib.SMTPRecipientsRefused as error:
        raise MailNotSentError(f"{place} refused the recipient.") from error
    except (TimeoutError, aiosmtplib.SMTPTimeoutError) as error:
        raise MailNotSentError(f"{place} did not answer within {TIMEOUT_SECONDS} s.") from error
    except aiosmtplib.SMTPConnectError as error:
        raise MailNotSentError(f"{place} cannot be reached: {error}.") from error
    except (aiosmtplib.SMTPException, ssl.SSLError, OSError) as error:
        raise MailNotSentError(f"{place} rejected the mail: {error}.") from error
