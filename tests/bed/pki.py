"""Owns the bed's certificate authority, certificates and keys: elliptic, since they are made in a millisecond.

Refuses to outlive a bed: a new bed has a new authority.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs for one bed; its files lie in ``folder`` (``ca.crt``, ``ca.key``, one pair per name)."""

    def __init__(self, folder: Path, now: datetime.datetime) -> None:
        self._folder = folder
        self._now = now
        self.pair = Pair(folder / "ca.crt", folder / "ca.key")
        if self.pair.certificate.exists():
            self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
            key = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey):
                raise TypeError("the authority's key is not elliptic")
            self._key = key
            return
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gsm-bed")])
        builder = self._builder(subject, subject, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs=True), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = builder.add_extension(identifier, critical=False).sign(self._key, hashes.SHA256())
        self._write(self.pair, self._certificate, self._key)

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> Pair:
        """A client certificate: Kubernetes reads the user from the common name, groups from organisations."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._issue(name, subject, [], ExtendedKeyUsageOID.CLIENT_AUTH)

    def server(self, name: str, hosts: Sequence[str]) -> Pair:
        """A server certificate for names and addresses."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        return self._issue(name, subject, hosts, ExtendedKeyUsageOID.SERVER_AUTH)

    def _issue(self, name: str, subject: x509.Name, hosts: Sequence[str], usage: x509.ObjectIdentifier) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, self._certificate.subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if hosts:
            names = [_general_name(host) for host in hosts]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        self._write(pair, builder.sign(self._key, hashes.SHA256()), key)
        return pair

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        # An hour back: a clock that was set between two processes must not make a certificate of the future.
        start = self._now - datetime.timedelta(hours=1)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + _VALID)
        )

    def _write(self, pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        write_private(pair.key, private_pem(key))


def service_account_keys(folder: Path) -> Pair:
    """The key that signs ServiceAccount tokens and its public half (``certificate`` of the pair)."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(folder / "sa.pub", folder / "sa.key")
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    pair.certificate.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, public))
    write_private(pair.key, private_pem(key))
    return pair


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A key in the form that every Kubernetes component reads."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_private(path: Path, content: bytes) -> None:
    """Write what only its owner may read, never readable in between."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
        handle.write(content)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
