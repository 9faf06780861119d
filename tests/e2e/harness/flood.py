"""Clients that flood the daemon below every handler: they speak HTTP/2 by hand."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _RST_STREAM, _SETTINGS, _CONTINUATION = 1, 3, 4, 9
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


class Flood:
    """A connection over which `send` sends until the daemon ends it."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.socket.sendall(_PREFACE + _frame(_SETTINGS, 0, 0, b""))
        self.sent_bytes = 0
        self.started = time.monotonic()

    def parts(self):
        raise NotImplementedError

    def send(self, seconds):
        """Returns after how many seconds the daemon has cut the connection, or
        None if it has not, in the time."""
        for part in self.parts():
            if time.monotonic() - self.started > seconds:
                return None
            try:
                self.socket.sendall(part)
            except OSError:
                return time.monotonic() - self.started
            self.sent_bytes += len(part)

    def close(self):
        self.socket.close()


class RapidReset(Flood):
    """Calls that are begun and reset at once."""

    EACH = 100

    def parts(self):
        first = _POST_HTTP + b"".join(_remembered(*line)
                                      for line in _HEADER_LINES)
        yield self._call(1, first)
        stream = 3
        while True:
            yield b"".join(self._call(stream + 2 * i, _INDEXED)
                           for i in range(self.EACH))
            stream += 2 * self.EACH

    @staticmethod
    def _call(stream, headers):
        return (_frame(_HEADERS, _END_HEADERS, stream, headers)
                + _frame(_RST_STREAM, 0, stream, _CANCEL))


class EndlessHeader(Flood):
    """A header line that is announced with 1 GiB and continued for ever."""

    def parts(self):
        length = b"\x7f" + _integer((1 << 30) - 127)
        yield _frame(_HEADERS, 0, 1, _POST_HTTP + b"\x00\x01a" + length)
        while True:
            yield _frame(_CONTINUATION, 0, 1, b"x" * 16384)


def _integer(number):
    """What follows the prefix of an HPACK integer."""
    text = b""
    while number >= 128:
        text += bytes([number % 128 + 128])
        number //= 128
    return text + bytes([number])


KINDS = {"rapid_reset": RapidReset, "endless_header": EndlessHeader}


class FloodProgram:
    """A program of its own that floods, so that it takes no time from the test.
    It floods for `seconds`. With `again`, it replaces each connection that is
    cut."""

    def __init__(self, kind, address, seconds, connections=1, again=False):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.flood", kind, address, str(seconds),
             str(connections), str(int(again))],
            stdout=subprocess.PIPE, text=True)

    def cuts(self):
        """After how many seconds each connection was cut; None: it was not."""
        text, _ = self.process.communicate()
        return json.loads(text)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def _flood(kind, address, seconds, again, cuts):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            flood = KINDS[kind](address)
            cut = flood.send(deadline - time.monotonic())
            flood.close()
            cuts.append(cut)
        except OSError:
            time.sleep(0.01)
        if not again:
            return


def _main(kind, address, seconds, connections, again):
    cuts = []
    threads = [threading.Thread(
        target=_flood, args=(kind, address, float(seconds), again == "1", cuts))
        for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(cuts))


if __name__ == "__main__":
    _main(*sys.argv[1:])
