"""The examples for Compose and Kubernetes, against the daemon and the image."""

import re
import subprocess
import tomllib
import unittest
import urllib.request

import yaml

from harness import places
from harness.case import EmptyCase
from harness.certificates import Authority
from harness.daemon import run_actord
from harness.waiting import eventually

PACKAGING = places.SOURCE / "packaging"


def actord(*words):
    return subprocess.run([str(places.ACTORD), *map(str, words)], capture_output=True,
                          text=True, check=True, env=places.clean_environment()).stdout


def seconds(text):
    """Of a duration such as "30s" or "1m"."""
    number, unit = re.fullmatch(r"(\d+)([sm])", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def longest_end(config):
    """The time that a daemon with this configuration may take to end."""
    shutdown = config["shutdown"]
    return seconds(shutdown["drain_timeout"]) + seconds(shutdown["force_timeout"]) + 1


class Compose(EmptyCase):

    def setUp(self):
        super().setUp()
        self.file = yaml.safe_load((PACKAGING / "compose.yaml").read_text())
        self.service = self.file["services"]["actord"]

    def test_options_and_variables_are_those_of_the_daemon(self):
        text = actord("--help")
        for name in self.service["environment"]:
            self.assertIn(f"env {name},", " ".join(text.split()))
        done = subprocess.run(
            [places.ACTORD, *self.service["command"], "--print-config"],
            capture_output=True, text=True, check=False,
            env=places.clean_environment(**self.service["environment"]))
        self.assertEqual(done.stderr, "")
        config = tomllib.loads(done.stdout)
        self.assertEqual(config["store"]["directory"], "/var/lib/actord/store")
        self.assertGreaterEqual(seconds(self.service["stop_grace_period"]),
                                longest_end(config))

    def test_fits_the_image(self):
        text = (places.SOURCE / "Dockerfile").read_text()
        self.assertIn(f"USER {self.service['user']}\n", text)
        version = re.search(r"^ARG VERSION=(.*)$", text, re.M)[1]
        self.assertEqual(self.service["image"], f"actord:{version}")
        for volume in self.service["volumes"]:
            name, place = volume.split(":")
            self.assertIn(name, self.file["volumes"])
            # The folder gives a named volume its owner.
            self.assertRegex(text, rf"install -d --owner 65532 .*{place}\b")
        self.assertEqual(self.service["cap_drop"], ["ALL"])
        self.assertTrue(self.service["read_only"])


class Kubernetes(EmptyCase):

    def setUp(self):
        super().setUp()
        documents = yaml.safe_load_all((PACKAGING / "kubernetes/actord.yaml").read_text())
        self.of_kind = {document["kind"]: document for document in documents}
        self.text = self.of_kind["ConfigMap"]["data"]["actord.toml"]
        self.pod = self.of_kind["StatefulSet"]["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]
        self.ports = {port["name"]: port["containerPort"]
                      for port in self.container["ports"]}

    def test_daemon_takes_the_configuration(self):
        config = tomllib.loads(actord("--config", self.text_file(self.text),
                                      "--print-config"))
        self.assertGreaterEqual(self.pod["terminationGracePeriodSeconds"],
                                longest_end(config))
        self.assertIn(f"0.0.0.0:{self.ports['grpc']}", config["server"]["listen"])
        self.assertEqual(config["admin"]["listen"], [f"0.0.0.0:{self.ports['admin']}"])
        self.assertFalse(config["admin"]["api"])
        mounts = [mount["mountPath"] for mount in self.container["volumeMounts"]]
        for path in (*self.container["args"][1:], config["tls"]["certificate"],
                     config["tls"]["key"], config["tls"]["client_ca"],
                     config["store"]["directory"], "/run/actord/actord.sock"):
            self.assertTrue(any(path.startswith(f"{mount}/") for mount in mounts), path)

    def test_daemon_without_tls_does_not_start(self):
        text = re.sub(r"\[tls\]\n(\w+ = .*\n)+", "", self.text)
        self.assertNotEqual(text, self.text)
        refused = run_actord("--config", self.text_file(text), "--check-config")
        self.assertEqual(refused.returncode, 78, refused.stderr)
        self.assertIn("server.listen: other machines reach 0.0.0.0:7600",
                      refused.stderr)

    def test_names_fit_together(self):
        service = self.of_kind["Service"]
        labels = self.of_kind["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(service["spec"]["selector"].items(), labels.items())
        for port in service["spec"]["ports"]:
            self.assertIn(port["targetPort"], self.ports)
        volumes = {volume["name"] for volume in self.pod["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in
                    self.of_kind["StatefulSet"]["spec"]["volumeClaimTemplates"]}
        for mount in self.container["volumeMounts"]:
            self.assertIn(mount["name"], volumes)
        user = self.pod["securityContext"]
        self.assertIn(f"USER {user['runAsUser']}:{user['runAsGroup']}\n",
                      (places.SOURCE / "Dockerfile").read_text())

    def test_probes_are_answered_with_the_configuration(self):
        """As the kubelet asks: by an address, with the paths of the probes."""
        authority = Authority(self.directory)
        certificate = authority.issue("server")
        text = self.text.replace("0.0.0.0:7600", "127.0.0.1:0")
        text = text.replace("0.0.0.0:7601", "127.0.0.1:0")
        for path, real in {"/etc/actord-tls/tls.crt": certificate.certificate,
                           "/etc/actord-tls/tls.key": certificate.key,
                           "/etc/actord-tls/ca.crt": authority.certificate,
                           "/run/actord/": f"{self.directory}/",
                           "/usr/lib/actord/plugins": places.PLUGINS,
                           "/var/lib/actord/": f"{self.directory}/"}.items():
            self.assertIn(path, text)
            text = text.replace(path, str(real))
        log = self.directory / "log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [places.ACTORD, "--config", self.text_file(text)], stderr=output,
                env=places.clean_environment(XDG_CACHE_HOME=str(places.CACHE)))
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        pattern = re.compile(r"admin port[^\"]*127\.0\.0\.1:(\d+)")
        eventually(lambda: pattern.search(log.read_text()) or process.poll() is not None,
                   "the admin port")
        self.assertIsNone(process.poll(), log.read_text())
        port = pattern.search(log.read_text())[1]
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = self.container[name]["httpGet"]
            self.assertIn(probe["port"], self.ports)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{probe['path']}") as page:
                self.assertEqual(page.status, 200, name)


if __name__ == "__main__":
    unittest.main()
