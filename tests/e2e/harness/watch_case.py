"""Tests of WatchProcesses."""

from harness.case import DaemonCase
from harness.watch import Watch


class WatchCase(DaemonCase):

    def watch(self, actor=None, **request):
        watch = Watch((actor or self.actor).stub, **request)
        self.addCleanup(watch.cancel)
        self.addCleanup(lambda: self.assertEqual(watch.mistakes, []))
        return watch

    def counters(self):
        return self.actor.status().counters

    def idle(self, count=1):
        return [self.actor.submit("probe", method="idle") for _ in range(count)]

    def end(self, pid):
        self.actor.terminate(pid, "enough")
