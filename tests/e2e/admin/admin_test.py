"""The admin port of the daemon: health, readiness, who may ask, the end."""

import json
import signal
import socket
import time

from actord.v1 import process_pb2
from admin.pages import admin_port, get, parse_metrics
from harness.case import EmptyCase
from harness.daemon import run_actord
from harness.waiting import eventually

ORDER = b'{"order": "o", "amount_cents": 1, "hold_ms": 0}'


class AdminTest(EmptyCase):

    def test_pages_tell_health_and_readiness_until_the_end(self):
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0")
        port = admin_port(daemon)
        for path in ("/healthz", "/readyz"):
            status, headers, text = get(port, path)
            self.assertEqual((status, text), (200, "ok\n"))
            self.assertEqual(headers["Content-Type"],
                             "text/plain; charset=utf-8")
        # An order that waits for its payment does not end by a cancel.
        actor = self.connect(daemon)
        pid = actor.submit("order", ORDER)
        eventually(lambda: actor.yields(pid=pid), "the order's payment")
        silent = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(silent.close)
        daemon.signal(signal.SIGTERM)
        eventually(lambda: get(port, "/readyz")[0] == 503, "the drain")
        status, headers, text = get(port, "/readyz",
                                    headers={"Accept": "application/json"})
        self.assertEqual(status, 503)
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(json.loads(text), {
            "ok": False, "notes": [],
            "problems": ["draining: new processes are refused"]})
        self.assertEqual(get(port, "/healthz")[0], 200)
        # A silent client holds nothing up.
        began = time.monotonic()
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assertLess(time.monotonic() - began, 9)  # the client had ten

    def test_pages_are_served_while_steps_hang_on_all_workers(self):
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0", "--workers", 2,
                                   "--max-blocked-threads", 0)
        port = admin_port(daemon)
        actor = self.connect(daemon)
        go_on = self.directory / "go on"
        self.addCleanup(go_on.touch)
        pids = [actor.submit("probe", method="collect") for _ in range(3)]
        for pid in pids:
            actor.send(pid, "hold", str(go_on).encode())

        def states():
            return sorted(actor.process(pid).state for pid in pids)

        hang = [process_pb2.PROCESS_STATE_READY, *[process_pb2.PROCESS_STATE_RUNNING] * 2]
        eventually(lambda: states() == hang, "two steps that hang")
        for _ in range(3):
            status, _, text = get(port, "/metrics")
            self.assertEqual(status, 200)
            self.assertEqual(parse_metrics(text)["actord_processes_ready"][""], 1)
            self.assertEqual(get(port, "/readyz")[0], 200)
        self.assertEqual(states(), hang)

    def test_port_file_goes_with_the_daemon(self):
        path = self.directory / "admin"
        path.write_text("1\n")
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0",
                                   "--admin-listen", f"unix:{self.directory / 'a'}",
                                   "--admin-port-file", path)
        port = int(path.read_text())
        self.assertEqual(port, admin_port(daemon))
        self.assertEqual(get(port, "/healthz")[0], 200)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(path.exists())

    def test_only_the_daemons_own_hosts_are_served(self):
        sock = self.directory / "admin.sock"
        daemon = self.start_daemon(
            "--admin-listen", "127.0.0.1:0", "--admin-listen", f"unix:{sock}",
            "--admin-host", "actord.example", "--unix-mode", "0600")
        port = admin_port(daemon)
        for host, expected in (("evil.example", 421), ("127.0.0.1:9", 200),
                               ("ACTORD.example:80", 200)):
            self.assertEqual(
                get(port, "/healthz", headers={"Host": host})[0], expected, host)
        self.assertEqual(sock.stat().st_mode & 0o777, 0o600)
        status, _, text = get(sock, "/metrics", headers={"Host": "evil.example"})
        self.assertEqual(status, 200)
        self.assertIn("\nactord_admin_requests_refused_total 1\n", text)
        self.assertEqual(get(port, "/")[0], 404)
        status, headers, _ = get(port, "/metrics", method="POST")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(sock.exists())

    def test_addresses_that_cannot_be_served_are_refused(self):
        refused = run_actord("--listen", "127.0.0.1:0",
                             "--admin-listen", "0.0.0.0:0")
        self.assertEqual(refused.returncode, 78, refused.stderr)
        self.assertIn("admin.listen: other machines reach 0.0.0.0:0",
                      refused.stderr)
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            refused = run_actord("--listen", "127.0.0.1:0",
                                 "--admin-listen", address)
            self.assertEqual(refused.returncode, 69, refused.stderr)
            self.assertIn(f"cannot listen on {address}", refused.stderr)
        open_daemon = self.start_daemon("--admin-listen", "0.0.0.0:0",
                                        "--admin-insecure-listen")
        open_daemon.wait_for_line("can read the state of the daemon")
