"""The charts: how each is drawn from the output of the benchmarks.

A result has the measured values, the date, the machine and the command. It is
in bench/results/NAME.json, and its chart in docs/plots/NAME.svg.
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
    """Reads one object of workload -> peer -> nanoseconds."""
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
    """Reads a line for each run of `actord_bench scale --json`, and returns the
    medians."""
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


def read_scaling(text):
    """Reads a line for each run of `actord_sim_scaling`."""
    speed_ups = {}
    for line in text.splitlines():
        run = json.loads(line)
        by_step = speed_ups.setdefault(str(run["step_ns"]), {})
        by_workers = by_step.setdefault(run["load"], {})
        by_workers[str(run["workers"])] = run["operations_per_us"]
    for loads in speed_ups.values():
        for by_workers in loads.values():
            alone = by_workers["1"]
            for workers, rate in by_workers.items():
                by_workers[workers] = round(rate / alone, 2)
    return {"speed_up": speed_ups}


def scaling_chart(result):
    # The shortest steps, in which the runtime's own share is the largest.
    step_ns, loads = min(result["speed_up"].items(), key=lambda at: int(at[0]))
    counts = list(next(iter(loads.values())))
    return Chart(
        title="Simulated: more workers, each on a processor of its own",
        unit=f"times one worker, steps of {step_ns} ns",
        source=f"{result['date']}: {result['command']}",
        groups=[f"{count} workers" for count in counts if count != "1"],
        series={load: [by_workers[count] for count in counts if count != "1"]
                for load, by_workers in loads.items()},
        logarithmic=True)


# name: (the reader of its program's output, its chart, the command)
CHARTS = {
    "peers": (read_peers, peers_chart, "compare --json"),
    "scale": (read_scale, scale_chart, "actord_bench scale --json"),
    "scaling": (read_scaling, scaling_chart, "actord_sim_scaling"),
}
