"""The client for programs with threads. `actord.aio` has the same for asyncio."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterable, Iterator

import grpc

from actord import channels, errors, values, wire
from actord.attempts import Attempts, Deadline, Default, Timeout
from actord.connection import ConnectedClient
from actord.send_stream import SendStream
from actord.subscription import Subscription
from actord.v1 import outcome_pb2, process_pb2, yield_pb2
from actord.values import UNSET, Data, LabelFilter, Labels, Payload, Target
from actord.watch import Watch

# So that calls over a connection that breaks again and again are not repeated at
# once.
_SHORTEST_PAUSE_SECONDS = 0.05
# A channel that gets ready sooner has not been connected anew.
_AT_ONCE_SECONDS = 0.02


class Client(ConnectedClient):
    """A connection to a daemon. May be used by any number of threads.

    Settings that are not given come from the environment variables of actorctl,
    else from its defaults:

    address          HOST[:PORT], [IPV6][:PORT] or unix:PATH, with the port 7600
                     if it is left out; ACTORD_ADDRESS; 127.0.0.1:7600
    token            the token itself
    token_file       file with the token; ACTORD_TOKEN_FILE
    tls_ca           PEM file with the authority of the daemon's certificate;
                     ACTORD_CLIENT_TLS_CA; without it there is no TLS
    tls_cert, tls_key
                     PEM files with this client's certificate and its key;
                     ACTORD_CLIENT_TLS_CERTIFICATE, ACTORD_CLIENT_TLS_KEY
    tls_server_name  the name in the daemon's certificate;
                     ACTORD_CLIENT_TLS_SERVER_NAME; the host of the address
    timeout          seconds for a call that has no timeout of its own; None: none
    max_attempts     how often a call is tried that may be repeated; 1: once

    `timeout` of a method is in seconds, and covers all attempts; None waits for
    ever. Raises ActordError and its subclasses (module errors).

    The constructor does not connect. It raises ValueError for impossible or unsafe
    settings, TypeError for a setting of a wrong type, and OSError if a file cannot be
    read.
    """

    def _open_channel(self, address: str, options: list[tuple[str, Any]],
                      credentials: Any) -> Any:
        if credentials is None:
            return grpc.insecure_channel(address, options)
        return grpc.secure_channel(address, credentials, options)

    def close(self) -> None:
        """Ends the connection, and with it all open calls and streams. If one of them
        was about to try again, this takes up to half a second."""
        self._take_no_more_calls()
        channels.close(self.channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, process_type: str, input: Data = None, *, json: Any = UNSET,
               content_type: str | None = None, method: str = "",
               request_id: str | None = None,
               messages: Iterable[values.Message] = (),
               priority: int | None = None, name: str = "",
               on_name_conflict: str = values.NameConflict.FAIL,
               durability: str | None = None, labels: Labels | None = None,
               timeout: Timeout = Default.TIMEOUT) -> values.Submitted:
        """Starts a process, and returns when its Init has returned. By default the
        client makes a request_id, so a repeated attempt starts no second
        process."""
        request = wire.submit_request(
            process_type, Payload.of(input, json=json, content_type=content_type),
            method, request_id, messages, priority, name, on_name_conflict,
            durability, labels)
        return wire.submitted_of(self._perform(
            self.stub.Submit, request, self._deadline(timeout),
            bool(request.request_id)), request)

    def send(self, pid: Target, payload: Data = None, *, topic: str = "",
             json: Any = UNSET, content_type: str | None = None,
             message_id: str | None = None,
             timeout: Timeout = Default.TIMEOUT) -> values.Sent:
        """Delivers a message to a PID, a "@name" or a "#group", and returns when it
        is in the mailbox. By default the client makes a message_id, so a repeated
        attempt delivers it once. A message to a group has none, so it is not sent
        again when the connection was lost."""
        request = wire.send_request(
            pid, topic, Payload.of(payload, json=json, content_type=content_type),
            message_id)
        return wire.sent_of(self._perform(
            self.stub.Send, request, self._deadline(timeout),
            bool(request.message_id)))

    def call(self, pid: Target, payload: Data = None, *, topic: str = "",
             json: Any = UNSET, content_type: str | None = None,
             message_id: str = "", start: values.Start | str | None = None,
             timeout: Timeout = Default.TIMEOUT) -> values.Reply:
        """Asks a process and returns its answer. `start`: if no process holds the
        name "@name", the daemon starts this one under the name, or one of this
        type, and calls it; of many clients at once only one starts a process. Only
        a durable process takes a message_id; without one, a call that has lost its
        connection is not repeated. A daemon that is older than these ids gets no
        repeated call."""
        request = wire.call_request(
            pid, topic, Payload.of(payload, json=json, content_type=content_type),
            message_id, start)
        with errors.timeout_says(f"process {request.pid} has not answered within the "
                                 "timeout; the call may have had its effect"):
            return wire.reply_of(self._perform(
                self.stub.Call, request, self._deadline(timeout), bool(message_id),
                asks_first=True))

    def run(self, process_type: str, input: Data = None, *, json: Any = UNSET,
            content_type: str | None = None, method: str = "",
            request_id: str | None = None, messages: Iterable[values.Message] = (),
            priority: int | None = None, name: str = "",
            durability: str | None = None, labels: Labels | None = None,
            check: bool = True, timeout: Timeout = Default.TIMEOUT) -> values.Outcome:
        """Starts a process and waits for its end, in one call. Raises ProcessFailed if
        it fails, unless `check` is False. An error after the start has the `pid`."""
        deadline = self._deadline(timeout)
        request = wire.submit_request(
            process_type, Payload.of(input, json=json, content_type=content_type),
            method, request_id, messages, priority, name, values.NameConflict.FAIL,
            durability, labels)
        # A Run without a request_id may start a process and still be refused.
        if self._has_run and request.request_id:
            response = self._run(request, deadline)
            if response is not None:
                return wire.outcome_of(response, check)
        pid = wire.submitted_of(self._perform(
            self.stub.Submit, request, deadline, bool(request.request_id)),
            request).pid
        try:
            return self.await_outcome(pid, check=check,
                                      timeout=deadline.remaining())
        except errors.ActordError as error:
            errors.explain_running(error, pid)
            raise

    def _run(self, request: process_pb2.SubmitRequest, deadline: Deadline) -> Any:
        """The answer to Run. None: the daemon does not have this call."""
        try:
            return self._perform(
                self.stub.Run, outcome_pb2.RunRequest(submit=request), deadline, True)
        except errors.ActordError as error:
            if not errors.is_unknown_method(error):
                errors.explain_running(error, error.pid)
                raise
            self._has_run = False
            return None

    def await_outcome(self, pid: Target, *, check: bool = True,
                      timeout: Timeout = Default.TIMEOUT) -> values.Outcome:
        """Waits for the end of a process. Raises ProcessFailed if it has failed,
        unless `check` is False."""
        request = outcome_pb2.AwaitRequest(pid=wire.pid_of(pid))
        with errors.timeout_says(f"process {request.pid} has not ended within the "
                                 "timeout"):
            response = self._perform(self.stub.Await, request,
                                     self._deadline(timeout), True)
        return wire.outcome_of(response, check)

    def cancel(self, pid: Target, reason: str = "", *,
               deadline: float | None = None,
               timeout: Timeout = Default.TIMEOUT) -> values.Receipt:
        """Asks a process to end. After `deadline` seconds the daemon terminates
        it."""
        request = wire.cancel_request(pid, reason, deadline)
        return wire.cancelled_of(self._perform(
            self.stub.Cancel, request, self._deadline(timeout), True), request)

    def terminate(self, pid: Target, reason: str = "", *,
                  timeout: Timeout = Default.TIMEOUT) -> values.Receipt:
        """Forces a process to end."""
        return wire.receipt_of(self._perform(
            self.stub.Terminate, outcome_pb2.TerminateRequest(
                pid=wire.pid_of(pid), reason=reason),
            self._deadline(timeout), True).receipt)

    def complete_yield(self, token: str, result: Data = None, *, json: Any = UNSET,
                       content_type: str | None = None, error: str | None = None,
                       code: errors.Code = grpc.StatusCode.FAILED_PRECONDITION,
                       timeout: Timeout = Default.TIMEOUT) -> values.Completed:
        """Completes an external command with a result, or with an error: its text
        and its code. The answer says what has happened to the completion."""
        request = wire.complete_request(
            token, Payload.of(result, json=json, content_type=content_type), error,
            code)
        return wire.completed_of(self._perform(
            self.stub.CompleteYield, request, self._deadline(timeout), True))

    def describe(self, pid: Target, *,
                 timeout: Timeout = Default.TIMEOUT) -> values.Process:
        """A live process with everything that is known about it."""
        return wire.process_of(self._perform(
            self.stub.GetProcess,
            process_pb2.GetProcessRequest(pid=wire.pid_of(pid)),
            self._deadline(timeout), True).process)

    def ps(self, process_type: str = "", *, state: str | None = None,
           parent_pid: str = "", labels: LabelFilter | None = None,
           page_size: int = 1000,
           timeout: Timeout = Default.TIMEOUT) -> Iterator[values.Process]:
        """The live processes, page by page; with `labels`, those that have each of
        these labels, where None stands for any value. `timeout` is for each
        page."""
        request = wire.list_request(process_type, state, parent_pid, labels,
                                    page_size)
        return self._pages(self.stub.ListProcesses, request, timeout,
                           lambda page: wire.selected_of(page, request))

    def ended(self, process_type: str = "", *, end: str | None = None,
              owner: str = "", labels: LabelFilter | None = None,
              page_size: int = 1000,
              timeout: Timeout = Default.TIMEOUT) -> Iterator[values.Process]:
        """The ended processes whose results are kept, the newest end first, page by
        page. `end` is a ProcessEnd. The other arguments are as for `ps`."""
        request = wire.ended_request(process_type, end, owner, labels, page_size)
        return self._pages(self.stub.ListProcesses, request, timeout,
                           lambda page: wire.selected_of(page, request))

    def yields(self, command: str = "", *, pid: Target = "", page_size: int = 1000,
               timeout: Timeout = Default.TIMEOUT) -> Iterator[values.Yield]:
        """The external commands that wait, page by page. `command` may be a prefix
        that ends in "*". `timeout` is for each page."""
        request = yield_pb2.ListYieldsRequest(
            page_size=page_size, command=command, pid=wire.pid_of(pid))
        return self._pages(self.stub.ListYields, request, timeout,
                           lambda page: map(wire.yield_of, page.yields))

    def watch(self, process_type: str = "", *, parent_pid: str = "",
              labels: LabelFilter | None = None, resume_token: str = "",
              skip_snapshot: bool = False, timeout: float | None = None) -> Watch:
        """Iterates over the live processes, and then over each start and end, for
        `timeout` seconds; by default until it is closed. See class Watch."""
        return Watch(self, process_type, parent_pid, labels, resume_token,
                     skip_snapshot, timeout)

    def subscribe(self, patterns: str | Iterable[str], *,
                  timeout: float | None = None) -> Subscription:
        """Iterates over what processes publish under topics that match a pattern: a
        topic, or a prefix that ends in "*"; 1 to 64. Returns when the subscription
        is open; ends after `timeout` seconds, by default when it is closed. See
        class Subscription."""
        return Subscription(self, patterns, timeout)

    def send_stream(self, *, max_unacknowledged: int = 10_000,
                    timeout: Timeout = Default.TIMEOUT) -> SendStream:
        """Sends in bulk. `timeout`: how long to wait for room, and at the end for
        the last acknowledgements. See class SendStream."""
        return SendStream(self, max_unacknowledged, self._seconds(timeout))

    def invoke(self, method: str, request: Any, *, repeatable: bool = False,
               timeout: Timeout = Default.TIMEOUT) -> Any:
        """Any other unary call of actord.v1.ActorService, such as "GetStatus", with
        the messages of actord.v1. With `repeatable` it is repeated when its
        connection is lost."""
        return self._perform(self._unary_call(method, request), request,
                             self._deadline(timeout), repeatable)

    def _perform(self, call: Callable[..., Any], request: Any,
                 deadline: Deadline, repeatable: bool, *,
                 asks_first: bool = False) -> Any:
        """`asks_first`: the call has an id that older daemons do not know. When its
        connection was lost, it is repeated only if the daemon knows the id."""
        attempts = Attempts(deadline, self.max_attempts, repeatable)
        lost: errors.ActordError | None = None
        while True:
            self._check_open()
            try:
                if lost is not None and not self._knows_call_ids(
                        attempts.timeout()):
                    raise errors.not_repeated(lost)
                return call(request, timeout=attempts.timeout(),
                            metadata=self.endpoint.metadata)
            except grpc.RpcError as error:
                # A local, as `error` is gone at the end of the block.
                failure = errors.of_unary(error, self.endpoint)
            self._pause(attempts.pause_after(failure), failure)
            if asks_first and failure.retry_delay is None:
                lost = failure

    def _pause(self, seconds: float, failure: errors.ActordError) -> None:
        """Ends early when a lost connection is made again."""
        if failure.retry_delay is not None:
            time.sleep(seconds)
            return
        end = time.monotonic() + seconds
        time.sleep(min(seconds, _SHORTEST_PAUSE_SECONDS))
        began = time.monotonic()
        with channels.connecting(self.channel) as is_ready:
            is_ready.wait(max(0.0, end - began))
        if time.monotonic() - began < _AT_ONCE_SECONDS:  # it was not lost
            time.sleep(max(0.0, end - time.monotonic()))

    def _knows_call_ids(self, timeout: float | None) -> bool:
        """Raises grpc.RpcError if there is no answer."""
        try:
            self.stub.ListFailures(wire.CALL_IDS_PROBE, timeout=timeout,
                                   metadata=self.endpoint.metadata)
        except grpc.RpcError as error:
            if error.code() in wire.NO_ANSWER:
                raise
            return bool(error.code() != grpc.StatusCode.UNIMPLEMENTED)
        return True

    def _pages(self, call: Callable[..., Any], request: Any, timeout: Timeout,
               items: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
        while True:
            page = self._perform(call, request, self._deadline(timeout), True)
            yield from items(page)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
