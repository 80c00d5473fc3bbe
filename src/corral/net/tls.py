"""Corral's own certificate: read once at start, with words for what is wrong with it."""

import ssl
from pathlib import Path
from typing import NoReturn

__all__ = ["TlsError", "server_context"]

_MISMATCH = "KEY_VALUES_MISMATCH"


class TlsError(Exception):
    """Certificate or key cannot be used; the message says why, the remedy what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """What HTTPS is served with: TLS 1.2 and newer, this certificate chain and its key."""

    def refuse_password() -> NoReturn:
        # OpenSSL would ask on the terminal, and a service has none.
        raise TlsError(
            f"The private key {key} is encrypted.",
            f"Store it decrypted, for this user alone: openssl pkey -in {key} -out <file>; chmod 600 <file>",
        )

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, refuse_password)
    except ssl.SSLError as error:
        if error.reason == _MISMATCH:
            raise TlsError(
                f"The private key {key} does not belong to the certificate {certificate}.",
                "Give the key that the certificate was made with; in a chain its own comes first.",
            ) from None
        raise TlsError(
            f"The certificate {certificate} and the private key {key} cannot be used: "
            f"{error.reason or 'they are not in PEM form'}.",
            "Both have to be PEM files: -----BEGIN CERTIFICATE----- and -----BEGIN PRIVATE KEY-----.",
        ) from None
    except OSError as error:
        raise TlsError(
            f"The certificate {certificate} or the private key {key} cannot be read: {error.strerror}.",
            "Let the user who runs Corral read both.",
        ) from None
    return context
