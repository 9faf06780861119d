"""The client for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Iterable

import grpc
import grpc.aio

from actord import errors, values, wire
from actord.aio.send_stream import SendStream
from actord.aio.subscription import Subscription
from actord.aio.watch import Watch
from actord.attempts import Attempts, Deadline, Default, Timeout
from actord.connection import ConnectedClient
from actord.v1 import outcome_pb2, process_pb2, yield_pb2
from actord.values import UNSET, Data, LabelFilter, Labels, Payload, Target


class Client(ConnectedClient):
    """A connection to a daemon, for the event loop in which it is made. Settings
    and methods are those of actord.Client; the methods are awaited, and the
    iterators are asynchronous.
    """

    def _open_channel(self, address: str, options: list[tuple[str, Any]],
                      credentials: Any) -> Any:
        if credentials is None:
            return grpc.aio.insecure_channel(address, options)
        return grpc.aio.secure_channel(address, credentials, options)

    async def close(self) -> None:
        """Ends the connection, and with it all open calls and streams."""
        self._take_no_more_calls()
        await self.channel.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def submit(self, process_type: str, input: Data = None, *,
                     json: Any = UNSET, content_type: str | None = None,
                     method: str = "", request_id: str | None = None,
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
        return wire.submitted_of(await self._perform(
            self.stub.Submit, request, self._deadline(timeout),
            bool(request.request_id)), request)

    async def send(self, pid: Target, payload: Data = None, *, topic: str = "",
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
        return wire.sent_of(await self._perform(
            self.stub.Send, request, self._deadline(timeout),
            bool(request.message_id)))

    async def call(self, pid: Target, payload: Data = None, *, topic: str = "",
                   json: Any = UNSET, content_type: str | None = None,
                   message_id: str = "", start: values.Start | str | None = None,
                   timeout: Timeout = Default.TIMEOUT) -> values.Reply:
        """Same as actord.Client.call."""
        request = wire.call_request(
            pid, topic, Payload.of(payload, json=json, content_type=content_type),
            message_id, start)
        with errors.timeout_says(f"process {request.pid} has not answered within the "
                                 "timeout; the call may have had its effect"):
            return wire.reply_of(await self._perform(
                self.stub.Call, request, self._deadline(timeout), bool(message_id),
                asks_first=True))

    async def run(self, process_type: str, input: Data = None, *,
                  json: Any = UNSET, content_type: str | None = None,
                  method: str = "", request_id: str | None = None,
                  messages: Iterable[values.Message] = (),
                  priority: int | None = None, name: str = "",
                  durability: str | None = None, labels: Labels | None = None,
                  check: bool = True,
                  timeout: Timeout = Default.TIMEOUT) -> values.Outcome:
        """Same as actord.Client.run."""
        deadline = self._deadline(timeout)
        request = wire.submit_request(
            process_type, Payload.of(input, json=json, content_type=content_type),
            method, request_id, messages, priority, name, values.NameConflict.FAIL,
            durability, labels)
        # A Run without a request_id may start a process and still be refused.
        if self._has_run and request.request_id:
            response = await self._run(request, deadline)
            if response is not None:
                return wire.outcome_of(response, check)
        pid = wire.submitted_of(await self._perform(
            self.stub.Submit, request, deadline, bool(request.request_id)),
            request).pid
        try:
            return await self.await_outcome(pid, check=check,
                                            timeout=deadline.remaining())
        except errors.ActordError as error:
            errors.explain_running(error, pid)
            raise

    async def _run(self, request: process_pb2.SubmitRequest, deadline: Deadline) -> Any:
        """The answer to Run. None: the daemon does not have this call."""
        try:
            return await self._perform(
                self.stub.Run, outcome_pb2.RunRequest(submit=request), deadline, True)
        except errors.ActordError as error:
            if not errors.is_unknown_method(error):
                errors.explain_running(error, error.pid)
                raise
            self._has_run = False
            return None

    async def await_outcome(self, pid: Target, *, check: bool = True,
                            timeout: Timeout = Default.TIMEOUT) -> values.Outcome:
        """Same as actord.Client.await_outcome."""
        request = outcome_pb2.AwaitRequest(pid=wire.pid_of(pid))
        with errors.timeout_says(f"process {request.pid} has not ended within the "
                                 "timeout"):
            response = await self._perform(self.stub.Await, request,
                                           self._deadline(timeout), True)
        return wire.outcome_of(response, check)

    async def cancel(self, pid: Target, reason: str = "", *,
                     deadline: float | None = None,
                     timeout: Timeout = Default.TIMEOUT) -> values.Receipt:
        """Asks a process to end. After `deadline` seconds the daemon terminates
        it."""
        request = wire.cancel_request(pid, reason, deadline)
        return wire.cancelled_of(await self._perform(
            self.stub.Cancel, request, self._deadline(timeout), True), request)

    async def terminate(self, pid: Target, reason: str = "", *,
                        timeout: Timeout = Default.TIMEOUT) -> values.Receipt:
        """Forces a process to end."""
        return wire.receipt_of((await self._perform(
            self.stub.Terminate, outcome_pb2.TerminateRequest(
                pid=wire.pid_of(pid), reason=reason),
            self._deadline(timeout), True)).receipt)

    async def complete_yield(
            self, token: str, result: Data = None, *, json: Any = UNSET,
            content_type: str | None = None, error: str | None = None,
            code: errors.Code = grpc.StatusCode.FAILED_PRECONDITION,
            timeout: Timeout = Default.TIMEOUT) -> values.Completed:
        """Same as actord.Client.complete_yield."""
        request = wire.complete_request(
            token, Payload.of(result, json=json, content_type=content_type), error,
            code)
        return wire.completed_of(await self._perform(
            self.stub.CompleteYield, request, self._deadline(timeout), True))

    async def describe(self, pid: Target, *,
                       timeout: Timeout = Default.TIMEOUT) -> values.Process:
        """Same as actord.Client.describe."""
        return wire.process_of((await self._perform(
            self.stub.GetProcess,
            process_pb2.GetProcessRequest(pid=wire.pid_of(pid)),
            self._deadline(timeout), True)).process)

    def ps(self, process_type: str = "", *, state: str | None = None,
           parent_pid: str = "", labels: LabelFilter | None = None,
           page_size: int = 1000,
           timeout: Timeout = Default.TIMEOUT) -> AsyncIterator[values.Process]:
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
              timeout: Timeout = Default.TIMEOUT) -> AsyncIterator[values.Process]:
        """The ended processes whose results are kept, the newest end first, page by
        page. `end` is a ProcessEnd. The other arguments are as for `ps`."""
        request = wire.ended_request(process_type, end, owner, labels, page_size)
        return self._pages(self.stub.ListProcesses, request, timeout,
                           lambda page: wire.selected_of(page, request))

    def yields(self, command: str = "", *, pid: Target = "", page_size: int = 1000,
               timeout: Timeout = Default.TIMEOUT) -> AsyncIterator[values.Yield]:
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
        topic, or a prefix that ends in "*"; 1 to 64. Ends after `timeout` seconds,
        by default when it is closed. See class Subscription."""
        return Subscription(self, patterns, timeout)

    def send_stream(self, *, max_unacknowledged: int = 10_000,
                    timeout: Timeout = Default.TIMEOUT) -> SendStream:
        """Same as actord.Client.send_stream."""
        return SendStream(self, max_unacknowledged, self._seconds(timeout))

    async def invoke(self, method: str, request: Any, *, repeatable: bool = False,
                     timeout: Timeout = Default.TIMEOUT) -> Any:
        """Same as actord.Client.invoke."""
        return await self._perform(self._unary_call(method, request), request,
                                   self._deadline(timeout), repeatable)

    async def _perform(self, call: Callable[..., Any], request: Any,
                       deadline: Deadline, repeatable: bool, *,
                       asks_first: bool = False) -> Any:
        """`asks_first`: the call has an id that older daemons do not know. When its
        connection was lost, it is repeated only if the daemon knows the id."""
        attempts = Attempts(deadline, self.max_attempts, repeatable)
        lost: errors.ActordError | None = None
        while True:
            self._check_open()
            try:
                if lost is not None and not await self._knows_call_ids(
                        attempts.timeout()):
                    raise errors.not_repeated(lost)
                return await call(request, timeout=attempts.timeout(),
                                  metadata=self.endpoint.metadata)
            except grpc.RpcError as error:
                # A local, as `error` is gone at the end of the block.
                failure = errors.of_unary(error, self.endpoint)
            await asyncio.sleep(attempts.pause_after(failure))
            if asks_first and failure.retry_delay is None:
                lost = failure

    async def _knows_call_ids(self, timeout: float | None) -> bool:
        """Raises grpc.RpcError if there is no answer."""
        try:
            await self.stub.ListFailures(wire.CALL_IDS_PROBE, timeout=timeout,
                                         metadata=self.endpoint.metadata)
        except grpc.RpcError as error:
            if error.code() in wire.NO_ANSWER:
                raise
            return bool(error.code() != grpc.StatusCode.UNIMPLEMENTED)
        return True

    async def _pages(self, call: Callable[..., Any], request: Any,
                     timeout: Timeout, items: Callable[[Any], Iterable[Any]]
                     ) -> AsyncIterator[Any]:
        while True:
            page = await self._perform(call, request, self._deadline(timeout), True)
            for item in items(page):
                yield item
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
