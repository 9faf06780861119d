"""Brings the books of a soak together: from the journals of its clients, from the
receivers, and from the dead letters and counters of the daemon."""

import collections
import threading

import books
import breeder
import numbers_text
from actord.v1 import dead_letter_pb2, process_pb2
from child import DURABLE
from harness.connection import CALL_SECONDS
from stage import wait_until
from submitter import job_item, text_of

# Every other dead letter is sent again, as long as they find room in a mailbox.
MOST_RESENT = 100


class Accounts:

    def __init__(self, stage):
        self._stage, self._actor = stage, stage.admin
        self._lock = threading.Lock()
        self.messages, self.jobs = books.MessageBooks(), books.JobBooks()
        self._taken_by_steady = {}
        self._dropped_at_end = 0
        self.reasons = collections.Counter()  # of refusals
        self.counts = collections.Counter()
        self._before = books.Moment(self._actor.status().counters, 0, 0)

    def collect(self, text):
        """The books of a flaky receiver that has ended. For any thread."""
        with self._lock:
            breeder.enter(text, self.messages, self.counts)

    def read_journal(self, child):
        with self._lock:
            for word, *rest in child.entries():
                self._enter(child, word, rest)

    def _enter(self, child, word, rest):
        if word in ("unknown", "repeat"):
            self.counts["calls without an answer" if word == "unknown"
                        else "requests repeated with their ids"] += (
                            1 if word == "unknown" else int(rest[0]))
            return
        if word == "accepted":
            self.jobs.accepted(*rest)
            return
        numbers = numbers_text.parse(rest[0])
        if word == "attempt":
            self.messages.attempt(numbers, DURABLE in rest)
        elif word == "accept":
            self.messages.accept(numbers)
        elif word == "submit":
            self.jobs.submit(numbers, DURABLE in rest)
            # A job sends its number.
            self.messages.attempt(numbers, DURABLE in rest)
        elif word == "result":
            self._enter_result(numbers[0], " ".join(rest[1:]))
        elif word == "answer":
            self.jobs.answered(numbers[0], *rest[1:])
        elif word == "refuse":
            self.reasons[rest[1]] += len(numbers)
            refuse = self.jobs if child.program == "submitter" else self.messages
            for number in numbers:
                refuse.refuse([number] if refuse is self.messages else number)
        else:
            raise ValueError(f"{child.journal}: {word}")

    def _enter_result(self, number, text):
        self.jobs.result(number, text)
        self.messages.accept([number])

    def kill(self, children):
        """The daemon was killed."""
        for child in children:
            self.read_journal(child)
        with self._lock:
            self.messages.kill()
            self.jobs.kill()
            self._before = None

    def finish_jobs(self, receivers):
        """Finishes the jobs of submitters that were killed. `receivers`: {client:
        PID to which its jobs send}."""
        with self._lock:
            numbers = self.jobs.open_numbers()
        started = [(number, self._actor.stub.Submit(
            job_item(number, receivers[number[0]]), timeout=CALL_SECONDS))
            for number in numbers]
        for number, answer in started:
            self.counts["jobs submitted again"] += 1
            self.counts["of them duplicates"] += answer.duplicate
            text = text_of(self._actor.wait(answer.pid))
            with self._lock:
                self._enter_result(number, text)

    def wait_until_idle(self, workers, connections):
        """Until nothing is under way: only so many remote workers and connections of
        clients are there, and nothing is queued. A client that has made no call since
        the daemon was killed has no connection."""
        wanted = {"streams_open": workers, "remote_workers": workers,
                  "connections_open": connections,
                  "processes_live": len(self._stage.receivers), "queued": 0}
        found = {}

        def idle():
            counters = self._actor.status().counters
            found.update({name: getattr(counters, name) for name in wanted
                          if name != "queued"}, queued=self._queued())
            return (found | {"connections_open": 0} == wanted | {"connections_open": 0}
                    and found["connections_open"] <= connections)

        try:
            wait_until(idle, "the daemon to be idle")
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {found} is not {wanted}") from None

    def _queued(self):
        listed = self._actor.stub.ListProcesses(
            process_pb2.ListProcessesRequest(page_size=1000), timeout=CALL_SECONDS)
        return sum(each.mailbox_messages for each in listed.processes)

    def settle(self):
        """Returns the promises that are broken at this quiet point."""
        with self._lock:
            for pid, _ in self._stage.receivers:
                text = self._actor.call(pid, "forget").result.data.decode()
                taken, numbers = books.parse_books(text)
                self._taken_by_steady[pid] = taken
                self.messages.find(numbers, "consumed")
            letters = self._dead_letters()
            counters = self._actor.status().counters
            taken = sum(self._taken_by_steady.values()) + self.counts["taken"]
            now = books.Moment(counters, taken, self._dropped_at_end)
            broken = self.messages.settle() + self.jobs.settle() + (
                books.check_counters(now, self._before, len(self._stage.receivers)))
            self._before = now
            self._clear(letters)
        return broken

    def _dead_letters(self):
        letters, token = [], ""
        while True:
            page = self._actor.dead_letters(page_size=1000, page_token=token)
            letters += page.dead_letters
            token = page.next_page_token
            if not token:
                break
        for letter in letters:
            reason = dead_letter_pb2.DeadLetterReason.Name(letter.reason)
            self.counts[reason.removeprefix("DEAD_LETTER_REASON_").lower()] += 1
            if letter.reason == dead_letter_pb2.DEAD_LETTER_REASON_DROPPED_AT_END:
                self._dropped_at_end += 1
            number = self._number(letter)
            if number is not None:
                self.messages.find([number], "dead letter")
        return letters

    @staticmethod
    def _number(letter):
        text = letter.payload.data.decode().partition(" ")[0]
        return numbers_text.parse(text)[0] if text else None

    def _clear(self, letters):
        """Sends some letters again and drops the others."""
        resent = set()
        for letter in letters[:2 * MOST_RESENT:2]:
            number = self._number(letter)
            if number is None or letter.topic != "m":
                continue
            self._actor.resend(letter.id, self._stage.durable[0])
            self.messages.resend(number)
            resent.add(letter.id)
        rest = [letter.id for letter in letters if letter.id not in resent]
        for begin in range(0, len(rest), 1000):
            self._actor.drop_dead_letters(*rest[begin:begin + 1000])
        self.counts["dead letters sent again"] += len(resent)
