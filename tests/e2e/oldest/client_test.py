"""The oldest client with the newest daemon: a program whose stubs are made of the
oldest .proto files."""

import pathlib
import shutil
import subprocess
import sys

from harness import places
from harness.case import EXTERNAL, EmptyCase
from harness.waiting import WAIT_SECONDS
from oldest.proxy import PROTO

PROGRAM = pathlib.Path(__file__).with_name("program.py")


class OldestClient(EmptyCase):

    def stubs(self):
        """A folder with the stubs."""
        folder = self.directory / "stubs"
        folder.mkdir()
        subprocess.run(
            ["protoc", "-I", PROTO, f"--python_out={folder}",
             f"--grpc_python_out={folder}",
             "--plugin=protoc-gen-grpc_python=" + shutil.which("grpc_python_plugin"),
             *(path.relative_to(PROTO) for path in PROTO.rglob("*.proto"))],
            check=True)
        return folder

    def test_it_is_answered_as_it_was(self):
        daemon = self.start_daemon("--plugin-dir", places.PLUGINS, *EXTERNAL,
                                   plugins=False)
        done = subprocess.run(
            [sys.executable, PROGRAM, daemon.address], capture_output=True, text=True,
            check=False, timeout=10 * WAIT_SECONDS,
            env=places.clean_environment(
                PYTHONPATH=f"{self.stubs()}:{PROGRAM.parent.parent}"))
        self.assertEqual((done.returncode, done.stdout.split()), (0, [
            "processes", "refusals", "yields", "work", "streams", "watch", "daemon"]),
            done.stderr)
        # The program has ended the daemon.
        self.assertEqual(daemon.wait(), 0)
