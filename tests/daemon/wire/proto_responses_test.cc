#include "daemon/wire/proto_responses.h"

#include <actord/text.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/wire/proto_status.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {
namespace {

const runtime::Pid kSomePid{1, 5, 0x2a, 1};
constexpr uint64_t kNs = 1'000'000'000;

TEST(WriteOutcome, WritesAResult) {
  runtime::Outcome outcome;
  outcome.result = {"bytes", "text/plain"};
  outcome.steps = 4;
  outcome.started_unix_ns = 5 * kNs + 6;
  outcome.ended_unix_ns = 7 * kNs + 8;
  v1::Outcome proto;
  WriteOutcome(kSomePid, outcome, &proto);
  EXPECT_EQ(proto.pid(), "1.5.2a.1");
  ASSERT_EQ(proto.end_case(), v1::Outcome::kResult);
  EXPECT_EQ(proto.result().data(), "bytes");
  EXPECT_EQ(proto.result().content_type(), "text/plain");
  EXPECT_EQ(proto.steps(), 4u);
  EXPECT_EQ(proto.create_time().seconds(), 5);
  EXPECT_EQ(proto.create_time().nanos(), 6);
  EXPECT_EQ(proto.end_time().seconds(), 7);
  EXPECT_EQ(proto.end_time().nanos(), 8);
}

TEST(WriteOutcome, EmptyResultIsAResult) {
  v1::Outcome proto;
  WriteOutcome(kSomePid, runtime::Outcome{}, &proto);
  EXPECT_EQ(proto.end_case(), v1::Outcome::kResult);
}

TEST(WriteOutcome, WritesEachKindOfFailure) {
  const struct {
    runtime::EndKind kind;
    v1::FailureReason reason;
  } rows[] = {
      {runtime::EndKind::kFailed, v1::FAILURE_REASON_FAILED},
      {runtime::EndKind::kThrew, v1::FAILURE_REASON_EXCEPTION},
      {runtime::EndKind::kCancelled, v1::FAILURE_REASON_CANCELLED},
      {runtime::EndKind::kTerminated, v1::FAILURE_REASON_TERMINATED},
      {runtime::EndKind::kInitRefused, v1::FAILURE_REASON_INIT_REFUSED},
      {runtime::EndKind::kLimit, v1::FAILURE_REASON_LIMIT_REACHED},
  };
  for (const auto& row : rows) {
    runtime::Outcome outcome;
    outcome.kind = row.kind;
    outcome.code = absl::StatusCode::kAborted;
    outcome.message = "why \xff";
    v1::Outcome proto;
    WriteOutcome(kSomePid, outcome, &proto);
    ASSERT_EQ(proto.end_case(), v1::Outcome::kFailure);
    EXPECT_EQ(proto.failure().reason(), row.reason);
    EXPECT_EQ(proto.failure().code(), 10);
    EXPECT_EQ(proto.failure().message(), "why \xef\xbf\xbd");
  }
}

TEST(WriteProcess, WritesEveryField) {
  runtime::ProcessInfo info;
  info.pid = kSomePid;
  info.process_type = "order";
  info.method = "open";
  info.state = runtime::ProcessState::kBlocked;
  info.started_unix_ns = 3 * kNs;
  info.steps = 4;
  info.mailbox_messages = 5;
  info.mailbox_bytes = 6;
  info.yields = 7;
  info.cancel_requested = true;
  info.priority = 8;
  v1::Process proto;
  WriteProcess(info, &proto);
  EXPECT_EQ(proto.pid(), "1.5.2a.1");
  EXPECT_EQ(proto.parent_pid(), "") << "submitted from outside";
  EXPECT_EQ(proto.process_type(), "order");
  EXPECT_EQ(proto.method(), "open");
  EXPECT_EQ(proto.state(), v1::PROCESS_STATE_BLOCKED);
  EXPECT_EQ(proto.create_time().seconds(), 3);
  EXPECT_EQ(proto.steps(), 4u);
  EXPECT_EQ(proto.mailbox_messages(), 5u);
  EXPECT_EQ(proto.mailbox_bytes(), 6u);
  EXPECT_EQ(proto.yields_outstanding(), 7u);
  EXPECT_TRUE(proto.cancel_requested());
  EXPECT_EQ(proto.priority(), 8);
  info.parent = {1, 5, 0x10, 2};
  WriteProcess(info, &proto);
  EXPECT_EQ(proto.parent_pid(), "1.5.10.2");
}

TEST(WriteYield, WritesEveryField) {
  runtime::ExternalYield yield;
  yield.token = {kSomePid, 9};
  yield.process_type = "order";
  yield.command = "payment.charge";
  yield.payload = {"p", "t"};
  yield.created_unix_ns = 2 * kNs;
  v1::Yield proto;
  WriteYield(yield, &proto);
  EXPECT_EQ(proto.token(), runtime::FormatYieldToken(yield.token));
  EXPECT_EQ(proto.pid(), "1.5.2a.1");
  EXPECT_EQ(proto.process_type(), "order");
  EXPECT_EQ(proto.command(), "payment.charge");
  EXPECT_EQ(proto.payload().data(), "p");
  EXPECT_EQ(proto.payload().content_type(), "t");
  EXPECT_EQ(proto.create_time().seconds(), 2);
  EXPECT_FALSE(proto.has_deadline());
  yield.deadline_unix_ns = 3 * kNs;
  WriteYield(yield, &proto);
  EXPECT_EQ(proto.deadline().seconds(), 3);
  EXPECT_EQ(proto.attempts(), 0u);
  EXPECT_FALSE(proto.has_lease_deadline());
  yield.attempts = 2;
  yield.lease_unix_ns = 4 * kNs;
  yield.worker = "till 1";
  yield.last_error = "no paper";
  WriteYield(yield, &proto);
  EXPECT_EQ(proto.attempts(), 2u);
  EXPECT_EQ(proto.lease_deadline().seconds(), 4);
  EXPECT_EQ(proto.worker(), "till 1");
  EXPECT_EQ(proto.last_error(), "no paper");
}

TEST(WriteYield, MakesTextsOfPluginsValid) {
  runtime::ExternalYield yield;
  yield.command = "payment.\xff";
  yield.payload.content_type = "\xc3";
  yield.payload.bytes = "\xff";
  v1::Yield proto;
  WriteYield(yield, &proto);
  EXPECT_TRUE(IsUtf8(proto.command()));
  EXPECT_TRUE(IsUtf8(proto.payload().content_type()));
  EXPECT_EQ(proto.payload().data(), "\xff") << "bytes are left alone";
}

TEST(ToProto, MapsEveryAnswer) {
  using Response = v1::CompleteYieldResponse;
  EXPECT_EQ(ToProto(runtime::CompleteAnswer::kAccepted),
            Response::ANSWER_ACCEPTED);
  EXPECT_EQ(ToProto(runtime::CompleteAnswer::kDuplicate),
            Response::ANSWER_DUPLICATE);
  EXPECT_EQ(ToProto(runtime::CompleteAnswer::kConflict),
            Response::ANSWER_CONFLICT);
  EXPECT_EQ(ToProto(runtime::CompleteAnswer::kExpired),
            Response::ANSWER_EXPIRED);
  EXPECT_EQ(ToProto(runtime::CompleteAnswer::kUnknown),
            Response::ANSWER_UNKNOWN);
}

TEST(ToProto, MapsEveryRunState) {
  EXPECT_EQ(ToProto(runtime::RunState::kStarting), v1::DAEMON_STATE_STARTING);
  EXPECT_EQ(ToProto(runtime::RunState::kServing), v1::DAEMON_STATE_SERVING);
  EXPECT_EQ(ToProto(runtime::RunState::kDraining), v1::DAEMON_STATE_DRAINING);
  EXPECT_EQ(ToProto(runtime::RunState::kStopped), v1::DAEMON_STATE_DRAINING);
}

TEST(WriteLimits, InfiniteTimeoutIsUnset) {
  Config config;
  config.request_id_ttl = absl::Seconds(90);
  runtime::RuntimeOptions options;
  v1::Limits proto;
  WriteLimits(options, config, &proto);
  EXPECT_FALSE(proto.has_default_yield_timeout());
  EXPECT_EQ(proto.request_id_retention().seconds(), 90);
  EXPECT_EQ(proto.max_payload_bytes(), options.max_payload_bytes);
  options.default_yield_timeout = absl::Milliseconds(1500);
  WriteLimits(options, config, &proto);
  EXPECT_EQ(proto.default_yield_timeout().seconds(), 1);
  EXPECT_EQ(proto.default_yield_timeout().nanos(), 500'000'000);
}

TEST(WriteCounters, WritesEach) {
  runtime::RuntimeStats stats;
  stats.processes_live = 1;
  stats.processes_started = 2;
  stats.processes_ended = 3;
  stats.processes_failed = 4;
  stats.steps = 5;
  stats.messages_sent = 6;
  stats.dead_letters = 7;
  stats.yields = 8;
  stats.completions = 9;
  stats.external_yields_waiting = 10;
  stats.blocking_queue = 11;
  stats.results_kept = 12;
  stats.results_bytes = 13;
  stats.remote_workers = 14;
  stats.tasks_leased = 15;
  stats.dead_letters_kept = 16;
  stats.dead_letters_bytes = 17;
  stats.dead_letters_forgotten = 18;
  stats.dead_letters_resent = 19;
  stats.dead_letters_dropped = 20;
  stats.refused_mailbox = 21;
  stats.refused_processes = 22;
  stats.refused_processes_of_type = 23;
  stats.refused_yields = 24;
  stats.ended_by_steps = 25;
  stats.ended_by_lifetime = 26;
  stats.watches_open = 27;
  stats.watch_events = 28;
  stats.watch_events_kept = 29;
  stats.watch_events_bytes = 30;
  stats.watch_events_missed = 31;
  stats.refused_watches = 32;
  stats.refused_external = 33;
  stats.refused_payloads = 34;
  stats.late_replies = 35;
  stats.upgrades = 36;
  stats.upgrades_declined = 37;
  stats.ready_global = 38;
  stats.refused_for_memory = 50;
  stats.refused_processes_of_owner = 55;
  v1::Counters proto;
  WriteCounters(stats,
                {.streams_open = 39,
                 .log_lines_dropped = 40,
                 .connections_open = 41,
                 .connections_accepted = 42,
                 .connections_cut = 43,
                 .connection_limit = 44,
                 .connection_address_limit = 45,
                 .connection_descriptor_limit = 46,
                 .calls_unauthenticated = 47,
                 .calls_denied = 48,
                 .calls_observed = 49,
                 .unread_answers_limit = 51,
                 .owner_limit = 52,
                 .client_quota_limit = 53,
                 .client_quota_delays = 54},
                &proto);
  EXPECT_EQ(proto.processes_live(), 1u);
  EXPECT_EQ(proto.processes_started_total(), 2u);
  EXPECT_EQ(proto.processes_ended_total(), 3u);
  EXPECT_EQ(proto.processes_failed_total(), 4u);
  EXPECT_EQ(proto.steps_total(), 5u);
  EXPECT_EQ(proto.messages_total(), 6u);
  EXPECT_EQ(proto.dead_letters_total(), 7u);
  EXPECT_EQ(proto.yields_total(), 8u);
  EXPECT_EQ(proto.completions_total(), 9u);
  EXPECT_EQ(proto.yields_external_waiting(), 10u);
  EXPECT_EQ(proto.commands_pooled_waiting(), 11u);
  EXPECT_EQ(proto.results_kept(), 12u);
  EXPECT_EQ(proto.results_kept_bytes(), 13u);
  EXPECT_EQ(proto.remote_workers(), 14u);
  EXPECT_EQ(proto.tasks_leased(), 15u);
  EXPECT_EQ(proto.dead_letters_kept(), 16u);
  EXPECT_EQ(proto.dead_letters_kept_bytes(), 17u);
  EXPECT_EQ(proto.dead_letters_forgotten_total(), 18u);
  EXPECT_EQ(proto.dead_letters_resent_total(), 19u);
  EXPECT_EQ(proto.dead_letters_dropped_total(), 20u);
  EXPECT_EQ(proto.mailbox_limit_total(), 21u);
  EXPECT_EQ(proto.process_limit_total(), 22u);
  EXPECT_EQ(proto.process_type_limit_total(), 23u);
  EXPECT_EQ(proto.yield_limit_total(), 24u);
  EXPECT_EQ(proto.step_limit_total(), 25u);
  EXPECT_EQ(proto.lifetime_limit_total(), 26u);
  EXPECT_EQ(proto.watches_open(), 27u);
  EXPECT_EQ(proto.watch_events_total(), 28u);
  EXPECT_EQ(proto.watch_events_kept(), 29u);
  EXPECT_EQ(proto.watch_events_kept_bytes(), 30u);
  EXPECT_EQ(proto.watch_events_missed_total(), 31u);
  EXPECT_EQ(proto.watch_limit_total(), 32u);
  EXPECT_EQ(proto.external_yield_limit_total(), 33u);
  EXPECT_EQ(proto.payload_limit_total(), 34u);
  EXPECT_EQ(proto.late_replies_total(), 35u);
  EXPECT_EQ(proto.upgrades_total(), 36u);
  EXPECT_EQ(proto.upgrades_declined_total(), 37u);
  EXPECT_EQ(proto.processes_ready_global(), 38u);
  EXPECT_EQ(proto.memory_limit_total(), 50u);
  EXPECT_EQ(proto.unread_answers_limit_total(), 51u);
  EXPECT_EQ(proto.owner_limit_total(), 52u);
  EXPECT_EQ(proto.client_quota_limit_total(), 53u);
  EXPECT_EQ(proto.client_quota_delays_total(), 54u);
  EXPECT_EQ(proto.process_owner_limit_total(), 55u);
  EXPECT_EQ(proto.streams_open(), 39u);
  EXPECT_EQ(proto.log_lines_dropped_total(), 40u);
  EXPECT_EQ(proto.connections_open(), 41u);
  EXPECT_EQ(proto.connections_accepted_total(), 42u);
  EXPECT_EQ(proto.connections_cut_total(), 43u);
  EXPECT_EQ(proto.connection_limit_total(), 44u);
  EXPECT_EQ(proto.connection_address_limit_total(), 45u);
  EXPECT_EQ(proto.connection_descriptor_limit_total(), 46u);
  EXPECT_EQ(proto.calls_unauthenticated_total(), 47u);
  EXPECT_EQ(proto.calls_denied_total(), 48u);
  EXPECT_EQ(proto.calls_observed_total(), 49u);
}

TEST(ProtoTime, DurationsReadBack) {
  for (const absl::Duration duration :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Milliseconds(1500),
        -absl::Milliseconds(1500), absl::Hours(24 * 365)}) {
    EXPECT_EQ(FromProtoDuration(ToProtoDuration(duration)), duration);
  }
  const auto cut = FromProtoDuration(ToProtoDuration(absl::InfiniteDuration()));
  ASSERT_TRUE(cut.has_value());
  EXPECT_GT(*cut, absl::Hours(24 * 365 * 9000));
}

}  // namespace
}  // namespace actord::daemon
