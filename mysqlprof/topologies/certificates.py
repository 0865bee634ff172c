"""Certificates of an authority of the run's own, for TLS servers and tunnels.

Keys are made anew for each run, lie in its private directory, readable by this user only, and go
with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mysqlprof.errors import UsageError
from mysqlprof.workdir import work_directory, write_private

KeyKind = Literal["rsa-2048", "rsa-4096", "ec-p256"]
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_OWN_KIND: KeyKind = "rsa-2048"
"""The authority's, whatever it signs: so that only the server's key is varied."""
_LIFE = timedelta(days=7)
_CLOCK_SKEW = timedelta(hours=1)
_PUBLIC_EXPONENT = 65537


@dataclass(frozen=True)
class CertificateFiles:
    """PEM files: the authority's certificate, and a certificate with its key."""

    authority: Path
    certificate: Path
    key: Path

    def mysqld_files(self) -> dict[str, Path]:
        """For LaunchSpec.files."""
        return {"ssl_ca": self.authority, "ssl_cert": self.certificate, "ssl_key": self.key}


class Authority:
    """Signs certificates; its key never leaves this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = _new_key(_OWN_KIND)
        self._certificate = _sign(_name("mysqlprof authority"), self._key, self._key)
        self.file = folder / "ca.pem"
        write_private(self.file, _pem(self._certificate))

    def issue(
        self, role: str, kind: KeyKind = "rsa-2048", addresses: tuple[str, ...] = ()
    ) -> CertificateFiles:
        """A certificate and its key, good for both ends of TLS. Raises UsageError."""
        if kind not in get_args(KeyKind):
            raise UsageError(
                f"{kind!r} is no kind of key", f"choose one of {', '.join(get_args(KeyKind))}"
            )
        key = _new_key(kind)
        certificate = _sign(_name(role), key, self._key, self._certificate, addresses)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        files = CertificateFiles(
            self.file, self._folder / f"{role}.pem", self._folder / f"{role}-key.pem"
        )
        write_private(files.certificate, _pem(certificate))
        write_private(files.key, private.decode("ascii"))
        return files


@contextmanager
def authority() -> Iterator[Authority]:
    """An authority whose files, and those it issued, are removed on the way out."""
    with work_directory("certificates") as folder:
        yield Authority(folder)


def _new_key(kind: KeyKind) -> PrivateKey:
    if kind == "ec-p256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(_PUBLIC_EXPONENT, int(kind.removeprefix("rsa-")))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _sign(
    subject: x509.Name,
    key: PrivateKey,
    signer: PrivateKey,
    issuer: x509.Certificate | None = None,
    addresses: tuple[str, ...] = (),
) -> x509.Certificate:
    """Without an issuer, an authority's own certificate."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False
        )
        .add_extension(_usage(signs=issuer is None), critical=True)
    )
    if issuer:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), False)
    if addresses:
        names = [x509.IPAddress(ip_address(address)) for address in addresses]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    return builder.sign(signer, hashes.SHA256())


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_encipherment=not signs,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")
