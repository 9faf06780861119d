"""The books of a soak: what clients sent, what became of it, and which promise of
the daemon that breaks. No thread and no daemon in here; the caller has a lock.

A quiet point is a moment at which no client sends and the daemon has nothing to do.
`settle` checks everything that was entered since the last one.
"""

import collections
import dataclasses
import re

import numbers_text

SHOWN = 5  # examples of each broken promise

_BOOKS = re.compile(r"taken=(\d+) books=(\S*)")


def parse_books(text):
    """(how many messages were taken, their numbers), of the text of a receiver."""
    found = _BOOKS.search(text)
    if found is None:
        raise ValueError(f"no books in {text[:200]!r}")
    return int(found[1]), numbers_text.parse(found[2])


def _complain(what, cases):
    """One line for all cases of a broken promise, or none."""
    if not cases:
        return []
    examples = ", ".join(str(case) for case in sorted(cases, key=str)[:SHOWN])
    more = ", ..." if len(cases) > SHOWN else ""
    return [f"{len(cases)} {what}: {examples}{more}"]


class MessageBooks:
    """Each message has a number of its own. accepted = consumed + dead letters + lost
    with the daemon, when nothing is queued."""

    def __init__(self):
        self._attempted, self._accepted, self._refused = set(), set(), set()
        self._durable = set()  # of the attempted ones
        self._at_risk = set()  # a kill of the daemon may have lost them
        self._known = set()  # attempted, of all time
        self._found = {}  # number -> where it was found, of all time
        self._to_come = set()  # found, and then sent again
        self._twice = []
        self.totals = collections.Counter()

    def attempt(self, numbers, durable=False):
        """They are about to be sent; until more is known they may arrive or not.
        `durable`: once accepted, they survive the daemon."""
        self._attempted.update(numbers)
        if durable:
            self._durable.update(numbers)

    def kill(self):
        """The daemon was killed after everything that was attempted so far. Volatile
        messages may be lost, and so may be the books of their receivers."""
        self._at_risk |= self._attempted - self._durable

    def accept(self, numbers):
        self._accepted.update(numbers)

    def refuse(self, numbers):
        self._refused.update(numbers)

    def find(self, numbers, where):
        """`where`: "consumed" or "dead letter"."""
        for number in numbers:
            if number in self._found:
                self._twice.append((number, self._found[number], where))
            self._found[number] = where
            self._to_come.discard(number)
            self.totals[where] += 1

    def resend(self, number):
        """A dead letter is a message again."""
        del self._found[number]
        self._to_come.add(number)
        self.totals["dead letter"] -= 1
        self.totals["sent again, queued"] = len(self._to_come)

    def settle(self):
        """The promises that are broken, as lines of text."""
        found = self._found.keys()
        unknown = self._attempted - self._accepted - self._refused
        lost = (self._accepted & self._at_risk) - found
        broken = (
            _complain("accepted messages are lost", self._accepted - found - lost)
            + _complain("dead letters that were sent again are lost", self._to_come)
            + _complain("messages were delivered twice", self._twice)
            + _complain("messages were delivered although they were refused",
                        self._refused & found)
            + _complain("messages are both accepted and refused",
                        self._accepted & self._refused))
        self.totals["accepted"] += len(self._accepted)
        self.totals["durable, accepted"] += len(self._accepted & self._durable)
        self.totals["lost with the daemon"] += len(lost)
        self.totals["refused"] += len(self._refused)
        self.totals["without an answer"] += len(unknown)
        self.totals["without an answer, delivered"] += len(unknown & found)
        self._known |= self._attempted
        broken += _complain("messages were delivered that nobody sent",
                            found - self._known)
        for each in (self._attempted, self._accepted, self._refused, self._durable,
                     self._at_risk, self._twice, self._to_come):
            each.clear()
        self.totals["sent again, queued"] = 0
        return broken


class JobBooks:
    """Each job is submitted with a request id of its own, which is its number. Its
    result names the task: the idempotency key, the attempt and the worker."""

    def __init__(self):
        self._submitted, self._results, self._refused = set(), {}, set()
        self._durable = set()  # of the submitted ones
        self._lost = set()  # without a result when the daemon was killed
        self._answers = {}  # (key, attempt, worker) -> number of the job
        self._accepted = collections.defaultdict(set)  # key -> {(attempt, worker)}
        self._keys = {}  # key -> number of the job, of all time
        # key -> (attempt, worker) of the result, of all time: a worker may be told
        # after the client that its completion was accepted.
        self._of_key = {}
        self._differ = []
        self.totals = collections.Counter()

    def submit(self, numbers, durable=False):
        self._submitted.update(numbers)
        if durable:
            self._durable.update(numbers)

    def kill(self):
        """The daemon was killed after everything that was submitted so far: volatile
        jobs without a result have ended."""
        self._lost |= self._submitted - self._durable - self._results.keys()

    def refuse(self, number):
        self._refused.add(number)

    def result(self, number, text):
        """`text`: the result, or an error."""
        if self._results.setdefault(number, text) != text:
            self._differ.append((number, self._results[number], text))

    def answered(self, number, key, attempt, worker):
        """A worker is about to complete a task."""
        self._answers[key, attempt, worker] = number

    def accepted(self, key, attempt, worker):
        """The daemon has told the worker that its completion was accepted."""
        self._accepted[key].add((attempt, worker))

    def open_numbers(self):
        """Jobs whose results are not there."""
        return sorted(self._submitted - self._results.keys() - self._refused
                      - self._lost)

    def settle(self):
        """The promises that are broken, as lines of text."""
        wrong, again = [], []
        for number, text in self._results.items():
            words = text.split()
            if len(words) != 3 or words[0] == "error":
                wrong.append((number, text))
                continue
            key, attempt, worker = words
            if self._answers.get((key, attempt, worker)) != number:
                wrong.append((number, text))
            if self._keys.setdefault(key, number) != number:
                again.append((key, self._keys[key], number))
            self._of_key[key] = (attempt, worker)
        lost_keys = {key for (key, _, _), number in self._answers.items()
                     if number in self._lost and number not in self._results}
        not_those = [(key, accepted, self._of_key.get(key))
                     for key, accepted in self._accepted.items()
                     if accepted != {self._of_key.get(key)} and key not in lost_keys]
        broken = (
            _complain("jobs have no result", self.open_numbers())
            + _complain("jobs have a result without having been submitted",
                        self._results.keys() - self._submitted)
            + _complain("refused jobs have a result",
                        self._refused & self._results.keys())
            + _complain("jobs have two different results", self._differ)
            + _complain("jobs have a result that no worker sent", wrong)
            + _complain("tasks belong to two jobs", again)
            + _complain("tasks have other accepted completions than their results",
                        not_those))
        self.totals["submitted"] += len(self._submitted)
        self.totals["results"] += len(self._results)
        self.totals["results of durable jobs"] += len(
            self._results.keys() & self._durable)
        self.totals["lost with the daemon"] += len(
            self._lost - self._results.keys())
        self.totals["completions told to be accepted"] += sum(
            map(len, self._accepted.values()))
        for each in (self._submitted, self._results, self._refused, self._answers,
                     self._accepted, self._durable, self._lost, self._differ):
            each.clear()
        return broken


@dataclasses.dataclass(frozen=True)
class Moment:
    """A quiet point. `taken`: messages and calls that steps have taken so far.
    `dropped_at_end`: dead letters so far whose receiver ended before it took them."""
    counters: object  # the daemon's own
    taken: int
    dropped_at_end: int


def check_counters(now, before, live):
    """Checks the daemon's own counters. `before`: the last moment of the same life of
    the daemon; None: it has been killed since. `live`: processes that should be
    alive."""
    broken = []
    counters = now.counters

    def equal(left, right, what):
        if left != right:
            broken.append(f"{what}: {left} is not {right}")

    equal(counters.dead_letters_forgotten_total, 0, "dead_letters_forgotten_total")
    equal(counters.processes_live, live, "processes_live")
    equal(counters.processes_quarantined, 0, "processes_quarantined")
    equal(counters.yields_external_waiting, 0, "yields_external_waiting")
    equal(counters.tasks_leased, 0, "tasks_leased")
    if before is None:
        return broken

    def new(name):
        return getattr(counters, name) - getattr(before.counters, name)

    equal(new("messages_total"),
          now.taken - before.taken + now.dropped_at_end - before.dropped_at_end,
          "messages_total = taken + dead letters of ended receivers + 0 queued")
    equal(new("dead_letters_total"),
          new("dead_letters_kept") + new("dead_letters_resent_total")
          + new("dead_letters_dropped_total"),
          "dead_letters_total = kept + resent + dropped")
    equal(new("processes_started_total") - new("processes_ended_total"),
          new("processes_live"), "started - ended = live processes")
    # A yield completes once. Receivers have none.
    equal(new("yields_total"), new("completions_total"),
          "yields_total = completions_total")
    return broken
