"""A connection to the daemon, as any Python program would make one."""

import dataclasses

import grpc
from actord.v1 import (actor_service_pb2_grpc, call_pb2, dead_letter_pb2,
                       failure_pb2, name_pb2, outcome_pb2, payload_pb2, plugin_pb2, process_pb2, status_pb2,
                       yield_pb2)
from harness.waiting import WAIT_SECONDS
from rpc import error_details_pb2, status_pb2 as rpc_status_pb2

CALL_SECONDS = WAIT_SECONDS  # long enough for any call that is not about waiting
JSON = "application/json"


@dataclasses.dataclass
class Refusal:
    """An RPC error with all that actord attaches to it."""
    code: grpc.StatusCode
    message: str
    reason: str = ""
    domain: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)
    fields: dict = dataclasses.field(default_factory=dict)
    retry_seconds: float = None


def refusal_of(error):
    """Reads the details of a grpc.RpcError; actord's repeat its status."""
    refusal = Refusal(error.code(), error.details())
    trailers = dict(error.trailing_metadata() or ())
    packed = trailers.get("grpc-status-details-bin")
    if packed is None:
        return refusal
    status = rpc_status_pb2.Status.FromString(packed)
    if (status.code, status.message) != (error.code().value[0], error.details()):
        raise AssertionError(f"details contradict the status: {status}, {error}")
    for any_detail in status.details:
        info = error_details_pb2.ErrorInfo()
        bad_request = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if any_detail.Unpack(info):
            refusal.reason, refusal.domain = info.reason, info.domain
            refusal.metadata = dict(info.metadata)
        elif any_detail.Unpack(bad_request):
            refusal.fields = {violation.field: violation.description
                              for violation in bad_request.field_violations}
        elif any_detail.Unpack(retry):
            refusal.retry_seconds = retry.retry_delay.ToNanoseconds() / 1e9
        else:
            raise AssertionError(f"unexpected detail {any_detail.type_url}")
    return refusal


class Connection:
    """`stub` is the generated one; the methods shorten what tests do often.
    The daemon has to be there: this waits until it is connected."""

    def __init__(self, address, options=(), credentials=None):
        # Connections of one process do not share a socket.
        options = [("grpc.use_local_subchannel_pool", 1), *options]
        self.channel = (
            grpc.insecure_channel(address, options=options)
            if credentials is None
            else grpc.secure_channel(address, credentials, options=options))
        self.stub = actor_service_pb2_grpc.ActorServiceStub(self.channel)
        # gRPC 1.51 looks at connect's errno after other calls, which may have
        # changed it, and then gives a connection up that is being made. If the
        # first call waited for that one, it would fail.
        grpc.channel_ready_future(self.channel).result(CALL_SECONDS)

    def present(self, interceptor):
        """Makes all further calls through this interceptor of gRPC's."""
        self.stub = actor_service_pb2_grpc.ActorServiceStub(
            grpc.intercept_channel(self.channel, interceptor))

    def close(self):
        self.channel.close()

    def submit(self, process_type, payload=b"", method="", **fields):
        """Starts a process and returns its PID."""
        request = process_pb2.SubmitRequest(
            process_type=process_type, method=method,
            input=payload_pb2.Payload(data=payload), **fields)
        return self.stub.Submit(request, timeout=CALL_SECONDS).pid

    def send(self, pid, topic="", payload=b""):
        request = process_pb2.SendRequest(
            pid=pid, topic=topic, payload=payload_pb2.Payload(data=payload))
        self.stub.Send(request, timeout=CALL_SECONDS)

    def call(self, pid, topic="", payload=b"", seconds=CALL_SECONDS):
        """Asks the process and returns its answer."""
        request = process_pb2.CallRequest(
            pid=pid, topic=topic, payload=payload_pb2.Payload(data=payload))
        return self.stub.Call(request, timeout=seconds)

    def names(self, **fields):
        request = name_pb2.ListNamesRequest(**fields)
        return self.stub.ListNames(request, timeout=CALL_SECONDS)

    def wait(self, pid, seconds=CALL_SECONDS):
        """Awaits the process and returns its outcome."""
        request = outcome_pb2.AwaitRequest(pid=pid)
        return self.stub.Await(request, timeout=seconds).outcome

    def run(self, process_type, payload=b"", method=""):
        """Submits and awaits; returns the outcome."""
        return self.wait(self.submit(process_type, payload, method))

    def cancel(self, pid, reason="", deadline_ms=0):
        request = outcome_pb2.CancelRequest(pid=pid, reason=reason)
        if deadline_ms:
            request.deadline.FromMilliseconds(deadline_ms)
        self.stub.Cancel(request, timeout=CALL_SECONDS)

    def terminate(self, pid, reason=""):
        request = outcome_pb2.TerminateRequest(pid=pid, reason=reason)
        self.stub.Terminate(request, timeout=CALL_SECONDS)

    def process(self, pid):
        request = process_pb2.GetProcessRequest(pid=pid)
        return self.stub.GetProcess(request, timeout=CALL_SECONDS).process

    def yields(self, **fields):
        request = yield_pb2.ListYieldsRequest(**fields)
        return list(self.stub.ListYields(request, timeout=CALL_SECONDS).yields)

    def pending_calls(self, **fields):
        request = call_pb2.ListCallsRequest(**fields)
        return self.stub.ListCalls(request, timeout=CALL_SECONDS)

    def complete(self, token, result=None, error=None):
        """Completes with the bytes `result` or with `error` = (code, message);
        returns the answer's name, such as ACCEPTED."""
        request = yield_pb2.CompleteYieldRequest(token=token)
        if error is None:
            request.result.CopyFrom(payload_pb2.Payload(data=result))
        else:
            request.error.code, request.error.message = error
        response = self.stub.CompleteYield(request, timeout=CALL_SECONDS)
        name = yield_pb2.CompleteYieldResponse.Answer.Name(response.answer)
        return name.removeprefix("ANSWER_")

    def failures(self, **fields):
        request = failure_pb2.ListFailuresRequest(**fields)
        return self.stub.ListFailures(request, timeout=CALL_SECONDS)

    def dead_letters(self, **fields):
        request = dead_letter_pb2.ListDeadLettersRequest(**fields)
        return self.stub.ListDeadLetters(request, timeout=CALL_SECONDS)

    def dead_letter(self, letter_id):
        """One, with its whole payload."""
        request = dead_letter_pb2.GetDeadLetterRequest(id=letter_id)
        return self.stub.GetDeadLetter(request, timeout=CALL_SECONDS).dead_letter

    def resend(self, letter_id, to=""):
        """Sends a dead letter again and returns the PID that has it."""
        request = dead_letter_pb2.ResendDeadLetterRequest(id=letter_id, to=to)
        return self.stub.ResendDeadLetter(request, timeout=CALL_SECONDS).pid

    def drop_dead_letters(self, *letter_ids):
        """Returns how many were dropped."""
        request = dead_letter_pb2.DropDeadLettersRequest(ids=letter_ids)
        return self.stub.DropDeadLetters(
            request, timeout=CALL_SECONDS).dropped_count

    def status(self):
        return self.stub.GetStatus(status_pb2.GetStatusRequest(),
                                   timeout=CALL_SECONDS)

    def load_plugin(self, path, **fields):
        request = plugin_pb2.LoadPluginRequest(path=str(path), **fields)
        return self.stub.LoadPlugin(request, timeout=CALL_SECONDS)

    def plugins(self, name=""):
        """All versions of a plugin, or of all."""
        request = plugin_pb2.ListPluginsRequest(name=name)
        return list(self.stub.ListPlugins(request, timeout=CALL_SECONDS).plugins)

    def shutdown(self, mode=status_pb2.ShutdownRequest.MODE_DRAIN,
                 deadline_seconds=None):
        request = status_pb2.ShutdownRequest(mode=mode)
        if deadline_seconds is not None:
            request.deadline.FromNanoseconds(int(deadline_seconds * 1e9))
        return self.stub.Shutdown(request, timeout=CALL_SECONDS)


def failure_name(outcome):
    """The reason of an outcome's failure, such as CANCELLED; "" for a result."""
    if outcome.WhichOneof("end") != "failure":
        return ""
    name = outcome_pb2.FailureReason.Name(outcome.failure.reason)
    return name.removeprefix("FAILURE_REASON_")
