"""A private certificate authority, as many institutions have one, for tests of TLS."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates for names and addresses; `ca_file` is what a client has to trust."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Campus authority")])
        self._certificate = (
            _begun(self._name, self._name, self._key.public_key(), timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / "authority.pem"
        self.ca_file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(
        self, *names: str, label: str = "server", days: float = 30, password: str | None = None
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            _begun(subject, self._name, key.public_key(), timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), False)
            .sign(self._key, hashes.SHA256())
        )
        pair = Pair(self.folder / f"{label}.pem", self.folder / f"{label}.key")
        pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        hidden: KeySerializationEncryption = NoEncryption()
        if password:
            hidden = BestAvailableEncryption(password.encode())
        pair.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden))
        return pair


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: timedelta
) -> x509.CertificateBuilder:
    end = datetime.now(UTC) + life
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(end, datetime.now(UTC)) - timedelta(days=1))
        .not_valid_after(end)
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
