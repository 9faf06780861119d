"""Which charts there are: from what the benchmarks print to what is drawn.

A result is what was measured, beside its date, machine and command; it lies in
bench/results/NAME.json and its chart in docs/plots/NAME.svg.
"""

import json
import statistics

from report.chart import Chart

PEER_NAMES = {"actord": "actord", "go": "Go", "erlang": "Erlang", "caf": "CAF"}


def _source(result):
    machine = result["machine"]
    return (f"{result['date']}, {machine['cpus']} cores of {machine['cpu']}, "
            f"{machine['system']}: {result['command']}")


def read_peers(text):
    """One object of workload -> peer -> nanoseconds."""
    return {"ns_per_op": json.loads(text)}


def peers_chart(result):
    ns = result["ns_per_op"]
    peers = [peer for peer in PEER_NAMES
             if any(peer in figures for figures in ns.values())]
    return Chart(
        title="Six workloads beside other runtimes: less is better",
        unit="ns an operation", source=_source(result), groups=list(ns),
        series={PEER_NAMES[peer]: [ns[workload].get(peer) for workload in ns]
                for peer in peers},
        logarithmic=True)


def read_scale(text):
    """A line for each run of `actord_bench scale --json`; their medians."""
    runs = [json.loads(line)["ns_per_op"] for line in text.splitlines()
            if line.strip()]
    return {"rounds": len(runs),
            "ns_per_op": {count: statistics.median(run[count] for run in runs)
                          for count in runs[0]}}


def scale_chart(result):
    ns = result["ns_per_op"]
    first = next(iter(ns.values()))
    return Chart(
        title="A message among ever more live processes",
        unit="ns a message", source=_source(result),
        groups=[f"{int(count):,} processes" for count in ns],
        series={"actord": list(ns.values())},
        limit=("the bar: twice the cost at 1,000", 2 * first))


# name: (how its program's output is read, its chart, the command)
CHARTS = {
    "peers": (read_peers, peers_chart, "compare --json"),
    "scale": (read_scale, scale_chart, "actord_bench scale --json"),
}
