"""./dev soak: a mixed load with random faults on the real daemon, whose books must
balance at each quiet point, and whose memory, descriptors and threads must stay.

Prints what it does, and as its last line a report in JSON. Status 0: each promise was
kept; 1: one was broken, and lines that begin with "soak: BROKEN" say which; 2: the
command line is wrong. tests/soak/README.md explains it.
"""

import argparse
import collections
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

import flatness
from accounts import Accounts
from breeder import Breeder
from faults import LIKELINESS, Faults
from stage import Child, Stage

ROUND_SECONDS = 15
WARM_UP_SECONDS = 90  # at most; a quarter of a short run
FAULT_SECONDS = (0.5, 2.5)  # from one to the next
RESTART_SECONDS = (0.2, 1.0)
FLAKY = 6
# The daemon is killed in this part of a run, so many times in each round; then it
# lives on, so that its memory can be measured.
KILLING = 0.4
KILLS = 2
FEWEST_KILLS_A_MINUTE = 4  # in that part of the run
TWO_MINUTES = 1.95
ALL_FAULTS_MINUTES = 5  # a run this long has each kind of fault
CLIENTS = {"sender": 2, "submitter": 1, "task_worker": 2}
ROLES = {"sender": "client", "submitter": "client", "task_worker": "worker"}
MIB = 1 << 20
# The caches of the state store fill up with use: 10.2 MiB in ten minutes were the most
# (flatness.py has the other bounds).
BOUNDS = flatness.Bounds(mib=flatness.Bounds.mib + 16)


class Soak:

    def __init__(self, directory, minutes, seed):
        self._minutes, self._seed = minutes, seed
        self._random = random.Random(seed)
        self._started = time.monotonic()
        self.stage = Stage(directory)
        self._accounts = Accounts(self.stage)
        self._lock = threading.Lock()
        self._flaky = []  # (PID, whether it is durable)
        self._children, self._dead = [], []
        self._of_client = {}  # client -> PID to which its jobs send
        self._restart_at = []  # (when, program)
        self._faults = Faults(self.stage, random.Random(seed + 1),
                              lambda: self._children)
        self._breeder = Breeder(self.stage.admin, seed + 2, FLAKY,
                                self._accounts.collect, self._tell)
        self._samples, self.broken = [], []
        self.counts = collections.Counter()

    def _minute(self):
        return (time.monotonic() - self._started) / 60

    def say(self, text):
        print(f"soak {self._minute():6.2f} min: {text}", flush=True)

    def run(self):
        for program, count in CLIENTS.items():
            for _ in range(count):
                self._start(program)
        while self._minute() < self._minutes and not self.broken:
            self._round()
            self._quiet_point()
        if not self.broken:
            self.broken += flatness.check(self._measured(), BOUNDS) + self._idle_parts()

    def _measured(self):
        """The samples after the last kill and the warm-up."""
        warm_up = self._minutes * KILLING + min(WARM_UP_SECONDS / 60,
                                                self._minutes / 4)
        return [each for each in self._samples if each.minute >= warm_up]

    def _idle_parts(self):
        """What the soak was to do and did not do: its books say nothing about that."""
        counts = self._accounts.counts
        did = {
            "accepted messages": self._accounts.messages.totals["accepted"],
            "results of jobs": self._accounts.jobs.totals["results"],
            "dead letters to processes that had ended": counts["ended"],
            "dead letters of processes that ended": counts["dropped_at_end"],
            "flaky receivers that ended": counts["receivers ended"],
            "faults": self._faults.counts.total()}
        if self._minutes >= TWO_MINUTES:
            messages, jobs = self._accounts.messages.totals, self._accounts.jobs.totals
            did |= {
                "durable messages": messages["durable, accepted"],
                "messages lost with the daemon": messages["lost with the daemon"],
                "results of durable jobs": jobs["results of durable jobs"],
                "jobs lost with the daemon": jobs["lost with the daemon"],
                "requests repeated with their ids":
                    counts["requests repeated with their ids"],
                f"{FEWEST_KILLS_A_MINUTE} kills a minute": self.counts[
                    "kills of the daemon"] // int(
                        self._minutes * KILLING * FEWEST_KILLS_A_MINUTE + 1)}
        if self._minutes >= ALL_FAULTS_MINUTES:
            did |= {name: self._faults.counts[name] for name in LIKELINESS}
        return [f"the soak had none: {name}" for name, count in did.items()
                if count == 0]

    # --- a round ----------------------------------------------------------------

    def _start(self, program):
        receiver = self._random.choice(self.stage.durable)
        child = Child(self.stage, program, ROLES[program],
                      self._random.getrandbits(32), self._targets(),
                      receiver=receiver)
        self._of_client[child.client] = receiver
        self._children.append(child)
        return child

    def _targets(self):
        with self._lock:
            return self.stage.receivers + self._flaky

    def _tell(self, flaky):
        """New flaky receivers; called by threads of the breeder."""
        with self._lock:
            self._flaky = flaky
        self._tell_senders()

    def _tell_senders(self):
        for child in list(self._children):
            if child.program == "sender":
                child.tell(self._targets())

    def _kill_daemon(self):
        """The daemon is killed and starts again, at times after a start that was
        killed, too."""
        self.stage.kill_daemon()
        self._accounts.kill(self._children)
        self.counts["kills of the daemon"] += 1
        while self._random.random() < 0.3:
            self.stage.kill_a_start(self._random)
            self.counts["kills of the daemon"] += 1
        self.stage.start_again()
        self._tell_senders()
        self.say(f"killed the daemon; it served again after "
                 f"{self.stage.daemon.start_seconds:.2f} s")

    def _kills(self, until):
        """When the daemon is to be killed in a round that ends at `until`."""
        if self._minute() >= self._minutes * KILLING:
            return []
        return sorted(self._random.uniform(time.monotonic(), until - 1)
                      for _ in range(KILLS))

    def _round(self):
        self._breeder.go()
        for child in self._children:
            child.go()
        until = min(time.monotonic() + ROUND_SECONDS,
                    self._started + self._minutes * 60)
        next_fault = time.monotonic() + self._random.uniform(*FAULT_SECONDS)
        kills = self._kills(until)
        while time.monotonic() < until:
            time.sleep(0.05)
            if kills and time.monotonic() >= kills[0] and not self._faults.busy():
                kills.pop(0)
                self._kill_daemon()
            if time.monotonic() >= next_fault:
                self._faults.one()
                next_fault = time.monotonic() + self._random.uniform(*FAULT_SECONDS)
            self._faults.tick()
            self._replace_children(go=True)
            if self._breeder.error is not None:
                raise self._breeder.error

    def _replace_children(self, go, all_of_them=False):
        """Starts new clients, a while after others were killed."""
        for child in [each for each in self._children if each.ended() is not None]:
            if child.ended():
                self.broken.append(child.ended())
            self._accounts.read_journal(child)
            self._children.remove(child)
            child.end()
            self._restart_at.append((
                time.monotonic() + self._random.uniform(*RESTART_SECONDS),
                child.program))
        due = [each for each in self._restart_at
               if all_of_them or each[0] <= time.monotonic()]
        for each in due:
            self._restart_at.remove(each)
            child = self._start(each[1])
            self.counts["clients started again"] += 1
            if go:
                child.go()

    # --- a quiet point ------------------------------------------------------------

    def _quiet_point(self):
        self._faults.rest()
        for child in self._children:
            if child.program != "task_worker":
                child.say("pause")
        self._replace_children(go=False, all_of_them=True)
        for child in self._children:
            child.wait_until_quiet()
        for child in self._children:
            self._accounts.read_journal(child)
        self._accounts.finish_jobs(self._of_client)
        self._breeder.rest()
        self._accounts.wait_until_idle(
            CLIENTS["task_worker"], 1 + len(self._children))
        for child in self._children:
            self._accounts.read_journal(child)
        self.broken += self._accounts.settle() + self._faults.broken
        self._sample()

    def _sample(self):
        sample = flatness.Sample(
            self._minute(), self.stage.daemon.resident_bytes(),
            self.stage.descriptors(), self.stage.threads())
        self._samples.append(sample)
        totals = self._accounts.messages.totals
        self.say(
            f"{totals['accepted']} messages accepted, {totals['consumed']} consumed, "
            f"{totals['dead letter']} dead letters, "
            f"{totals['lost with the daemon']} lost with the daemon; "
            f"{self._accounts.jobs.totals['results']} jobs; "
            f"{self._faults.counts.total()} faults; "
            f"{sample.resident_bytes / MIB:.1f} MiB, {sample.descriptors} "
            f"descriptors, {sample.threads} threads")

    # --- the end --------------------------------------------------------------------

    def report(self):
        measured = self._measured()
        return {
            "seed": self._seed, "minutes": round(self._minute(), 2),
            "broken": self.broken, "quiet_points": len(self._samples),
            "messages": dict(self._accounts.messages.totals),
            "refusals": dict(self._accounts.reasons),
            "jobs": dict(self._accounts.jobs.totals),
            "counts": dict(self._accounts.counts + self.counts
                           + collections.Counter(
                               {"receivers lost with the daemon": self._breeder.lost})),
            "faults": dict(self._faults.counts),
            "growth": {name: {"a_minute": round(rate, 2), "in_all": round(grown)}
                       for name, (rate, grown) in flatness.growth(measured).items()},
            "first_mib": round(measured[0].resident_bytes / MIB, 1) if measured else 0,
            "last_mib": round(measured[-1].resident_bytes / MIB, 1) if measured else 0,
            "processor_seconds": round(self.stage.processor_seconds(), 1),
        }

    def end(self):
        """Ends everything that was started; returns the errors of that."""
        self._faults.rest()
        self._breeder.end()
        for child in self._children:
            child.end()
        self._faults.end()
        status = self.stage.end()
        broken = [] if status == 0 else [f"the daemon ended with {status}"]
        return broken + self.stage.verify_store()


def parse(words):
    parser = argparse.ArgumentParser(
        prog="./dev soak", description="Loads the daemon with random faults, and checks "
        "that nothing accepted is lost and that its memory stays.")
    parser.add_argument("--minutes", type=float, default=10, metavar="N",
                        help="how long (10); more than 0.5")
    parser.add_argument("--seed", type=int, default=None, metavar="S",
                        help="of what is random: which fault comes when")
    told = parser.parse_args(words)
    if told.minutes <= 0.5:
        parser.error("--minutes takes a number above 0.5")
    if told.seed is None:
        told.seed = random.SystemRandom().getrandbits(31)
    return told


def _interrupt(_signal, _frame):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, _interrupt)
    told = parse(sys.argv[1:])
    directory = tempfile.mkdtemp(prefix="actord-soak-")
    print(f"soak: seed {told.seed}, {told.minutes} minutes", flush=True)
    soak = Soak(directory, told.minutes, told.seed)
    report = {}
    try:
        soak.run()
    except (Exception, KeyboardInterrupt) as error:  # as a daemon that never rests
        traceback.print_exc()
        soak.broken.append("the soak broke off: " + " ".join(repr(error).split())[:500])
    try:
        if not soak.stage.daemon.running():
            soak.broken.append("the daemon has ended")
        else:
            report = soak.report()
    finally:
        soak.broken += soak.end()
    report = report | {"seed": told.seed, "broken": soak.broken}
    for line in soak.broken:
        print(f"soak: BROKEN: {line}")
    if soak.broken:
        print(f"soak: repeat it with --seed {told.seed}; the log of the daemon is "
              f"{soak.stage.daemon.log_path}")
    else:
        print(f"soak: every promise was kept; seed {told.seed}")
        shutil.rmtree(directory)
    print(json.dumps(report), flush=True)
    return 1 if soak.broken else 0


if __name__ == "__main__":
    sys.exit(main())
