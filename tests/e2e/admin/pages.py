"""A client of the daemon's admin port."""

import http.client
import re
import socket

from harness.waiting import WAIT_SECONDS


class UnixConnection(http.client.HTTPConnection):

    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_SECONDS)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def admin_port(daemon):
    """The port of a daemon that was started with --admin-listen 127.0.0.1:0."""
    return int(re.search(r"the admin port is on 127\.0\.0\.1:(\d+)",
                         daemon.log())[1])


def get(where, path, method="GET", headers=None):
    """`where`: a port of loopback, or the path of a Unix socket. Returns status,
    headers and text of the answer."""
    connection = (http.client.HTTPConnection("127.0.0.1", where,
                                             timeout=WAIT_SECONDS)
                  if isinstance(where, int) else UnixConnection(where))
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


SAMPLE = re.compile(
    r'([a-z_]+)(?:\{([a-z]+)="([^"\\]*)"(?:,le="([^"]*)")?\})? '
    r'(-?[0-9.]+(?:e[+-]?[0-9]+)?)')
HISTOGRAM_PARTS = ("_bucket", "_sum", "_count")


def parse_metrics(text):
    """The samples of a page of metrics: {name: {label value or "": number}}. Those
    of a histogram are {(part, label value, bound or None): number}. Raises if the
    page breaks a rule of the format."""
    samples, types, current = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current, words = line[7:].split(" ", 1)
            assert current not in samples and words, line
            samples[current] = {}
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == current and kind in ("counter", "gauge", "histogram"), line
            assert (kind == "counter") == name.endswith("_total"), line
            types[name] = kind
        else:
            name, _, value, bound, number = SAMPLE.fullmatch(line).groups()
            if types.get(current) == "histogram":
                assert name in {current + part for part in HISTOGRAM_PARTS}, line
                value = (name.removeprefix(current + "_"), value, bound)
                name = current
            assert name == current and name in types, line
            assert (value or "") not in samples[name], line
            samples[name][value or ""] = float(number)
    assert all(samples.values()), "a metric without a sample"
    assert text.endswith("\n")
    return samples
