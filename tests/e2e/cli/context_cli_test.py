"""actorctl context: named daemons, and which setting comes from where."""

import json
import os
import subprocess
import unittest

from harness import places
from harness.case import CLI_SECONDS
from harness.tls_case import TlsCase
from harness.tokens import TokenCase

UNAVAILABLE = 5
USAGE = 2


class Contexts:
    """Runs actorctl with a home of its own. For subclasses of EmptyCase."""

    def actorctl(self, *words, status=0, home=None, **environment):
        home = home or self.directory / "home"
        home.mkdir(exist_ok=True)
        more = {name: str(value) for name, value in environment.items()}
        clean = places.clean_environment(HOME=str(home), **more)
        if "XDG_CONFIG_HOME" not in environment:
            del clean["XDG_CONFIG_HOME"]
        done = subprocess.run(
            [str(places.ACTORCTL), *map(str, words)], capture_output=True,
            text=True, timeout=CLI_SECONDS, cwd=self.directory, env=clean,
            check=False)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stderr}")
        return done

    @property
    def file(self):
        return self.directory / "home" / ".config" / "actorctl" / "contexts.toml"

    def refused(self, message, *words, **more):
        done = self.actorctl(*words, status=USAGE, **more)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, "^actorctl: .*" + message)
        return done.stderr


class Editing(Contexts, TlsCase):

    def said(self, line, done):
        self.assertEqual((done.stdout, done.stderr), ("", line + "\n"))

    def add(self, name, *words, **more):
        return self.actorctl("context", "add", name, "--address", "a.example:1",
                             *words, **more)

    def test_life_of_a_context(self):
        self.said(f"added the context b (a.example:1) in {self.file}; \"actorctl "
                  "context use b\" puts it in use", self.add("b"))
        self.said(f"added the context a (unix:/s) in {self.file}; it is in use",
                  self.actorctl("context", "add", "a", "--address", "unix:/s",
                                "--timeout", "5s", "--use"))
        self.assertEqual(os.stat(self.file).st_mode & 0o7777, 0o600)
        self.assertEqual(os.stat(self.file.parent).st_mode & 0o7777, 0o700)
        rows = json.loads(self.actorctl("context", "list", "-o", "json").stdout)
        self.assertEqual([(row["name"], row["in_use"], row["address"],
                           row["timeout"]) for row in rows],
                         [("a", True, "unix:/s", "5s"),
                          ("b", False, "a.example:1", "")])
        self.assertIn("unix:/s", self.actorctl("context", "show").stdout)
        self.assertIn("a.example:1", self.actorctl("context", "show", "b").stdout)
        self.said("the context b (a.example:1) is in use now",
                  self.actorctl("context", "use", "b"))
        self.assertIn("a.example:1", self.actorctl("context", "show").stdout)
        self.said("removed the context b; it was in use, and no context is in use "
                  "now", self.actorctl("context", "remove", "b"))
        self.refused("no context is in use", "context", "show")
        self.actorctl("context", "use", "a")
        self.said("no context is in use now",
                  self.actorctl("context", "use", "--none"))
        self.refused("no context is in use", "context", "show")
        self.assertEqual(
            self.actorctl("context", "list", "-o", "name").stdout, "a\n")

    def test_changes_as_json(self):
        for words in (("add", "a", "--address", "b:1"),
                      ("add", "a", "--address", "b:2", "--replace", "--use"),
                      ("use", "a"), ("remove", "a")):
            done = self.actorctl("context", *words, "-o", "json")
            self.assertEqual(done.stderr, "")
            row = json.loads(done.stdout)
            self.assertEqual(row["name"], "a")
            self.assertEqual(row["in_use"], "--use" in words or words[0] == "use")
        done = self.actorctl("context", "use", "--none", "-o", "json")
        self.assertFalse(json.loads(done.stdout)["in_use"])

    def test_errors(self):
        self.refused("there is no context \"x\"; .*has none", "context", "use", "x")
        self.add("one")
        self.add("two")
        for words in (("use", "x"), ("remove", "x"), ("show", "x")):
            self.refused('there is no context "x"; .*contexts.toml has one, two',
                         "context", *words)
        self.refused("--context: there is no context \"x\"", "--context", "x", "ps")
        self.refused(r"\$ACTORD_CONTEXT: there is no context \"x\"", "ps",
                     ACTORD_CONTEXT="x")
        self.refused("has a context \"one\"; give --replace", "context", "add",
                     "one", "--address", "b:1")
        self.actorctl("context", "add", "one", "--address", "b:1", "--replace")
        self.refused("is no name of a context", "context", "add", "a/b",
                     "--address", "b:1")
        self.refused("--address is required", "context", "add", "c",
                     ACTORD_ADDRESS="b:1")
        self.refused("give either NAME or --none", "context", "use")
        self.refused("--timeout", "context", "add", "c", "--address", "b:1",
                     "--timeout", "soon")
        self.refused("--tls-ca|tls_ca", "context", "add", "c", "--address", "b:1",
                     "--tls-ca", "missing.pem")
        self.refused("--token-file: .*missing", "context", "add", "c", "--address",
                     "b:1", "--token-file", "missing")
        os.chmod(self.file, 0o644)
        self.refused("chmod 0600", "ps")
        # Commands that use no daemon read no contexts.
        self.actorctl("version")
        os.chmod(self.file, 0o600)
        os.chmod(self.file.parent, 0o770)
        self.refused("chmod 0700", "ps")

    def test_paths_are_stored_as_absolute_ones(self):
        os.rename(self.authority.certificate, self.directory / "ca.pem")
        self.add("a", "--tls-ca", "ca.pem")
        self.assertIn(f'tls_ca = "{self.directory / "ca.pem"}"',
                      self.file.read_text())

    def test_place_of_the_file(self):
        self.add("a", XDG_CONFIG_HOME=self.directory / "x")
        self.assertTrue(
            (self.directory / "x" / "actorctl" / "contexts.toml").exists())
        self.assertFalse(self.file.exists())


class Precedence(Contexts, TokenCase):

    def health(self, *words, **more):
        return self.actorctl("--timeout", "10s", "health", *words, **more)

    def test_option_variable_context_default(self):
        first, second, third = (self.start_daemon(plugins=False)
                                for _ in range(3))

        def version(*words, status=0, **more):
            done = self.actorctl("status", "-o", "json", *words, status=status,
                                 **more)
            return json.loads(done.stdout)["incarnation"]
        names = {}
        for daemon in (first, second, third):
            names[daemon.address] = version("--address", daemon.address)
        self.actorctl("context", "add", "one", "--address", first.address, "--use")
        self.actorctl("context", "add", "two", "--address", second.address)
        self.assertEqual(version(), names[first.address])
        self.assertEqual(version("--context", "two"), names[second.address])
        self.assertEqual(version(ACTORD_CONTEXT="two"), names[second.address])
        self.assertEqual(version("--context", "one", ACTORD_CONTEXT="two"),
                         names[first.address])
        self.assertEqual(version("--context", "two", ACTORD_ADDRESS=third.address),
                         names[third.address])
        self.assertEqual(version("--address", first.address,
                                 ACTORD_ADDRESS=third.address),
                         names[first.address])

    def test_token_goes_to_the_address_of_its_context_alone(self):
        token = self.token("admin")
        path = self.text_file(token, "admin.token")
        path.chmod(0o600)
        daemon, other = self.serve(), self.serve()
        self.actorctl("context", "add", "a", "--address", daemon.address,
                      "--token-file", "admin.token", "--use")
        self.actorctl("ps")
        self.actorctl("ps", "--address", daemon.address)
        for more in ({"words": ("--address", other.address)},
                     {"words": (), "ACTORD_ADDRESS": other.address}):
            words = more.pop("words")
            done = self.actorctl("ps", *words, status=4, **more)
            self.assertIn("TOKEN_MISSING", done.stderr)
        self.assert_no_secret(self.file.read_text())

    def test_timeout_of_the_context(self):
        self.actorctl("context", "add", "a", "--address", "127.0.0.1:1",
                      "--timeout", "1h", "--use")
        daemon = self.start_daemon()
        self.actorctl("context", "add", "a", "--address", daemon.address,
                      "--timeout", "200ms", "--replace")
        pid = self.actorctl("submit", "probe", "--method", "idle",
                            "--timeout", "10s").stdout.strip()
        self.assertIn("deadline exceeded", self.actorctl("await", pid, status=6).stderr)


class Tls(Contexts, TlsCase):

    def test_tls_of_the_context(self):
        daemon = self.start_daemon(*self.mutual_tls())
        client = self.authority.issue("client")
        self.actorctl("context", "add", "a", "--address", daemon.address,
                      "--tls-ca", self.authority.certificate, "--tls-certificate",
                      client.certificate, "--tls-key", client.key, "--use")
        self.actorctl("health")
        # An option replaces one setting.
        self.refused("--tls-key", "health", "--tls-key", "missing.pem")


if __name__ == "__main__":
    unittest.main()
