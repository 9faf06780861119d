"""The Python package's subscriptions: with threads, with asyncio, over a restart."""

import asyncio
import signal
import threading
import unittest

import actord
import actord.aio
from harness.case import DaemonCase, StoreCase
from harness.waiting import WAIT_SECONDS, eventually


class Subscribing(DaemonCase):

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)
        self.herald = self.client.submit("probe.herald")

    def test_publications_arrive(self):
        with self.client.subscribe(["room/7", "price/*"],
                                   timeout=WAIT_SECONDS) as subscription:
            # It is open, so none of these is missed.
            self.client.send(self.herald, json={"move": 1}, topic="room/7")
            self.client.send(self.herald, "not for us", topic="room/8")
            self.client.send(self.herald, "text", topic="price/oil")
            first, second = next(subscription), next(subscription)
        self.assertEqual((first.topic, first.payload.json(), first.publisher_pid,
                          first.sequence, first.missed, first.owner),
                         ("room/7", {"move": 1}, self.herald.pid, 1, 0, ""))
        self.assertEqual((second.topic, second.payload.text, second.sequence),
                         ("price/oil", "text", 2))
        self.assertLessEqual(first.publish_time, second.publish_time)

    def test_a_program_that_is_too_slow_learns_what_it_has_missed(self):
        subscription = self.client.subscribe("burst")
        for _ in range(40):
            self.client.call(self.herald, "100 10000", topic="burst")
        missed = sequence = 0
        for publication in subscription:
            missed += publication.missed
            sequence += publication.missed + 1
            self.assertEqual(publication.sequence, sequence)
            if sequence == 4000:
                break
        self.assertGreater(missed, 0)
        self.assertEqual(self.actor.status().counters.publications_lost_total, missed)
        subscription.close()

    def test_iteration_ends(self):
        self.assertEqual(list(self.client.subscribe("*", timeout=0.2)), [])
        subscription = self.client.subscribe("*")
        threading.Timer(0.05, subscription.close).start()
        self.assertEqual(list(subscription), [])
        with self.assertRaises(actord.InvalidArgument) as caught:
            self.client.subscribe("a*b")
        self.assertEqual(caught.exception.reason, "INVALID_FIELD")

    def test_asyncio(self):
        async def main():
            async with actord.aio.Client(self.daemon.address,
                                         timeout=WAIT_SECONDS) as client:
                async with client.subscribe("room/*") as subscription:
                    for number in range(3):
                        await client.send(self.herald, str(number), topic="room/1")
                    got = []
                    async for publication in subscription:
                        got.append((publication.topic, publication.payload.text))
                        if len(got) == 3:
                            break
                    self.assertEqual(got, [("room/1", str(n)) for n in range(3)])
                    asyncio.get_running_loop().call_later(
                        0.05, lambda: asyncio.ensure_future(subscription.close()))
                    self.assertEqual([one async for one in subscription], [])
                with self.assertRaises(actord.InvalidArgument):
                    async with client.subscribe([]):
                        pass
        asyncio.run(main())


class Restarts(StoreCase):

    def test_subscribes_again_and_says_that_some_may_be_missing(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS)
        self.addCleanup(client.close)
        herald = client.submit("probe.herald", durability="DURABLE")
        subscription = client.subscribe("*", timeout=2 * WAIT_SECONDS)
        client.send(herald, "1", topic="n")
        self.assertEqual(next(subscription).missed, 0)
        got = []
        reading = threading.Thread(target=lambda: got.append(next(subscription)))
        reading.start()
        self.kill()
        self.start()
        eventually(lambda: self.actor.status().counters.subscriptions_open == 1,
                   "the subscription")
        client.send(herald, "2", topic="n")
        reading.join(WAIT_SECONDS)
        self.assertEqual([(one.payload.text, one.sequence, one.missed)
                          for one in got], [("2", 1, None)])
        subscription.close()


if __name__ == "__main__":
    unittest.main()
