"""The examples for Compose and Kubernetes, against the daemon and the image."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
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
            [places.ACTORD, "--print-config"], capture_output=True, text=True,
            check=False, env=places.clean_environment(
                ACTORD_CONFIG=str(PACKAGING / "image/actord.toml"),
                **self.service["environment"]))
        self.assertEqual(done.stderr, "")
        config = tomllib.loads(done.stdout)
        self.assertEqual(config["server"]["listen"], ["unix:/run/actord/actord.sock"])
        self.assertEqual(config["plugins"]["directories"], ["/usr/lib/actord/plugins"])
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


class Tools(EmptyCase):
    """The examples, as the tools read them for which they are."""

    def tool(self, *words, **options):
        """The standard output of a tool; without it the test is skipped."""
        if shutil.which(words[0]) is None:
            why_not = f"there is no {words[0]}; ./dev setup test installs it"
            # CTest looks for these words and shows the test as skipped.
            print(f"EXAMPLES NOT TESTED: {why_not}", file=sys.stderr)
            self.skipTest(why_not)
        done = subprocess.run([str(word) for word in words], capture_output=True,
                              text=True, check=False, timeout=60, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_docker_compose_reads_the_file(self):
        file = PACKAGING / "compose.yaml"
        read = yaml.safe_load(self.tool("docker-compose", "--file", file, "config"))
        written = yaml.safe_load(file.read_text())
        service = read["services"]["actord"]
        self.assertEqual(service.keys(), written["services"]["actord"].keys())
        self.assertEqual(service["stop_grace_period"], "40s")
        self.assertEqual(read["volumes"].keys(), written["volumes"].keys())

    def kubectl(self, *words, **options):
        return self.tool("kubectl", *words, env={
            **os.environ, "KUBECONFIG": os.devnull, "HOME": str(self.directory)},
            **options)

    def test_kustomize_builds_the_folder(self):
        folder = PACKAGING / "kubernetes"
        built = {one["kind"]: one for one in
                 yaml.safe_load_all(self.kubectl("kustomize", folder))}
        written = {one["kind"]: one for one in
                   yaml.safe_load_all((folder / "actord.yaml").read_text())}
        self.assertEqual(built, written)

    def test_kubectl_knows_each_field(self):
        """These commands read an object into the type of its API, or make one, and
        write what they have. A field that the type does not have is missing then."""
        pods = ("set", "env", "--local", "READ=yes")
        selectors = ("set", "selector", "--local", "app.kubernetes.io/name=actord")
        budget = ("create", "poddisruptionbudget", "actord", "--dry-run=client",
                  "--selector=app.kubernetes.io/name=actord", "--max-unavailable=1")
        commands = {"StatefulSet": pods, "Service": selectors,
                    "PodDisruptionBudget": budget}
        read = {}
        for written in yaml.safe_load_all(
                (PACKAGING / "kubernetes/actord.yaml").read_text()):
            kind = written["kind"]
            if kind not in commands:
                self.assertEqual((kind, *written), ("ConfigMap", "apiVersion", "kind",
                                                    "metadata", "data"))
                continue
            file = self.text_file(yaml.safe_dump(written), f"{kind}.yaml")
            source = () if commands[kind] is budget else ("-f", file)
            read[kind] = json.loads(self.kubectl(*commands[kind], *source, "-o", "json"))
            self.assert_has(read[kind]["spec"], written["spec"], kind)
        self.assertEqual(read.keys(), commands.keys())

    def assert_has(self, read, written, path):
        """All that is written was read."""
        if isinstance(written, dict):
            for name, value in written.items():
                self.assertIn(name, read, path)
                self.assert_has(read[name], value, f"{path}.{name}")
        elif isinstance(written, list):
            self.assertEqual(len(read), len(written), path)
            for number, value in enumerate(written):
                self.assert_has(read[number], value, f"{path}[{number}]")
        else:
            self.assertEqual(read, written, path)


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
        # The image's own configuration is where the pod mounts this one.
        image = (places.SOURCE / "Dockerfile").read_text()
        file = re.search(r"^ENV ACTORD_CONFIG=(\S+)$", image, re.M)[1]
        self.assertEqual(list(self.of_kind["ConfigMap"]["data"]),
                         [pathlib.Path(file).name])
        for path in (file, config["tls"]["certificate"],
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
