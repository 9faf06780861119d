#include "runtime/settings/options.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/process/errors.h"

namespace actord::runtime {
namespace {

TEST(Options, DefaultsAreValid) {
  EXPECT_TRUE(ValidateOptions(RuntimeOptions{}).ok());
}

TEST(Options, ErrorsNameTheValueAndTheRange) {
  struct Case {
    const char* error;
    std::function<void(RuntimeOptions&)> set;
  };
  using O = RuntimeOptions;
  const Case cases[] = {
      {"max_processes is 0; it must be from 1 to 268435456",
       [](O& o) { o.max_processes = 0; }},
      {"watch_max_bytes is 1; it must be from 4096 to 1099511627776",
       [](O& o) { o.watch_max_bytes = 1; }},
      {"max_mailbox_bytes is 8192; it must be at least max_payload_bytes + "
       "4096, that is 1052672",
       [](O& o) { o.max_mailbox_bytes = 8192; }},
      {"default_yield_timeout is 0; it must be positive",
       [](O& o) { o.default_yield_timeout = absl::ZeroDuration(); }},
      {"watch_retention is -1s; it must not be negative",
       [](O& o) { o.watch_retention = absl::Seconds(-1); }},
      {"max_lifetime is 500us; it must be at least 1ms",
       [](O& o) { o.max_lifetime = absl::Microseconds(500); }},
      {"stuck_after is 0; it must be positive",
       [](O& o) { o.stuck_after = absl::ZeroDuration(); }},
      // A number out of its range comes before a duration out of its range.
      {"max_watches is 0; it must be from 1 to 1000000",
       [](O& o) {
         o.max_watches = 0;
         o.result_ttl = absl::ZeroDuration();
       }},
  };
  for (const Case& c : cases) {
    RuntimeOptions options;
    c.set(options);
    EXPECT_EQ(ValidateOptions(options).message(), c.error);
  }
}

TEST(Options, AreCheckedAtTheirLimits) {
  struct Case {
    const char* field;
    std::function<void(RuntimeOptions&)> set;
    bool ok;
  };
  using O = RuntimeOptions;
  const Case cases[] = {
      {"workers", [](O& o) { o.workers = 256; }, true},
      {"workers", [](O& o) { o.workers = 257; }, false},
      {"workers", [](O& o) { o.workers = -1; }, false},
      {"blocking_threads", [](O& o) { o.blocking_threads = 0; }, false},
      {"blocking_threads", [](O& o) { o.blocking_threads = 1024; }, true},
      {"blocking_threads", [](O& o) { o.blocking_threads = 1025; }, false},
      {"blocking_threads", [](O& o) { o.blocking_threads = -1; }, false},
      {"blocking_queue", [](O& o) { o.blocking_queue = 0; }, false},
      {"max_processes", [](O& o) { o.max_processes = 0; }, false},
      {"max_processes", [](O& o) { o.max_processes = 1 << 28; }, true},
      {"max_processes", [](O& o) { o.max_processes = (1 << 28) + 1; }, false},
      {"max_payload_bytes", [](O& o) { o.max_payload_bytes = 0; }, false},
      {"max_payload_bytes",
       [](O& o) {
         o.max_payload_bytes = 64 << 20;
         o.max_mailbox_bytes = 1 << 30;
       },
       true},
      {"max_payload_bytes", [](O& o) { o.max_payload_bytes = (64 << 20) + 1; },
       false},
      {"max_mailbox_messages", [](O& o) { o.max_mailbox_messages = 0; }, false},
      {"max_mailbox_bytes",
       [](O& o) {
         o.max_payload_bytes = 1;
         o.max_mailbox_bytes = 4095;
       },
       false},
      {"max_mailbox_bytes",
       [](O& o) {
         o.max_payload_bytes = 10'000;
         o.max_mailbox_bytes = 14'095;
       },
       false},
      {"max_mailbox_bytes",
       [](O& o) {
         o.max_payload_bytes = 10'000;
         o.max_mailbox_bytes = 14'096;
       },
       true},
      {"max_external_yield_bytes",
       [](O& o) {
         o.max_payload_bytes = 10'000;
         o.max_external_yield_bytes = 14'095;
       },
       false},
      {"max_external_yield_bytes",
       [](O& o) {
         o.max_payload_bytes = 10'000;
         o.max_external_yield_bytes = 14'096;
       },
       true},
      {"max_external_yield_bytes",
       [](O& o) { o.max_external_yield_bytes = (size_t{1} << 40) + 1; }, false},
      {"cpu_latency", [](O& o) { o.cpu_latency = absl::ZeroDuration(); }, true},
      {"cpu_latency", [](O& o) { o.cpu_latency = absl::Seconds(1); }, true},
      {"cpu_latency", [](O& o) { o.cpu_latency = absl::Microseconds(1000001); },
       false},
      {"cpu_latency", [](O& o) { o.cpu_latency = -absl::Nanoseconds(1); },
       false},
      {"cpu_latency", [](O& o) { o.cpu_latency = absl::Nanoseconds(999); },
       false},
      {"cpu_latency", [](O& o) { o.cpu_latency = absl::Microseconds(1); },
       true},
      {"max_blocked_threads", [](O& o) { o.max_blocked_threads = 0; }, true},
      {"max_blocked_threads", [](O& o) { o.max_blocked_threads = 10'001; },
       false},
      {"max_blocked_threads", [](O& o) { o.max_blocked_threads = -1; }, false},
      {"max_yields", [](O& o) { o.max_yields = 0; }, false},
      {"answered_yield_max", [](O& o) { o.answered_yield_max = 0; }, false},
      {"node", [](O& o) { o.node = 0; }, false},
      {"default_yield_timeout",
       [](O& o) { o.default_yield_timeout = absl::ZeroDuration(); }, false},
      {"answered_yield_ttl",
       [](O& o) { o.answered_yield_ttl = -absl::Seconds(1); }, false},
      {"answered_yield_ttl",
       [](O& o) { o.answered_yield_ttl = absl::InfiniteDuration(); }, true},
      {"result_ttl", [](O& o) { o.result_ttl = absl::ZeroDuration(); }, false},
      {"max_watches", [](O& o) { o.max_watches = 0; }, false},
      {"max_watches", [](O& o) { o.max_watches = 1'000'001; }, false},
      {"watch_max_events", [](O& o) { o.watch_max_events = 0; }, false},
      {"watch_max_events", [](O& o) { o.watch_max_events = 10'000'001; },
       false},
      {"watch_max_bytes", [](O& o) { o.watch_max_bytes = 4095; }, false},
      {"watch_max_bytes",
       [](O& o) { o.watch_max_bytes = (size_t{1} << 40) + 1; }, false},
      {"watch_retention",
       [](O& o) { o.watch_retention = -absl::Nanoseconds(1); }, false},
      {"watch_retention",
       [](O& o) { o.watch_retention = absl::ZeroDuration(); }, true},
      {"watch_retention",
       [](O& o) { o.watch_retention = absl::InfiniteDuration(); }, true},
      {"external_commands",
       [](O& o) {
         o.external_commands = {"a.*", "b"};
       },
       true},
      {"external_commands", [](O& o) { o.external_commands = {"*"}; }, true},
      {"external_commands", [](O& o) { o.external_commands = {""}; }, false},
      {"external_commands", [](O& o) { o.external_commands = {"a*b"}; }, false},
      {"external_commands", [](O& o) { o.external_commands = {"a**"}; }, false},
  };
  for (const Case& c : cases) {
    RuntimeOptions options;
    c.set(options);
    const absl::Status status = ValidateOptions(options);
    EXPECT_EQ(status.ok(), c.ok) << c.field << ": " << status;
    EXPECT_EQ(FieldOf(status), c.ok ? "" : c.field);
  }
}

}  // namespace
}  // namespace actord::runtime
