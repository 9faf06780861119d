"""The figures that this project is judged by, and their bars.

Every figure is a cost: less is better, and worse means more.
"""

import dataclasses
import os

# Fraction by which a figure may exceed its baseline before it counts as worse.
TOLERANCE = 0.15

# How --check compares a figure with its baseline.
RATIO = "ratio"  # for times: the ratio to the calibration of the same run
PLAIN = "plain"  # for other figures: the value itself
# For figures that consist of the kernel's timers and wake-ups, are differences,
# or are almost zero. Their ratios are noise. Once such a figure was within its
# bar, it has to stay there.
BAR = "bar"


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    workload: str
    # Path of the figure in the workload's JSON object.
    path: tuple
    unit: str
    # The maximum; None: the share of the peer's figure below.
    bar: float | None
    compared: str = RATIO
    share_of_go: float | None = None
    # True if several threads produce it: the distance of their cores has a
    # large effect.
    shared: bool = False
    # Device that must be writable to measure it. Otherwise it is left out.
    device: str | None = None

    def value_in(self, output):
        for key in self.path:
            output = output[key]
        return float(output)


def _beside_go(workload, shared):
    """A figure of at most half the time of Go, which is the fastest peer."""
    return Figure(workload, workload, ("ns_per_op",), "ns", bar=None,
                  share_of_go=0.5, shared=shared)


FIGURES = [
    _beside_go("pingpong", shared=False),
    _beside_go("pairs", shared=True),
    Figure("coroutine", "coroutine", ("more_ns_per_op",), "ns", 15, BAR),
    _beside_go("ring", shared=False),
    _beside_go("skynet", shared=True),
    _beside_go("spawn", shared=True),
    _beside_go("fanin", shared=True),
    Figure("submit", "submit", ("ns_per_op",), "ns", 250, shared=True),
    Figure("yield", "yield", ("ns_per_op",), "ns", 45),
    Figure("send 1", "send", ("ns_per_op_1",), "ns", 50, shared=True),
    Figure("send 10", "send", ("ns_per_op_10",), "ns", 50, shared=True),
    Figure("send 1000", "send", ("ns_per_op_1000",), "ns", 50, shared=True),
    # A million messages, and 300,000 submissions with results, in a second.
    Figure("send_stream", "send_stream", ("ns_per_op",), "ns", 1000,
           shared=True),
    Figure("submit_stream", "submit_stream", ("ns_per_op",), "ns", 3333,
           shared=True),
    Figure("memory", "memory", ("bytes_per_process",), "B", 300, PLAIN),
    Figure("idle", "idle", ("cpu_ms",), "ms", 10, BAR),
    Figure("wake p50", "wake", ("p50_us",), "us", 8, BAR),
    Figure("wake p99", "wake", ("p99_us",), "us", 100, BAR),
    Figure("wake polling p50", "wake_polling", ("p50_us",), "us", 8, BAR,
           device="/dev/cpu_dma_latency"),
    Figure("wake polling p99", "wake_polling", ("p99_us",), "us", 100, BAR,
           device="/dev/cpu_dma_latency"),
    Figure("scale", "scale", ("ratio",), "x", 2, PLAIN, shared=True),
    Figure("timers add", "timers", ("add_ns",), "ns", 200),
    Figure("timers fire", "timers", ("fire_cpu_ns",), "ns", 200),
    Figure("timers late p99", "timers", ("late_p99_us",), "us", 1000, BAR),
    Figure("dense timers fire", "timers_dense", ("fire_cpu_ns",), "ns", 200),
]

# Workloads that take seconds and hardly vary between rounds run in fewer
# rounds.
MOST_ROUNDS = {"idle": 1, "memory": 1, "send_stream": 3, "submit_stream": 3,
               "timers": 3, "timers_dense": 3, "wake": 3, "wake_polling": 3}


def can_be_measured(figure):
    """Whether this machine can measure it, and this user may."""
    return figure.device is None or os.access(figure.device, os.W_OK)


def workloads_of(figures):
    """The workloads of the figures, each once, in order."""
    return list(dict.fromkeys(figure.workload for figure in figures))
