"""The standard services beside actord's own, and what GetStatus says."""

import errno
import socket
import unittest

import grpc
from actord.v1 import status_pb2
from google.protobuf import descriptor_pb2
from harness.case import DaemonCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually
from health.v1 import health_pb2
import reflection_pb2

SERVICE = "actord.v1.ActorService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Health(DaemonCase):

    def setUp(self):
        super().setUp()
        shape = {
            "request_serializer": health_pb2.HealthCheckRequest.SerializeToString,
            "response_deserializer": health_pb2.HealthCheckResponse.FromString}
        channel = self.actor.channel
        self.check = channel.unary_unary("/grpc.health.v1.Health/Check", **shape)
        self.watch = channel.unary_stream("/grpc.health.v1.Health/Watch", **shape)

    def test_daemon_and_service_are_serving(self):
        for service in ("", SERVICE):
            request = health_pb2.HealthCheckRequest(service=service)
            self.assertEqual(self.check(request, timeout=CALL_SECONDS).status,
                             SERVING)

    def test_other_services_are_not_known(self):
        request = health_pb2.HealthCheckRequest(service="other.Service")
        with self.assertRaises(grpc.RpcError) as caught:
            self.check(request, timeout=CALL_SECONDS)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_watch_tells_when_the_daemon_ends(self):
        updates = self.watch(health_pb2.HealthCheckRequest(service=SERVICE),
                             timeout=CALL_SECONDS)
        self.assertEqual(next(updates).status, SERVING)
        # It keeps the daemon draining until its payment is taken.
        pid = self.actor.submit(
            "order", b'{"order": "o", "amount_cents": 1, "hold_ms": 0}')
        [payment] = eventually(lambda: self.actor.yields(pid=pid), "a payment")
        shutdown = self.actor.stub.Shutdown.future(status_pb2.ShutdownRequest())
        self.assertEqual(next(updates).status, NOT_SERVING)
        request = health_pb2.HealthCheckRequest()
        self.assertEqual(self.check(request, timeout=CALL_SECONDS).status,
                         NOT_SERVING)
        self.assertEqual(self.actor.complete(payment.token, b"x"), "ACCEPTED")
        shutdown.result(CALL_SECONDS)


class Reflection(DaemonCase):

    def ask(self, **question):
        call = self.actor.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=(
                reflection_pb2.ServerReflectionRequest.SerializeToString),
            response_deserializer=(
                reflection_pb2.ServerReflectionResponse.FromString))
        questions = iter([reflection_pb2.ServerReflectionRequest(**question)])
        [answer] = call(questions, timeout=CALL_SECONDS)
        return answer

    def test_services_are_listed(self):
        services = self.ask(list_services="").list_services_response.service
        names = {service.name for service in services}
        self.assertLessEqual({SERVICE, "grpc.health.v1.Health"}, names)

    def test_methods_are_described(self):
        answer = self.ask(file_containing_symbol=SERVICE)
        files = [descriptor_pb2.FileDescriptorProto.FromString(one) for one in
                 answer.file_descriptor_response.file_descriptor_proto]
        [service] = [service for file in files for service in file.service
                     if f"{file.package}.{service.name}" == SERVICE]
        self.assertEqual(
            {method.name for method in service.method},
            {"Submit", "Run", "Send", "SendStream", "SubmitStream", "Call",
             "CompleteYield", "CreateYieldLink", "Work", "Shutdown",
             "Await", "Cancel", "Terminate", "GetProcess", "ListProcesses",
             "ListNames", "ListWorkers", "ListYields", "ListCalls",
             "ListDeadLetters", "GetDeadLetter",
             "ResendDeadLetter", "DropDeadLetters", "WatchProcesses", "Subscribe",
             "ListClients", "CutClient", "LoadPlugin", "ListPlugins",
             "GetStatus", "Backup", "ReadHistory", "ListQuarantine",
             "RetryQuarantine", "ListFailures", "ListLogLines",
             "SetLogLevel", "RecordProcess"})


class Strangers(DaemonCase):
    """The daemon continues to serve, no matter which bytes come to the port."""

    def test_bytes_that_are_no_http2(self):
        for data in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 1000,
                     bytes(range(256)) * 100,
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100):
            with socket.create_connection(("127.0.0.1", self.daemon.port),
                                          10) as stranger:
                try:
                    stranger.sendall(data)
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(4096):
                        pass
                except OSError as error:
                    # It may break off at once; it may not stay silent.
                    self.assertIn(error.errno, (errno.ECONNRESET, errno.EPIPE,
                                                errno.ENOTCONN))
            self.assert_serves()

    def test_method_that_is_not_there(self):
        call = self.actor.channel.unary_unary("/actord.v1.ActorService/Fly")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"", timeout=CALL_SECONDS)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)


class Status(DaemonCase):

    OPTIONS = ("--workers", "2")

    def test_describes_the_daemon(self):
        status = self.actor.status()
        self.assertRegex(status.version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(status.state, status_pb2.DAEMON_STATE_SERVING)
        self.assertEqual(status.workers, 2)
        self.assertGreater(status.uptime.ToNanoseconds(), 0)
        other = self.connect(self.start_daemon()).status()
        self.assertNotEqual(status.incarnation, other.incarnation)

    def test_lists_types_commands_and_plugins(self):
        status = self.actor.status()
        types = {one.name: one for one in status.process_types}
        self.assertEqual(list(types["echo"].methods), ["run", "fail", "refuse"])
        self.assertEqual(types["wordcount.chunk"].plugin, "wordcount")
        commands = {one.name: status_pb2.CommandKind.Name(one.kind)
                    for one in status.commands}
        self.assertLessEqual({
            "timer.sleep": "COMMAND_KIND_INLINE",
            "process.send": "COMMAND_KIND_INLINE",
            "process.spawn": "COMMAND_KIND_INLINE",
            "log.write": "COMMAND_KIND_INLINE",
            "file.read": "COMMAND_KIND_POOLED",
            "probe.slow": "COMMAND_KIND_POOLED",
            "payment.*": "COMMAND_KIND_EXTERNAL"}.items(), commands.items())
        plugins = {one.name: one for one in status.plugins}
        self.assertTrue(plugins["echo"].path.endswith("/echo.so"))
        for named in (status.process_types, status.commands, status.plugins):
            names = [one.name for one in named]
            self.assertEqual(names, sorted(names))

    def test_counts_processes_and_results(self):
        for number in range(10):
            self.actor.run("echo", b"%d" % number)
        self.actor.run("echo", b"no", "fail")
        self.actor.submit("counter")
        counters = self.actor.status().counters
        self.assertEqual(counters.processes_live, 1)
        self.assertEqual(counters.processes_started_total, 12)
        self.assertEqual(counters.processes_ended_total, 11)
        self.assertEqual(counters.processes_failed_total, 1)
        self.assertEqual(counters.results_kept, 11)
        self.assertGreater(counters.results_kept_bytes, 0)


if __name__ == "__main__":
    unittest.main()
