"""A daemon whose memory is used up by what its clients send."""

import pathlib
import re
import time
import unittest

import grpc
from admin.pages import admin_port, get
from harness import places
from harness.attack_case import MIB, AttackCase, record
from harness.connection import refusal_of
from harness.waiting import eventually

# The memory that the daemon may take besides the address space of an idle one.
SPARE_BYTES = 400 * MIB
MESSAGE_BYTES = MIB
ORDER = b'{"order": "1", "amount_cents": 1, "hold_ms": 1}'


def address_space(daemon):
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10


class MemoryLow(AttackCase):

    OPTIONS = ("--workers", "2", "--max-mailbox-bytes", "1GiB", "--admin-listen",
               "127.0.0.1:0")

    def start_with(self, address_space_bytes):
        limited = self.text_file(
            f'#!/bin/sh\nulimit -v {address_space_bytes >> 10}\n'
            f'exec "{places.ACTORD}" "$@"\n', f"limited{address_space_bytes}")
        limited.chmod(0o755)
        return self.start_daemon(*self.OPTIONS, actord=limited)

    def start_limited(self):
        """A daemon that may not take more than SPARE_BYTES besides."""
        # One with a limit takes less.
        idle = self.start_with(1 << 40)
        self.connect(idle).run("echo", b"1")
        return self.start_with(address_space(idle) + SPARE_BYTES)

    def fill(self, actor, pid):
        """Sends until the daemon refuses. Returns the refusal, and the number of
        messages that it took."""
        for count in range(2 * SPARE_BYTES // MESSAGE_BYTES):
            try:
                actor.send(pid, payload=b"x" * MESSAGE_BYTES)
            except grpc.RpcError as error:
                return refusal_of(error), count
        self.fail("no message was refused")

    def test_new_work_is_refused_until_memory_is_free(self):
        daemon = self.start_limited()
        actor = self.connect(daemon)
        # It takes no message until it is told to.
        pid = actor.submit("probe", method="collect")
        counter, cancelled = actor.submit("counter"), actor.submit("counter")
        order = actor.submit("order", ORDER)
        [payment] = eventually(actor.yields, "the yield")
        refusal, taken = self.fill(actor, pid)
        self.assertEqual(refusal.code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(refusal.reason, "MEMORY_LOW")
        self.assertGreater(refusal.retry_seconds, 0)
        self.assert_refused(lambda: actor.submit("counter"),
                            code=grpc.StatusCode.RESOURCE_EXHAUSTED,
                            reason="MEMORY_LOW", message="little memory left")
        self.assertGreaterEqual(actor.status().counters.memory_limit_total, 2)
        # Calls that free memory go on: answers to yields, steps, ends, cancels.
        self.assertEqual(actor.process(counter).pid, counter)
        actor.complete(payment.token, b'"receipt"')
        outcome = actor.wait(order)
        self.assertEqual(outcome.WhichOneof("end"), "result", outcome)
        actor.cancel(cancelled)
        self.assertEqual(actor.wait(cancelled).result.data, b"0")
        actor.terminate(counter)
        self.assertEqual(actor.wait(counter).WhichOneof("end"), "failure")
        self.assertEqual(get(admin_port(daemon), "/healthz")[0], 200)
        self.assertEqual(get(admin_port(daemon), "/readyz")[0], 200)
        self.assert_refused(lambda: actor.send(pid),
                            code=grpc.StatusCode.RESOURCE_EXHAUSTED,
                            reason="MEMORY_LOW", message="little memory left")
        actor.terminate(pid)
        started = time.monotonic()
        eventually(lambda: self.is_taken(actor), "room for new processes")
        record(self, f"refused after {taken} messages of 1 MiB; new work was taken "
               f"{time.monotonic() - started:.2f} s after they were freed")
        daemon.wait_for_line("memory is low: ")
        daemon.wait_for_line("memory is no longer low: ")

    def is_taken(self, actor):
        try:
            actor.submit("counter")
        except grpc.RpcError as error:
            self.assertEqual(refusal_of(error).reason, "MEMORY_LOW")
            return False
        return True


if __name__ == "__main__":
    unittest.main()
