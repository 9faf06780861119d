"""A collector of traces on a port of loopback, for daemons with --traces-endpoint."""

import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.waiting import eventually
from otlp import trace_pb2


class Span:
    """One span, with what tests ask for."""

    def __init__(self, span):
        self.name, self.kind = span.name, span.Kind.Name(span.kind)[len("KIND_"):]
        self.trace, self.id = span.trace_id.hex(), span.span_id.hex()
        self.parent = span.parent_span_id.hex()
        self.state, self.flags = span.trace_state, span.flags
        self.begin, self.end = span.start_time_unix_nano, span.end_time_unix_nano
        self.links = [(link.trace_id.hex(), link.span_id.hex())
                      for link in span.links]
        self.failed = span.status.code == trace_pb2.Status.CODE_ERROR
        self.message = span.status.message
        self.attributes = {
            one.key: getattr(one.value, one.value.WhichOneof("value"))
            for one in span.attributes}

    def __repr__(self):
        return f"{self.name} {self.id} < {self.parent or '-'} {self.attributes}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.collector.take(self.path, self.headers, body)
        self.send_response(self.server.collector.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Collector:
    """`spans` are those that it has taken. Ends with the test. `port` 0: any."""

    def __init__(self, case, port=0, status=200):
        self.status = status
        self._lock = threading.Lock()
        self._spans, self.resources, self.requests = [], [], []
        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.collector = self
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        case.addCleanup(self.close)

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def take(self, path, headers, body):
        request = trace_pb2.ExportRequest.FromString(body)
        with self._lock:
            self.requests.append((path, headers))
            if self.status != 200:
                return
            for one in request.resource_spans:
                self.resources.append({attribute.key: attribute.value.string_value
                                       for attribute in one.resource.attributes})
                for scope in one.scope_spans:
                    self._spans += map(Span, scope.spans)

    def spans(self, count=None, **about):
        """All spans; with `count`, waits for so many. `about`: those whose
        members are so."""
        def found():
            with self._lock:
                return [span for span in self._spans if all(
                    getattr(span, key) == value for key, value in about.items())]
        if count is None:
            return found()
        spans = eventually(lambda: len(found()) >= count and found(),
                           f"{count} spans; there are {self._spans}")
        if len(spans) != count:
            raise AssertionError(f"{len(spans)} spans, not {count}: {spans}")
        return spans


class HostileCollector:
    """Answers each request with what `answer(send)` sends, or not at all."""

    def __init__(self, case, answer):
        outer = self
        self.requests = 0

        class Handler(socketserver.BaseRequestHandler):

            def handle(self):
                outer.requests += bool(self.request.recv(1 << 20))
                try:
                    answer(self.request.sendall)
                except OSError:
                    pass

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        case.addCleanup(self._server.server_close)
        case.addCleanup(self._server.shutdown)

    @staticmethod
    def hang(_send):
        time.sleep(300)

    @staticmethod
    def flood(send):
        send(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        for _ in range(1024):
            send(bytes(1 << 20))

    @staticmethod
    def drip(send):
        send(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            send(b"x")
            time.sleep(0.1)
