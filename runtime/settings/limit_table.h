// The table of the limits that may change while a runtime runs. Each row is
//
//   COUNT(member, default, min, max, key, option, field, help)
//   BYTES(member, default, min, max, key, option, field, help)
//   COUNT_OR_NONE(member, key, option, field, help)
//   DURATION(member, default, range, key, option, field, help)
//   DURATION_OR_NONE(member, default, range, key, option, field, help)
//
// `member` is the field of Limits, and the name in error messages. `key` and
// `option` are the names of the setting in the configuration file and on the
// command line, and `help` is its description. `field` is the field of the
// message Limits in status.proto; "" if the status does not show the limit.
//
// | kind             | in Limits      | in LiveLimits                        |
// |------------------|----------------|--------------------------------------|
// | COUNT, BYTES     | size_t         | member(), the number                 |
// | COUNT_OR_NONE    | size_t, 0 none | member(), UINT64_MAX for none        |
// | DURATION         | absl::Duration | member_ns(), kForeverNs for infinite |
// | DURATION_OR_NONE | as DURATION    | as DURATION; status.proto: unset     |
//
// This header is one macro: it compiles alone and includes nothing. The
// includer passes a macro for each kind of row, and includes the headers of the
// names in the columns that it uses. limits.h uses members and defaults, so its
// many includers do not include process.h. limit_info.cc uses the ranges, too,
// and includes the headers of the constants in them.
//
// Thread-safety: a macro, without state.
//
// A new limit is a row here, beside the rows of its section of the file, a
// field in status.proto if the status shows it, and the place that enforces it.
#pragma once

// clang-format off
#define ACTORD_LIMITS(COUNT, BYTES, COUNT_OR_NONE, DURATION, DURATION_OR_NONE) \
  /* Above it Submit fails with PROCESS_LIMIT. */ \
  COUNT(max_processes, 4'000'000, 1, SlotTable<Process>::kMaxSlots, \
        "limits.max_processes", "max-processes", "max_processes", \
        "Maximum number of live processes, from 1 to 268435456.") \
  /* PAYLOAD_TOO_LARGE. */ \
  BYTES(max_payload_bytes, 1 << 20, 1, kPayloadLimitMaxBytes, \
        "limits.max_payload_bytes", "max-payload-bytes", "max_payload_bytes", \
        "Maximum size of an input, a message or a result, from 1B to 64MiB.") \
  /* Send fails with MAILBOX_FULL; the send of a step becomes a dead letter. */ \
  COUNT(max_mailbox_messages, 65536, 1, Activity::kMessagesLimitMax, \
        "limits.max_mailbox_messages", "max-mailbox-messages", \
        "max_mailbox_messages", \
        "Maximum number of messages in one mailbox, from 1 to 900000.") \
  /* Counted in buffers of 64 bytes. Messages as above. Completions may take */ \
  /* as much again. Above that, CompleteYield fails with MAILBOX_FULL, and a */ \
  /* handler's completion becomes RESOURCE_EXHAUSTED. */ \
  BYTES(max_mailbox_bytes, 16 << 20, 4096, 1u << 30, \
        "limits.max_mailbox_bytes", "max-mailbox-bytes", "max_mailbox_bytes", \
        "Maximum memory of the messages in one mailbox, from 4KiB to 1GiB.") \
  /* A further yield completes with RESOURCE_EXHAUSTED. */ \
  COUNT(max_yields, 1024, 1, 16'000, \
        "limits.max_yields", "max-yields", "max_yields_per_process", \
        "Maximum number of outstanding yields of one process, from 1 to " \
        "16000.") \
  DURATION_OR_NONE(default_yield_timeout, absl::InfiniteDuration(), kPositive, \
        "yields.default_timeout", "yield-timeout", "default_yield_timeout", \
        "Timeout of yields that state none of their own, more than 0s; none " \
        "means no timeout.") \
  /* All waiting external yields together. A further yield completes with */ \
  /* RESOURCE_EXHAUSTED. */ \
  BYTES(max_external_yield_bytes, 256 << 20, 4096, uint64_t{1} << 40, \
        "yields.external_max_bytes", "yield-external-max-bytes", \
        "max_external_yield_bytes", \
        "Maximum memory for all external yields that wait, from 4KiB to " \
        "1024GiB; further yields fail.") \
  DURATION(answered_yield_ttl, absl::Minutes(10), kPositive, \
        "yields.answer_ttl", "yield-answer-ttl", "yield_answer_retention", \
        "How long actord remembers the completion of an external yield, to " \
        "recognise repetitions; more than 0s, and none means for ever.") \
  COUNT(answered_yield_max, 100'000, 1, 100'000'000, \
        "yields.answer_max", "yield-answer-max", "max_yield_answers", \
        "Maximum number of remembered completions, from 1 to 100000000; the " \
        "oldest are dropped first.") \
  DURATION(result_ttl, absl::Minutes(5), kPositive, \
        "results.ttl", "result-ttl", "result_retention", \
        "How long actord keeps the result of an ended process, more than " \
        "0s; none means for ever.") \
  BYTES(result_max_bytes, 256 << 20, 0, UINT64_MAX, \
        "results.max_bytes", "result-max-bytes", "max_results_bytes", \
        "Maximum memory for kept results, from 0 upwards; the oldest are " \
        "dropped first.") \
  /* If one of these two is 0, dead letters are only counted. */ \
  COUNT(dead_letter_max_count, 10'000, 0, 10'000'000, \
        "dead_letters.max_count", "dead-letter-max-count", "max_dead_letters", \
        "Maximum number of kept dead letters (undeliverable messages), from " \
        "0 to 10000000; the oldest are dropped first. 0 keeps none.") \
  BYTES(dead_letter_max_bytes, 16 << 20, 0, uint64_t{1} << 40, \
        "dead_letters.max_bytes", "dead-letter-max-bytes", \
        "max_dead_letters_bytes", \
        "Maximum memory for dead letters, from 0 to 1024GiB; the oldest are " \
        "dropped first. 0 keeps none.") \
  /* If one of these two is 0, no failure is kept. */ \
  COUNT(failure_max_count, 1000, 0, 1'000'000, \
        "failures.max_count", "failure-max-count", "max_failures", \
        "Maximum number of kept failures of processes, from 0 to 1000000; the " \
        "oldest are dropped first. 0 keeps none.") \
  BYTES(failure_max_bytes, 2 << 20, 0, uint64_t{1} << 40, \
        "failures.max_bytes", "failure-max-bytes", "max_failures_bytes", \
        "Maximum memory for kept failures, from 0 to 1024GiB; the oldest are " \
        "dropped first. 0 keeps none.") \
  /* Each watch holds, beside its connection, one response that its client */ \
  /* has not read, of about 256 KiB at most. */ \
  COUNT(max_watches, 1000, 1, 1'000'000, \
        "watch.max_watches", "watch-max-watches", "max_watches", \
        "Maximum number of open watches, from 1 to 1000000.") \
  COUNT(watch_max_events, 100'000, 1, 10'000'000, \
        "watch.max_events", "watch-max-events", "max_watch_events", \
        "Maximum number of events (starts and ends of processes) kept for " \
        "watches, from 1 to 10000000; the oldest are dropped first, and a " \
        "watch that had not read them is told.") \
  BYTES(watch_max_bytes, 32 << 20, 4096, uint64_t{1} << 40, \
        "watch.max_bytes", "watch-max-bytes", "max_watch_bytes", \
        "Maximum memory for the events kept for watches, from 4KiB to " \
        "1024GiB; the oldest are dropped first.") \
  DURATION_OR_NONE(watch_retention, absl::Minutes(5), kNotNegative, \
        "watch.retention", "watch-retention", "watch_retention", \
        "How long events are recorded after the last watch has closed, so " \
        "that it can be resumed; at least 0s, which means not at all. none " \
        "means for ever.") \
  /* A process that exceeds one of these two fails with EndKind::kLimit. */ \
  COUNT_OR_NONE(max_steps, \
        "limits.max_steps", "max-steps", "max_steps_per_process", \
        "Maximum number of steps of a process, from 0 upwards; a process " \
        "that exceeds it fails. 0 means no limit.") \
  /* Counted from Init. A change applies to processes that start afterwards. */ \
  DURATION_OR_NONE(max_lifetime, absl::InfiniteDuration(), kMillisecond, \
        "limits.max_lifetime", "max-lifetime", "max_lifetime", \
        "Maximum lifetime of a process, at least 1ms; a process that exceeds " \
        "it fails. none means no limit.")
// clang-format on
