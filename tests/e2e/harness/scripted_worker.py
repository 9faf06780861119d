"""A remote worker as a program of its own, for tests that kill and stop it.

Usage: python3 -m harness.scripted_worker ADDRESS PATTERN CREDITS [STREAMS]

Does what lines on standard input say: "complete TOKEN RESULT", "beat TOKEN".
Prints "ready", "task TOKEN ATTEMPT", "sent TOKEN" and "answer TOKEN WHAT".
"""

import subprocess
import sys
import threading

import grpc
from actord.v1 import (actor_service_pb2_grpc, payload_pb2, work_pb2,
                       yield_pb2)
from harness.work import RemoteWorker, answer_name


_saying = threading.Lock()


def say(*words):
    with _saying:
        print(*words, flush=True)


def print_tasks(worker):
    while True:
        task = worker.tasks.get()
        say("task", task.token, task.attempt)


def print_answers(worker):
    while True:
        answer = worker.answers.get()
        say("answer", answer.token, answer_name(answer))


def main():
    address, pattern, credits = sys.argv[1], sys.argv[2], int(sys.argv[3])
    streams = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    channel = grpc.insecure_channel(address)
    grpc.channel_ready_future(channel).result(60)  # as harness.connection
    stub = actor_service_pb2_grpc.ActorServiceStub(channel)
    workers = [RemoteWorker(stub, pattern, credits=credits)
               for _ in range(streams)]
    say("ready")
    for worker in workers:
        for function in (print_tasks, print_answers):
            threading.Thread(target=function, args=(worker,),
                             daemon=True).start()
    for line in sys.stdin:
        word, token, *rest = line.split()
        if word == "complete":
            workers[0].say(completions=[yield_pb2.CompleteYieldRequest(
                token=token,
                result=payload_pb2.Payload(data=rest[0].encode()))])
            say("sent", token)
        elif word == "beat":
            workers[0].say(heartbeats=[work_pb2.TaskHeartbeat(token=token)])


class ScriptedWorker:
    """The test's side of it. Killed by `close` at the latest."""

    def __init__(self, address, pattern, credits=1, streams=1):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.scripted_worker", address, pattern,
             str(credits), str(streams)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, word):
        """The rest of the next line that begins with `word`."""
        for line in self.process.stdout:
            first, *rest = line.split()
            if first == word:
                return rest
        raise RuntimeError(f"the worker ended without '{word}'")

    def tell(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


if __name__ == "__main__":
    main()
