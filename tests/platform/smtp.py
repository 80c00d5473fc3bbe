"""A real SMTP server in the test's own loop, with what it was given."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER_NAME, MAIL_PASSWORD = "corral", "smtp-secret-1"


@dataclass
class MailServer:
    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("refused"):
            return "550 no such person here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients.append(list(envelope.rcpt_tos))
        assert server.transport is not None
        self.encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        return "250 taken"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        right = (data.login, data.password) == (USER_NAME.encode(), MAIL_PASSWORD.encode())
        if right:
            self.signed_in.append(data.login.decode())
        return AuthResult(success=right, handled=False)


@asynccontextmanager
async def mail_server(**options: Any) -> AsyncIterator[MailServer]:
    """Options are those of aiosmtpd's SMTP (`tls_context`, …), and `ssl` to encrypt from the start."""
    handler = MailServer()
    loop = asyncio.get_running_loop()
    context = options.pop("ssl", None)

    def connection() -> SMTP:
        return SMTP(handler, hostname="mail.test", loop=loop, authenticator=handler.authenticate, **options)

    server = await loop.create_server(connection, "127.0.0.1", 0, ssl=context)
    handler.port = server.sockets[0].getsockname()[1]
    try:
        yield handler
    finally:
        server.close()
        await server.wait_closed()


@dataclass(frozen=True)
class Certificate:
    path: Path
    context: ssl.SSLContext


def self_signed(folder: Path) -> Certificate:
    """A certificate for localhost that nobody trusts until told to."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path, key_path = folder / "mail.pem", folder / "mail.key"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path, key_path)
    return Certificate(path, context)
