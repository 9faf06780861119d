"""The PEM files of a client: read, and checked, so that an error names the argument and
the file. gRPC says only "empty address list", or that a handshake failed.

The checks refuse no file that gRPC would use. OpenSSL reads a file up to its first
damaged certificate, so only the first one must be whole. A certificate of the client that
has expired is no mistake here: a daemon without `tls.client_ca` does not ask for it.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
import ssl

from actord.settings import Setting

_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----.*?-----END [A-Z0-9 ]+-----", re.DOTALL)
_KEY_MARK = b"PRIVATE KEY-----"
_WITH_TRUST = b"-----BEGIN TRUSTED"  # the module ssl cannot read it
# Of OpenSSL, if a key does not belong to a certificate. The last one: it is of
# another kind, such as RSA with EC.
_NOT_ITS_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
_UTC_TIME = 0x17
_VERSION = 0xa0


@dataclasses.dataclass(frozen=True)
class TlsFiles:
    authority: bytes
    key: bytes | None = None
    certificate: bytes | None = None
    # When the client's own certificate ends; None: not known.
    end: datetime.datetime | None = None
    certificate_name: str = ""  # for messages: "tls_cert: FILE"

    @property
    def why_expired(self) -> str:
        """For people; "": the client's certificate has not expired, or has none."""
        if self.end is None or self.end > _now():
            return ""
        return f"{self.certificate_name}: {_expired(self.end)}"


def read(authority: Setting, certificate: Setting | None,
         key: Setting | None) -> TlsFiles:
    """Raises ValueError if a file is wrong, and OSError if it cannot be read."""
    ca = read_bytes(authority)
    ends = [_end_of(der) for der in _certificates(ca, authority)]
    known = [end for end in ends if end is not None]
    if known and len(known) == len(ends) and max(known) <= _now():
        raise authority.wrong(f"{_expired(max(known))}; give the present certificate of "
                              "the authority")
    if certificate is None or key is None:
        return TlsFiles(ca)
    own, secret = read_bytes(certificate), read_bytes(key)
    chain = _certificates(own, certificate)
    if _KEY_MARK not in secret:
        raise key.wrong("has no private key in PEM (-----BEGIN PRIVATE KEY-----)")
    if None not in chain:
        _check_key(certificate, key)
    return TlsFiles(ca, secret, own, _end_of(chain[0]),
                    f"{certificate.origin}: {certificate.value}")


def read_bytes(setting: Setting) -> bytes:
    try:
        with open(setting.value, "rb") as file:
            return file.read()
    except OSError as error:
        raise setting.unreadable(error) from None


def _certificates(pem: bytes, setting: Setting) -> list[bytes | None]:
    """The certificates as DER, at least one; None for one that cannot be looked at."""
    blocks = _CERTIFICATE.findall(pem)
    if not blocks:
        raise setting.wrong(
            "has no certificate in PEM (-----BEGIN CERTIFICATE-----)"
            + (", but a private key" if _KEY_MARK in pem else ""))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found = [_der_of(block, context) for block in blocks]
    if found[0] is None and not blocks[0].startswith(_WITH_TRUST):
        raise setting.wrong("the first certificate is damaged")
    return found


def _der_of(block: bytes, context: ssl.SSLContext) -> bytes | None:
    try:
        body = b"".join(block.splitlines()[1:-1]).decode("ascii")
        der = ssl.PEM_cert_to_DER_cert(
            f"{ssl.PEM_HEADER}\n{body}\n{ssl.PEM_FOOTER}")
        # As PEM: after DER, it also raises errors that gRPC has left in OpenSSL.
        context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(der))
        return der
    except (ValueError, ssl.SSLError):
        return None


def _check_key(certificate: Setting, key: Setting) -> None:
    """Precondition: the certificates and the key have been read."""
    if not (os.path.isfile(certificate.value) and os.path.isfile(key.value)):
        return  # a pipe, which cannot be read again
    asked = False

    def no_passphrase() -> str:
        nonlocal asked
        asked = True
        return ""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")  # permits old certificates, too
    try:
        context.load_cert_chain(certificate.value, key.value, no_passphrase)
    except ssl.SSLError as error:
        if error.reason in _NOT_ITS_KEY:
            raise key.wrong(
                "the key does not belong to the first certificate in "
                f"{certificate.value}, which must be the client's own") from None
        raise key.wrong(
            "the key has a passphrase, and must have none: openssl pkey -in "
            "KEY -out NEW removes it" if asked else
            "the private key is damaged") from None


def _expired(end: datetime.datetime) -> str:
    return f"the certificate expired at {end:%Y-%m-%dT%H:%M:%SZ}"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _end_of(der: bytes | None) -> datetime.datetime | None:
    """The time notAfter of a certificate (RFC 5280, 4.1); None: not known."""
    try:
        [certificate, *_] = _elements(der or b"")
        [(_, to_be_signed), *_] = _elements(certificate[1])
        fields = _elements(to_be_signed)
        validity = fields[4 if fields[0][0] == _VERSION else 3]
        tag, content = _elements(validity[1])[1]
        digits = content.decode("ascii")
        if tag == _UTC_TIME:
            digits = ("19" if digits >= "5" else "20") + digits
        return datetime.datetime.strptime(digits + "+0000", "%Y%m%d%H%M%SZ%z")
    except (IndexError, ValueError):
        return None


def _elements(der: bytes) -> list[tuple[int, bytes]]:
    """The tags and contents of the elements of DER that follow each other."""
    found, at = [], 0
    while at < len(der):
        tag, length = der[at], der[at + 1]
        at += 2
        if length > 0x80:  # the low bits count the bytes of the length
            behind = at + length - 0x80
            at, length = behind, int.from_bytes(der[at:behind])
        found.append((tag, der[at:at + length]))
        at += length
    return found
