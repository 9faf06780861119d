"""Clients that flood the daemon below every handler: they speak HTTP/2 by hand."""

import itertools
import json
import select
import selectors
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

from harness.raw_client import PREFACE

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _CONTINUATION = 0, 1, 3, 4, 6, 9
_END_HEADERS = 4
_CANCEL = struct.pack(">I", 8)
# ":method: POST" and ":scheme: http" of HPACK's static table.
_POST_HTTP = b"\x83\x86"
_HEADER_LINES = ((":path", "/actord.v1.ActorService/GetStatus"),
                 (":authority", "actord"), ("te", "trailers"),
                 ("content-type", "application/grpc"))
# The four lines, as the first call put them into HPACK's dynamic table.
_INDEXED = _POST_HTTP + bytes(0x80 | 62 + i for i in range(4))


def _frame(kind, flags, stream, payload):
    return (struct.pack(">I", len(payload))[1:] +
            struct.pack(">BBI", kind, flags, stream) + payload)


def _remembered(name, value):
    """A line that goes into the dynamic table."""
    return b"\x40" + b"".join(bytes([len(text)]) + text
                              for text in (name.encode(), value.encode()))


def _integer(number):
    """What follows the prefix of an HPACK integer."""
    text = b""
    while number >= 128:
        text += bytes([number % 128 + 128])
        number //= 128
    return text + bytes([number])


def _rapid_reset():
    """Calls that are begun and reset at once."""
    each = 100

    def call(stream, headers):
        return (_frame(_HEADERS, _END_HEADERS, stream, headers)
                + _frame(_RST_STREAM, 0, stream, _CANCEL))

    yield call(1, _POST_HTTP + b"".join(_remembered(*line)
                                        for line in _HEADER_LINES))
    stream = 3
    while True:
        yield b"".join(call(stream + 2 * i, _INDEXED) for i in range(each))
        stream += 2 * each


def _endless_header():
    """A header line that is announced with 1 GiB and continued for ever."""
    length = b"\x7f" + _integer((1 << 30) - 127)
    yield _frame(_HEADERS, 0, 1, _POST_HTTP + b"\x00\x01a" + length)
    while True:
        yield _frame(_CONTINUATION, 0, 1, b"x" * 16384)


def _pings():
    """Pings without a pause, each of which has to be answered."""
    while True:
        yield _frame(_PING, 0, 0, b"12345678") * 1000


def _settings():
    """Settings without content, each of which has to be acknowledged."""
    while True:
        yield _frame(_SETTINGS, 0, 0, b"") * 1000


def _empty_data():
    """A call whose request never begins: frames without content."""
    yield _frame(_HEADERS, _END_HEADERS, 1, _POST_HTTP + b"".join(
        _remembered(*line) for line in _HEADER_LINES))
    while True:
        yield _frame(_DATA, 0, 1, b"") * 1000


KINDS = {"rapid_reset": _rapid_reset, "endless_header": _endless_header,
         "pings": _pings, "settings": _settings, "empty_data": _empty_data}


class FloodProgram:
    """A program of its own that floods, so that it takes no time from the test.
    It floods for `seconds`. With `again`, it replaces each connection that is
    cut. `address`: HOST:PORT or unix:PATH. `tls_ca`: the authority of the daemon's
    certificate; else there is no TLS. `pause`: seconds between two parts of what a
    connection sends. `sources`: the number of loopback addresses that the
    connections come from in turn; `first_source`: the last number of the first. `longer`: seconds for which the connections that are
    open after `seconds` flood on, or until each of them is cut; none is replaced."""

    def __init__(self, kind, address, seconds, connections=1, again=False,
                 tls_ca="", pause=0, sources=1, longer=0, first_source=1):
        # A file: thousands of cuts do not fit into a pipe that nobody reads.
        self._output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.flood", kind, address, str(seconds),
             str(connections), str(int(again)), str(tls_ca), str(pause),
             str(sources), str(longer), str(first_source)],
            stdout=self._output)

    def cuts(self):
        """After how many seconds of its flood each connection was cut; None: it
        was not. Connections that have sent nothing are left out."""
        self.process.wait()
        self._output.seek(0)
        return json.load(self._output)

    def end(self):
        self.process.kill()
        self.process.wait()
        self._output.close()


class _Parts:
    """What every connection sends, made when the first connection needs it."""

    def __init__(self, kind):
        self._parts = [PREFACE + _frame(_SETTINGS, 0, 0, b"")]
        self._more = KINDS[kind]()

    def __getitem__(self, number):
        while number >= len(self._parts):
            self._parts.append(next(self._more))
        return self._parts[number]


def _plain(address, source):
    """A socket that connects, or waits for its turn."""
    if address.startswith("unix:"):
        plain = socket.socket(socket.AF_UNIX)
        plain.connect(address.removeprefix("unix:"))
        plain.setblocking(False)
        return plain
    plain = socket.socket()
    plain.setblocking(False)
    if source != "127.0.0.1":
        plain.bind((source, 0))
    host, port = address.rsplit(":", 1)
    plain.connect_ex((host, int(port)))
    return plain


def _over_tls(address, context, source):
    """A socket whose handshake has not begun: it must not hold up the others."""
    host, port = address.rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), 10,
                                     source_address=(source, 0))
    plain.setblocking(False)
    return context.wrap_socket(plain, server_hostname="localhost",
                               do_handshake_on_connect=False)


class _Cuts:
    """Notices cuts in time, also while many other connections have their turn."""

    _PAUSE_SECONDS = 0.02

    def __init__(self):
        self.seconds = []
        self._connections = {}
        # It reports ends alone, each once.
        self._ends = select.epoll()
        self._next = 0

    def watch(self, connection):
        number = connection.socket.fileno()
        self._connections[number] = connection
        self._ends.register(number, select.EPOLLET)

    def forget(self, connection):
        del self._connections[connection.socket.fileno()]
        self._ends.unregister(connection.socket)

    def look(self):
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._PAUSE_SECONDS
        for number, _ in self._ends.poll(0):
            self.take(self._connections[number])

    def take(self, connection):
        if connection.is_cut:
            return
        connection.is_cut = True
        self.seconds.append(time.monotonic() - connection.started)

    def open(self):
        """How many connections have begun to flood and are not cut."""
        return sum(each.has_begun() and not each.is_cut
                   for each in self._connections.values())


class _Connection:

    def __init__(self, address, context, parts, pause, source):
        self.socket = (_plain(address, source) if context is None
                       else _over_tls(address, context, source))
        self._needs_handshake = context is not None
        self._pause = pause
        # No part is begun before this time.
        self.next = 0
        # When it began to flood; before, when it was made.
        self.started = time.monotonic()
        self.is_cut = False
        self._parts = parts
        self._number = 0
        self._rest = memoryview(b"")

    def has_begun(self):
        return self._number > 0

    def send(self):
        """Sends as much as goes at once. False: the daemon has cut it."""
        try:
            if self._needs_handshake:
                self.socket.do_handshake()
                self._needs_handshake = False
            if not self.has_begun():
                self.started = time.monotonic()
            for _ in range(16):
                if not self._rest:
                    if self._pause:
                        if time.monotonic() < self.next:
                            break
                        self.next = time.monotonic() + self._pause
                    self._rest = memoryview(self._parts[self._number])
                    self._number += 1
                self._rest = self._rest[self.socket.send(self._rest):]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            return False
        return True


def _main(kind, address, seconds, connections, again, tls_ca, pause, sources, longer,
          first_source):
    context = None
    if tls_ca:
        context = ssl.create_default_context(cafile=tls_ca)
        context.set_alpn_protocols(["h2"])
    parts = _Parts(kind)
    selector = selectors.DefaultSelector()
    last_new = time.monotonic() + float(seconds)
    deadline = last_new + float(longer)
    cuts = _Cuts()
    turns = itertools.cycle(f"127.0.0.{int(first_source) + i}"
                            for i in range(int(sources)))

    def connect():
        try:
            connection = _Connection(address, context, parts, float(pause),
                                     next(turns))
        except OSError:
            return False
        selector.register(connection.socket, selectors.EVENT_WRITE, connection)
        cuts.watch(connection)
        return True

    for _ in range(int(connections)):
        if not connect():
            sys.exit(f"no connection to {address}")
    while selector.get_map() and time.monotonic() < deadline:
        if float(pause):
            time.sleep(0.001)  # A socket that waits for its time can be written.
        for key, _ in selector.select(0.1):
            connection = key.data
            cuts.look()
            if not connection.is_cut and connection.send():
                continue
            cuts.take(connection)
            cuts.forget(connection)
            selector.unregister(connection.socket)
            connection.socket.close()
            is_replaced = again == "1" and time.monotonic() < last_new
            if is_replaced and not connect():
                again = "0"  # The daemon has ended.
    cuts.look()
    print(json.dumps(cuts.seconds + [None] * cuts.open()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
