"""actorctl token: files of tokens, made and edited without a daemon."""

import concurrent.futures
import errno
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import unittest
import zlib

import tomllib
from harness import places
from harness.case import CLI_SECONDS, EmptyCase
from harness.cli import DONE, FAILED, INTERRUPTED, NOT_FOUND, USAGE

TOKEN = re.compile(r"atk_([0-9a-hjkmnp-tv-z]{8})_([A-Za-z0-9_-]{43})_([0-9a-f]{8})")


class TokenCase(EmptyCase):

    def setUp(self):
        super().setUp()
        self.file = self.directory / "tokens.toml"

    def command(self, *words):
        """No daemon listens at the address of this environment."""
        return {"args": [str(places.ACTORCTL), *(str(word) for word in words)],
                "cwd": self.directory,
                "env": places.clean_environment(ACTORD_ADDRESS="127.0.0.1:1")}

    def token(self, *words, status=DONE, **more):
        done = subprocess.run(
            **self.command("token", words[0], "--file", self.file, *words[1:]),
            capture_output=True, text=True, timeout=CLI_SECONDS, check=False, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def new(self, name="app", role="client", *words):
        return self.token("new", "--name", name, "--role", role,
                          *words).stdout.rstrip("\n")

    def ids(self):
        return self.token("list", "-o", "name").stdout.split()

    def saved(self):
        return tomllib.loads(self.file.read_text())["token"]


class Tokens(TokenCase):

    def test_a_shell_takes_the_secret_from_standard_output(self):
        line = ('TOKEN=$("$0" token new --file tokens.toml --name app --role worker) '
                '&& printf "<%s>" "$TOKEN"')
        done = subprocess.run(
            ["sh", "-c", line, str(places.ACTORCTL)], capture_output=True, text=True,
            timeout=CLI_SECONDS, check=True, cwd=self.directory,
            env=places.clean_environment())
        self.assertRegex(done.stdout, f"^<{TOKEN.pattern}>$")
        self.assertIn("shown this once", done.stderr)
        self.assertNotIn(TOKEN.search(done.stdout)[2], done.stderr)

    def test_token_and_file_are_what_the_documentation_says(self):
        token = self.new("billing", "client", "--expires", "90d", "--submit",
                         "order", "--submit", "invoice.*")
        identity, secret, checksum = TOKEN.fullmatch(token).groups()
        self.assertEqual(f"{zlib.crc32(token[:-9].encode()):08x}", checksum)
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o640)
        (saved,) = self.saved()
        self.assertEqual(saved["hash"],
                         "sha256:" + hashlib.sha256(token.encode()).hexdigest())
        self.assertEqual((saved["id"], saved["name"], saved["role"], saved["see"]),
                         (identity, "billing", "client", "own"))
        self.assertEqual(saved["submit"], ["order", "invoice.*"])
        self.assertNotIn(secret, self.file.read_text())
        (listed,) = json.loads(self.token("list", "-o", "json").stdout)
        saved["expires"] = saved["expires"].strftime("%Y-%m-%dT%H:%M:%SZ")
        del saved["hash"]
        self.assertEqual(listed, {**saved, "work": []})

    def test_rotation(self):
        old, new = self.new(), self.new()
        self.assertNotEqual(old, new)
        self.assertEqual(self.token("revoke", old[4:12]).stdout,
                         f"revoked {old[4:12]} of app\n")
        self.assertEqual(self.ids(), [new[4:12]])

    def test_comments_owner_and_mode_stay(self):
        self.file.write_text("# mine\n")
        self.file.chmod(0o600)
        owner = None
        if os.geteuid() == 0:
            owner = (0, 12345)
            os.chown(self.file, *owner)
        token = self.new()
        self.token("revoke", token[4:12])
        self.assertEqual(self.file.read_text(), "# mine\n")
        status = self.file.stat()
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        if owner:
            self.assertEqual((status.st_uid, status.st_gid), owner)
        self.assertEqual(os.listdir(self.directory), ["tokens.toml"])

    def test_unknown_id_and_wrong_file(self):
        token = self.new()
        done = self.token("revoke", "zzzzzzzz", status=NOT_FOUND)
        self.assertRegex(done.stderr, "^actorctl: .*no token zzzzzzzz; .*token list")
        done = self.token("revoke", token, status=NOT_FOUND)
        self.assertIn(f"whose ID is {token[4:12]}", done.stderr)
        self.assertNotIn(token[13:56], done.stderr)
        self.file.chmod(0o644)
        for words in (("list",), ("revoke", token[4:12]),
                      ("new", "--name", "a", "--role", "client")):
            done = self.token(*words, status=USAGE)
            self.assertIn("chmod 0640", done.stderr)
            self.assertEqual(done.stdout, "")
        self.file.chmod(0o640)
        self.file.write_text('[[token]]\nid = "x"\n')
        self.assertIn(f"{self.file}:2: id must be 8 characters",
                      self.token("list", status=USAGE).stderr)

    def test_standard_output_that_takes_nothing_is_reported(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                **self.command("token", "new", "--file", self.file, "--name", "a",
                               "--role", "client"),
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                timeout=CLI_SECONDS)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("cannot write to standard output", done.stderr)
        # The ID with which the token can be revoked.
        self.assertIn(self.ids()[0], done.stderr)


class Faults(TokenCase):

    def test_concurrent_edits_are_all_kept(self):
        old = [self.new()[4:12] for _ in range(4)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = [pool.submit(self.new, f"app{i}") for i in range(16)]
            gone = [pool.submit(self.token, "revoke", each) for each in old]
            ids = {one.result()[4:12] for one in made}
            for one in gone:
                one.result()
        self.assertEqual(set(self.ids()), ids)
        self.assertEqual(len(ids), 16)
        self.assertEqual(os.listdir(self.directory), ["tokens.toml"])

    def test_killed_at_any_moment(self):
        """Each token that was printed is in the file, which is always whole."""
        printed = {self.new()[4:12]}
        for number in range(30):
            process = subprocess.Popen(
                **self.command("token", "new", "--file", self.file, "--name", "a",
                               "--role", "client"),
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            with process:
                try:
                    process.wait(number * 0.01)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                if match := TOKEN.search(process.stdout.read()):
                    printed.add(match[1])
            self.assertLessEqual(printed, set(self.ids()))
        self.new()
        self.assertEqual(os.listdir(self.directory), ["tokens.toml"])

    def test_interrupted_while_it_waits_for_the_lock(self):
        self.new()
        holder = subprocess.Popen(["flock", str(self.file), "cat"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with holder:
            # cat runs once the lock is held.
            holder.stdin.write(b"x\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), b"x\n")
            waiting = subprocess.Popen(
                **self.command("token", "revoke", "--file", self.file, "00000000"),
                stderr=subprocess.PIPE, text=True)
            with waiting:
                with self.assertRaises(subprocess.TimeoutExpired):
                    waiting.wait(0.5)
                waiting.send_signal(signal.SIGINT)
                self.assertEqual(waiting.wait(CLI_SECONDS), INTERRUPTED)
                self.assertIn("interrupted", waiting.stderr.read())
            self.token("revoke", "00000000", "--timeout", "100ms", status=6)
            holder.stdin.close()

    def test_full_disk(self):
        """On a file system of two pages, which only root or a user's own name space
        can mount."""
        mount = self.directory / "disk"
        mount.mkdir()
        script = """
            set -e
            mount -t tmpfs -o size=8k none disk
            "$1" token new --file disk/tokens.toml --name app --role client
            cp disk/tokens.toml before
            head -c 4096 /dev/zero > disk/filler
            status=0
            "$1" token new --file disk/tokens.toml --name b --role client || status=$?
            cmp disk/tokens.toml before
            ls -A disk > names
            exit $status
        """
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
             "sh", str(places.ACTORCTL)], capture_output=True, text=True,
            cwd=self.directory, timeout=CLI_SECONDS, check=False,
            env=places.clean_environment())
        if "unshare: " in done.stderr or "mount: " in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertIn(f"{os.strerror(errno.ENOSPC)}; the file is unchanged",
                      done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertEqual((self.directory / "names").read_text(),
                         "filler\ntokens.toml\n")


if __name__ == "__main__":
    unittest.main()
