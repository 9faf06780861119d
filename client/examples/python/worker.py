"""A remote worker as a class: it holds a Work stream to actord, calls a
function for each task, and sends the results. payment_worker.py is a program
that uses it.

Needs python3-grpcio and the stubs of proto/actord/v1 on the PYTHONPATH:
  protoc -I proto --python_out=stubs --grpc_python_out=stubs \\
    --plugin=protoc-gen-grpc_python=$(which grpc_python_plugin) \\
    proto/actord/v1/*.proto
"""

import concurrent.futures
import queue
import threading
import time

import grpc
from actord.v1 import (actor_service_pb2_grpc, payload_pb2, work_pb2,
                       yield_pb2)
from connection import open_channel
from token_metadata import authorization

RECONNECT_SECONDS = 1
BEATS_PER_LEASE = 3
MAX_BEAT_SECONDS = 1
# Each is at most 4 bytes of UTF-8, and the daemon accepts 4096 bytes.
ERROR_CHARACTERS = 1000
# Another attempt with the same subscription and token would fail, too.
FINAL = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED,
         grpc.StatusCode.PERMISSION_DENIED)
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION.value[0]


class Refused(Exception):
    """An error that another attempt would not change: the process gets it."""


def text_of(error):
    return str(error)[:ERROR_CHARACTERS]


class Worker:
    """Keeps a stream open, and opens another if it breaks, until stop().

    `carry_out(task)` runs on `at_a_time` threads of the worker, while this
    class renews the leases with heartbeats. It returns the bytes of the result.
    It raises Refused for a final error, and any other exception for an error
    that another attempt may not have. It may be called more than once for the same
    command: task.idempotency_key is then the same. `say` is called with a line
    for people, from any thread.
    """

    def __init__(self, address, command, carry_out, name, at_a_time=4,
                 say=print, token_file=None):
        self._stub = actor_service_pb2_grpc.ActorServiceStub(
            open_channel(address))
        self._subscription = work_pb2.WorkRequest(
            subscribe=work_pb2.Subscribe(commands=[command], worker=name),
            add_credits=at_a_time)
        self._metadata = authorization(address, token_file)
        self._function = carry_out
        self._say = say
        self._pool = concurrent.futures.ThreadPoolExecutor(at_a_time)
        # Reentrant, because stop() may run as a signal handler in the thread
        # that holds the lock.
        self._lock = threading.RLock()
        self._requests = queue.SimpleQueue()  # of the open stream
        self._held = {}  # by token: the request with the result, or None
        self._lease_seconds = 30  # shortest lease of the held tasks
        self._stopping = threading.Event()

    def stop(self, *_):
        """Accepts no more tasks; run() returns when the held tasks are done.
        May be used as a signal handler."""
        self._stopping.set()
        self._requests.put(work_pb2.WorkRequest(stop=True))
        self._leave_if_done()

    def run(self):
        """Returns 0 after stop(), and 1 if the daemon refuses the worker."""
        while not self._stopping.is_set():
            try:
                self._converse()
            except grpc.RpcError as error:
                self._say(f"{error.code().name}: {error.details()}")
                if error.code() in FINAL:
                    return 1
                self._stopping.wait(RECONNECT_SECONDS)
        self._pool.shutdown()
        return 0

    def _converse(self):
        requests = queue.SimpleQueue()
        # The subscription comes first: stop() adds a request as soon as it
        # sees the queue.
        requests.put(self._subscription)
        with self._lock:
            self._requests, self._held = requests, {}
            if self._stopping.is_set():
                return
        threading.Thread(target=self._beat, args=(requests,),
                         daemon=True).start()
        try:
            for response in self._stub.Work(
                    iter(requests.get, None), metadata=self._metadata):
                for task in response.tasks:
                    with self._lock:
                        self._held[task.token] = None
                        self._lease_seconds = min(
                            self._lease_seconds,
                            task.lease.ToNanoseconds() / 1e9)
                    self._pool.submit(self._carry_out, requests, task)
                for cancel in response.cancels:
                    self._say(f"{cancel.token} was taken back")
                for answer in response.answers:
                    self._note(requests, answer)
        finally:
            requests.put(None)

    def _carry_out(self, requests, task):
        request = work_pb2.WorkRequest()
        try:
            result = self._function(task)
            request.completions.add(
                token=task.token, result=payload_pb2.Payload(data=result))
        except Refused as why:
            request.completions.add(
                token=task.token, error=yield_pb2.YieldError(
                    code=FAILED_PRECONDITION, message=text_of(why)))
        except Exception as why:
            request.failures.add(
                token=task.token,
                error=yield_pb2.YieldError(message=text_of(why)))
        self._tell(requests, task.token, request)

    def _tell(self, requests, token, request):
        with self._lock:
            if requests is self._requests:
                self._held[token] = request
        requests.put(request)

    def _note(self, requests, answer):
        if answer.kind == work_pb2.TaskAnswer.KIND_HEARTBEAT:
            return
        if not answer.HasField("refusal"):
            outcome = yield_pb2.CompleteYieldResponse.Answer.Name(answer.answer)
        elif answer.refusal.HasField("retry_delay"):
            # The mailbox of its process is full. Heartbeats continue
            # meanwhile.
            again = threading.Timer(
                answer.refusal.retry_delay.ToNanoseconds() / 1e9, requests.put,
                [self._held[answer.token]])
            again.daemon = True
            again.start()
            return
        elif self._is_result(answer.token):
            # The result was refused, because it is too long, for example. It
            # would be refused again, so the process gets this final error.
            self._tell(requests, answer.token, work_pb2.WorkRequest(completions=[
                yield_pb2.CompleteYieldRequest(
                    token=answer.token, error=yield_pb2.YieldError(
                        code=answer.refusal.code,
                        message=answer.refusal.message))]))
            return
        else:
            outcome = answer.refusal.reason
        self._say(f"{answer.token} {outcome}")
        with self._lock:
            del self._held[answer.token]
        if not self._stopping.is_set():
            requests.put(work_pb2.WorkRequest(add_credits=1))
        self._leave_if_done()

    def _is_result(self, token):
        """Whether the request of a held task contains a result."""
        return any(completion.HasField("result")
                   for completion in self._held[token].completions)

    def _leave_if_done(self):
        with self._lock:
            done = self._stopping.is_set() and not self._held
        if done:
            self._requests.put(None)  # ends the stream in order

    def _beat(self, requests):
        """Sends heartbeats until the stream is replaced."""
        while requests is self._requests:
            # A task with a shorter lease may arrive meanwhile.
            time.sleep(min(MAX_BEAT_SECONDS,
                           self._lease_seconds / BEATS_PER_LEASE))
            with self._lock:
                held = list(self._held)
            if held:
                requests.put(work_pb2.WorkRequest(heartbeats=[
                    work_pb2.TaskHeartbeat(token=token) for token in held]))
