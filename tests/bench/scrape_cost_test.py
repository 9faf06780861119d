#!/usr/bin/python3
"""Tests bench/scrape_cost as a program, with a fake actord and actorctl."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Serves /metrics, and writes a line for each scrape. Takes a little processor time
# all along.
FAKE_ACTORD = r"""#!/usr/bin/python3
import http.server, pathlib, sys, threading, time
folder = pathlib.Path(sys.argv[0]).parent
def work():
    while True:
        time.sleep(0.01)
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        with open(folder / "scrapes", "a") as scrapes:
            scrapes.write(self.path + "\n")
        status = int((folder / "status").read_text())
        self.send_response(status)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"page\n")
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
server.daemon_threads = True
threading.Thread(target=work, daemon=True).start()
(folder / "options").write_text(" ".join(sys.argv[1:]))
print(f"the admin port is on 127.0.0.1:{server.server_port}", flush=True)
pathlib.Path(sys.argv[sys.argv.index("--port-file") + 1]).write_text("1234\n")
server.serve_forever()
"""

# Serves for the duration, and answers 1,000 requests a second, or 990 if it was
# scraped meanwhile.
FAKE_ACTORCTL = r"""#!/usr/bin/python3
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[0]).parent
def scrapes():
    path = folder / "scrapes"
    return len(path.read_text().split()) if path.exists() else 0
before = scrapes()
time.sleep(float(sys.argv[-1].rstrip("s")))
mode = sys.argv[-3]
with open(folder / "loads", "a") as loads:
    loads.write(f"{mode} {scrapes() - before}\n")
rate = 990 if scrapes() > before else 1000
print(json.dumps({"answered_per_second": rate, "answered": rate}))
"""


class ScrapeCostTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.bin = self.build / "bin"
        self.bin.mkdir()
        (self.bin / "status").write_text("200")
        for name, text in (("actord", FAKE_ACTORD), ("actorctl", FAKE_ACTORCTL)):
            (self.bin / name).write_text(text, encoding="utf-8")
            (self.bin / name).chmod(0o755)

    def measure(self, *options, status=0):
        done = subprocess.run(
            [ROOT / "bench/scrape_cost", "--build", self.build, "--seconds",
             "0.3", "--period", "0.1", *options],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_loads_with_and_without_scrapes_are_compared(self):
        file = self.build / "all.json"
        output = self.measure("--rounds", "2", "--modes", "call,send",
                              "--json", file, "--", "--workers", "1")
        for mode in ("call", "send"):
            self.assertRegex(output, rf"(?m)^{mode} +1,000 +990 +0\.990 "
                             r"+[\d.]+ +[\d.]+ +[\d.]+$")
        scraped = [(line.split()[0], line.split()[1] != "0")
                   for line in (self.bin / "loads").read_text().splitlines()]
        # A warm-up, and two rounds in the other order.
        of_mode = [False, False, True, True, False]
        self.assertEqual(scraped, [(mode, on) for mode in ("call", "send")
                                   for on in of_mode])
        self.assertTrue((self.bin / "options").read_text()
                        .endswith("--workers 1"))
        self.assertTrue(re.search(r"\d+ scrapes of 5 bytes", output), output)
        runs = json.loads(file.read_text())["runs"]
        self.assertEqual(len(runs), 8)
        self.assertEqual({run["rate"] for run in runs if run["scraped"]}, {990})

    def test_failed_scrape_is_said(self):
        (self.bin / "status").write_text("503")
        self.assertIn("status 503", self.measure("--modes", "call", status=2))

    def test_daemon_that_ends_is_said(self):
        (self.bin / "actord").write_text("#!/bin/sh\necho no room; exit 74\n")
        self.assertRegex(self.measure(status=2), "ended with 74:\nno room")

    def test_unknown_mode_is_refused(self):
        self.assertIn("no mode yield", self.measure("--modes", "yield", status=2))


if __name__ == "__main__":
    unittest.main()
