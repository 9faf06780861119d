"""The system has no thread left for a while, under load: each call is answered
meanwhile, the daemon serves as before when there are threads again, and it ends."""

import concurrent.futures
import contextlib
import signal
import subprocess
import time
import unittest

import grpc
from daemon.threads_test import CLEAN, ThreadsCase
from harness.attack_case import machine_factor, record
from harness.connection import Connection
from harness.waiting import WAIT_SECONDS

CLIENTS = 24
LOAD_SECONDS = 2


class ThreadsComeBack(ThreadsCase):

    def may_have_threads(self, daemon, count):
        """Sets the soft limit alone, so that it can be raised again."""
        subprocess.run(["prlimit", "--pid", str(daemon.process.pid),
                        f"--nproc={count}:"], check=True,
                       **self.user.options())

    def load(self, address, pid, until):
        """Calls over one connection after the other. Returns the number of calls
        that were carried out, and what the others were answered."""
        served, refused = 0, []
        while time.monotonic() < until:
            with contextlib.closing(Connection(address)) as actor:
                for _ in range(20):
                    try:
                        actor.send(pid, "add", b"1")
                        served += 1
                    except grpc.RpcError as error:
                        refused.append(error.code())
        return served, refused

    def load_from_all(self, daemon, pid):
        until = time.monotonic() + LOAD_SECONDS
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            futures = [pool.submit(self.load, daemon.address, pid, until)
                       for _ in range(CLIENTS)]
            results = [future.result() for future in futures]
        return (sum(served for served, _ in results),
                [code for _, refused in results for code in refused])

    def test_calls_are_answered_and_threads_come_back(self):
        daemon = self.start("--workers", "2", exit_status=CLEAN)
        actor = self.connect(daemon)
        pid = actor.submit("probe", method="collect")
        for round_number in range(2):
            self.may_have_threads(daemon, 1)
            served, refused = self.load_from_all(daemon, pid)
            self.assertEqual(refused, [])
            self.may_have_threads(daemon, 10_000)
            started = time.monotonic()
            again, refused = self.load_from_all(daemon, pid)
            self.assertEqual(refused, [])
            record(self, f"round {round_number}: {served} calls without a thread, "
                   f"{again} afterwards")
            self.assertGreater(again, served / (4 * machine_factor()))
        # gRPC's server would wait for a thread that never ran.
        daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.process.wait(WAIT_SECONDS), CLEAN)
        self.assertNotIn("exiting although", daemon.log())


if __name__ == "__main__":
    unittest.main()
