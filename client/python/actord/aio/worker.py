"""Remote workers for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
from typing import Any, AsyncIterator, Callable, Iterable, TypeVar

import grpc

from actord import errors
from actord.aio.client import Client
from actord.attempts import DEFAULT_SECONDS, backoff
from actord.task_answers import completion, failure
from actord.tasks import Command, Complaints, Task, TaskBook, logger, not_accepted
from actord.v1 import work_pb2
from actord.worker import (DEFAULT_CONCURRENCY, FINAL_CODES,
                           LONGEST_PAUSE_SECONDS)

_F = TypeVar("_F", bound=Callable[..., Any])
# Half-closes the stream.
_END = None


class Worker:
    """Same as actord.Worker:

        worker = actord.aio.Worker(client)

        @worker.command("payment.charge")
        async def charge(task):
            return await bank.charge(task.json(), key=task.idempotency_key)

        await worker.run()

    A coroutine function runs in the event loop, and is cancelled when the daemon
    takes its task back. Any other function runs on a thread of the loop's default
    executor.
    """

    def __init__(self, client: Client, *, name: str = "",
                 concurrency: int = DEFAULT_CONCURRENCY,
                 stop_timeout: float = DEFAULT_SECONDS) -> None:
        if not isinstance(client, Client):
            raise TypeError("actord.aio.Worker takes an actord.aio.Client, not "
                            f"{client!r}")
        self._client = client
        self._commands: list[Command] = []
        self._book = TaskBook(self._commands, name, concurrency)
        self._stop_timeout = stop_timeout
        self._requests: asyncio.Queue[Any] = asyncio.Queue()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._call: Any = None
        self._accepted = False  # on this stream
        self._broken: errors.ActordError | None = None  # has ended the last stream
        self._complaints = Complaints()
        self._subscribed = asyncio.Event()
        self._changed = asyncio.Event()  # something may be due
        self._stopping = False
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def command(self, pattern: str, *,
                attempts: int | None = None) -> Callable[[_F], _F]:
        """Same as actord.Worker.command."""
        def add(function: _F) -> _F:
            self._commands.append(Command(pattern, function, attempts))
            return function
        return add

    async def run(self, *, signals: Iterable[int] = (signal.SIGTERM,
                                                     signal.SIGINT)) -> None:
        """Same as actord.Worker.run."""
        loop = asyncio.get_running_loop()
        watched = (list(signals) if threading.current_thread()
                   is threading.main_thread() else [])
        for number in watched:
            loop.add_signal_handler(number, self._signalled)
        try:
            await self._work()
        finally:
            for number in watched:
                loop.remove_signal_handler(number)
            for running in self._running.values():
                running.cancel()

    async def start(self, timeout: float | None = DEFAULT_SECONDS) -> None:
        """Same as actord.Worker.start, in a task of the loop; no signal stops it."""
        self._task = asyncio.create_task(self.run(signals=()), name="actord worker")
        accepted = asyncio.create_task(self._subscribed.wait())
        await asyncio.wait({self._task, accepted}, timeout=timeout,
                           return_when=asyncio.FIRST_COMPLETED)
        accepted.cancel()
        if self._task.done():
            await self._task
        if not self._subscribed.is_set():
            self.close()
            raise not_accepted(timeout, self._broken)

    def stop(self) -> None:
        """Same as actord.Worker.stop."""
        if self._stopping:
            return
        self._stopping = True
        self._requests.put_nowait(self._book.stop())
        self._leave_if_done()
        asyncio.get_running_loop().call_later(self._stop_timeout, self.close)

    def close(self) -> None:
        """Ends the stream at once: other workers get the tasks under way. Their
        coroutines are cancelled."""
        self._closing = self._stopping = True
        if self._call is not None:
            self._call.cancel()
        self._changed.set()

    async def join(self) -> None:
        """Waits for the end of a worker that was started with start()."""
        if self._task is not None:
            await self._task

    async def __aenter__(self) -> Worker:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        await self.join()

    def _signalled(self) -> None:
        if self._stopping:
            self.close()
        else:
            self.stop()

    async def _work(self) -> None:
        failed = 0
        while not self._closing and not self._book.done:
            broken = await self._converse()
            if self._closing or self._book.done:
                return
            if broken.code in FINAL_CODES:
                raise broken
            failed = 1 if self._accepted else failed + 1
            pause = max(broken.retry_delay or 0.0,
                        backoff(failed, LONGEST_PAUSE_SECONDS))
            self._broken = broken
            complaint = self._complaints.about(broken, time.monotonic())
            if complaint:
                logger.warning("%s", complaint)
            await self._wait(pause)

    async def _wait(self, seconds: float) -> None:
        """Waits; returns earlier if the worker ends."""
        end = time.monotonic() + seconds
        while not self._closing and not self._book.done:
            remaining = end - time.monotonic()
            if remaining <= 0:
                return
            await self._wait_for_change(remaining)

    async def _wait_for_change(self, seconds: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _converse(self) -> errors.ActordError:
        """Runs one stream to its end. Returns the error that has ended it."""
        requests: asyncio.Queue[Any] = asyncio.Queue()
        for request in self._book.open():
            requests.put_nowait(request)
        self._accepted = False
        self._requests = requests
        self._leave_if_done()
        self._call = self._client.stub.Work(
            _until_end(requests), metadata=self._client.endpoint.metadata)
        ticker = asyncio.create_task(self._tick(requests))
        try:
            async for response in self._call:
                self._received(response)
            return errors.Unavailable("the daemon has ended it",
                                      code=grpc.StatusCode.UNAVAILABLE)
        except grpc.RpcError as error:
            return errors.of_rpc(error, self._client.endpoint)
        except asyncio.CancelledError:
            # gRPC raises it also for a call that close() has cancelled.
            task = asyncio.current_task()
            if self._closing and not (task and task.cancelling()):
                return errors.ActordError("closed",
                                          code=grpc.StatusCode.CANCELLED)
            raise
        finally:
            self._requests = asyncio.Queue()  # of no stream
            ticker.cancel()
            requests.put_nowait(_END)

    def _received(self, response: Any) -> None:
        if response.HasField("subscribed"):
            self._accepted = True
            self._put(self._book.subscribed(response.subscribed))
            self._subscribed.set()
        now = time.monotonic()
        for message in response.tasks:
            task = self._book.start(message, now, self._say_from_any_thread(
                asyncio.get_running_loop()))
            if task is not None:
                self._running[task.token] = asyncio.create_task(
                    self._carry_out(task), name=task.command)
        for message in response.cancels:
            cancelled = self._book.cancel(message)
            if cancelled is not None and cancelled.token in self._running:
                self._running[cancelled.token].cancel()
        for message in response.answers:
            self._put(self._book.answered(message, now))
        self._changed.set()

    async def _carry_out(self, task: Task) -> None:
        command = self._book.command_of(task)
        request = None
        try:
            if command is None:
                raise LookupError(f"the worker has no command {task.command}")
            if inspect.iscoroutinefunction(command.function):
                result = await command.function(task)
            else:
                result = await asyncio.to_thread(command.function, task)
            request = completion(task, result)
        except asyncio.CancelledError:
            if not task.cancelled and not self._closing:
                request = failure(task, command, RuntimeError("cancelled"))
        except Exception as error:
            request = failure(task, command, error)
        finally:
            self._running.pop(task.token, None)
        self._put(self._book.answer(task, request))

    def _say_from_any_thread(self, loop: asyncio.AbstractEventLoop
                             ) -> Callable[[work_pb2.WorkRequest], None]:
        def say(request: work_pb2.WorkRequest) -> None:
            loop.call_soon_threadsafe(
                lambda: self._requests.put_nowait(request))
        return say

    def _put(self, requests: list[work_pb2.WorkRequest]) -> None:
        for request in requests:
            self._requests.put_nowait(request)
        self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._book.done:
            self._requests.put_nowait(_END)
            self._changed.set()

    async def _tick(self, requests: asyncio.Queue[Any]) -> None:
        """Sends the due heartbeats and answers until the stream is replaced."""
        while requests is self._requests:
            now = time.monotonic()
            due, moment = self._book.due(now)
            for request in due:
                requests.put_nowait(request)
            await self._wait_for_change(
                None if moment is None else max(0.0, moment - now))


async def _until_end(requests: asyncio.Queue[Any]) -> AsyncIterator[Any]:
    while (request := await requests.get()) is not _END:
        yield request
