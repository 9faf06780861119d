"""Dead letters of durable processes over SIGKILLs of the daemon."""

import json
import signal
import unittest

import grpc
from actord.v1 import dead_letter_pb2
from harness.case import DURABLE, StoreCase
from harness.connection import CALL_SECONDS
from harness.waiting import eventually

# An order that takes no messages for a minute.
DEAF = json.dumps({"order": "17", "amount_cents": 1, "hold_ms": 60_000}).encode()


class Letters(StoreCase):

    def kept(self):
        return list(self.actor.dead_letters().dead_letters)

    def resend(self, letter, to):
        return self.actor.stub.ResendDeadLetter(
            dead_letter_pb2.ResendDeadLetterRequest(id=letter.id, to=to),
            timeout=CALL_SECONDS)

    def test_are_listed_sent_again_once_and_dropped(self):
        self.start(exit_status=-signal.SIGKILL)
        gone = self.actor.submit("order", DEAF, durability=DURABLE)
        for payload in (b"1", b"10", b"100"):
            self.actor.send(gone, "add", payload)
        self.actor.terminate(gone)
        eventually(lambda: len(self.kept()) == 3, "the dead letters")
        before = self.kept()
        self.kill()
        self.start(exit_status=-signal.SIGKILL)
        after = self.kept()
        self.assertEqual([letter.id for letter in after],
                         [letter.id for letter in before])
        self.assertEqual([letter.payload.data for letter in after],
                         [b"1", b"10", b"100"])
        self.assertEqual({letter.to_pid for letter in after}, {gone})
        heir = self.counter(name="heir")
        self.assertEqual(self.resend(after[0], "@heir").pid, heir)
        self.actor.stub.DropDeadLetters(
            dead_letter_pb2.DropDeadLettersRequest(ids=[after[1].id]),
            timeout=CALL_SECONDS)
        # Both calls were answered, so both are durable.
        self.kill()
        self.start()
        self.assertEqual(self.value("@heir"), 1)
        self.assertEqual([letter.id for letter in self.kept()], [after[2].id])
        self.assert_refused(
            lambda: self.resend(after[0], "@heir"),
            code=grpc.StatusCode.NOT_FOUND, reason="DEAD_LETTER_NOT_FOUND",
            message="there is no dead letter")
        self.resend(after[2], "@heir")
        eventually(lambda: self.value("@heir") == 101, "the message")


if __name__ == "__main__":
    unittest.main()
