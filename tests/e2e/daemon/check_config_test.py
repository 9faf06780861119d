"""What `actord --check-config` finds without a start: addresses, folders of
sockets, the store."""

import hashlib
import re
import socket
import unittest

from harness.case import StoreCase
from harness.daemon import run_actord

BAD_CONFIGURATION = 78


class CheckConfig(StoreCase):
    def check(self, *options, status=0):
        done = run_actord("--check-config", *options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout,
                         "" if status else "The configuration is good.\n")
        return done.stderr

    def content(self):
        """The directory of the test: each path, with the digest of a file."""
        return {path: hashlib.sha256(path.read_bytes()).hexdigest()
                if path.is_file() else ""
                for path in sorted(self.directory.rglob("*"))}

    def test_all_errors_of_addresses_and_store_are_told_at_once(self):
        before = self.content()
        said = self.check("--listen", "127.0.0.1:7600",
                          "--listen", "127.0.0.1:7600",
                          "--listen", f"unix:{self.directory}/no/s",
                          "--store", self.directory / "none" / "store",
                          status=BAD_CONFIGURATION)
        for text in ("server.listen: 127.0.0.1:7600 is listed twice",
                     f"the folder {self.directory}/no: No such file",
                     f"it cannot be made, because of {self.directory}/none: No"):
            self.assertIn(text, said)
        self.assertEqual(self.content(), before)

    def test_port_that_is_taken_is_no_error_of_the_configuration(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.assertEqual(
                self.check("--listen",
                           f"127.0.0.1:{other.getsockname()[1]}"), "")

    def test_store_is_neither_made_nor_changed(self):
        self.assertEqual(self.check("--store", self.store), "")
        self.assertFalse(self.store.exists())
        self.start()
        note = self.check("--store", self.store)
        pid = self.daemon.process.pid
        self.assertRegex(
            note, rf"^actord: note: store\.directory {re.escape(str(self.store))} "
                  rf"is in use by another program \(PID {pid}, actord\), which "
                  r"must end before this daemon can start\n$")
        self.assertEqual(self.daemon.stop(), 0)
        before = self.content()
        self.assertEqual(self.check("--store", self.store), "")
        self.assertEqual(self.content(), before)

    def test_store_that_this_version_does_not_read(self):
        self.store.mkdir()
        (self.store / "META-0").write_bytes(b"x" * 4096)
        said = self.check("--store", self.store, status=BAD_CONFIGURATION)
        self.assertIn(f"store.directory {self.store}: {self.store}/META-", said)


if __name__ == "__main__":
    unittest.main()
