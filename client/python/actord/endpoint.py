"""Where the daemon is, and how to reach it: arguments, else the environment
variables of actorctl, else its defaults."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
import stat
import zlib
from typing import Union

from actord import settings, tls_files, unreached
from actord.settings import Setting
from actord.tls_files import TlsFiles

Path = Union[str, os.PathLike[str]]

_DEFAULT_HOST = "127.0.0.1"
_DEFAULT_PORT = 7600
_TOKEN = re.compile(r"(atk_[0-9a-z]{8}_[A-Za-z0-9_-]{43})_([0-9a-f]{8})")
_TOKEN_CHARACTERS = 65
_MAX_TOKEN_FILE_CHARACTERS = 4096
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_MAX_SOCKET_PATH_BYTES = 107
# A file with a secret has the mode 0640 at most.
_FORBIDDEN_MODE = 0o7777 & ~0o640


@dataclasses.dataclass(frozen=True)
class Endpoint:
    address: str
    metadata: tuple[tuple[str, str], ...]  # of each call
    tls: TlsFiles | None
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
        return unreached.explain(
            message, self.address, has_tls=self.tls is not None,
            has_certificate=self.tls is not None and self.tls.certificate is not None,
            why_expired=self.tls.why_expired if self.tls else "")


def find(address: str | None, token: str | None, token_file: Path | None,
         tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None,
         tls_server_name: str | None) -> Endpoint:
    """Raises ValueError if the settings are not possible or not safe, TypeError if one
    has a wrong type, and OSError if a file cannot be read."""
    if address is None:
        address = os.environ.get("ACTORD_ADDRESS") or _DEFAULT_HOST
    address = whole_address(settings.text(address, "address"))
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    if token is not None:
        token = settings.text(token, "token").strip()
        _check_token(token, "token")
    else:
        file = settings.find(token_file, "token_file", "ACTORD_TOKEN_FILE")
        if file is not None:
            token = _read_token(file)
    server_name = settings.find(tls_server_name, "tls_server_name",
                                "ACTORD_CLIENT_TLS_SERVER_NAME")
    tls = None
    if not address.startswith("unix:"):
        tls = _tls(
            settings.find(tls_ca, "tls_ca", "ACTORD_CLIENT_TLS_CA"),
            settings.find(tls_cert, "tls_cert", "ACTORD_CLIENT_TLS_CERTIFICATE"),
            settings.find(tls_key, "tls_key", "ACTORD_CLIENT_TLS_KEY"), server_name)
    if token is not None and tls is None and not _stays_on_this_machine(address):
        raise ValueError(
            f"the token is not sent to {address}: the connection is plain text, so "
            "that others on the network could read the token. Use TLS, a Unix "
            "socket, or a tunnel that ends at 127.0.0.1")
    return Endpoint(
        address, (("authorization", f"Bearer {token}"),) if token else (), tls,
        server_name.value if server_name else None)


def whole_address(given: str) -> str:
    """The address, with the port 7600 if it is a host alone. Raises ValueError unless
    it is HOST[:PORT], [IPV6][:PORT] or unix:PATH."""
    address = given
    if given.startswith("[") and given.endswith("]") or (
            _HOST.fullmatch(given) and not given.isdigit()):
        address = f"{given}:{_DEFAULT_PORT}"
    why = _why_no_address(address)
    if why:
        raise ValueError(f"{given!r} is not an address: {why}. Expected "
                         "HOST[:PORT], [IPV6][:PORT] or unix:PATH")
    return address


def _why_no_address(address: str) -> str:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").encode()
        if not path or len(path) > _MAX_SOCKET_PATH_BYTES or b"\0" in path:
            return f"a path has 1 to {_MAX_SOCKET_PATH_BYTES} bytes"
        return ""
    if not address:
        return "it is empty"
    if "://" in address:
        return "it is a URL"
    if "/" in address:
        return "unix: must stand before the path of a socket"
    host, colon, port = address.rpartition(":")
    if address.isdigit() or colon and not host:
        return "the host is missing"
    if _is_ipv6(address) or _is_ipv6(host):
        return "an IPv6 address must be in brackets"
    if not colon:
        return f"{address!r} is not a host name"
    if host.startswith("[") and host.endswith("]"):
        if not _is_ipv6(host[1:-1]):
            return f"{host} is not an IPv6 address in brackets"
    elif not _HOST.fullmatch(host):
        return f"{host!r} is not a host name"
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        return f"{port!r} is not a port from 1 to 65535"
    return ""


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _read_token(setting: Setting) -> str:
    try:
        with open(setting.value, encoding="ascii", errors="replace") as file:
            status = os.fstat(file.fileno())
            mode = stat.S_IMODE(status.st_mode)
            if mode & _FORBIDDEN_MODE:
                raise setting.wrong(
                    f"has mode {mode:04o}, and a token file may have 0640 at "
                    "most: chmod 0600")
            if status.st_uid not in (0, os.geteuid()):
                raise setting.wrong("belongs to another user, and must belong to you "
                                    "or to root")
            token = file.read(_MAX_TOKEN_FILE_CHARACTERS).strip()
    except OSError as error:
        raise setting.unreadable(error) from None
    _check_token(token, f"{setting.origin}: {setting.value}")
    return token


def _check_token(token: str, origin: str) -> None:
    """The error must not repeat the token."""
    match = _TOKEN.fullmatch(token)
    if match and zlib.crc32(match[1].encode()) == int(match[2], 16):
        return
    why = ("it is empty" if not token else
           f"this text has {len(token)}" if len(token) != _TOKEN_CHARACTERS else
           "a character of it is wrong")
    raise ValueError(f"{origin}: must be one token of {_TOKEN_CHARACTERS} characters, as "
                     f"actorctl token new prints it, and {why}")


def _tls(ca: Setting | None, cert: Setting | None, key: Setting | None,
         server_name: Setting | None) -> TlsFiles | None:
    if ca is None:
        useless = cert or key or server_name
        if useless:
            raise ValueError(f"{useless.origin} needs tls_ca, the authority of the "
                             "daemon's certificate; without it there is no TLS")
        return None
    if (cert is None) != (key is None):
        raise ValueError(f"{(cert or key or ca).origin} needs "
                         f"{'tls_key' if cert else 'tls_cert'}, too: a certificate and "
                         "its key belong together")
    return tls_files.read(ca, cert, key)


def _stays_on_this_machine(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
