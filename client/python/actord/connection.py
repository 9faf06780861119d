"""The common part of the sync and the asyncio clients: their settings and their
connection."""

from __future__ import annotations

from typing import Any

import grpc

from actord import endpoint, wire
from actord.attempts import (DEFAULT_ATTEMPTS, DEFAULT_SECONDS, Deadline, Default,
                             Timeout)
from actord.v1 import actor_service_pb2_grpc


class ConnectedClient:
    """Its subclasses open the channel."""

    def __init__(self, address: str | None = None, *, token: str | None = None,
                 token_file: str | None = None, tls_ca: str | None = None,
                 tls_cert: str | None = None, tls_key: str | None = None,
                 tls_server_name: str | None = None,
                 timeout: float | None = DEFAULT_SECONDS,
                 max_attempts: int = DEFAULT_ATTEMPTS) -> None:
        self.endpoint = endpoint.find(address, token, token_file, tls_ca, tls_cert,
                                      tls_key, tls_server_name)
        self.timeout = timeout
        self.max_attempts = max_attempts
        # False: the daemon is older than the call Run.
        self._has_run = True
        self.channel: Any = self._open_channel(
            self.endpoint.address,
            [*wire.CHANNEL_OPTIONS, *self.endpoint.channel_options],
            None if self.endpoint.tls is None
            else grpc.ssl_channel_credentials(*self.endpoint.tls))
        self.stub: Any = actor_service_pb2_grpc.ActorServiceStub(
            self.channel)  # type: ignore[no-untyped-call]

    def _open_channel(self, address: str, options: list[tuple[str, Any]],
                      credentials: Any) -> Any:
        """`credentials` None: plain text."""
        raise NotImplementedError

    def _seconds(self, timeout: Timeout) -> float | None:
        return self.timeout if isinstance(timeout, Default) else timeout

    def _deadline(self, timeout: Timeout) -> Deadline:
        return Deadline(self._seconds(timeout))
