"""The base of tests of the Python package: a daemon, and a client of it."""

import asyncio

import actord
import actord.aio
from harness.case import DaemonCase
from harness.waiting import WAIT_SECONDS, eventually


class ClientCase(DaemonCase):

    def setUp(self):
        super().setUp()
        self.client = actord.Client(self.daemon.address, timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def run_async(self, body):
        async def main():
            async with actord.aio.Client(self.daemon.address,
                                         timeout=WAIT_SECONDS) as client:
                await body(client)
        asyncio.run(main())

    def members(self):
        """Two members of the group g, which messages reach."""
        pids = [self.client.submit("probe", "g", method="collect").pid
                for _ in range(2)]

        def reaches_both():
            try:
                return self.client.send("#g", "x").delivered == 2
            except actord.NotFound:
                return False

        eventually(reaches_both, "the members")
        return pids
