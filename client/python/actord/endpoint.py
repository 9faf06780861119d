"""Where the daemon is, and how to reach it: arguments, else the environment
variables of actorctl, else its defaults."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
import stat
import zlib

_DEFAULT_HOST = "127.0.0.1"
_DEFAULT_PORT = 7600
_TOKEN = re.compile(r"(atk_[0-9a-z]{8}_[A-Za-z0-9_-]{43})_([0-9a-f]{8})")
_TOKEN_CHARACTERS = 65
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_MAX_SOCKET_PATH_BYTES = 107
# A file with a secret has the mode 0640 at most.
_FORBIDDEN_MODE = 0o7777 & ~0o640
# What the system says, as gRPC quotes it.
_NOBODY_LISTENS = ("Connection refused", "No such file or directory")
# What gRPC says of a failed handshake, and what the caller can do.
_HANDSHAKE_HINTS = (
    ("certificate verify failed",
     "tls_ca is not the authority of the daemon's certificate, or that certificate "
     "is expired"),
    ("is not in peer certificate",
     "the daemon's certificate is of another name: give one of its names as "
     "tls_server_name"),
    ("wrong version number",
     "the daemon answers without TLS: leave tls_ca and ACTORD_CLIENT_TLS_CA out"),
    ("empty address list",
     "tls_key does not belong to tls_cert, or a file is damaged"))


@dataclasses.dataclass(frozen=True)
class Endpoint:
    address: str
    metadata: tuple[tuple[str, str], ...]  # of each call
    tls: tuple[bytes, bytes | None, bytes | None] | None  # authority, key, cert
    server_name: str | None

    def __repr__(self) -> str:  # without the token and the key
        return f"Endpoint({self.address!r}, tls={self.tls is not None})"

    @property
    def channel_options(self) -> tuple[tuple[str, str], ...]:
        if self.tls is None or not self.server_name:
            return ()
        return (("grpc.ssl_target_name_override", self.server_name),)

    def explain(self, message: str) -> str:
        """This error of gRPC with the code UNAVAILABLE, for people."""
        hint = self._handshake_hint(message)
        if "failed to connect" in message:
            message = f"cannot reach the daemon at {self.address}: {message}"
            if any(text in message for text in _NOBODY_LISTENS):
                hint = hint or "no program listens there: is actord running?"
        return f"{message}; {hint}" if hint else message

    def _handshake_hint(self, message: str) -> str:
        """What to change if this error of gRPC comes of TLS; "": nothing is known."""
        if not ("failed to connect" in message or "empty address list" in message):
            return ""  # there was a connection
        for text, hint in _HANDSHAKE_HINTS if self.tls else ():
            if text in message:
                return hint
        if self.address.startswith("unix:") or not (
                "Socket closed" in message or "reset by peer" in message):
            return ""
        closed = "the daemon closed the connection: "
        if self.tls is None:
            return closed + "if it serves TLS, give tls_ca"
        if self.tls[2] is None:
            return closed + ("if it requires a certificate, give tls_cert and "
                             "tls_key")
        return closed + ("if it does not accept the certificate, give one of an "
                         "authority in its tls.client_ca")


def find(address: str | None, token: str | None, token_file: str | None,
         tls_ca: str | None, tls_cert: str | None, tls_key: str | None,
         tls_server_name: str | None) -> Endpoint:
    """Raises ValueError if the settings are not possible or not safe, and OSError
    if a file cannot be read."""
    address = with_default_port(_setting(address, "ACTORD_ADDRESS") or _DEFAULT_HOST)
    check_address(address)
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    if token is None:
        token_file = _setting(token_file, "ACTORD_TOKEN_FILE")
        if token_file:
            token = _read_token(token_file)
    if token is not None:
        token = token.strip()
        _check_token(token, token_file or "token")
    tls = None
    if not address.startswith("unix:"):
        tls = _tls(_setting(tls_ca, "ACTORD_CLIENT_TLS_CA"),
                   _setting(tls_cert, "ACTORD_CLIENT_TLS_CERTIFICATE"),
                   _setting(tls_key, "ACTORD_CLIENT_TLS_KEY"))
    if token is not None and tls is None and not _stays_on_this_machine(address):
        raise ValueError(
            f"the token is not sent to {address}: the connection is plain text, so "
            "that others on the network could read the token. Use TLS, a Unix "
            "socket, or a tunnel that ends at 127.0.0.1")
    return Endpoint(
        address, (("authorization", f"Bearer {token}"),) if token else (), tls,
        _setting(tls_server_name, "ACTORD_CLIENT_TLS_SERVER_NAME"))


def with_default_port(address: str) -> str:
    """The address with the port 7600 if it is a host alone: HOST or [IPV6]. Other
    text stays as it is."""
    is_ipv6 = address.startswith("[") and address.endswith("]")
    if is_ipv6 or _HOST.fullmatch(address):
        return f"{address}:{_DEFAULT_PORT}"
    return address


def check_address(address: str) -> None:
    """Raises ValueError unless it is HOST:PORT, [IPV6]:PORT or unix:PATH."""
    why = _why_no_address(address)
    if why:
        raise ValueError(f"{address!r} is not an address: {why}. Expected "
                         "HOST[:PORT], [IPV6][:PORT] or unix:PATH")


def _why_no_address(address: str) -> str:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").encode()
        if not path or len(path) > _MAX_SOCKET_PATH_BYTES or b"\0" in path:
            return f"a path has 1 to {_MAX_SOCKET_PATH_BYTES} bytes"
        return ""
    if "://" in address:
        return "it is a URL"
    host, colon, port = address.rpartition(":")
    if not colon:
        return f"{address!r} is not a host name"
    if host.startswith("[") and host.endswith("]"):
        try:
            ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            return f"{host} is not an IPv6 address in brackets"
    elif not _HOST.fullmatch(host):
        return f"{host!r} is not a host name"
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        return f"{port!r} is not a port from 1 to 65535"
    return ""


def _setting(given: str | None, variable: str) -> str | None:
    """A path may be a pathlib.Path."""
    if given is not None:
        return os.fspath(given)
    return os.environ.get(variable) or None


def _read_token(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        status = os.fstat(file.fileno())
        mode = stat.S_IMODE(status.st_mode)
        if mode & _FORBIDDEN_MODE:
            raise ValueError(f"{path}: has mode {mode:04o}, and a file with a token "
                             "may have 0640 at most: chmod 0600")
        if status.st_uid not in (0, os.geteuid()):
            raise ValueError(f"{path}: belongs to another user, and must belong to "
                             "you or to root")
        return file.read(4096).strip()


def _check_token(token: str, origin: str) -> None:
    """The error must not repeat the token."""
    match = _TOKEN.fullmatch(token)
    if not match or zlib.crc32(match[1].encode()) != int(match[2], 16):
        raise ValueError(f"{origin}: must be one token of {_TOKEN_CHARACTERS} "
                         "characters, as actorctl token new prints it, and this has "
                         f"{len(token)}")


def _tls(ca: str | None, cert: str | None, key: str | None
         ) -> tuple[bytes, bytes | None, bytes | None] | None:
    if not ca:
        if cert or key:
            raise ValueError("a certificate of the client needs tls_ca, the "
                             "authority of the daemon's certificate")
        return None
    if bool(cert) != bool(key):
        raise ValueError("tls_cert and tls_key belong together")
    return _content(ca), _content(key) if key else None, (
        _content(cert) if cert else None)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _stays_on_this_machine(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
