"""The main job from a Python program that has nothing but python3-grpcio and the
generated stubs: it submits, sends, completes a yield, awaits and shuts down."""

import json
import unittest

import grpc
from actord.v1 import (actor_service_pb2_grpc, outcome_pb2, payload_pb2,
                       process_pb2, status_pb2, yield_pb2)
from harness.case import EmptyCase
from harness.waiting import WAIT_SECONDS, eventually


class MainJob(EmptyCase):

    def test_submits_sends_completes_awaits_and_shuts_down(self):
        daemon = self.start_daemon()
        with grpc.insecure_channel(daemon.address) as channel:
            actord = actor_service_pb2_grpc.ActorServiceStub(channel)

            # A counter lives on messages.
            counter = actord.Submit(process_pb2.SubmitRequest(
                process_type="counter",
                input=payload_pb2.Payload(data=b"40"))).pid
            for number in (b"5", b"-3"):
                actord.Send(process_pb2.SendRequest(
                    pid=counter, topic="add",
                    payload=payload_pb2.Payload(data=number)))
            actord.Send(process_pb2.SendRequest(pid=counter, topic="stop"))
            outcome = actord.Await(
                outcome_pb2.AwaitRequest(pid=counter), timeout=WAIT_SECONDS).outcome
            self.assertEqual(outcome.result.data, b"42")

            # An order waits until this program has taken its payment.
            order = actord.Submit(process_pb2.SubmitRequest(
                process_type="order",
                input=payload_pb2.Payload(data=json.dumps({
                    "order": "A-17", "amount_cents": 4200,
                    "hold_ms": 1}).encode()))).pid
            [payment] = eventually(
                lambda: actord.ListYields(yield_pb2.ListYieldsRequest(
                    command="payment.*", pid=order)).yields,
                "the order's payment")
            self.assertEqual(payment.command, "payment.charge")
            self.assertEqual(payment.process_type, "order")
            self.assertEqual(payment.pid, order)
            self.assertEqual(json.loads(payment.payload.data),
                             {"order": "A-17", "amount_cents": 4200})
            answer = actord.CompleteYield(yield_pb2.CompleteYieldRequest(
                token=payment.token,
                result=payload_pb2.Payload(data=b"receipt 4711"))).answer
            self.assertEqual(
                answer, yield_pb2.CompleteYieldResponse.ANSWER_ACCEPTED)
            outcome = actord.Await(
                outcome_pb2.AwaitRequest(pid=order), timeout=WAIT_SECONDS).outcome
            self.assertEqual(json.loads(outcome.result.data), {
                "order": "A-17", "status": "charged",
                "payment": "receipt 4711"})

            # A waiting process ends with the daemon, and is accounted for.
            actord.Submit(process_pb2.SubmitRequest(process_type="counter"))
            ended = actord.Shutdown(status_pb2.ShutdownRequest(), timeout=WAIT_SECONDS)
            self.assertEqual((ended.ended_count, ended.forced_count), (1, 0))
        self.assertEqual(daemon.wait(), 0)


if __name__ == "__main__":
    unittest.main()
