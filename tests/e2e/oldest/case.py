"""The base of tests with the oldest daemon.

It is a proxy in front of today's daemon (proxy.py). With the variable ACTORD_OLDEST
it is also the oldest daemon itself: the path of `actord` in the release build of
commit 0684afd. To make one:

    git worktree add ../oldest 0684afd && cd ../oldest
    cmake --preset release && cmake --build --preset release
    export ACTORD_OLDEST=$PWD/build/release/bin/actord
"""

import os
import pathlib

from harness import places
from harness.case import EXTERNAL, EmptyCase
from oldest.proxy import OldestProxy

OLDEST = os.environ.get("ACTORD_OLDEST")


class OldestCase(EmptyCase):
    """A test with such a daemon at `address`. It uses nothing but the plugins that
    the oldest daemon has, too: echo, counter, order and wordcount."""

    IS_REAL = False

    def setUp(self):
        super().setUp()
        if self.IS_REAL:
            actord = pathlib.Path(OLDEST)
            plugins = actord.parent.parent / "lib" / "actord" / "plugins"
            daemon = self.start_daemon("--plugin-dir", plugins, *EXTERNAL,
                                       plugins=False, actord=actord)
            self.address = daemon.address
        else:
            daemon = self.start_daemon("--plugin-dir", places.PLUGINS, *EXTERNAL,
                                       plugins=False)
            proxy = OldestProxy(daemon.address)
            self.addCleanup(proxy.close)
            self.address = proxy.address
