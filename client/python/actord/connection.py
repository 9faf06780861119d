"""The common part of the sync and the asyncio clients: their settings and their
connection."""

from __future__ import annotations

import difflib
from typing import Any

import grpc
from google.protobuf import descriptor_pb2

from actord import endpoint, wire
from actord.attempts import (DEFAULT_ATTEMPTS, DEFAULT_SECONDS, Deadline, Default,
                             Timeout)
from actord.endpoint import Path
from actord.v1 import actor_service_pb2, actor_service_pb2_grpc

_CLOSED = "the client is closed"


def _requests_of_unary_calls() -> dict[str, str]:
    service = descriptor_pb2.ServiceDescriptorProto()
    actor_service_pb2.DESCRIPTOR.services_by_name["ActorService"].CopyToProto(service)
    return {method.name: method.input_type.rpartition(".")[2]
            for method in service.method
            if not method.client_streaming and not method.server_streaming}


_UNARY_CALLS = _requests_of_unary_calls()  # with the names of their requests


class _ClosedStub:
    """The stub of a client that is closed."""

    def __getattr__(self, method: str) -> Any:
        raise ValueError(_CLOSED)


class ConnectedClient:
    """Its subclasses open the channel."""

    def __init__(self, address: str | None = None, *, token: str | None = None,
                 token_file: Path | None = None, tls_ca: Path | None = None,
                 tls_cert: Path | None = None, tls_key: Path | None = None,
                 tls_server_name: str | None = None,
                 timeout: float | None = DEFAULT_SECONDS,
                 max_attempts: int = DEFAULT_ATTEMPTS) -> None:
        self.endpoint = endpoint.find(address, token, token_file, tls_ca, tls_cert,
                                      tls_key, tls_server_name)
        Deadline(timeout)  # raises if it is none
        if not isinstance(max_attempts, int) or max_attempts < 1:
            raise ValueError("max_attempts is an integer from 1, not "
                             f"{max_attempts!r}")
        self.timeout = timeout
        self.max_attempts = max_attempts
        # False: the daemon is older than the call Run.
        self._has_run = True
        self.channel: Any = self._open_channel(
            self.endpoint.address,
            [*wire.CHANNEL_OPTIONS, *self.endpoint.channel_options],
            None if self.endpoint.tls is None
            else grpc.ssl_channel_credentials(
                self.endpoint.tls.authority, self.endpoint.tls.key,
                self.endpoint.tls.certificate))
        self.stub: Any = actor_service_pb2_grpc.ActorServiceStub(
            self.channel)  # type: ignore[no-untyped-call]

    def _open_channel(self, address: str, options: list[tuple[str, Any]],
                      credentials: Any) -> Any:
        """`credentials` None: plain text."""
        raise NotImplementedError

    def _take_no_more_calls(self) -> None:
        self.stub = _ClosedStub()

    def _check_open(self) -> None:
        """Raises ValueError if the client is closed: a call that pauses before
        another attempt does not notice it."""
        if isinstance(self.stub, _ClosedStub):
            raise ValueError(_CLOSED)

    def _unary_call(self, method: str, request: Any) -> Any:
        """The call of this name. Raises ValueError if the API has none, and TypeError
        if it takes another request."""
        self._check_open()
        wanted = _UNARY_CALLS.get(method)
        if wanted is None:
            near = difflib.get_close_matches(str(method), _UNARY_CALLS, 1, 0.0)
            raise ValueError(f"the API has no unary call {method!r}; did you mean "
                             f"{near[0]!r}?")
        descriptor = getattr(request, "DESCRIPTOR", None)
        if descriptor is None or descriptor.full_name != f"actord.v1.{wanted}":
            raise TypeError(f"{method} takes a {wanted} of actord.v1, not "
                            f"{type(request).__name__}")
        return getattr(self.stub, method)

    def _seconds(self, timeout: Timeout) -> float | None:
        return self.timeout if isinstance(timeout, Default) else timeout

    def _deadline(self, timeout: Timeout) -> Deadline:
        return Deadline(self._seconds(timeout))
