"""A store whose processes have owners, and a daemon that has no tokens any more."""

from harness.case import DURABLE
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
        for name in ("@jobs", "@jobs@billing"):
            self.assert_refused(
                lambda name=name: actor.call(name, "get"),
                code=grpc.StatusCode.NOT_FOUND, reason="NAME_NOT_FOUND",
                message=f"; process {self.pid} of an owner has this name, and only "
                "its PID reaches it, because auth.tokens is not set")
        self.assertEqual(actor.call(self.pid, "get").result.data, b"5")

    def test_mode_off_reaches_the_name_with_its_owner(self):
        daemon = self.serve(*self.store, "--auth-mode", "off")
        self.assertNotIn("auth.tokens is not set", daemon.log())
        actor = self.connect(daemon)
        self.assertEqual(actor.call("@jobs@billing", "get").result.data, b"5")


class StoreOfNobody(TokenCase):

    def setUp(self):
        super().setUp()
        self.store = ("--store", self.directory / "store")
        daemon = self.start_daemon(*self.store)
        self.connect(daemon).submit("counter", b"5", name="jobs", durability=DURABLE)
        daemon.stop()

    def test_start_without_tokens_is_silent(self):
        daemon = self.start_daemon(*self.store)
        self.assertNotIn("auth.tokens is not set", daemon.log())

    def test_token_that_sees_all_is_told_how_to_reach_the_name(self):
        admin = self.token("admin", name="ops")
        client = self.token("client", name="billing")
        daemon = self.serve(*self.store)
        actor = self.connect_with(daemon, admin)
        hint = "; a process without an owner has this name: @jobs@"
        self.assert_refused(lambda: actor.call("@jobs", "get"),
                            code=grpc.StatusCode.NOT_FOUND, reason="NAME_NOT_FOUND",
                            message=hint)
        self.assertEqual(actor.call("@jobs@", "get").result.data, b"5")
        other = self.connect_with(daemon, client)
        with self.assertRaises(grpc.RpcError) as caught:
            other.call("@jobs", "get")
        self.assertNotIn(hint, caught.exception.details())
