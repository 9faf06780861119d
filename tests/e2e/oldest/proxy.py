"""A daemon of today that knows the oldest API alone: a proxy in front of it.

Methods that the oldest API does not have are UNIMPLEMENTED. Fields that it does not
have are dropped on both ways, so a client sees neither receipts nor labels, and a
field of a request that the oldest daemon would not have seen has no effect.
"""

import concurrent.futures
import dataclasses
import subprocess
import typing

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from harness import places

PROTO = places.SOURCE / "tests" / "contract" / "proto_0684afd"
# Prefixes of the metadata that a client adds itself. The rest, such as a token, goes on.
_OWN_METADATA = ("user-agent", "grpc-", ":", "content-type", "te")
_DETAILS = "grpc-status-details-bin"
_THREADS = 64  # one for each open call
_NO_DEADLINE = 1e8  # seconds; gRPC says more for a call without one


def descriptors():
    """The files of the oldest API and those that they import."""
    done = subprocess.run(
        ["protoc", "-I", PROTO, "--include_imports",
         "--descriptor_set_out=/dev/stdout", "actord/v1/actor_service.proto"],
        capture_output=True, check=True)
    return descriptor_pb2.FileDescriptorSet.FromString(done.stdout).file


class Unknown(Exception):
    """The value of an enumeration that the oldest API does not have."""


def check_values(message, path=""):
    """Raises Unknown for the first one."""
    for field, value in message.ListFields():
        here = f"{path}{field.name}"
        values = value if field.label == field.LABEL_REPEATED else [value]
        for each in values:
            if field.message_type is not None:
                if not field.message_type.GetOptions().map_entry:
                    check_values(each, f"{here}.")
            elif (field.enum_type is not None
                  and each not in field.enum_type.values_by_number):
                raise Unknown(f"{here}: is not a value that this daemon knows")


@dataclasses.dataclass
class Method:
    request_type: typing.Any
    response_type: typing.Any

    def request(self, data):
        message = self.request_type.FromString(data)
        message.DiscardUnknownFields()
        check_values(message)
        return message.SerializeToString()

    def response(self, data):
        message = self.response_type.FromString(data)
        message.DiscardUnknownFields()
        return message.SerializeToString()


def methods():
    """The methods of the oldest API by their paths."""
    # A pool of its own: the other one has the messages of today's API.
    pool = descriptor_pool.DescriptorPool()
    found = {}
    for file in descriptors():
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    service = pool.FindServiceByName("actord.v1.ActorService")
    for method in service.methods:
        found[f"/{service.full_name}/{method.name}"] = Method(
            factory.GetPrototype(method.input_type),
            factory.GetPrototype(method.output_type))
    return found


class OldestProxy(grpc.GenericRpcHandler):
    """Serves on `address` until close()."""

    def __init__(self, address):
        self._methods = methods()
        self._channel = grpc.insecure_channel(address, options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1)])
        grpc.channel_ready_future(self._channel).result(60)  # as harness.connection
        self._server = grpc.server(
            concurrent.futures.ThreadPoolExecutor(_THREADS), handlers=[self],
            options=[("grpc.max_receive_message_length", -1)])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self):
        self._server.stop(grace=0).wait()
        self._channel.close()

    def service(self, details):
        """Each call is one of streams here: on the wire there is no difference."""
        path = details.method

        def handle(requests, context):
            if path.startswith("/grpc."):  # health and reflection
                method = None
            elif path in self._methods:
                method = self._methods[path]
            else:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
            yield from self._forward(path, method, requests, context)
        return grpc.stream_stream_rpc_method_handler(handle)

    def _forward(self, path, method, requests, context):
        try:
            # The first one here, so that the client is told what is wrong with it.
            first = next(requests, None)
            first = first if first is None or method is None else method.request(first)
        except Unknown as unknown:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(unknown))

        def all_requests():
            if first is not None:
                yield first
            for request in requests:
                yield request if method is None else method.request(request)

        remaining = context.time_remaining()
        call = self._channel.stream_stream(path)(
            all_requests(),
            timeout=remaining if remaining and remaining < _NO_DEADLINE else None,
            metadata=[(key, value) for key, value in context.invocation_metadata()
                      if not key.startswith(_OWN_METADATA)])
        context.add_callback(call.cancel)
        try:
            for response in call:
                yield response if method is None else method.response(response)
        except grpc.RpcError as error:
            context.set_trailing_metadata(
                [item for item in error.trailing_metadata() or ()
                 if item[0] == _DETAILS])
            context.abort(error.code(), error.details() or "")
