// The table of the runtime's counters. Each row is
//
//   KIND(member, name, unit, help)
//
// `member` is the field of RuntimeStats, and of Counters for a LANE row. `name`
// is the field of the message Counters in counters.proto, under which users see
// the counter. `help` is the comment of that field after "Unit: ".
//
// | kind  | the value is              | who counts                         |
// |-------|---------------------------|------------------------------------|
// | LANE  | a total since the start   | Lane::Count                        |
// | TOTAL | a total since the start   | the owner, who writes RuntimeStats |
// | GAUGE | a size at the moment      | the owner, who writes RuntimeStats |
//
// A new counter is a row here, a field in counters.proto, and the place that
// counts. The tests of daemon/counters/ then print the row of docs/counters.md.
// Rows are in the order of the field numbers, so a new row is the last one.
// Stats() reads the counters in the order of the rows: `processes_ended` comes
// before the counters of single kinds of ends, which are counted after it.
// Messages, yields and spawns count the first eight LANE rows, which share a
// cache line of Counters. daemon/counters/counter_table.h has the counters that
// the runtime does not know.
#pragma once

// clang-format off
#define ACTORD_COUNTERS(LANE, TOTAL, GAUGE) \
  GAUGE(processes_live, "processes_live", "processes", \
        "Live processes.") \
  LANE(processes_started, "processes_started_total", "processes", \
       "Processes started, by Submit and by spawning.") \
  LANE(processes_ended, "processes_ended_total", "processes", \
       "Processes that ended in any way.") \
  LANE(processes_failed, "processes_failed_total", "processes", \
       "Processes that ended without a result: they failed, or somebody had " \
       "them cancelled or terminated. `process_failures_total` counts the " \
       "failed ones alone.") \
  LANE(steps, "steps_total", "steps", \
       "Calls of a process's Step, also of steps that failed.") \
  LANE(messages_sent, "messages_total", "messages", \
       "Messages put into mailboxes, by Send and by processes.") \
  LANE(dead_letters, "dead_letters_total", "messages", \
       "Messages that could not be delivered, or whose receiver ended first.") \
  LANE(yields, "yields_total", "yields", \
       "Accepted yields of any kind.") \
  LANE(completions, "completions_total", "completions", \
       "Completions put into mailboxes.") \
  GAUGE(external_yields_waiting, "yields_external_waiting", "yields", \
        "External yields that now wait for CompleteYield.") \
  GAUGE(blocking_queue, "commands_pooled_waiting", "commands", \
        "Commands that now wait for a thread of the blocking pool.") \
  GAUGE(results_kept, "results_kept", "results", \
        "Results now kept for Await.") \
  GAUGE(results_bytes, "results_kept_bytes", "bytes", \
        "Bytes of the results now kept.") \
  LANE(late_replies, "late_replies_total", "answers", \
       "Answers to calls that had already ended, by another answer, a timeout " \
       "or the caller's end.") \
  GAUGE(remote_workers, "remote_workers", "workers", \
        "Remote workers that are now connected.") \
  GAUGE(tasks_leased, "tasks_leased", "yields", \
        "External yields that a remote worker now holds.") \
  GAUGE(dead_letters_kept, "dead_letters_kept", "messages", \
        "Dead letters now kept (see ListDeadLetters). Every dead letter is " \
        "either kept, forgotten, resent or dropped.") \
  GAUGE(dead_letters_bytes, "dead_letters_kept_bytes", "bytes", \
        "Bytes of memory of the dead letters now kept.") \
  LANE(dead_letters_forgotten, "dead_letters_forgotten_total", "messages", \
       "Dead letters that were not kept, or were removed, for lack of room.") \
  LANE(dead_letters_resent, "dead_letters_resent_total", "messages", \
       "Dead letters that ResendDeadLetter sent.") \
  LANE(dead_letters_dropped, "dead_letters_dropped_total", "messages", \
       "Dead letters that DropDeadLetters dropped.") \
  LANE(refused_mailbox, "mailbox_limit_total", "events", \
       "Messages, calls and completions that were refused because a mailbox " \
       "was full. The messages of one submission are refused together.") \
  LANE(refused_processes, "process_limit_total", "processes", \
       "Processes that were not started because of " \
       "`limits.max_processes`.") \
  LANE(refused_processes_of_type, "process_type_limit_total", "processes", \
       "Processes that were not started because of " \
       "`limits.max_processes_per_type`.") \
  LANE(refused_yields, "yield_limit_total", "yields", \
       "Yields and calls that were refused because of " \
       "`limits.max_yields`.") \
  LANE(ended_by_steps, "step_limit_total", "processes", \
       "Processes that ended because of `limits.max_steps`.") \
  LANE(ended_by_lifetime, "lifetime_limit_total", "processes", \
       "Processes that ended because of `limits.max_lifetime`.") \
  GAUGE(watches_open, "watches_open", "calls", \
        "Open calls of WatchProcesses.") \
  TOTAL(watch_events, "watch_events_total", "events", \
        "Starts and ends recorded for watches. They are recorded only while " \
        "there are watches, and for `watch.retention` after that.") \
  GAUGE(watch_events_kept, "watch_events_kept", "events", \
        "Starts and ends now kept, so that watches can read them and be " \
        "resumed.") \
  GAUGE(watch_events_bytes, "watch_events_kept_bytes", "bytes", \
        "Bytes of memory of the starts and ends now kept.") \
  TOTAL(watch_events_missed, "watch_events_missed_total", "events", \
        "Starts and ends that watches have missed, where the number is known. " \
        "An event that several watches missed counts once for each.") \
  LANE(upgrades, "upgrades_total", "upgrades", \
       "Upgrades of processes to another version of their type.") \
  LANE(upgrades_declined, "upgrades_declined_total", "upgrades", \
       "Upgrades that processes declined, see ListPlugins.") \
  TOTAL(refused_watches, "watch_limit_total", "calls", \
        "Calls of WatchProcesses that were refused because of " \
        "`watch.max_watches`.") \
  LANE(refused_external, "external_yield_limit_total", "yields", \
       "External yields that were refused because of " \
       "`yields.external_max_bytes`.") \
  TOTAL(refused_payloads, "payload_limit_total", "payloads", \
        "Payloads of any origin that were refused because of " \
        "`limits.max_payload_bytes`: inputs, messages, results and completions.") \
  GAUGE(ready_global, "processes_ready_global", "processes", \
        "Processes that are ready in the queue of all workers. WorkerStatus " \
        "has the numbers of ready processes in the queues of single workers.") \
  TOTAL(refused_for_memory, "memory_limit_total", "requests", \
        "Submissions, messages and calls that were refused because little " \
        "memory was left.") \
  LANE(refused_processes_of_owner, "process_owner_limit_total", "processes", \
       "Processes that were not started because of `quotas.processes`.") \
  LANE(refused_mailbox_of_owner, "mailbox_owner_limit_total", "messages", \
       "Messages and calls that were refused because of " \
       "`quotas.mailbox_bytes`. The messages of one submission are refused " \
       "together and count as one.") \
  LANE(refused_external_of_owner, "yield_owner_limit_total", "yields", \
       "External yields that were refused because of `quotas.yield_bytes`.") \
  GAUGE(processes_dormant, "processes_dormant", "processes", \
        "Live durable processes that are in the store and not in memory.") \
  GAUGE(processes_quarantined, "processes_quarantined", "processes", \
        "Durable processes in quarantine (see ListQuarantine).") \
  LANE(publications, "publications_total", "publications", \
       "Publications of processes, with or without subscribers.") \
  LANE(publications_queued, "publications_queued_total", "publications", \
       "Publications put into the queues of subscriptions.") \
  LANE(publications_lost, "publications_lost_total", "publications", \
       "Publications that slow subscriptions have missed.") \
  GAUGE(subscriptions_open, "subscriptions_open", "calls", \
        "Open calls of Subscribe.") \
  TOTAL(refused_subscriptions, "subscription_limit_total", "calls", \
        "Calls of Subscribe that were refused because 4,096 were open.") \
  LANE(process_failures, "process_failures_total", "processes", \
       "Processes that failed: they ended without a result, and nobody had " \
       "asked for the end (see ListFailures).") \
  TOTAL(refused_store_full, "store_full_limit_total", "requests", \
        "Requests for durable processes, such as submissions, messages and " \
        "completions, that were refused with STORE_FULL: the disk of the " \
        "store is full, or nearly.")
// clang-format on
