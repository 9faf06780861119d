"""A client that speaks HTTP/2 by hand, so that a test decides about each byte,
and about how the connection ends."""

import socket
import struct
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _PING = 0, 1, 4, 6
_INITIAL_WINDOW_SIZE = 4
# gRPC's own setting: headers with bytes come as they are, without base64.
_TRUE_BINARY = 0xfe03
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_SERVICE = "/actord.v1.ActorService/"


def _frame(kind, flags, stream, payload):
    return (struct.pack(">I", len(payload))[1:] +
            struct.pack(">BBI", kind, flags, stream) + payload)


def _header(name, value):
    """Not compressed, and not to be remembered."""
    return b"\x00" + b"".join(bytes([len(text)]) + text
                              for text in (name.encode(), value.encode()))


def _message(request):
    data = request.SerializeToString()
    return b"\x00" + struct.pack(">I", len(data)) + data


class RawClient:
    """One connection, whose calls are never answered to anybody."""

    def __init__(self, address, window=None):
        """`window`: how many bytes of each answer it takes. Headers, and so the
        status of a call, come without a window."""
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(20)
            self.socket.connect(address.removeprefix("unix:"))
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), timeout=20)
        settings = (b"" if window is None
                    else struct.pack(">HIHI", _INITIAL_WINDOW_SIZE, window,
                                     _TRUE_BINARY, 1))
        self.socket.sendall(PREFACE + _frame(_SETTINGS, 0, 0, settings))
        self._streams = 1

    def open(self, method, *requests, part=0):
        """A call that sends these, and says nothing about its end. With `part`
        the last of them breaks off so many bytes before its end. Returns these."""
        headers = b"".join(_header(name, value) for name, value in (
            (":method", "POST"), (":scheme", "http"),
            (":path", _SERVICE + method), (":authority", "actord"),
            ("te", "trailers"), ("content-type", "application/grpc")))
        stream, self._streams = self._streams, self._streams + 2
        data = b"".join(_message(request) for request in requests)
        frames = _frame(_HEADERS, _END_HEADERS, stream, headers)
        for begin in range(0, len(data), 16384):
            frames += _frame(_DATA, 0, stream, data[begin:begin + 16384])
        self.socket.sendall(frames[:len(frames) - part])
        return frames[len(frames) - part:]

    def ask(self, method, request):
        """A unary call, whole."""
        self.open(method, request)
        self.socket.sendall(_frame(_DATA, _END_STREAM, self._streams - 2, b""))

    def send(self, raw):
        self.socket.sendall(raw)

    def wait_until_read(self):
        """The daemon has read all that was sent."""
        mark = b"are you "
        self.socket.sendall(_frame(_PING, 0, 0, mark))
        answer = _frame(_PING, _ACK, 0, mark)
        seen = b""
        while answer not in seen:
            got = self.socket.recv(65536)
            if not got:
                raise ConnectionError(f"closed after {seen!r}")
            seen = seen[-len(answer):] + got

    def read_until(self, count, text):
        """Reads until `text` has come so many times. Returns all that came."""
        seen = b""
        while seen.count(text) < count:
            got = self.socket.recv(65536)
            if not got:
                raise ConnectionError(f"closed after {len(seen)} bytes")
            seen += got
        return seen

    def reset(self):
        """Ends it with a RST: bytes on their way are lost."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        """Ends it without a word of HTTP/2 or gRPC."""
        self.socket.close()


class Http2Stranger:
    """A program that answers each request with the HTTP status 404."""

    _NOT_FOUND = b"\x8d"  # number 13 of HPACK's static table

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as file:
            connection.sendall(_frame(_SETTINGS, 0, 0, b""))
            file.read(len(PREFACE))
            while head := file.read(9):
                file.read(int.from_bytes(head[:3], "big"))
                if head[3] == _HEADERS:
                    stream = int.from_bytes(head[5:], "big")
                    connection.sendall(_frame(
                        _HEADERS, _END_HEADERS | _END_STREAM, stream, self._NOT_FOUND))
