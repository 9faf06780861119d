"""The daemon's command line, environment and configuration file, its addresses, its
log, and what it says when one of them is wrong."""

import json
import os
import re
import socket
import stat
import subprocess
import unittest

from harness import places
from harness.case import EmptyCase
from harness.connection import Connection
from harness.daemon import Daemon, run_actord
from harness.waiting import SANITIZED, WAIT_SECONDS

USAGE, CANNOT_LISTEN, BAD_CONFIGURATION = 64, 69, 78


class ConfigCase(EmptyCase):

    def assert_fails(self, done, status, message):
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, message)
        self.assertEqual(done.stdout, "")

    def printed(self, *options, environment=None):
        """The settings that --print-config says are in force."""
        done = run_actord("--print-config", *options, environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(re.findall(r"^(\w+) = (.*)$", done.stdout, re.MULTILINE))


class File(ConfigCase):

    def assert_refused(self, text, line, message):
        path = self.text_file(text)
        for extra in ((), ("--check-config",)):  # to serve, or only to check
            with self.subTest(text=text, extra=extra):
                done = run_actord("--config", path, *extra)
                self.assert_fails(done, BAD_CONFIGURATION,
                                  re.escape(f"{path}:{line}: ") + message)

    def test_unknown_key_is_refused_with_its_line(self):
        self.assert_refused('[server]\nlisten = ["127.0.0.1:0"]\nlisen = "x"\n',
                            3, r"unknown key server\.lisen")
        self.assert_refused("\n\n[servers]\n", 3, r"unknown section \[servers\]")
        self.assert_refused('workers = 2\n', 1, "unknown key workers")

    def test_value_that_is_wrong_is_refused_with_its_line(self):
        self.assert_refused('[scheduler]\n\nworkers = "many"\n', 3,
                            r"scheduler\.workers: ")
        self.assert_refused("[scheduler]\nworkers = 5000\n", 2,
                            r"scheduler\.workers: .*it must be from 0 to 256")
        self.assert_refused('[log]\nlevel = "loud"\n', 2,
                            r'log\.level: "loud" is not one of debug, info')
        self.assert_refused("[server]\nlisten = 7600\n", 2,
                            r"server\.listen: must be an array of strings")
        # What commands a terminal, or turns the direction of text, is escaped.
        self.assert_refused('[log]\nlevel = ["\u202e\x9b2J"]\n', 2,
                            r'.*of: level = \["\\u202e\\x9b2J"\]')
        self.assert_refused('[shutdown]\ndrain_timeout = "soon"\n', 2,
                            r"shutdown\.drain_timeout: ")

    def test_text_that_is_no_toml(self):
        self.assert_refused("[server\n", 1, "")

    def test_file_that_is_missing(self):
        done = run_actord("--config", self.directory / "none.toml")
        self.assert_fails(done, BAD_CONFIGURATION,
                          "none.toml: cannot be read: No such file")

    def test_file_that_has_no_end(self):
        # Enough to start, and far less than it would read in a second.
        command = ["prlimit", f"--as={4 << 30}"] if not SANITIZED else []
        for option in ("--config", "--boot-tree"):
            done = subprocess.run(
                [*command, places.ACTORD, option, "/dev/zero", "--listen",
                 "127.0.0.1:0"], capture_output=True, text=True,
                timeout=WAIT_SECONDS, env=places.clean_environment())
            self.assert_fails(done, BAD_CONFIGURATION,
                              "/dev/zero: is larger than 1MiB, ")

    def test_pipe_that_is_too_long(self):
        for length, status in ((1 << 20, 0), ((1 << 20) + 1, BAD_CONFIGURATION)):
            done = subprocess.run(
                [places.ACTORD, "--config", "/dev/stdin", "--check-config"],
                input="#" * length, capture_output=True, text=True,
                timeout=WAIT_SECONDS, env=places.clean_environment())
            self.assertEqual(done.returncode, status, done.stderr)

    def test_file_that_the_environment_names(self):
        path = self.text_file("[scheduler]\nworkers = 3\n")
        environment = {"ACTORD_CONFIG": str(path)}
        self.assertEqual(self.printed(environment=environment)["workers"], "3")
        other = self.text_file("[scheduler]\nworkers = 4\n", "other.toml")
        self.assertEqual(self.printed("--config", other,
                                      environment=environment)["workers"], "4")

    def test_good_file_is_said_to_be_good(self):
        path = self.text_file("[scheduler]\nworkers = 3\n")
        done = run_actord("--check-config", "--config", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "The configuration is good.\n")

    def test_plugins_are_checked_as_a_start_does(self):
        """A start ends at the first error; the check finds all of them."""
        for extra in ((), ("--check-config",)):
            done = run_actord("--plugin", "./nope.so", "--plugin", __file__,
                              "--plugin-dir", "./nowhere", "--listen",
                              "127.0.0.1:0", *extra)
            self.assert_fails(done, BAD_CONFIGURATION,
                              r"plugin directory \./nowhere: No such file")
            for other in ("plugin ./nope.so: ", f"plugin '{__file__}': "):
                self.assertEqual(other in done.stderr, bool(extra), done.stderr)

    def test_printed_configuration_reads_back(self):
        options = ("--workers", "3", "--listen", "127.0.0.1:1",
                   "--listen", "unix:/tmp/a \"b\".sock", "--external", "a.*",
                   "--max-payload-bytes", "2MiB", "--yield-timeout", "1h30m",
                   "--log-format", "json", "--drain-timeout", "none")
        first = run_actord("--print-config", *options)
        self.assertEqual(first.returncode, 0, first.stderr)
        path = self.text_file(first.stdout)
        second = run_actord("--print-config", "--config", path)
        self.assertEqual(second.stdout, first.stdout)
        self.assertNotEqual(first.stdout, run_actord("--print-config").stdout)


class Precedence(ConfigCase):

    def test_option_beats_environment_beats_file_beats_default(self):
        path = self.text_file('[scheduler]\nworkers = 1\nblocking_threads = 1\n'
                              'blocking_queue = 1\n')
        environment = {"ACTORD_WORKERS": "2", "ACTORD_BLOCKING_THREADS": "2",
                       "ACTORD_CONFIG": str(path)}
        printed = self.printed("--workers", "3", environment=environment)
        self.assertEqual(printed["workers"], "3")
        self.assertEqual(printed["blocking_threads"], "2")
        self.assertEqual(printed["blocking_queue"], "1")
        self.assertEqual(printed["max_mailbox_messages"], "65536")

    def test_the_daemon_works_with_what_was_printed(self):
        path = self.text_file("[scheduler]\nworkers = 1\n"
                              "[limits]\nmax_processes = 11\n")
        daemon = self.start_daemon(
            "--config", path, "--max-yields", "5",
            environment={"ACTORD_WORKERS": "3", "ACTORD_MAX_YIELDS": "4"})
        status = self.connect(daemon).status()
        self.assertEqual(status.workers, 3)
        self.assertEqual(status.limits.max_processes, 11)
        self.assertEqual(status.limits.max_yields_per_process, 5)

    def test_list_of_the_environment(self):
        printed = self.printed(environment={"ACTORD_EXTERNAL": "a.*,b"})
        self.assertEqual(printed["external"], '["a.*", "b"]')
        printed = self.printed("--external", "c",
                               environment={"ACTORD_EXTERNAL": "a.*,b"})
        self.assertEqual(printed["external"], '["c"]')

    def test_variable_that_is_wrong_is_named(self):
        done = run_actord(environment={"ACTORD_WORKERS": "many"})
        self.assert_fails(done, BAD_CONFIGURATION, "ACTORD_WORKERS: ")


class CommandLine(ConfigCase):

    def test_wrong_usage(self):
        for words in (["--lisen", "x"], ["--workers"], ["--workers", "many"],
                      ["--listen", "nonsense"], ["serve"],
                      ["--log-level", "loud"]):
            with self.subTest(words=words):
                done = run_actord(*words)
                self.assert_fails(done, USAGE, "^actord: ")
                self.assertIn("Try 'actord --help'.", done.stderr)

    def test_help_names_every_key_of_the_printed_configuration(self):
        help_text = run_actord("--help")
        self.assertEqual((help_text.returncode, help_text.stderr), (0, ""))
        printed = run_actord("--print-config").stdout
        section, keys = "", []
        for line in printed.splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif match := re.match(r"(\w+) = ", line):
                keys.append(f"{section}.{match[1]}")
        self.assertGreater(len(keys), 20)
        for key in keys:
            self.assertIn(f"[{key}, env", re.sub(r"\s+", " ", help_text.stdout))

    def test_version(self):
        done = run_actord("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^actord \d+\.\d+\.\d+\n$")


class Addresses(ConfigCase):

    def test_port_that_is_taken(self):
        daemon = self.start_daemon()
        done = run_actord("--listen", daemon.address)
        self.assert_fails(
            done, CANNOT_LISTEN,
            f"server.listen: cannot listen on {daemon.address}: Address already "
            rf"in use by another program \(PID {daemon.process.pid}, actord\)")
        self.assertEqual(self.connect(daemon).run("echo", b"1").result.data,
                         b"1")

    def test_port_that_another_program_has(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            self.assert_fails(run_actord("--listen", address), CANNOT_LISTEN,
                              "Address already in use by another program "
                              rf"\(PID {os.getpid()}, ")
            self.assert_fails(run_actord("--admin-listen", address,
                                         "--listen", "127.0.0.1:0"),
                              CANNOT_LISTEN,
                              f"admin.listen: cannot listen on {address}: ")

    def test_address_that_is_not_ours(self):
        self.assert_fails(run_actord("--listen", "192.0.2.1:7600",
                                     "--insecure-listen"),
                          CANNOT_LISTEN, "Cannot assign requested address")

    def test_several_addresses_and_a_unix_socket(self):
        path = self.directory / "actord.sock"
        daemon = Daemon(self.directory,
                        ["--listen", f"unix:{path}", "--plugin",
                         places.PLUGINS / "echo.so"])
        self.addCleanup(daemon.stop)
        self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
        for address in (daemon.address, f"unix:{path}"):
            connection = Connection(address)
            self.assertEqual(connection.run("echo", b"1").result.data, b"1")
            connection.close()
            done = subprocess.run(
                [places.ACTORCTL, "health", "--address", address],
                capture_output=True, text=True, check=False,
                env=places.clean_environment())
            self.assertEqual(done.stdout, "SERVING\n", done.stderr)

    def test_port_file_names_a_port_that_serves(self):
        daemon = self.start_daemon()
        with socket.create_connection(("127.0.0.1", daemon.port), 5):
            pass
        daemon.wait_for_line(f"serves on 127.0.0.1:{daemon.port}")
        daemon.wait_for_line('server.listen = ["127.0.0.1:0"] (--listen)')

    def test_port_file_goes_with_the_daemon(self):
        daemon = self.start_daemon()
        path = daemon.directory / "port"
        self.assertTrue(path.exists())
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(path.exists())

    def test_port_file_of_another_daemon_stays(self):
        daemon = self.start_daemon()
        path = daemon.directory / "port"
        other = self.text_file(path.read_text(), "other")
        other.rename(path)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(path.read_text(), f"{daemon.port}\n")

    def test_port_file_stays_when_a_second_start_fails(self):
        daemon = self.start_daemon()
        path = daemon.directory / "port"
        done = run_actord("--listen", daemon.address, "--port-file", path)
        self.assert_fails(done, CANNOT_LISTEN, "Address already in use")
        self.assertEqual(path.read_text(), f"{daemon.port}\n")

    def test_port_file_that_cannot_be_written(self):
        path = self.directory / "none" / "port"
        done = run_actord("--listen", "127.0.0.1:0", "--port-file", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(path), done.stderr)


class Log(ConfigCase):

    def test_json_lines(self):
        daemon = self.start_daemon("--log-format", "json", "--log-level",
                                   "debug")
        actor = self.connect(daemon)
        # Logged text may hold any bytes.
        text = 'a "quoted" \\ line\nand \x01 \u00e9'
        actor.run("probe", json.dumps({
            "command": "log.write",
            "payload": {"level": "info", "message": text}}).encode(), "yield")
        self.assertEqual(daemon.stop(), 0)
        entries = [json.loads(line) for line in daemon.log().splitlines()]
        self.assertTrue(any(text in entry["message"] for entry in entries),
                        entries)
        for entry in entries:
            self.assertIn(entry["level"], ("debug", "info", "warning", "error"))
            self.assertRegex(entry["time"], r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")


class Start(ConfigCase):

    def test_serves_soon(self):
        """From exec to serving, the median of several starts. The goal is 100 ms
        on a machine at rest; these bounds leave room for a busy one, and for what
        a sanitizer does first."""
        seconds = []
        for number in range(5):
            daemon = self.start_daemon()
            seconds.append(daemon.start_seconds)
            self.assertEqual(daemon.stop(), 0)
        median_ms = sorted(seconds)[2] * 1000
        print(f"start to serving: median {median_ms:.0f} ms of "
              f"{[round(one * 1000) for one in seconds]}")
        self.assertLess(median_ms, 10_000 if SANITIZED else 1000)


if __name__ == "__main__":
    unittest.main()
