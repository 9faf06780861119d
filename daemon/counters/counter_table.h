// The table of the counters that the runtime does not know. The rows are as in
// runtime/counters/counter_table.h, without the kind LANE; `member` is the
// field of DaemonStats.
#pragma once

// clang-format off
#define ACTORD_DAEMON_COUNTERS(TOTAL, GAUGE) \
  GAUGE(streams_open, "streams_open", "calls", \
        "Open calls of Work, SendStream, SubmitStream, WatchProcesses and " \
        "Subscribe.") \
  TOTAL(log_lines_dropped, "log_lines_dropped_total", "lines", \
        "Lines of the log that were dropped because standard error was " \
        "closed, or was not read fast enough.") \
  GAUGE(connections_open, "connections_open", "connections", \
        "Open connections of clients.") \
  TOTAL(connections_accepted, "connections_accepted_total", "connections", \
        "Connections that were accepted and not refused.") \
  TOTAL(connections_cut, "connections_cut_total", "connections", \
        "Connections that the daemon cut because their client flooded it, or " \
        "because the client's certificate is revoked.") \
  TOTAL(connection_limit, "connection_limit_total", "connections", \
        "Connections that were refused because of `connections.max`.") \
  TOTAL(connection_address_limit, "connection_address_limit_total", \
        "connections", \
        "Connections that were refused because of " \
        "`connections.max_per_address`.") \
  TOTAL(connection_descriptor_limit, "connection_descriptor_limit_total", \
        "connections", \
        "Connections that were refused because the free descriptors were the " \
        "reserve of `connections.reserved_descriptors`.") \
  TOTAL(calls_unauthenticated, "calls_unauthenticated_total", "calls", \
        "Calls and streams that were refused or ended because they had no " \
        "valid token.") \
  TOTAL(calls_denied, "calls_denied_total", "calls", \
        "Calls, streams and items of streams that the role or the patterns " \
        "of their token do not permit.") \
  TOTAL(calls_observed, "calls_observed_total", "calls", \
        "Calls, streams and items of streams that `auth.mode` = observe has " \
        "served, and that enforce would have refused.") \
  TOTAL(unread_answers_limit, "unread_answers_limit_total", "answers", \
        "Answers that were refused because of `connections.max_unread_bytes`.") \
  TOTAL(owner_limit, "owner_limit_total", "calls", \
        "Calls that were refused because clients of 65,534 names had called " \
        "before.") \
  TOTAL(client_quota_limit, "client_quota_limit_total", "calls", \
        "Calls and streams that were refused because their client was above " \
        "a quota of `quotas`.") \
  TOTAL(client_quota_delays, "client_quota_delays_total", "reads", \
        "Reads of streams that were delayed because their client was above a " \
        "quota of `quotas`.") \
  TOTAL(calls_token_expired, "calls_token_expired_total", "calls", \
        "Calls and streams that were refused or ended because their token had " \
        "expired. They count in `calls_unauthenticated_total`, too.") \
  TOTAL(spans_exported, "spans_exported_total", "spans", \
        "Spans that the collector of `traces.endpoint` has taken.") \
  TOTAL(spans_dropped, "spans_dropped_total", "spans", \
        "Spans that found `traces.queue` full, or that no collector has " \
        "taken.") \
  TOTAL(span_export_failures, "span_export_failures_total", "attempts", \
        "Attempts to send spans that failed, or were refused in part.")
// clang-format on
