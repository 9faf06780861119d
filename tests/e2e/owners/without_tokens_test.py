"""A store whose processes have owners, and a daemon that has no tokens any more."""

from harness.case import DURABLE
from harness.connection import refusal_of
from harness.tokens import TokenCase
from harness.waiting import eventually

import grpc


class StoreOfOwners(TokenCase):

    def setUp(self):
        super().setUp()
        self.store = ("--store", self.directory / "store")
        token = self.token("client", name="billing")
        daemon = self.serve(*self.store)
        billing = self.connect_with(daemon, token)
        self.pid = billing.submit("counter", b"5", name="jobs", durability=DURABLE)
        daemon.stop()

    def test_start_without_tokens_warns_that_names_are_out_of_reach(self):
        daemon = self.start_daemon(*self.store)
        line = ("the store has the processes and names of 1 owner, and auth.tokens is "
                "not set: no call reaches their names")
        eventually(lambda: line in daemon.log(), line)
        actor = self.connect(daemon)
        with self.assertRaises(grpc.RpcError) as caught:
            actor.call("@jobs", "get")
        self.assertEqual(refusal_of(caught.exception).reason, "NAME_NOT_FOUND")
        self.assertEqual(actor.call(self.pid, "get").result.data, b"5")

    def test_mode_off_reaches_the_name_with_its_owner(self):
        daemon = self.serve(*self.store, "--auth-mode", "off")
        self.assertNotIn("auth.tokens is not set", daemon.log())
        actor = self.connect(daemon)
        self.assertEqual(actor.call("@jobs@billing", "get").result.data, b"5")


class StoreOfNobody(TokenCase):

    def test_start_without_tokens_is_silent(self):
        store = ("--store", self.directory / "store")
        daemon = self.start_daemon(*store)
        self.connect(daemon).submit("counter", b"5", name="jobs", durability=DURABLE)
        daemon.stop()
        self.assertNotIn("auth.tokens is not set", self.start_daemon(*store).log())
