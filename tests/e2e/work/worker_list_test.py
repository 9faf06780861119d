"""The list of the remote workers that are connected."""

import time
import unittest

import grpc
from actord.v1 import work_pb2
from harness.waiting import WAIT_SECONDS, eventually
from work.work_test import WorkCase


class ListWorkers(WorkCase):

    def listed(self, **fields):
        return self.actor.stub.ListWorkers(
            work_pb2.ListWorkersRequest(**fields), timeout=WAIT_SECONDS)

    def test_workers_are_listed_while_they_are_connected(self):
        self.yielding("manual.print")
        printer = self.worker("manual.print", "manual.*", credits=3, name="printer 7")
        press = self.worker("manual.press", credits=0, name="press")
        printer.task()
        first, second = self.listed().workers
        self.assertEqual((first.name, list(first.commands), first.tasks,
                          first.credits, first.silent, first.stopping, first.owner),
                         ("printer 7", ["manual.print", "manual.*"], 1, 2,
                          False, False, ""))
        self.assertLess(first.worker, second.worker)
        self.assertLess(abs(first.connect_time.ToSeconds() - time.time()), 60)
        self.assertEqual((second.name, second.tasks, second.credits), ("press", 0, 0))
        page = self.listed(page_size=1)
        self.assertEqual([one.name for one in page.workers], ["printer 7"])
        page = self.listed(page_size=1, page_token=page.next_page_token)
        self.assertEqual([one.name for one in page.workers], ["press"])
        self.assertEqual(page.next_page_token, "")
        self.assertEqual([one.name for one in
                          self.listed(command="manual.print").workers], ["printer 7"])
        self.assertEqual(list(self.listed(command="payment.charge").workers), [])
        press.say(stop=True)
        press.close()
        eventually(lambda: len(self.listed().workers) == 1, "the end of a worker")
        self.assert_refused(lambda: self.listed(command="x" * 129),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_FIELD", field="command",
                            message="command")
        self.assert_refused(lambda: self.listed(page_token="00"),
                            code=grpc.StatusCode.INVALID_ARGUMENT,
                            reason="INVALID_PAGE_TOKEN", field="page_token",
                            message="page_token")

    def test_page_of_workers_is_bounded_in_bytes(self):
        # 13 KiB of patterns each.
        patterns = [f"manual.{number:03}." + "x" * 100 + "*" for number in range(100)]
        names = [f"w{number} " + "n" * 100 for number in range(100)]
        for name in names:
            self.worker(*patterns, name=name)
        found, sizes, token = [], [], ""
        while token or not found:
            page = self.listed(page_size=1000, page_token=token)
            found += [one.name for one in page.workers]
            sizes.append(page.ByteSize())
            token = page.next_page_token
        self.assertEqual(sorted(found), sorted(names))
        self.assertGreater(len(sizes), 1)
        self.assertLess(max(sizes), (1 << 20) + 100)


if __name__ == "__main__":
    unittest.main()
