// The table of the metrics that are not counters of counter_table.h. Each row
// is
//
//   KIND(member, name, help)
//
// `member` is the field of DaemonMetrics, `name` the whole name in /metrics. A
// name ends with its unit; only the base units seconds and bytes are used.
//
// Users see the rows in docs/operations.md, which a test compares with this
// table. The dashboard packaging/grafana/actord.json is made from the tables,
// too (packaging/grafana/make_dashboard.py).
#pragma once

// clang-format off
#define ACTORD_METRICS(TOTAL, GAUGE) \
  GAUGE(ready, "actord_ready", \
        "1 if /readyz says that clients may be sent here, else 0.") \
  GAUGE(healthy, "actord_healthy", \
        "1 if /healthz says that the scheduler moves, else 0.") \
  GAUGE(auth_enforced, "actord_auth_enforced", \
        "1 if calls without a valid token are refused (auth.mode), else 0.") \
  GAUGE(start_time, "actord_start_time_seconds", \
        "When the daemon began to serve, in seconds since 1970.") \
  GAUGE(uptime, "actord_uptime_seconds", \
        "How long the daemon has served.") \
  GAUGE(workers, "actord_workers", \
        "Workers of the scheduler.") \
  GAUGE(processes_ready, "actord_processes_ready", \
        "Processes that are ready and wait for a worker, in all queues.") \
  GAUGE(yields_unserved, "actord_yields_external_unserved", \
        "External yields to whose commands no remote worker is subscribed.") \
  GAUGE(pooled_running, "actord_commands_pooled_running", \
        "Pooled commands, and loads of plugins, that run now.") \
  GAUGE(certificate_expiry, "actord_certificate_expiry_timestamp_seconds", \
        "When the first certificate of the daemon's chain expires, in seconds " \
        "since 1970. Only with TLS.") \
  GAUGE(store_full, "actord_store_full", \
        "1 if durable work is refused with STORE_FULL, else 0. Only with a " \
        "store.") \
  GAUGE(store_disk_free, "actord_store_disk_free_bytes", \
        "Free room on the disk of the store, as the store last saw it. Only " \
        "with a store.") \
  GAUGE(store_unapplied, "actord_store_unapplied_bytes", \
        "Bytes of the journal that are durable and not yet in the state " \
        "store. Only with a store.") \
  GAUGE(journal_behind, "actord_journal_behind", \
        "1 if the disk or the state store is behind, so that durable work " \
        "waits or is refused, else 0. Only with a store.") \
  GAUGE(journal_unsynced, "actord_journal_unsynced_bytes", \
        "Bytes of the journal that are not on the disk yet. Only with a " \
        "store.") \
  GAUGE(journal_sync_running, "actord_journal_sync_running_seconds", \
        "How long the running write or sync of the journal has taken; 0 if " \
        "none runs. Only with a store.") \
  TOTAL(journal_groups, "actord_journal_groups_total", \
        "Groups of records that were written and synced together. Only with a " \
        "store.") \
  TOTAL(journal_records, "actord_journal_records_total", \
        "Records written to the journal. Only with a store.") \
  TOTAL(journal_written, "actord_journal_written_bytes_total", \
        "Bytes written to the journal, with headers and padding. Only with a " \
        "store.") \
  TOTAL(journal_room_waits, "actord_journal_room_waits_total", \
        "How often a thread has waited for room in the journal's buffer. Only " \
        "with a store.") \
  TOTAL(journal_unpublished_stalls, \
        "actord_journal_unpublished_stalls_total", \
        "How often the journal has waited 100 ms for a thread that was " \
        "writing a record into its buffer. Only with a store.") \
  GAUGE(admin_connections_open, "actord_admin_connections_open", \
        "Open connections to the admin port.") \
  TOTAL(admin_connections_refused, "actord_admin_connections_refused_total", \
        "Connections to the admin port that were closed for lack of room or " \
        "of a descriptor.") \
  TOTAL(admin_requests, "actord_admin_requests_total", \
        "Requests that the admin port has answered.") \
  TOTAL(admin_requests_refused, "actord_admin_requests_refused_total", \
        "Requests to the admin port that were not HTTP/1.1, were too large, or " \
        "had a host that is not allowed.") \
  GAUGE(resident_memory, "process_resident_memory_bytes", \
        "Resident memory of the daemon.") \
  TOTAL(cpu, "process_cpu_seconds_total", \
        "Processor time that the daemon has used.") \
  GAUGE(max_descriptors, "process_max_fds", \
        "Limit of open files of the daemon.")
// clang-format on
