"""Says for people why no daemon answers, and what to change. actorctl says the same in
its own names (client/cli/errors/unreached.cc)."""

from __future__ import annotations

# What gRPC quotes, and what it means. At a Unix socket some of it means other things.
_NOTHING_THERE = (
    ("Connection refused",
     "the connection is refused: no program listens at this address"),
    ("No route to host", "there is no route to the host"),
    ("Network is unreachable", "there is no route to the host"),
    ("DNS resolution failed", "the name of the host cannot be resolved"),
    ("Domain name not found", "the name of the host cannot be resolved"),
    ("imed out", "timed out: nothing has answered in time"))
_NO_SOCKET = (
    ("Connection refused",
     "the connection is refused: no program listens on this socket"),
    ("No such file or directory", "there is no such socket"),
    ("Permission denied",
     "permission denied: the mode and the group of the socket (server.unix_mode, "
     "server.unix_group) exclude this user"))
_NOT_REACHED = ("failed to connect", "DNS resolution failed", "empty address list")
_ANSWERS_HTTP = ("http1.x server", "HTTP/1.")
# With an error that gRPC makes of the HTTP status.
ANSWERS_HTTP2 = "http2 header with status"
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
     "gRPC cannot use tls_ca, tls_cert and tls_key together: a key may be too short"))


def explain(message: str, address: str, *, has_tls: bool, has_certificate: bool,
            why_expired: str) -> str:
    """The error `message` of gRPC with the code UNAVAILABLE or with ANSWERS_HTTP2, for
    people. `why_expired`: of the client's certificate, as TlsFiles has it."""
    if ANSWERS_HTTP2 in message:
        return (f"cannot reach the daemon at {address}: it answers HTTP/2 and not gRPC: "
                "this is another program, or a proxy that has not reached the daemon")
    if not any(text in message for text in _NOT_REACHED):
        return message  # there was a connection
    is_unix = address.startswith("unix:")
    for text, reason in _NO_SOCKET if is_unix else _NOTHING_THERE:
        if text in message:
            return (f"cannot reach the daemon at {address}: {reason}. Is actord "
                    "running there?")
    if any(text in message for text in _ANSWERS_HTTP):
        return (f"cannot reach the daemon at {address}: it answers HTTP/1.1 and not "
                "gRPC: this may be the admin port (admin.listen) instead of "
                "server.listen")
    hint = "" if is_unix else _handshake_hint(message, has_tls, has_certificate,
                                              why_expired)
    return f"cannot reach the daemon at {address}: {hint or message}"


def _handshake_hint(message: str, has_tls: bool, has_certificate: bool,
                    why_expired: str) -> str:
    """What to change if this error of gRPC comes of TLS; "": nothing is known."""
    for text, hint in _HANDSHAKE_HINTS if has_tls else ():
        if text in message:
            return hint
    if "Socket closed" not in message and "reset by peer" not in message:
        return ""
    closed = "the daemon closed the connection: "
    if not has_tls:
        return closed + "if it serves TLS, give tls_ca"
    if not has_certificate:
        return closed + "if it requires a certificate, give tls_cert and tls_key"
    return closed + (why_expired or "if it does not accept the certificate, give one of "
                     "an authority in its tls.client_ca")
