"""The Python package's streams: SendStream and Watch, over broken connections and
restarts of the daemon."""

import signal
import threading
import unittest

import actord
from harness.case import DaemonCase, StoreCase
from harness.waiting import WAIT_SECONDS, eventually


class Live(set):
    """The set of PIDs that a watch describes."""

    def apply(self, event):
        if isinstance(event, actord.Snapshot):
            if event.first:
                self.clear()
            self.update(process.pid for process in event.processes)
        elif isinstance(event, actord.Started):
            self.add(event.pid)
        elif isinstance(event, actord.Ended):
            self.discard(event.pid)


class Sending(DaemonCase):

    OPTIONS = ("--max-mailbox-messages", "50")

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def test_items_arrive_in_order_and_are_acknowledged(self):
        pid = self.client.submit("probe", method="collect")
        with self.client.send_stream(max_unacknowledged=10) as stream:
            for number in range(500):
                self.assertEqual(stream.send(pid, json=number, topic="n"), number)
                # The probe may be slower than the stream.
                if number % 40 == 39:
                    stream.flush()
                    eventually(lambda: self.client.describe(
                        pid).mailbox_messages == 0, "an empty mailbox")
        self.client.send(pid, topic="stop")
        items = self.client.await_outcome(pid).json()
        self.assertEqual([item["payload"] for item in items if item["topic"] == "n"],
                         [str(number) for number in range(500)])
        self.assertRaises(ValueError, lambda: stream.send(pid))

    def test_refused_items_are_returned_or_raised(self):
        pid = self.client.submit("counter", "0")
        with self.assertRaises(actord.ItemsRefused) as caught:
            with self.client.send_stream() as stream:
                stream.send(pid, "1", topic="add")
                stream.send("@nobody", "2", topic="add")
                stream.send(pid, "3", topic="add", message_id="m")
                stream.flush()
                [first] = stream.take_refusals()
                stream.send(pid, "3", topic="add", message_id="m")
                stream.send("x.y", b"4", topic="add")
        self.assertEqual((first.index, first.pid, first.payload.text),
                         (1, "@nobody", "2"))
        self.assertIs(type(first.error), actord.NameNotFound)
        [second] = caught.exception.refusals
        self.assertEqual((second.index, second.error.reason, second.error.fields),
                         (4, "INVALID_PID", {"pid": second.error.message}))
        self.assertEqual(self.client.call(pid, topic="get").json(), 4)

    def test_send_waits_for_room_no_longer_than_the_timeout(self):
        pid = self.client.submit("counter", "0")
        self.daemon.signal(signal.SIGSTOP)
        self.addCleanup(self.daemon.signal, signal.SIGCONT)
        stream = self.client.send_stream(max_unacknowledged=3, timeout=0.3)
        for _ in range(3):
            stream.send(pid, "1", topic="add")
        self.assertRaises(actord.DeadlineExceeded,
                          lambda: stream.send(pid, "1", topic="add"))
        self.daemon.signal(signal.SIGCONT)
        eventually(lambda: self.client.call(pid, topic="get").json() == 3, "items")
        stream.close()

    def test_an_error_in_the_block_is_not_hidden(self):
        with self.assertRaises(ZeroDivisionError):
            with self.client.send_stream() as stream:
                stream.send("@nobody")
                1 / 0


class SendingOverRestarts(StoreCase):

    def test_items_are_delivered_once(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS)
        self.addCleanup(client.close)
        pid = client.submit("counter", "0", durability="DURABLE")
        again = threading.Event()

        def restart():
            self.daemon.signal(signal.SIGKILL)
            self.daemon.wait()
            self.start()
            again.set()

        restarting = threading.Timer(0.2, restart)
        sent = 0
        with client.send_stream(max_unacknowledged=500) as stream:
            restarting.start()
            # Without a pause, so that items are on their way at the kill.
            while not again.is_set():
                stream.send(pid, "1", topic="add")
                sent += 1
            for _ in range(50):
                stream.send(pid, "1", topic="add")
        restarting.join()
        self.assertGreater(stream.acknowledged, 500)
        self.assertEqual(client.call(pid, topic="get").json(), sent + 50)


class Watching(DaemonCase):

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def test_starts_and_ends_are_reported(self):
        old = self.client.submit("probe", method="idle")
        with self.client.watch("probe", timeout=WAIT_SECONDS) as watch:
            snapshot = next(watch)
            self.assertTrue(snapshot.first)
            self.assertEqual([process.pid for process in snapshot.processes],
                             [old.pid])
            while not snapshot.last:
                snapshot = next(watch)
            new = self.client.submit("probe", "x", method="fail")
            self.client.submit("counter", "0")  # of another type
            started, ended = next(watch), next(watch)
            self.assertEqual((started.pid, started.method), (new.pid, "fail"))
            self.assertEqual((ended.pid, ended.failure.message), (new.pid, "x"))
            token = watch.resume_token
        self.client.terminate(old)
        with self.client.watch("probe", resume_token=token) as watch:
            ended = next(watch)
            self.assertEqual((ended.pid, ended.failure.reason),
                             (old.pid, actord.FailureReason.TERMINATED))

    def test_a_watch_ends_at_its_timeout_or_when_it_is_closed(self):
        self.assertEqual(list(self.client.watch(skip_snapshot=True, timeout=0.2)),
                         [])
        watch = self.client.watch(skip_snapshot=True)
        threading.Timer(0.1, watch.close).start()
        self.assertEqual(list(watch), [])
        with self.assertRaises(actord.InvalidArgument) as caught:
            next(self.client.watch(resume_token="x"))
        self.assertEqual(caught.exception.reason, "INVALID_RESUME_TOKEN")

    def test_a_watch_gives_up_without_a_daemon(self):
        client = actord.Client(self.daemon.address, timeout=0.3)
        self.addCleanup(client.close)
        watch = client.watch()
        self.assertTrue(next(watch).last)
        self.daemon.stop()
        self.assertRaises(actord.Unavailable, lambda: list(watch))


class WatchingOverRestarts(StoreCase):

    def test_a_named_parent_stays_the_same_process(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS)
        self.addCleanup(client.close)
        client.submit("probe", method="idle", name="tree")
        watch = client.watch(parent_pid="@tree")
        self.addCleanup(watch.close)
        self.assertTrue(next(watch).last)
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.start()
        # Nobody holds the name now.
        self.assertIsInstance(next(watch), actord.Missed)
        self.assertTrue(next(watch).last)

    def test_the_set_is_right_again(self):
        address = f"unix:{self.directory}/socket"
        self.start_with = ("--listen", address)
        self.start(exit_status=-signal.SIGKILL)
        client = actord.Client(address, timeout=WAIT_SECONDS)
        self.addCleanup(client.close)
        durable = client.submit("counter", "0", durability="DURABLE").pid
        volatile = client.submit("probe", method="idle").pid
        live = Live()
        watch = client.watch()

        def read():
            for event in watch:
                live.apply(event)

        reading = threading.Thread(target=read)
        reading.start()
        eventually(lambda: live == {durable, volatile}, "both")
        self.daemon.signal(signal.SIGKILL)
        self.daemon.wait()
        self.start()
        eventually(lambda: live == {durable}, "the durable one")
        new = client.submit("probe", method="idle").pid
        eventually(lambda: live == {durable, new}, "the new one")
        watch.close()
        reading.join(WAIT_SECONDS)
        self.assertFalse(reading.is_alive())


if __name__ == "__main__":
    unittest.main()
