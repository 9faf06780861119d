#!/usr/bin/python3
"""Looks at an image and drives containers of it.

Usage: image_test.py IMAGE.json ROOT

IMAGE.json is what `buildah inspect --type image` says, ROOT the mounted root of
a container made of the image. Ends in a line `N passed, N failed`.
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tomllib
import unittest

from container import Container, wait_until

CONFIG = {}
ROOT = ""
SOCKET = "unix:/run/actord/actord.sock"

# Asks for the standard health service from this machine, with nothing of the
# image's: field 1, status, is 1 when it is serving.
OUTSIDE_PROGRAM = """
import grpc
with grpc.insecure_channel("127.0.0.1:7600") as channel:
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    print(check(b"", timeout=20, wait_for_ready=True).hex())
"""


class ImageConfigTest(unittest.TestCase):

    def test_runs_as_a_user_without_rights(self):
        self.assertEqual(CONFIG["User"], "65532:65532")

    def test_entry_point_is_the_daemon_itself(self):
        self.assertEqual(CONFIG["Entrypoint"], ["/usr/bin/actord"])

    def test_no_option_outweighs_the_environment(self):
        self.assertFalse(CONFIG.get("Cmd"))
        self.assertIn("ACTORD_CONFIG=/etc/actord/actord.toml", CONFIG["Env"])

    def test_listens_where_no_stranger_comes(self):
        config = tomllib.loads(subprocess.run(
            ["chroot", ROOT, "/usr/bin/actord", "--print-config", "--config",
             "/etc/actord/actord.toml"], env={"PATH": "/usr/sbin:/usr/bin"},
            capture_output=True, text=True, check=True).stdout)
        self.assertEqual(config["server"]["listen"], ["127.0.0.1:7600", SOCKET])
        self.assertFalse(config["server"]["insecure_listen"])
        self.assertEqual(list(CONFIG["ExposedPorts"]), ["7600/tcp"])
        self.assertEqual(list(CONFIG["Volumes"]), ["/run/actord"])

    def test_health_check_asks_the_daemon(self):
        self.assertEqual(CONFIG["Healthcheck"]["Test"],
                         ["CMD", "/usr/lib/actord/healthcheck"])

    def test_is_stopped_by_the_signal_that_drains(self):
        self.assertEqual(CONFIG["StopSignal"], "SIGTERM")

    def test_labels(self):
        labels = CONFIG["Labels"]
        prefix = "org.opencontainers.image."
        self.assertEqual(labels[prefix + "title"], "actord")
        self.assertEqual(labels[prefix + "licenses"], "Apache-2.0")
        self.assertEqual(labels[prefix + "revision"], "under-test")
        self.assertTrue(labels[prefix + "description"])
        version = subprocess.run(
            ["chroot", ROOT, "/usr/bin/actord", "--version"],
            capture_output=True, text=True, check=True).stdout
        self.assertIn(labels[prefix + "version"], version)


class ImageContentTest(unittest.TestCase):

    def test_holds_the_example_plugins_and_no_others(self):
        plugins = pathlib.Path(ROOT, "usr/lib/actord/plugins").iterdir()
        self.assertEqual(sorted(file.name for file in plugins),
                         ["account.so", "counter.so", "echo.so", "order.so",
                          "wordcount.so"])

    def test_holds_no_compiler_and_no_package_lists(self):
        self.assertFalse(pathlib.Path(ROOT, "usr/bin/g++").exists())
        lists = pathlib.Path(ROOT, "var/lib/apt/lists")
        self.assertEqual([file for file in lists.glob("**/*Packages*")], [])

    def test_holds_the_licence(self):
        licence = pathlib.Path(ROOT, "usr/share/doc/actord/LICENSE")
        self.assertIn("Apache License", licence.read_text(encoding="utf-8"))

    def test_holds_the_list_of_its_parts(self):
        document = json.loads(pathlib.Path(
            ROOT, "usr/share/doc/actord/actord.spdx.json").read_text(encoding="utf-8"))
        parts = {part["SPDXID"]: part for part in document["packages"]}
        [image] = [relation["relatedSpdxElement"]
                   for relation in document["relationships"]
                   if relation["relationshipType"] == "DESCRIBES"]
        found = {kind: {parts[relation["relatedSpdxElement"]]["name"]: parts[
            relation["relatedSpdxElement"]]["versionInfo"]
                        for relation in document["relationships"]
                        if relation["spdxElementId"] == image
                        and relation["relationshipType"] == kind}
                 for kind in ("CONTAINS", "STATIC_LINK")}
        installed = dict(line.split("\t") for line in subprocess.run(
            ["dpkg-query", f"--admindir={ROOT}/var/lib/dpkg", "-W",
             "-f=${Package}\t${Version}\n"],
            capture_output=True, text=True, check=True).stdout.splitlines())
        self.assertGreater(len(installed), 50)
        self.assertIn("librocksdb7.8", installed)
        console = {"preact", "htm", "uplot"}
        self.assertEqual({name: version for name, version in found["CONTAINS"].items()
                          if name not in console}, installed)
        self.assertLessEqual(console, found["CONTAINS"].keys())
        self.assertIn("libcli11-dev", found["STATIC_LINK"])


def add_own_folder():
    """A folder of the user's in the root: a configuration, and a folder with the
    plugin echo."""
    own = pathlib.Path(ROOT, "srv")
    (own / "plugins").mkdir(exist_ok=True)
    shutil.copy(pathlib.Path(ROOT, "usr/lib/actord/plugins/echo.so"), own / "plugins")
    (own / "own.toml").write_text(
        '[server]\nlisten = ["127.0.0.1:7603"]\n'
        '[plugins]\ndirectories = ["/srv/plugins"]\n', encoding="utf-8")


class ContainerTest(unittest.TestCase):

    options = []
    variables = []  # besides those of the image

    def setUp(self):
        self.container = Container(
            ROOT, CONFIG["User"], CONFIG["Entrypoint"] + self.options,
            CONFIG["Volumes"], CONFIG["Env"] + self.variables)
        self.addCleanup(self.container.close)
        wait_until(self.healthy, 60, "the health check to pass")

    def health_check(self):
        return self.container.run(*CONFIG["Healthcheck"]["Test"][1:])

    def healthy(self):
        self.assertTrue(self.container.running(), self.container.log())
        return (self.container.pid() is not None
                and self.health_check().returncode == 0)

    def actorctl(self, *arguments, stdin=b""):
        """Runs actorctl inside; returns what it wrote."""
        done = self.container.run("/usr/bin/actorctl", *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr,
                                              self.container.log()))
        return done.stdout.decode()

    def stop(self):
        """Stops the container as an engine does; returns the exit status."""
        self.container.signal(signal.Signals[CONFIG["StopSignal"]])
        return self.container.wait(20)


class DefaultCommandTest(ContainerTest):

    def test_daemon_is_process_1_of_the_image_s_user(self):
        status = pathlib.Path(
            f"/proc/{self.container.pid()}/status").read_text(encoding="ascii")
        self.assertRegex(status, r"(?m)^Name:\tactord$")
        self.assertRegex(status, r"(?m)^Uid:\t65532\t65532\t65532\t65532$")
        self.assertRegex(status, r"(?m)^NSpid:\t\d+\t1$")
        self.assertRegex(status, r"(?m)^CapEff:\t0+$")

    def test_root_cannot_be_written(self):
        for path in ["/written", "/tmp/written", "/var/tmp/written"]:
            touched = self.container.run("/usr/bin/touch", path)
            self.assertNotEqual(touched.returncode, 0, path)
            self.assertIn(b"Read-only file system", touched.stderr)

    def test_submits_and_awaits_from_inside(self):
        greeting = '{"hello": "container"}'
        result = self.actorctl("submit", "echo", greeting, "--wait")
        self.assertEqual(json.loads(result), json.loads(greeting))
        pid = self.actorctl("submit", "echo", greeting).strip()
        self.assertEqual(json.loads(self.actorctl("await", pid)),
                         json.loads(greeting))

    def test_counts_words(self):
        text = b"the quick fox and the lazy dog and the end\n"
        result = self.actorctl("submit", "wordcount", "-", "--wait",
                               stdin=text)
        count = json.loads(result)
        self.assertEqual(count["words"], 10)
        self.assertEqual(count["top"][0], {"word": "the", "count": 3})

    def answer_outside(self):
        """What a program of this machine in the container's network gets."""
        return self.container.run("/usr/bin/python3", "-c", OUTSIDE_PROGRAM,
                                  inside=False)

    def test_serves_its_network_on_loopback(self):
        answer = self.answer_outside()
        self.assertEqual(answer.stdout.strip(), b"0801", answer.stderr)
        # The loopback interface answers for all addresses of 127.0.0.0/8, but
        # the daemon is bound to one.
        other = self.container.run(
            "/usr/bin/python3", "-c",
            OUTSIDE_PROGRAM.replace("127.0.0.1", "127.0.0.2").replace(
                "timeout=20, wait_for_ready=True", "timeout=5"), inside=False)
        self.assertIn(b"UNAVAILABLE", other.stderr)

    def test_drains_and_exits_cleanly_when_it_is_stopped(self):
        self.actorctl("submit", "echo", "x", "--wait")
        self.assertEqual(self.stop(), 0, self.container.log())

    def test_health_check_fails_when_nobody_serves(self):
        done = self.container.run("/usr/bin/actorctl", "health", "--address",
                                  "127.0.0.1:7601")
        self.assertNotEqual(done.returncode, 0)


class OpenPortTest(ContainerTest):

    # The health check follows the options.
    options = ["--listen", "0.0.0.0:7601", "--insecure-listen"]

    def test_serves_every_client_of_the_port_with_a_warning(self):
        answer = self.container.run(
            "/usr/bin/python3", "-c",
            OUTSIDE_PROGRAM.replace("127.0.0.1:7600", "127.0.0.2:7601"),
            inside=False)
        self.assertEqual(answer.stdout.strip(), b"0801", answer.stderr)
        self.assertIn("anyone who reaches 0.0.0.0:7601 can do everything",
                      self.container.log())


class EnvironmentTest(ContainerTest):

    variables = ["ACTORD_LISTEN=127.0.0.1:7602,unix:/run/actord/other.sock",
                 "ACTORD_PLUGIN_DIR=/srv/plugins"]

    def setUp(self):
        add_own_folder()
        super().setUp()

    def test_variables_outweigh_the_image_s_file(self):
        for address in ("127.0.0.1:7602", "unix:/run/actord/other.sock"):
            self.assertEqual(
                self.actorctl("submit", "echo", "1", "--wait", "--address", address),
                "1")
        # Neither the plugins nor the socket of the image's file.
        done = self.container.run("/usr/bin/actorctl", "submit", "counter", "--address",
                                  "127.0.0.1:7602")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotEqual(self.container.run(
            "/usr/bin/actorctl", "health", "--address", SOCKET).returncode, 0)

    def test_health_check_fails_when_the_daemon_stands(self):
        self.addCleanup(self.container.signal, signal.SIGCONT)
        self.container.signal(signal.SIGSTOP)
        self.assertNotEqual(self.health_check().returncode, 0)


class ConfigurationFileTest(ContainerTest):

    variables = ["ACTORD_CONFIG=/srv/own.toml"]

    def setUp(self):
        add_own_folder()
        super().setUp()

    def test_a_file_takes_the_place_of_the_image_s(self):
        self.assertEqual(self.actorctl("submit", "echo", "1", "--wait", "--address",
                                       "127.0.0.1:7603"), "1")


class ExternalCommandTest(ContainerTest):

    options = ["--external", "payment.*"]

    def test_completed_yield_charges_the_order(self):
        order = '{"order": "o-1", "amount_cents": 1250, "hold_ms": 1}'
        pid = self.actorctl("submit", "order", order).strip()
        found = []

        def payment_waits():
            found[:] = self.actorctl("yields", "--command", "payment.*", "-o",
                                     "jsonl").splitlines()
            return bool(found)

        wait_until(payment_waits, 20, "the payment")
        self.assertEqual(len(found), 1, found)
        self.actorctl("complete", json.loads(found[0])["token"],
                      '{"receipt": 7}')
        result = json.loads(self.actorctl("await", pid))
        self.assertEqual(result["status"], "charged")

    def test_stop_ends_what_waits_for_the_outside(self):
        order = '{"order": "o-2", "amount_cents": 1, "hold_ms": 60000}'
        self.actorctl("submit", "order", order)
        self.assertEqual(self.stop(), 0, self.container.log())


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        CONFIG.update(json.load(file)["Docker"]["config"])
    global ROOT
    ROOT = sys.argv[2]
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in [ImageConfigTest, ImageContentTest, DefaultCommandTest,
                     OpenPortTest, EnvironmentTest, ConfigurationFileTest,
                     ExternalCommandTest])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
