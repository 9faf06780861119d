"""Subscribe: what processes publish reaches the programs that want it."""

import signal
import unittest

import grpc
from harness.case import DURABLE, DaemonCase, EmptyCase
from harness.connection import refusal_of
from harness.tokens import TokenCase
from harness.waiting import eventually
from harness.watch import Subscriber


class Subscriptions(DaemonCase):

    def subscribe(self, *patterns, actor=None, reads=True):
        subscriber = Subscriber((actor or self.actor).stub, *patterns, reads=reads)
        self.addCleanup(subscriber.cancel)
        return subscriber

    def counters(self):
        return self.actor.status().counters

    def test_topics_and_prefixes(self):
        herald = self.actor.submit("probe.herald")
        exact, prefix = self.subscribe("room/7"), self.subscribe("room/*", "r*")
        for topic, text in (("room/7", b"a"), ("room/8", b"b"), ("door", b"c")):
            self.actor.send(herald, topic, text)
        prefix.wait_until_got(("room/7", b"a"), ("room/8", b"b"))
        exact.wait_until_got(("room/7", b"a"))
        first, second = prefix.publications
        self.assertEqual([first.publisher_pid, second.publisher_pid],
                         [herald, herald])
        self.assertEqual([first.sequence, second.sequence], [1, 2])
        self.assertLessEqual(first.publish_time.ToNanoseconds(),
                             second.publish_time.ToNanoseconds())
        # Nobody hears of "door", so its publication may come after the others
        # are received.
        eventually(lambda: self.counters().publications_total == 3, "door")
        counters = self.counters()
        self.assertEqual((counters.publications_queued_total,
                          counters.publications_lost_total,
                          counters.subscriptions_open), (3, 0, 2))
        prefix.cancel()
        eventually(lambda: self.counters().subscriptions_open == 1, "the end")

    def test_many_in_their_order(self):
        herald = self.actor.submit("probe.herald")
        subscriber = self.subscribe("burst")
        for _ in range(20):
            self.actor.send(herald, "burst", b"500 1")
        subscriber.wait_for(
            lambda: len(subscriber.got) + sum(n for _, n in subscriber.missed)
            == 10_000, "all")
        numbers = [int(data) for _, data in subscriber.got]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual([one.sequence for one in subscriber.publications], numbers)

    def test_a_slow_subscriber_is_told_what_it_has_missed(self):
        herald = self.actor.submit("probe.herald")
        slow = self.subscribe("burst", reads=False)
        # 40 MB: more than gRPC and the kernel hold for a client.
        for _ in range(40):
            self.assertTrue(self.actor.call(herald, "burst", b"100 10000"))
        lost = self.counters().publications_lost_total
        self.assertGreater(lost, 0)
        slow.read_on()
        slow.wait_for(lambda: slow.publications
                      and slow.publications[-1].sequence == 4000, "the newest")
        self.assertEqual(sum(count for _, count in slow.missed), lost)
        self.assertEqual(len(slow.got) + lost, 4000)
        sequence = 0
        for publication in slow.publications:
            sequence += publication.missed + 1
            self.assertEqual(publication.sequence, sequence)
            self.assertEqual(int(publication.payload.data), sequence)
        # From now on it reads.
        self.actor.send(herald, "burst", b"1 1")
        slow.wait_for(lambda: slow.publications[-1].sequence == 4001, "one more")

    def test_wrong_patterns_are_refused(self):
        for patterns, why in (
                ((), "there are 0 patterns; a subscription has 1 to 64"),
                (["a"] * 65, "there are 65 patterns; a subscription has 1 to 64"),
                (["a", ""], "the pattern '' is neither a topic nor a prefix that "
                            "ends in '*'"),
                (["a*b"], "the pattern 'a*b' is neither a topic nor a prefix that "
                          "ends in '*'"),
                (["a" * 1025], "a pattern has 1025 bytes; the limit is 1024")):
            with self.assertRaises(grpc.RpcError) as caught:
                self.subscribe(*patterns)
            refusal = refusal_of(caught.exception)
            self.assertEqual((refusal.code, refusal.reason, refusal.message),
                             (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD",
                              why))
            self.assertIn("patterns", refusal.fields)

    def test_stream_ends_with_the_daemon(self):
        subscriber = self.subscribe("*")
        self.daemon.signal(signal.SIGTERM)
        error = subscriber.wait()
        self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)


class Owners(TokenCase):

    def test_subscribers_see_their_own_owner_alone(self):
        see_own = ("--see", "own")
        alice, bob = (self.token("client", *see_own, name=name)
                      for name in ("alice", "bob"))
        all_seeing = self.token("operator")
        viewer = self.token("viewer")
        daemon = self.serve()
        alice, bob, all_seeing = (self.connect_with(daemon, token)
                                  for token in (alice, bob, all_seeing))
        subscribers = [Subscriber(who.stub, "*") for who in (alice, bob, all_seeing)]
        for subscriber in subscribers:
            self.addCleanup(subscriber.cancel)
        for who, text in ((alice, b"alice"), (bob, b"bob")):
            who.send(who.submit("probe.herald"), "topic", text)
            subscribers[2].wait_for(
                lambda text=text: ("topic", text) in subscribers[2].got, text)
        subscribers[0].wait_until_got(("topic", b"alice"))
        subscribers[1].wait_until_got(("topic", b"bob"))
        self.assertEqual([one.owner for one in subscribers[2].publications],
                         ["alice", "bob"])
        self.assertEqual(subscribers[0].publications[0].owner, "")
        # A viewer may not see payloads.
        viewer = self.connect_with(daemon, viewer)
        self.assert_code(lambda: Subscriber(viewer.stub, "*"),
                         grpc.StatusCode.PERMISSION_DENIED, "ROLE_NOT_ALLOWED")

    def test_stream_ends_with_its_token(self):
        text = self.token("client")
        daemon = self.serve()
        subscriber = Subscriber(self.connect_with(daemon, text).stub, "*")
        self.addCleanup(subscriber.cancel)
        self.revoke(text)
        self.assertEqual(subscriber.wait().code(),
                         grpc.StatusCode.UNAUTHENTICATED)


class Durable(EmptyCase):

    def test_killed_daemon_publishes_nothing_twice(self):
        store = self.directory / "store"
        daemon = self.start_daemon("--store", store, exit_status=None)
        actor = self.connect(daemon)
        herald = actor.submit("probe.herald", durability=DURABLE)
        subscriber = Subscriber(actor.stub, "*")
        for number in range(100):
            actor.send(herald, "number", str(number).encode())
        subscriber.wait_for(lambda: subscriber.got, "some")
        daemon.signal(signal.SIGKILL)
        daemon.wait()
        before = [data for _, data in subscriber.got]
        self.assertIsNotNone(subscriber.wait())

        daemon = self.start_daemon("--store", store)
        actor = self.connect(daemon)
        again = Subscriber(actor.stub, "*")
        self.addCleanup(again.cancel)
        actor.send(herald, "last", b"last")
        again.wait_for(lambda: ("last", b"last") in again.got, "the last")
        after = [data for topic, data in again.got if topic == "number"]
        # Each at most once, and in their order.
        self.assertEqual(set(before) & set(after), set())
        numbers = [int(data) for data in [*before, *after]]
        self.assertEqual(numbers, sorted(numbers))


if __name__ == "__main__":
    unittest.main()
