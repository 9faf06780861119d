#!/usr/bin/python3
"""Makes the Grafana dashboard actord.json from the tables of metrics.

Usage: make_dashboard.py [--check]

Prints nothing and writes actord.json beside this file. With --check it compares
instead, and exits with 1 if the file is not what the tables ask for.

The first rows of the dashboard are OVERVIEW below. Each metric of the tables that
they do not show has a panel in the last row, which is closed at first.
"""

import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = pathlib.Path(__file__).with_name("actord.json")
# The tables, and what stands before each of their names.
TABLES = [
    ("runtime/counters/counter_table.h", "actord_"),
    ("daemon/counters/counter_table.h", "actord_"),
    ("daemon/admin/metric_table.h", ""),
]

Metric = collections.namedtuple("Metric", "name is_total help")

# Row -> panels; a panel is a title and the metrics or expressions that it shows.
OVERVIEW = {
    "Overview": [
        ("Ready and healthy", ["actord_ready", "actord_healthy"]),
        ("Processes", ["actord_processes_live", "actord_processes_dormant",
                       "actord_processes_quarantined"]),
        ("Starts and ends", ["actord_processes_started_total",
                             "actord_processes_ended_total",
                             "actord_processes_failed_total"]),
        ("Failures by type", ["actord_process_type_failures_total"]),
        ("Steps and messages", ["actord_steps_total", "actord_messages_total"]),
        ("Processes that wait for a worker", ["actord_processes_ready"]),
        ("p99 of a turn, by type", ["actord_turn_seconds"]),
        ("Turns of each worker", ["actord_worker_turns_total"]),
        ("Calls by method", ["actord_calls_total"]),
        ("Memory", ["process_resident_memory_bytes"]),
        ("Processor time", ["process_cpu_seconds_total"]),
    ],
    "Commands of remote workers": [
        ("External yields", ["actord_yields_external_waiting",
                             "actord_tasks_leased"]),
        ("Remote workers", ["actord_remote_workers"]),
    ],
    "Refusals and losses": [
        ("Dead letters", ["actord_dead_letters_total"]),
        ("Refused at a limit", [
            "actord_process_limit_total", "actord_process_type_limit_total",
            "actord_mailbox_limit_total", "actord_memory_limit_total",
            "actord_external_yield_limit_total", "actord_payload_limit_total",
            "actord_yield_limit_total", "actord_store_full_limit_total"]),
        ("Types with a limit", ["actord_process_type_live",
                                "actord_process_type_max"]),
        ("Refused connections", [
            "actord_connection_limit_total",
            "actord_connection_address_limit_total",
            "actord_connection_descriptor_limit_total",
            "actord_connections_cut_total"]),
        ("Refused clients", [
            "actord_calls_unauthenticated_total", "actord_calls_denied_total",
            "actord_client_quota_limit_total"]),
        ("Spans", ["actord_spans_exported_total",
                   "actord_spans_dropped_total",
                   "actord_span_export_failures_total"]),
    ],
    "Store": [
        ("Journal not on the disk", ["actord_journal_unsynced_bytes"]),
        ("Running sync", ["actord_journal_sync_running_seconds"]),
        ("Records", ["actord_journal_records_total",
                     "actord_journal_groups_total"]),
        ("Bytes written", ["actord_journal_written_bytes_total"]),
        ("Free room on the disk", ["actord_store_disk_free_bytes"]),
        ("Behind or full", ["actord_journal_behind", "actord_store_full"]),
    ],
}
# These have a label, so they are in no table.
LABELLED = {
    "actord_worker_turns_total": Metric("actord_worker_turns_total", True,
                                        "Turns of a worker that ran a process."),
    "actord_calls_total": Metric("actord_calls_total", True,
                                 "Calls that have begun, by method."),
    "actord_process_type_failures_total": Metric(
        "actord_process_type_failures_total", True,
        "Processes that failed, by type, without cancelled ones."),
    "actord_process_type_live": Metric(
        "actord_process_type_live", False,
        "Live processes of a type in limits.max_processes_per_type."),
    "actord_process_type_max": Metric(
        "actord_process_type_max", False,
        "Limit of a type in limits.max_processes_per_type."),
    "actord_turn_seconds": Metric(
        "actord_turn_seconds", False,
        "How long turns of a process type take, from a sample of one in 64."),
}
HISTOGRAMS = {"actord_turn_seconds": "type"}
LEGENDS = {"actord_worker_turns_total": "worker {{worker}}",
           "actord_calls_total": "{{method}}",
           "actord_process_type_failures_total": "{{type}}",
           "actord_process_type_live": "{{type}}, live",
           "actord_process_type_max": "{{type}}, limit",
           "actord_turn_seconds": "{{type}}"}

# KIND(member, "name", ["unit",] "help" "more of it"), the lines joined.
ROW = re.compile(r'\b(LANE|TOTAL|GAUGE)\(\w+, ("[^"]*"(?:,? "[^"]*")*)\)')
COLUMNS = 24
WIDTH, HEIGHT = 8, 8


def read_tables():
    metrics = {}
    for path, prefix in TABLES:
        joined = re.sub(r" *\\\n *", " ", (ROOT / path).read_text())
        for kind, texts in ROW.findall(joined):
            words = [column.replace('" "', "")[1:-1]
                     for column in re.split(r'(?<="), (?=")', texts)]
            metric = Metric(prefix + words[0], kind != "GAUGE", words[-1])
            metrics[metric.name] = metric
    return metrics


def unit_of(metric):
    name = metric.name.removesuffix("_total")
    if name.endswith("_timestamp_seconds") or name.endswith("start_time_seconds"):
        return "dateTimeFromNow"
    if name.endswith("_bytes"):
        return "Bps" if metric.is_total else "bytes"
    if name.endswith("_seconds"):
        return "percentunit" if metric.is_total else "s"
    return "ops" if metric.is_total else "short"


def expression_of(metric):
    if metric.name in HISTOGRAMS:
        return (f"histogram_quantile(0.99, sum by ({HISTOGRAMS[metric.name]}, le) ("
                f'rate({metric.name}_bucket{{job="$job", instance=~"$instance"}}'
                "[$__rate_interval])))")
    series = f'{metric.name}{{job="$job", instance=~"$instance"}}'
    if metric.is_total:
        return f"rate({series}[$__rate_interval])"
    if metric.name.endswith(("_timestamp_seconds", "start_time_seconds")):
        return f"{series} * 1000"
    return series


class Layout:
    """Gives panels their ids and places, from left to right and down."""

    def __init__(self):
        self.x = self.y = self.id = 0

    def panel(self, title, metrics):
        if self.x + WIDTH > COLUMNS:
            self.x, self.y = 0, self.y + HEIGHT
        self.id += 1
        place = {"x": self.x, "y": self.y, "w": WIDTH, "h": HEIGHT}
        self.x += WIDTH
        several = len(metrics) > 1
        return {
            "id": self.id, "type": "timeseries", "title": title,
            "description": "\n\n".join(
                f"{metric.name}: {metric.help}" if several else metric.help
                for metric in metrics),
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "gridPos": place,
            "fieldConfig": {"defaults": {"unit": unit_of(metrics[0]), "min": 0},
                            "overrides": []},
            "targets": [{
                "refId": chr(ord("A") + index),
                "expr": expression_of(metric),
                "legendFormat": LEGENDS.get(
                    metric.name, (metric.name + " " if several else "")
                    + "{{instance}}"),
            } for index, metric in enumerate(metrics)],
        }

    def row(self, title, collapsed=False):
        if self.x:
            self.x, self.y = 0, self.y + HEIGHT
        self.id += 1
        row = {"id": self.id, "type": "row", "title": title,
               "collapsed": collapsed, "panels": [],
               "gridPos": {"x": 0, "y": self.y, "w": COLUMNS, "h": 1}}
        self.y += 1
        return row


def variable(name, label, query, multi):
    return {"name": name, "label": label, "type": "query", "query": query,
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "refresh": 2, "multi": multi, "includeAll": multi}


def make():
    metrics = read_tables()
    layout = Layout()
    panels = []
    shown = set()
    for title, row in OVERVIEW.items():
        panels.append(layout.row(title))
        for panel_title, names in row:
            panels.append(layout.panel(
                panel_title,
                [LABELLED.get(name) or metrics[name] for name in names]))
            shown.update(names)
    rest = layout.row("All other metrics", collapsed=True)
    rest["panels"] = [layout.panel(metric.name, [metric])
                      for name, metric in sorted(metrics.items())
                      if name not in shown]
    panels.append(rest)
    return {
        "uid": "actord", "title": "actord", "tags": ["actord"],
        "schemaVersion": 38, "editable": True, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource",
             "query": "prometheus"},
            variable("job", "Job", "label_values(actord_build_info, job)", False),
            variable("instance", "Instance",
                     'label_values(actord_build_info{job="$job"}, instance)', True),
        ]},
        "panels": panels,
    }


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = json.dumps(make(), indent=1) + "\n"
    if not arguments:
        DASHBOARD.write_text(text)
        return 0
    if DASHBOARD.is_file() and DASHBOARD.read_text() == text:
        return 0
    print(f"{DASHBOARD} is not what the tables ask for: run "
          "packaging/grafana/make_dashboard.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
