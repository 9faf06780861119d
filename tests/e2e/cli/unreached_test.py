"""What actorctl says if it does not reach a daemon: the texts stand on the
words of gRPC and of the system, which these tests provoke."""

import contextlib
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

from admin.pages import admin_port
from harness import places
from harness.cli import CliCase, UNAVAILABLE
from harness.raw_client import Http2Stranger
from harness.waiting import WAIT_SECONDS

NEXT_STEP = "Is actord running there? --address, $ACTORD_ADDRESS or a context"


class Unreached(CliCase):
    def said(self, address):
        done = self.actorctl("status", "--address", address, "--timeout",
                             f"{WAIT_SECONDS}s", status=UNAVAILABLE)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(f"cannot reach the daemon at {address}: ", done.stderr)
        return done.stderr

    def test_nobody_listens(self):
        said = self.said("127.0.0.1:1")
        self.assertIn("the connection is refused: no program listens at this "
                      "address. " + NEXT_STEP, said)

    def test_no_such_socket(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "actord.sock"
            said = self.said(f"unix:{path}")
            self.assertIn("there is no such socket. " + NEXT_STEP, said)
            with socket.socket(socket.AF_UNIX) as left_over:
                left_over.bind(str(path))
            said = self.said(f"unix:{path}")
            self.assertIn("the socket is there, and no program listens on it. "
                          + NEXT_STEP, said)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_socket_of_others(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "actord.sock"
            with socket.socket(socket.AF_UNIX) as closed:
                closed.bind(str(path))
                closed.listen()
                path.chmod(0o600)
                os.chmod(directory, 0o755)
                try:
                    done = subprocess.run(
                        [str(places.ACTORCTL), "--address", f"unix:{path}",
                         "status"], capture_output=True, text=True, user=65534,
                        timeout=WAIT_SECONDS, check=False,
                        env=places.clean_environment(XDG_CONFIG_HOME=directory))
                except PermissionError:
                    self.skipTest("another user cannot run actorctl here")
        self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
        self.assertIn("permission denied: the mode and the group of the socket",
                      done.stderr)

    def test_unknown_host(self):
        # A resolver that does not answer takes longer than the deadline.
        started = time.monotonic()
        with contextlib.suppress(OSError):
            socket.getaddrinfo("no-such-host.invalid", 7600)
        if time.monotonic() - started > 2:
            self.skipTest("the resolver of this machine does not answer")
        self.assertIn("the name of the host cannot be resolved. " + NEXT_STEP,
                      self.said("no-such-host.invalid:7600"))

    def test_admin_port(self):
        daemon = self.start_daemon("--admin-listen", "127.0.0.1:0")
        said = self.said(f"127.0.0.1:{admin_port(daemon)}")
        self.assertIn("it answers HTTP/1.1 and not gRPC: this may be the admin "
                      "port (admin.listen)", said)
        self.assertNotIn(NEXT_STEP, said)

    def test_program_of_http2_that_is_not_the_daemon(self):
        stranger = Http2Stranger()
        self.addCleanup(stranger.close)
        said = self.said(stranger.address)
        self.assertIn("it answers HTTP/2 and not gRPC: this is another program", said)
        self.assertNotIn(NEXT_STEP, said)


if __name__ == "__main__":
    unittest.main()
