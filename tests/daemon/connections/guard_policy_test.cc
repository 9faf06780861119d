#include "daemon/connections/guard_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace actord::daemon {
namespace {

constexpr GuardLimits kLimits{.max_unread_calls = 100,
                              .max_left_calls = 400,
                              .max_idle_bytes_first = 1000,
                              .max_idle_bytes = 5000};
// The first frame, and settings, a window update and an acknowledgement of
// gRPC. With another window update in place of the acknowledgement it is an
// answer.
constexpr uint64_t kGreeting = 15 + 61;
constexpr uint64_t kAnswered = kGreeting - 9 + 13;

constexpr uint64_t kSecondNs = 1'000'000'000;

// Each is a second after the last one.
Observation Seen(SocketCounts counts, uint64_t read_bytes = 0,
                 uint64_t sent_bytes = kGreeting) {
  static uint64_t time_ns = 0;
  time_ns += kSecondNs;
  return {.counts = counts,
          .traffic = {.received_bytes = read_bytes,
                      .read_bytes = read_bytes,
                      .sent_bytes = sent_bytes},
          .time_ns = time_ns};
}

TEST(GuardLimits, AllowMoreThanTheClientMayHaveOpen) {
  EXPECT_GT(GuardLimitsFor(1, 0).max_unread_calls, 1u);
  EXPECT_EQ(GuardLimitsFor(1000, 0).max_unread_calls, 2256u);
  EXPECT_EQ(GuardLimitsFor(1000, 0).max_left_calls, 4256u);
  EXPECT_EQ(GuardLimitsFor(100'000, 0).max_unread_calls, 225'000u);
  EXPECT_EQ(GuardLimitsFor(1, 6 << 20).max_idle_bytes, 12u << 20);
}

TEST(ConnectionHistory, CutsWhenMoreCallsAreUnreadThanAllowed) {
  ConnectionHistory history;
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 100})), Verdict::kNone);
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 101})), Verdict::kResets);
}

TEST(ConnectionHistory, CallsThatGrpcHasNotReadCountAsUnread) {
  ConnectionHistory history;
  Observation now = Seen({.started = 70});
  now.waiting_calls = 30;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.waiting_calls = 31;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kResets);
  // gRPC has read them, and handlers have read their requests.
  now = Seen({.started = 101, .ended = 90, .received = 101});
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
}

// Calls that are begun and reset, of 44 bytes each. The reset is followed by a
// frame of data.
std::string CallsResetAtOnce(size_t count) {
  // A call that is begun, and its reset: frames of 9 and of 13 bytes.
  constexpr std::string_view kCall(
      "\0\0\0\1\4\0\0\0\5\0\0\4\3\0\0\0\0\5\0\0\0\10", 22);
  constexpr std::string_view kData("\0\0\15\0\0\0\0\0\5", 9);
  std::string bytes;
  for (; count > 0; --count) {
    bytes += kCall;
    bytes += kData;
    bytes.append(13, 'x');
  }
  return bytes;
}

TEST(EstimateResets, ExtrapolatesFromThePeekedBytes) {
  const std::string peeked = CallsResetAtOnce(101);
  ASSERT_EQ(peeked.size(), 4444u);
  EXPECT_EQ(EstimateResets(peeked, 0), 101u);
  EXPECT_EQ(EstimateResets(peeked, 4444), 101u);
  EXPECT_EQ(EstimateResets(peeked, 444'400), 10'100u);
  EXPECT_EQ(EstimateResets("", 4400), 0u);
}

TEST(EstimateResets, ALargeMessageAfterAFewResetsIsNoFlood) {
  EXPECT_EQ(EstimateResets(CallsResetAtOnce(100), 3 << 20), 100u);
  EXPECT_EQ(EstimateResets(CallsResetAtOnce(1), 3 << 20), 1u);
}

TEST(ConnectionHistory, IsProvedByCallsThatAreReadOrByOneLargeMessage) {
  ConnectionHistory caller;
  for (uint64_t i = 1; i < 100; ++i) {
    caller.Judge(kLimits, Seen({.started = i, .received = i}, i));
  }
  EXPECT_FALSE(caller.is_proved());
  caller.Judge(kLimits, Seen({.started = 100, .received = 100}, 100));
  EXPECT_TRUE(caller.is_proved());

  ConnectionHistory uploader;
  uploader.Judge(kLimits, Seen({.started = 1}, 100));
  EXPECT_FALSE(uploader.is_proved());
  uploader.Judge(kLimits, Seen({.started = 1}, 200));
  EXPECT_TRUE(uploader.is_proved());

  ConnectionHistory flood;
  for (uint64_t i = 0; i < 20; ++i) {
    flood.Judge(kLimits, Seen({.started = 4 * i}, 100 * i));
    // gRPC has not read anything meanwhile.
    flood.Judge(kLimits, Seen({.started = 4 * i}, 100 * i));
  }
  EXPECT_FALSE(flood.is_proved());
}

TEST(MaxResetsOfEach, SharesTheLimitsOfFourConnections) {
  const GuardLimits limits = GuardLimitsFor(1000, 0);
  const struct {
    uint64_t suspects;
    uint64_t max;
  } cases[] = {{0, 2256}, {1, 2256}, {4, 2256}, {5, 1804},   {8, 1128},
               {20, 451}, {90, 100}, {91, 100}, {2000, 100}, {UINT64_MAX, 100}};
  for (const auto& [suspects, max] : cases) {
    EXPECT_EQ(MaxResetsOfEach(limits, suspects), max) << suspects;
  }
}

TEST(RecentCount, ForgetsEventsThatAreOverASecondOld) {
  RecentCount count;
  const uint64_t begin = 7 * kSecondNs;
  EXPECT_EQ(count.Get(begin), 0u);
  count.Add(begin);
  count.Add(begin + kSecondNs - 1);
  EXPECT_EQ(count.Get(begin + kSecondNs - 1), 2u);
  count.Add(begin + kSecondNs);
  EXPECT_EQ(count.Get(begin + 2 * kSecondNs - 2), 3u);
  EXPECT_EQ(count.Get(begin + 2 * kSecondNs), 1u);
  EXPECT_EQ(count.Get(begin + 3 * kSecondNs), 0u);
}

TEST(RecentCount, ForgetsAllAfterALongRest) {
  RecentCount count;
  count.Add(kSecondNs);
  count.Add(100 * kSecondNs);
  EXPECT_EQ(count.Get(100 * kSecondNs), 1u);
}

TEST(ConnectionHistory, CutsAClientWhoseResetsAreClearedUpMoreSlowly) {
  ConnectionHistory history;
  for (uint64_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(
        history.Judge(kLimits, Seen({.started = 1000 * i, .ended = 1000 * i})),
        Verdict::kNone);
  }
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 10'090, .ended = 10'000})),
            Verdict::kNone);
  // 70 of them are cleared up, but nobody has read any.
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 10'170, .ended = 10'070})),
            Verdict::kResets);
}

TEST(ConnectionHistory, ManyCallsThatAreReadAreNoFlood) {
  ConnectionHistory history;
  for (uint64_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(
        history.Judge(kLimits, Seen({.started = 100 * i, .received = 100 * i})),
        Verdict::kNone);
  }
  EXPECT_FALSE(history.is_suspect());
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 401, .received = 401})),
            Verdict::kResets)
      << "more than any client has left";
}

TEST(ConnectionHistory, CountsThatAreReadOutOfOrderAreNoFlood) {
  ConnectionHistory history;
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 900, .ended = 901})),
            Verdict::kNone);
}

TEST(ConnectionHistory, CutsWhenTheFirstBytesAreNoCallAndNoMessage) {
  ConnectionHistory history;
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 1}, 100)), Verdict::kNone);
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 1}, 600)), Verdict::kNone);
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 1}, 1100)), Verdict::kNone);
  EXPECT_EQ(history.Judge(kLimits, Seen({.started = 1}, 1101)),
            Verdict::kBytes);
}

TEST(ConnectionHistory, ABusyDaemonMayAnswerAFirstMessageLate) {
  ConnectionHistory history;
  Observation now = Seen({.started = 1}, 100);
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.traffic.read_bytes = 4000;
  now.time_ns += 399'999'999;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.time_ns += 1;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kBytes);
}

TEST(ConnectionHistory, BytesThatGrpcHasNotReadAreNoFlood) {
  ConnectionHistory history;
  Observation now = Seen({.started = 1}, 100);
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.time_ns += kSecondNs;
  now.traffic.received_bytes = 1'000'000;
  now.traffic.read_bytes = 1100;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  // A question that comes amid arrivals finds fewer; they are counted once.
  now.traffic.read_bytes = 900;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.traffic.read_bytes = 1100;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
  now.traffic.read_bytes = 1101;
  EXPECT_EQ(history.Judge(kLimits, now), Verdict::kBytes);
}

TEST(ConnectionHistory, AllowsLargeMessagesOnceTheDaemonHasAnswered) {
  const Observation first[] = {Seen({.started = 1, .received = 1}, 100),
                               Seen({.started = 1}, 100, kAnswered)};
  for (const Observation& observation : first) {
    ConnectionHistory history;
    EXPECT_EQ(history.Judge(kLimits, observation), Verdict::kNone);
    Observation now = observation;
    now.traffic.read_bytes = 5100;
    EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
    now.traffic.read_bytes = 5101;
    EXPECT_EQ(history.Judge(kLimits, now), Verdict::kBytes);
  }
}

TEST(ConnectionHistory, AnyAnswerCallOrMessageBeginsAnew) {
  const SocketCounts first{.started = 1, .received = 1, .sent = 1};
  const Observation progress[] = {
      Seen({.started = 2, .received = 1, .sent = 1}, 5100),
      Seen({.started = 1, .received = 2, .sent = 1}, 5100),
      Seen({.started = 1, .received = 1, .sent = 2}, 5100),
      Seen(first, 5100, kGreeting + 13)};
  for (Observation now : progress) {
    ConnectionHistory history;
    history.Judge(kLimits, Seen(first, 100));
    EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
    now.traffic.read_bytes += 5000;
    EXPECT_EQ(history.Judge(kLimits, now), Verdict::kNone);
    now.traffic.read_bytes += 1;
    EXPECT_EQ(history.Judge(kLimits, now), Verdict::kBytes);
  }
}

TEST(ConnectionHistory, ManyUnreadCallsMakeASuspect) {
  constexpr GuardLimits kLoose{.max_unread_calls = 1000,
                               .max_left_calls = 4000};
  ConnectionHistory history;
  history.Judge(kLoose, Seen({.started = 300, .received = 200}));
  EXPECT_FALSE(history.is_suspect());
  EXPECT_EQ(history.Judge(kLoose, Seen({.started = 301, .received = 200})),
            Verdict::kNone);
  EXPECT_TRUE(history.is_suspect());
}

TEST(ConnectionHistory, AsksLessOftenWhileCallsAreRead) {
  constexpr uint64_t kFirst = ConnectionHistory::kAskBytes;
  ConnectionHistory history;
  EXPECT_EQ(history.ask_bytes(), kFirst);
  uint64_t calls = 0;
  const auto honest = [&] {
    calls += 50;
    history.Judge(kLimits, Seen({.started = calls,
                                 .ended = calls,
                                 .received = calls,
                                 .sent = calls}));
    return history.ask_bytes();
  };
  EXPECT_EQ(honest(), 2 * kFirst);
  EXPECT_EQ(honest(), 4 * kFirst);
  for (int i = 0; i < 10; ++i) honest();
  EXPECT_EQ(honest(), ConnectionHistory::kMaxAskBytes);
  // Calls that are reset before they are read.
  history.Judge(kLimits, Seen({.started = calls + 50,
                               .ended = calls + 50,
                               .received = calls + 20,
                               .sent = calls + 20}));
  EXPECT_EQ(history.ask_bytes(), kFirst);
}

TEST(ConnectionHistory, BytesWithoutACallAreAskedAboutOften) {
  ConnectionHistory history;
  const SocketCounts counts{.started = 9, .ended = 9, .received = 9, .sent = 9};
  history.Judge(kLimits, Seen(counts, 10));
  EXPECT_GT(history.ask_bytes(), ConnectionHistory::kAskBytes);
  history.Judge(kLimits, Seen(counts, 20));
  EXPECT_EQ(history.ask_bytes(), ConnectionHistory::kAskBytes);
}

TEST(KeepBusiest, KeepsTheCandidatesWithTheMostBytes) {
  std::vector<Candidate> candidates;
  for (uint64_t id = 1; id <= 50; ++id) {
    candidates.push_back({.id = id, .bytes = id * 7 % 50});
  }
  KeepBusiest(3, candidates);
  ASSERT_EQ(candidates.size(), 3u);
  uint64_t sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.bytes;
  EXPECT_EQ(sum, 49u + 48u + 47u);
  KeepBusiest(3, candidates);
  EXPECT_EQ(candidates.size(), 3u);
}

TEST(SocketCounts, AreReadFromGrpcsJson) {
  const SocketCounts counts = ParseSocketCounts(
      R"({"data":{"lastRemoteStreamCreatedTimestamp":"2026-11-25T15:48:09Z",)"
      R"("messagesReceived":"3","messagesSent":"4","streamsFailed":"20",)"
      R"("streamsStarted":"335","streamsSucceeded":"100"},)"
      R"("name":"chttp2 ipv4:127.0.0.1:43462","ref":{"socketId":"7"}})");
  EXPECT_EQ(counts.started, 335u);
  EXPECT_EQ(counts.ended, 120u);
  EXPECT_EQ(counts.received, 3u);
  EXPECT_EQ(counts.sent, 4u);
}

TEST(SocketCounts, MissingCountsAreZero) {
  const SocketCounts counts = ParseSocketCounts(R"({"data":{}})");
  EXPECT_EQ(counts.started, 0u);
  EXPECT_EQ(counts.ended, 0u);
  EXPECT_EQ(counts.received, 0u);
  EXPECT_EQ(counts.sent, 0u);
}

}  // namespace
}  // namespace actord::daemon
