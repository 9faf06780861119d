"""Remote workers for programs with threads. `actord.aio` has the same for
asyncio."""

from __future__ import annotations

import queue
import signal
import threading
import time
from typing import Any, Callable, Iterable, TypeVar

import grpc

from actord import errors
from actord.attempts import DEFAULT_SECONDS, backoff
from actord.channels import connecting
from actord.client import Client
from actord.task_answers import completion, failure
from actord.tasks import Command, Complaints, Task, TaskBook, logger, not_accepted
from actord.v1 import work_pb2

DEFAULT_CONCURRENCY = 4
LONGEST_PAUSE_SECONDS = 5.0
# Another stream with the same subscription and token would fail, too.
FINAL_CODES = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED,
               grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED)

_F = TypeVar("_F", bound=Callable[..., Any])


class Worker:
    """Carries out external commands:

        worker = actord.Worker("127.0.0.1:7600")

        @worker.command("payment.charge")
        def charge(task):
            return bank.charge(task.json(), key=task.idempotency_key)

        worker.run()

    A function is called with a Task, on a thread of its own, for at most
    `concurrency` tasks at a time. It returns the result: text, bytes, a Payload,
    or a JSON value. It raises Refuse for an error that another attempt would not
    change, and Retry, or any other exception, for an error that another attempt
    may not have. It may be called more than once for the same command:
    task.idempotency_key is then the same.

    The worker renews the leases, opens another stream if the stream breaks, and
    sends answers again that the daemon could not take.

    name          for lists of the daemon
    stop_timeout  seconds that tasks under way have after stop(); then other
                  workers get them
    """

    def __init__(self, client: Client | str | None = None, *, name: str = "",
                 concurrency: int = DEFAULT_CONCURRENCY,
                 stop_timeout: float = DEFAULT_SECONDS) -> None:
        self._owns_client = not isinstance(client, Client)
        self._client = client if isinstance(client, Client) else Client(client)
        self._commands: list[Command] = []
        self._book = TaskBook(self._commands, name, concurrency)
        self._stop_timeout = stop_timeout
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._call: Any = None
        self._ticks = threading.Condition(self._lock)
        self._subscribed = threading.Event()  # or ended
        self._accepted = False  # on this stream
        self._broken: errors.ActordError | None = None  # has ended the last stream
        self._complaints = Complaints()
        self._stopping = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def command(self, pattern: str, *,
                attempts: int | None = None) -> Callable[[_F], _F]:
        """Makes a function carry out the commands of this name, or, with a pattern
        that ends in "*", of this prefix. An exception of attempt number `attempts`
        is final; by default the policy of the daemon decides alone."""
        def add(function: _F) -> _F:
            self._commands.append(Command(pattern, function, attempts))
            return function
        return add

    def run(self, *, signals: Iterable[int] = (signal.SIGTERM,
                                               signal.SIGINT)) -> None:
        """Works until stop() or one of the signals; a second signal ends it at
        once. (Signals only in the main thread.) Raises ActordError if the daemon
        refuses the worker."""
        previous = {}
        if threading.current_thread() is threading.main_thread():
            previous = {number: signal.signal(number, self._signalled)
                        for number in signals}
        try:
            self._work()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            self._subscribed.set()
            if self._owns_client:
                self._client.close()

    def start(self, timeout: float | None = DEFAULT_SECONDS) -> None:
        """Works on a thread of its own. Returns when the daemon has accepted the
        worker; raises ActordError if it does not within `timeout` seconds."""
        self._thread = threading.Thread(target=self._run_thread, daemon=True,
                                        name="actord worker")
        self._thread.start()
        accepted = self._subscribed.wait(timeout)
        if self._error is not None:
            raise self._error
        if not accepted:
            self.close()
            raise not_accepted(timeout, self._broken)

    def stop(self) -> None:
        """Takes no more tasks. The worker ends when the tasks under way are done,
        after `stop_timeout` seconds at the latest. Tasks that have arrived and are
        not begun go to other workers."""
        if self._stopping.is_set():
            return
        with self._lock:
            self._stopping.set()
            self._requests.put(self._book.stop())
            self._leave_if_done()
        timer = threading.Timer(self._stop_timeout, self.close)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Ends the stream at once: other workers get the tasks under way. Their
        functions run on, and their results are dropped."""
        self._closing.set()
        self._stopping.set()
        with self._lock:
            if self._call is not None:
                self._call.cancel()
            self._ticks.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Waits for the end of a worker that was started with start(). Raises what
        has ended it."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise TimeoutError(f"the worker still works after {timeout} s")
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

    def _signalled(self, *_: object) -> None:
        # On a thread: the signal may have interrupted the holder of the lock.
        end = self.close if self._stopping.is_set() else self.stop
        threading.Thread(target=end, daemon=True).start()

    def _run_thread(self) -> None:
        try:
            self.run()
        except Exception as error:  # for start() and join()
            self._error = error
            self._subscribed.set()

    def _work(self) -> None:
        failed = 0
        while not self._closing.is_set() and not self._done():
            broken = self._converse()
            if self._closing.is_set() or self._done():
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
            self._wait(pause)

    def _wait(self, seconds: float) -> None:
        """Waits; returns earlier if the worker ends."""
        end = time.monotonic() + seconds
        with connecting(self._client.channel), self._lock:
            while (not self._closing.is_set() and not self._book.done
                   and time.monotonic() < end):
                self._ticks.wait(end - time.monotonic())

    def _done(self) -> bool:
        with self._lock:
            return self._book.done

    def _converse(self) -> errors.ActordError:
        """Runs one stream to its end. Returns the error that has ended it."""
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._accepted = False
        with self._lock:
            for request in self._book.open():
                requests.put(request)
            self._requests = requests
            self._leave_if_done()
            self._call = self._client.stub.Work(
                iter(requests.get, None), metadata=self._client.endpoint.metadata)
            if self._closing.is_set():
                self._call.cancel()
        ticker = threading.Thread(target=self._tick, args=(requests,), daemon=True,
                                  name="actord heartbeats")
        ticker.start()
        try:
            for response in self._call:
                self._received(response)
            return errors.Unavailable("the daemon has ended it",
                                      code=grpc.StatusCode.UNAVAILABLE)
        except grpc.RpcError as error:
            return errors.of_rpc(error, self._client.endpoint)
        finally:
            with self._lock:
                self._requests = queue.SimpleQueue()  # of no stream
                self._ticks.notify_all()
            requests.put(None)

    def _received(self, response: Any) -> None:
        with self._lock:
            if response.HasField("subscribed"):
                self._accepted = True
                self._put(self._book.subscribed(response.subscribed))
                self._subscribed.set()
            now = time.monotonic()
            for message in response.tasks:
                task = self._book.start(message, now, self._say)
                if task is not None:
                    threading.Thread(target=self._carry_out, args=(task,),
                                     daemon=True, name=task.command).start()
            for message in response.cancels:
                self._book.cancel(message)
            for message in response.answers:
                self._put(self._book.answered(message, now))
            self._ticks.notify_all()

    def _carry_out(self, task: Task) -> None:
        command = self._book.command_of(task)
        try:
            if command is None:
                raise LookupError(f"the worker has no command {task.command}")
            request = completion(task, command.function(task))
        except BaseException as error:
            request = failure(task, command, error)
        with self._lock:
            self._put(self._book.answer(task, request))

    def _say(self, request: work_pb2.WorkRequest) -> None:
        with self._lock:
            self._requests.put(request)

    def _put(self, requests: list[work_pb2.WorkRequest]) -> None:
        for request in requests:
            self._requests.put(request)
        self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._book.done:
            self._requests.put(None)  # ends the stream in order
            self._ticks.notify_all()

    def _tick(self, requests: queue.SimpleQueue[Any]) -> None:
        """Sends the due heartbeats and answers until the stream is replaced."""
        with self._lock:
            while requests is self._requests:
                due, moment = self._book.due(time.monotonic())
                for request in due:
                    requests.put(request)
                self._ticks.wait(None if moment is None else
                                 max(0.0, moment - time.monotonic()))
