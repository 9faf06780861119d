"""The metrics of the daemon, and the alerts and the dashboard that use them.

The tests with Prometheus itself need its programs `prometheus` and `promtool`, in
PATH or where `./dev setup test` unpacks them, and are skipped without them."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from harness import places
from admin.pages import admin_port, get, parse_metrics
from harness.case import EmptyCase
from harness.waiting import WAIT_SECONDS, eventually

PACKAGING = places.SOURCE / "packaging"
RULES = PACKAGING / "prometheus" / "actord.rules.yml"
PROGRAMS = os.pathsep.join([
    os.environ["PATH"], str(places.SOURCE / "build/prometheus/usr/bin")])
METRIC = re.compile(r"\b(?:actord|process)_[a-z_]+\b")
sys.path.insert(0, str(PACKAGING / "grafana"))
import make_dashboard  # noqa: E402  pylint: disable=wrong-import-position


class MetricsTest(EmptyCase):

    def need_prometheus(self):
        if None in map(self.program, ("prometheus", "promtool")):
            # CTest looks for these words and shows the test as skipped.
            print("PROMETHEUS NOT TESTED: its programs are not here; "
                  "./dev setup test fetches them", file=sys.stderr)
            self.skipTest("no prometheus")

    @staticmethod
    def program(name):
        return shutil.which(name, path=PROGRAMS)

    def start(self):
        self.daemon = self.start_daemon(
            "--admin-listen", "127.0.0.1:0", "--store", self.directory / "store",
            "--workers", 2, "--max-processes-per-type", "counter 1000")
        return admin_port(self.daemon)

    def test_metrics_count_what_happens(self):
        port = self.start()
        status, headers, text = get(port, "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        before = parse_metrics(text)
        actor = self.connect(self.daemon)
        for _ in range(3):
            actor.run("echo", b'"x"')
        after = parse_metrics(get(port, "/metrics")[2])

        def grown(name, label=""):
            return after[name][label] - before[name][label]

        self.assertEqual(grown("actord_processes_ended_total"), 3)
        self.assertEqual(grown("actord_calls_total", "Submit"), 3)
        self.assertGreaterEqual(grown("actord_steps_total"), 3)
        self.assertEqual(grown("actord_admin_requests_total"), 1)
        self.assertEqual(set(after["actord_worker_turns_total"]), {"0", "1"})
        self.assertEqual(after["actord_ready"][""], 1)
        self.assertEqual(after["actord_healthy"][""], 1)
        self.assertGreater(after["actord_store_disk_free_bytes"][""], 1 << 20)
        self.assertLess(abs(after["actord_start_time_seconds"][""]
                            + after["actord_uptime_seconds"][""]
                            - time.time()), 60)
        self.check_names(set(after))

    def test_failures_are_counted_by_type_without_cancels(self):
        port = self.start()
        before = parse_metrics(get(port, "/metrics")[2])
        by_type = before["actord_process_type_failures_total"]
        # Each type has its series before its first failure.
        self.assertEqual((by_type["probe"], by_type["echo"], by_type["(other)"]),
                         (0, 0, 0))
        actor = self.connect(self.daemon)
        for _ in range(2):
            actor.run("probe", b"because", method="fail")
        pid = actor.submit("counter", b"1")
        self.actorctl("terminate", pid)
        actor.wait(pid)
        after = parse_metrics(get(port, "/metrics")[2])
        self.assertEqual(after["actord_process_type_failures_total"],
                         by_type | {"probe": 2})
        self.assertEqual(after["actord_process_failures_total"][""], 2)
        self.assertEqual(after["actord_processes_failed_total"][""], 3)

    def test_a_sample_of_turns_is_measured_by_type(self):
        port = self.start()
        actor = self.connect(self.daemon)
        pid = actor.submit("counter", b"1")

        def counted():
            for _ in range(100):
                actor.send(pid, "add", b"1")
            turns = parse_metrics(get(port, "/metrics")[2]).get(
                "actord_turn_seconds", {})
            return turns.get(("count", "counter", None)) and turns

        turns = eventually(counted, "a turn that was measured")
        count = turns["count", "counter", None]
        self.assertEqual(turns["bucket", "counter", "+Inf"], count)
        self.assertGreater(turns["sum", "counter", None], 0)
        up_to = [number for (part, kind, _), number in turns.items()
                 if (part, kind) == ("bucket", "counter")]
        self.assertEqual(up_to, sorted(up_to))

    def check_names(self, served):
        """Tables, alerts and dashboard name every served metric, and no other."""
        tables = set(make_dashboard.read_tables())
        # There is no certificate without TLS.
        tables.remove("actord_certificate_expiry_timestamp_seconds")
        labelled = {"actord_build_info", "actord_calls_total",
                    "actord_process_type_failures_total",
                    "actord_process_type_live", "actord_process_type_max",
                    "actord_turn_seconds"}
        self.assertEqual(
            tables, {name for name in served - labelled
                     if not name.startswith(("actord_limit_", "actord_worker_"))})
        known = served | {"actord_certificate_expiry_timestamp_seconds",
                          "actord_turn_seconds_bucket"}
        rules = "\n".join(re.findall(r"expr:(.*?)\n\s+(?:for|labels):",
                                     RULES.read_text(), re.S))
        self.assertEqual(set(METRIC.findall(rules)) - known, set())
        self.assertGreater(len(METRIC.findall(rules)), 12)
        dashboard = (PACKAGING / "grafana" / "actord.json").read_text()
        expressions = " ".join(re.findall(r'"expr": "(.*)"', dashboard))
        self.assertEqual(set(METRIC.findall(expressions)) - known, set())
        self.assertEqual(
            tables - set(METRIC.findall(expressions)), set(),
            "the dashboard shows every metric of the tables")

    def test_dashboard_is_what_the_tables_ask_for(self):
        done = subprocess.run(
            [sys.executable, "-B", PACKAGING / "grafana" / "make_dashboard.py",
             "--check"], capture_output=True, text=True, timeout=WAIT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_promtool_finds_nothing_wrong(self):
        self.need_prometheus()
        text = get(self.start(), "/metrics")[2]
        for command, given in (
                (["check", "metrics"], text),
                (["check", "rules", str(RULES)], ""),
                (["test", "rules", str(RULES.with_name("rules_test.yml"))], "")):
            done = subprocess.run([self.program("promtool"), *command], input=given,
                                  capture_output=True, text=True,
                                  cwd=RULES.parent, timeout=WAIT_SECONDS)
            said = done.stdout + done.stderr
            self.assertEqual(done.returncode, 0, said)
            if command[1] == "metrics":
                self.assertEqual(said, "")

    def test_prometheus_scrapes_the_daemon(self):
        self.need_prometheus()
        port = self.start()
        config = self.text_file(json.dumps({
            "rule_files": [str(RULES)],
            "scrape_configs": [{
                "job_name": "actord", "scrape_interval": "1s",
                "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
        }), "prometheus.yml")
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        prometheus = subprocess.Popen(
            [self.program("prometheus"), f"--config.file={config}",
             f"--storage.tsdb.path={self.directory / 'prometheus'}",
             f"--web.listen-address={address}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)

        def ask(query):
            url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode(
                {"query": query})
            try:
                with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
                    return json.load(answer)["data"]["result"]
            except OSError:
                return None  # Prometheus has not begun to serve.

        [build] = eventually(lambda: ask("actord_build_info"), "a scrape")
        self.assertEqual(build["metric"]["job"], "actord")
        self.assertEqual(ask("up")[0]["value"][1], "1")


