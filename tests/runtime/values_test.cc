// Plain values: PIDs and tokens as text, errors, options, random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/errors.h"
#include "runtime/options.h"
#include "runtime/pid.h"
#include "runtime/random.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

TEST(PidText, IsShortAndComesBackAsItWas) {
  const Pid pids[] = {{1, 0x5f3a90c2, 0x2a, 1},
                      {0, 0, 0, 1},
                      {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
                      {0x10, 0x100, 0x1000, 0x10000}};
  EXPECT_EQ(FormatPid(pids[0]), "1.5f3a90c2.2a.1");
  for (const Pid& pid : pids) {
    const std::string text = FormatPid(pid);
    EXPECT_LE(text.size(), kPidTextMaxBytes);
    const auto parsed = ParsePid(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, pid);
    EXPECT_EQ(FromAbi(ToAbi(pid)), pid);
  }
}

TEST(PidText, OfAnythingElseIsRefused) {
  const std::vector<std::string> bad = {"",
                                        ".",
                                        "...",
                                        "1",
                                        "1.2.3",
                                        "1.2.3.",
                                        "1.2.3.4.",
                                        "1.2.3.4.5",
                                        ".1.2.3.4",
                                        "1..3.4",
                                        "1.2.3.0",
                                        "01.2.3.4",
                                        "1.2.3.04",
                                        "00.1.1.1",
                                        "1.2.3.A",
                                        "1.2.3.g",
                                        "-1.2.3.4",
                                        "+1.2.3.4",
                                        "0x1.2.3.4",
                                        " 1.2.3.4",
                                        "1.2.3.4 ",
                                        "1.2.3.4\n",
                                        "1,2,3,4",
                                        "100000000.2.3.4",
                                        "1.2.3.100000000",
                                        "1.2.3.ffffffff1",
                                        std::string("1.2.3.4\0", 8),
                                        std::string("1.2\0.3.4", 8),
                                        std::string(1000, '1'),
                                        "1.2.3.4" + std::string(100, ' ')};
  for (const std::string& text : bad) {
    const auto parsed = ParsePid(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(parsed.status()), reason::kInvalidPid);
    EXPECT_EQ(FieldOf(parsed.status()), "pid");
    // What was wrong, but no more of it than fits a line.
    EXPECT_LT(parsed.status().message().size(), 250u);
  }
  EXPECT_THAT(std::string(ParsePid("a\x01\xff").status().message()),
              HasSubstr("\"a??\""));
}

TEST(YieldTokenText, ComesBackAsItWas) {
  const YieldToken token{{1, 0xabc, 7, 3}, UINT64_MAX};
  EXPECT_EQ(FormatYieldToken(token), "1.abc.7.3.ffffffffffffffff");
  EXPECT_EQ(*ParseYieldToken(FormatYieldToken(token)), token);
  const YieldToken longest{{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
                           UINT64_MAX};
  EXPECT_EQ(*ParseYieldToken(FormatYieldToken(longest)), longest);
  for (const char* bad :
       {"", "1.2.3.4", "1.2.3.4.", "1.2.3.4.0", "1.2.3.4.01", "1.2.3.0.1",
        "1.2.3.4.5.6", "1.2.3.4.10000000000000000", "1.2.3.4.F"}) {
    const auto parsed = ParseYieldToken(bad);
    EXPECT_EQ(ReasonOf(parsed.status()), reason::kInvalidYieldToken) << bad;
    EXPECT_EQ(FieldOf(parsed.status()), "token");
  }
}

TEST(Errors, CarryWhatAClientNeeds) {
  const absl::Status plain = absl::InternalError("x");
  EXPECT_EQ(ReasonOf(plain), "");
  EXPECT_EQ(FieldOf(plain), "");
  EXPECT_EQ(RetryDelayOf(plain), std::nullopt);

  const absl::Status error =
      Error(absl::StatusCode::kNotFound, reason::kProcessNotFound, "gone");
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "gone");
  EXPECT_EQ(ReasonOf(error), "PROCESS_NOT_FOUND");
  EXPECT_EQ(RetryDelayOf(error), std::nullopt);

  const absl::Status field = InvalidField("input", reason::kInitRefused, "no");
  EXPECT_EQ(field.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(field), "input");

  const absl::Status retry =
      Retryable(absl::StatusCode::kUnavailable, reason::kDraining, "later",
                absl::Milliseconds(1500));
  EXPECT_EQ(ReasonOf(retry), "DRAINING");
  EXPECT_EQ(RetryDelayOf(retry), absl::Milliseconds(1500));
}

TEST(Options, DefaultsAreValid) {
  EXPECT_TRUE(ValidateOptions(RuntimeOptions{}).ok());
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

TEST(RandomNumbers, AreThoseOfSplitMix64) {
  // The first numbers of the reference implementation for the seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(RandomNumbers, TheSystemsSeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(Random::SystemSeed());
  EXPECT_EQ(seeds.size(), 8u);
}

}  // namespace
}  // namespace actord::runtime
