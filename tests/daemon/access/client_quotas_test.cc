#include "daemon/access/client_quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/access/method_rules.h"
#include "runtime/process/errors.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

using runtime::Owner;
using ::testing::HasSubstr;

constexpr Owner kAlice{1};
constexpr Owner kBob{2};

class ClientQuotasTest : public ::testing::Test {
 protected:
  void Set(const QuotaSettings& settings) {
    quotas_.emplace(settings, clock_);
    alice_ = quotas_->Of(kAlice);
    bob_ = quotas_->Of(kBob);
  }
  void Expect(const absl::Status& status, const std::string& quota,
              const std::string& limit, absl::Duration delay) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(runtime::ReasonOf(status), runtime::reason::kClientQuota);
    EXPECT_EQ(runtime::QuotaOf(status), quota);
    EXPECT_EQ(runtime::QuotaLimitOf(status), limit);
    EXPECT_EQ(runtime::RetryDelayOf(status), delay);
    EXPECT_THAT(std::string(status.message()), HasSubstr("quotas." + quota));
  }
  uint64_t Refused() {
    DaemonStats stats;
    quotas_->WriteStats(stats);
    return stats.client_quota_limit;
  }
  uint64_t Delayed() {
    DaemonStats stats;
    quotas_->WriteStats(stats);
    return stats.client_quota_delays;
  }

  FakeClock clock_;
  std::optional<ClientQuotas> quotas_;
  ClientQuota* alice_ = nullptr;
  ClientQuota* bob_ = nullptr;
};

TEST_F(ClientQuotasTest, WithoutAQuotaThereIsNothing) {
  Set({.request_burst = 5, .bytes_burst = 5});
  EXPECT_EQ(alice_, nullptr);
  Set({.streams = 1});
  EXPECT_NE(alice_, nullptr);
  EXPECT_NE(alice_, bob_);
  EXPECT_EQ(alice_, quotas_->Of(kAlice));
  EXPECT_EQ(quotas_->Of(Owner::kNobody), nullptr);
}

TEST_F(ClientQuotasTest, DelayIsExact) {
  Set({.requests_per_second = 3, .request_burst = 2});
  EXPECT_TRUE(alice_->Take(1, 1'000'000).ok());
  EXPECT_TRUE(alice_->Take(1, 1'000'000).ok());
  const absl::Duration delay = absl::Nanoseconds(333'333'334);
  Expect(alice_->Take(1, 0), "requests_per_second", "3", delay);
  clock_.Advance(delay - absl::Nanoseconds(1));
  Expect(alice_->Take(1, 0), "requests_per_second", "3", absl::Nanoseconds(1));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(alice_->Take(1, 0).ok());
  EXPECT_FALSE(alice_->Take(1, 0).ok());
  EXPECT_EQ(Refused(), 3u);
}

TEST_F(ClientQuotasTest, AnotherClientIsNotTouched) {
  Set({.requests_per_second = 1, .bytes_per_second = 1024, .streams = 1});
  EXPECT_TRUE(alice_->Take(1, 10'000'000).ok());
  EXPECT_FALSE(alice_->Take(1, 0).ok());
  EXPECT_TRUE(alice_->TakeStream().ok());
  EXPECT_FALSE(alice_->TakeStream().ok());
  EXPECT_TRUE(bob_->Take(1, 10'000'000).ok());
  EXPECT_TRUE(bob_->TakeStream().ok());
}

TEST_F(ClientQuotasTest, BurstIsOneSecondUnlessSet) {
  Set({.requests_per_second = 100});
  int admitted = 0;
  while (alice_->Take(1, 0).ok()) ++admitted;
  EXPECT_EQ(admitted, 100);
  Expect(alice_->Take(10, 0), "requests_per_second", "100",
         absl::Milliseconds(100));
}

TEST_F(ClientQuotasTest, BytesAreCountedApartFromRequests) {
  Set({.bytes_per_second = 1'000'000, .bytes_burst = 500'000});
  EXPECT_TRUE(alice_->Take(1, 400'000).ok());
  Expect(alice_->Take(1, 300'000), "bytes_per_second", "1000000",
         absl::Milliseconds(200));
  EXPECT_TRUE(alice_->Take(1, 100'000).ok());
  EXPECT_TRUE(alice_->Take(1, 0).ok()) << "no bytes";
  clock_.Advance(absl::Milliseconds(500));
  // Above the burst, after a rest.
  EXPECT_TRUE(alice_->Take(1, 2'000'000).ok());
  Expect(alice_->Take(1, 1), "bytes_per_second", "1000000",
         absl::Milliseconds(1500) + absl::Microseconds(1));
}

TEST_F(ClientQuotasTest, ARefusedCallSpendsNothing) {
  Set({.requests_per_second = 2,
       .bytes_per_second = 1'000'000,
       .bytes_burst = 1024});
  EXPECT_TRUE(alice_->Take(1, 1'000'000).ok());
  // Refused for its bytes: the second request is there for the next call.
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(alice_->Take(1, 1'000'000).ok());
  EXPECT_TRUE(alice_->Take(1, 0).ok());
  EXPECT_FALSE(alice_->Take(1, 0).ok());
  EXPECT_EQ(Refused(), 4u);
}

TEST_F(ClientQuotasTest, TheLongerOfTwoDelaysIsTold) {
  Set({.requests_per_second = 1, .bytes_per_second = 1'000'000});
  EXPECT_TRUE(alice_->Take(1, 5'000'000).ok());
  const absl::Status status = alice_->Take(1, 1'000'000);
  Expect(status, "bytes_per_second", "1000000", absl::Seconds(5));
  clock_.Advance(absl::Seconds(5));
  EXPECT_TRUE(alice_->Take(1, 1'000'000).ok());
}

TEST_F(ClientQuotasTest, ReadsWaitForWhatWasCharged) {
  Set({.requests_per_second = 100, .request_burst = 50});
  EXPECT_EQ(alice_->Left(alice_->BeginPause()), absl::ZeroDuration());
  EXPECT_EQ(Delayed(), 0u);
  alice_->Charge(250, 0);
  const ClientQuota::Pause pause = alice_->BeginPause();
  EXPECT_EQ(alice_->Left(pause), absl::Seconds(2));
  EXPECT_EQ(Delayed(), 1u);
  // Further calls of the client do not make the pause longer.
  alice_->Charge(100, 0);
  clock_.Advance(absl::Seconds(2) - absl::Nanoseconds(1));
  EXPECT_EQ(alice_->Left(pause), absl::Nanoseconds(1));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(alice_->Left(pause), absl::ZeroDuration());
  EXPECT_EQ(alice_->Left(alice_->BeginPause()), absl::Seconds(1));
  EXPECT_EQ(bob_->Left(bob_->BeginPause()), absl::ZeroDuration());
}

TEST_F(ClientQuotasTest, ReadsWaitForBytes) {
  Set({.bytes_per_second = 1'000'000});
  alice_->Charge(1, 3'000'000);
  EXPECT_EQ(alice_->Left(alice_->BeginPause()), absl::Seconds(2));
}

TEST_F(ClientQuotasTest, NewQuotasBeginAnewAndEndPauses) {
  const QuotaSettings slow{.requests_per_second = 1};
  Set(slow);
  alice_->Charge(1'000'000, 0);
  const ClientQuota::Pause pause = alice_->BeginPause();
  quotas_->Set(slow);
  EXPECT_GT(alice_->Left(pause), absl::Hours(1)) << "nothing has changed";
  quotas_->Set({.requests_per_second = 1000});
  EXPECT_EQ(alice_->Left(pause), absl::ZeroDuration());
  EXPECT_EQ(alice_->Left(alice_->BeginPause()), absl::ZeroDuration());
  EXPECT_TRUE(alice_->Take(1000, 0).ok());
  EXPECT_FALSE(alice_->Take(1, 0).ok());
  quotas_->Set({});
  EXPECT_EQ(quotas_->Of(kAlice), nullptr);
  EXPECT_EQ(quotas_->settings(), QuotaSettings());
}

TEST_F(ClientQuotasTest, StreamsAreCountedUntilTheirSlotEnds) {
  Set({.streams = 2});
  ASSERT_TRUE(alice_->TakeStream().ok());
  StreamSlot first(alice_);
  ASSERT_TRUE(alice_->TakeStream().ok());
  StreamSlot second(alice_);
  Expect(alice_->TakeStream(), "streams", "2", absl::Seconds(1));
  first.Release();
  first.Release();
  ASSERT_TRUE(alice_->TakeStream().ok());
  first = StreamSlot(alice_);
  EXPECT_FALSE(alice_->TakeStream().ok());
  {
    const StreamSlot moved = std::move(second);
    EXPECT_FALSE(alice_->TakeStream().ok());
  }
  EXPECT_TRUE(alice_->TakeStream().ok());
  EXPECT_FALSE(alice_->TakeStream().ok());
}

TEST_F(ClientQuotasTest, ThreadsNeverHaveMoreStreamsThanTheQuota) {
  Set({.streams = 3});
  std::atomic<int> open{0};
  std::atomic<bool> above{false};
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        if (!alice_->TakeStream().ok()) continue;
        const StreamSlot slot(alice_);
        taken.fetch_add(1);
        if (open.fetch_add(1) >= 3) above = true;
        open.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(above);
  EXPECT_GT(taken.load(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(alice_->TakeStream().ok());
  EXPECT_FALSE(alice_->TakeStream().ok());
}

TEST(QuotaWeights, ListsCountAsTenRequests) {
  for (const MethodRule& rule : MethodRules()) {
    const bool is_list =
        rule.method.starts_with("List") || rule.method == "WatchProcesses" ||
        rule.method == "ReadHistory" || rule.method == "RetryQuarantine";
    EXPECT_EQ(rule.requests, is_list ? 10u : 1u) << rule.method;
  }
}

TEST_F(ClientQuotasTest, QuotasOfAnOwnerReplaceTheCommonQuotas) {
  Set({.requests_per_second = 1, .request_burst = 1, .streams = 1});
  quotas_->Set({.requests_per_second = 1, .request_burst = 1, .streams = 1},
               {{kAlice, {.streams = 2}}});
  // Alice has no rate any more, and Bob has.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(alice_->Take(1, 0).ok());
  EXPECT_TRUE(bob_->Take(1, 0).ok());
  Expect(bob_->Take(1, 0), "requests_per_second", "1", absl::Seconds(1));
  EXPECT_TRUE(alice_->TakeStream().ok());
  EXPECT_TRUE(alice_->TakeStream().ok());
  Expect(alice_->TakeStream(), "streams", "2", absl::Seconds(1));
  EXPECT_TRUE(bob_->TakeStream().ok());
  Expect(bob_->TakeStream(), "streams", "1", absl::Seconds(1));
  // The quotas of tokens hold without any quota in the configuration.
  quotas_->Set({}, {{kBob, {.streams = 1}}});
  EXPECT_EQ(quotas_->Of(kBob), bob_);
  EXPECT_TRUE(alice_->TakeStream().ok());
  quotas_->Set({});
  EXPECT_EQ(quotas_->Of(kBob), nullptr);
}

TEST_F(ClientQuotasTest, AStreamThatIsOpenAlreadyIsCountedAboveTheQuota) {
  Set({.streams = 1});
  EXPECT_TRUE(alice_->TakeStream().ok());
  alice_->CountStream();
  alice_->GiveStream();
  Expect(alice_->TakeStream(), "streams", "1", absl::Seconds(1));
  alice_->GiveStream();
  EXPECT_TRUE(alice_->TakeStream().ok());
}

}  // namespace
}  // namespace actord::daemon
