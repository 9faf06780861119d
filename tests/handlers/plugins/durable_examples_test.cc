// The example plugins as durable types: the harness crashes them after each
// step.
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/handlers/plugins/plugged.h"

namespace {

using namespace std::chrono_literals;
using actord::Code;
using actord::OwnedPayload;
using actord::Pid;
using actord::Result;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using actord::testing::HarnessOptions;
using actord::testing::Plugged;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr uint64_t kCrashSeeds = 20;

std::string TextOf(const Pid& pid) {
  return std::to_string(pid.node) + "." + std::to_string(pid.incarnation) +
         "." + std::to_string(pid.slot) + "." + std::to_string(pid.generation);
}

// A harness whose processes crash after each step.
class Crashing : public Plugged {
 public:
  explicit Crashing(const std::string& plugin,
                    const HarnessOptions& options = {})
      : Plugged(plugin, options) {
    CrashEverywhere();
  }
};

TEST(DurableCounterTest, CountsOnAfterEachCrash) {
  ForEachSeed(kCrashSeeds, [](uint64_t seed) {
    Crashing harness("counter", {.seed = seed});
    const Pid counter = harness.Submit("counter", "run", "10");
    for (int i = 0; i < 5; ++i) {
      harness.Deliver(counter, "add", std::to_string(i));
      harness.Run();
    }
    EXPECT_EQ(harness.Call(counter, "get").value().bytes, "20");
    harness.Cancel(counter);
    EXPECT_EQ(harness.ExpectResult(counter).bytes, "20");
  });
}

TEST(DurableOrderTest, IsChargedOnceOverAllCrashes) {
  ForEachSeed(kCrashSeeds, [](uint64_t seed) {
    Crashing harness("order", {.seed = seed});
    const Pid order =
        harness.Submit("order", "run", R"({"order":"7","amount_cents":5})");
    harness.Advance(100ms);
    harness.CompleteNext("payment.charge", {"receipt", "text/plain"});
    const json result = json::parse(harness.ExpectResult(order).bytes);
    EXPECT_EQ(result.at("status"), "charged");
    EXPECT_TRUE(harness.Held("payment.charge").empty());
    const Pid cancelled =
        harness.Submit("order", "run", R"({"order":"8","amount_cents":5})");
    harness.Run();
    harness.Cancel(cancelled);
    EXPECT_THAT(harness.ExpectResult(cancelled).bytes, HasSubstr("cancelled"));
  });
}

class AccountTest : public ::testing::Test {
 protected:
  explicit AccountTest(uint64_t seed = 1)
      : harness_("account", {.seed = seed}) {}

  Pid Open(int64_t balance) {
    return harness_.Submit("account", "run", json{{"balance", balance}}.dump());
  }
  int64_t Balance(const Pid& account) {
    return json::parse(harness_.Call(account, "balance").value().bytes)
        .at("balance");
  }
  Result<> Transfer(const Pid& from, const Pid& to, std::string_view id,
                    int64_t amount) {
    return harness_.Call(
        from, "transfer",
        json{{"id", id}, {"amount", amount}, {"to", TextOf(to)}}.dump());
  }

  Crashing harness_;
};

TEST_F(AccountTest, MovesMoney) {
  const Pid a = Open(10);
  const Pid b = harness_.Submit("account");
  EXPECT_EQ(Transfer(a, b, "t1", 3).value().bytes, R"({"balance":7})");
  EXPECT_EQ(Balance(a), 7);
  EXPECT_EQ(Balance(b), 3);
  EXPECT_EQ(Transfer(b, a, "t1", 1).value().bytes, R"({"balance":2})");
  EXPECT_EQ(Balance(a), 8);
}

TEST_F(AccountTest, ARepeatedIdChangesNothing) {
  const Pid a = Open(10);
  const Pid b = Open(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Transfer(a, b, "t1", 3).value().bytes, R"({"balance":7})");
    EXPECT_EQ(
        harness_.Call(b, "credit", R"({"id":"c","amount":100})").value().bytes,
        R"({"balance":103})");
  }
  EXPECT_EQ(Balance(a) + Balance(b), 110);
}

TEST_F(AccountTest, ARepeatedIdOfATransferOnItsWayIsRefused) {
  const Pid a = Open(10);
  // A probe does not answer by itself.
  const Pid slow = harness_.Probe();
  const std::string order =
      json{{"id", "t"}, {"amount", 4}, {"to", TextOf(slow)}}.dump();
  harness_.Deliver(a, "transfer", order);
  harness_.Run();
  EXPECT_EQ(Balance(a), 6);
  EXPECT_EQ(Transfer(a, slow, "t", 4).status().code(), Code::kUnavailable);
  EXPECT_EQ(harness_.MessagesAt(slow), 1u);
  const auto credit = harness_.ExpectMessage(slow, "credit");
  EXPECT_TRUE(harness_.Reply(credit));
  EXPECT_EQ(Transfer(a, slow, "t", 4).value().bytes, R"({"balance":6})");
  EXPECT_EQ(harness_.MessagesAt(slow), 0u);
}

TEST_F(AccountTest, GivesTheAmountBackIfItDoesNotArrive) {
  const Pid a = Open(10);
  const Pid full = Open(1'000'000'000'000);
  EXPECT_EQ(Transfer(a, full, "t1", 3).status().code(), Code::kOutOfRange);
  EXPECT_EQ(Balance(a), 10);
  const Pid ended = Open(0);
  harness_.Terminate(ended);
  EXPECT_EQ(Transfer(a, ended, "t2", 3).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Balance(a), 10);
  // The same id may be tried again, because nothing has moved.
  const Pid b = Open(0);
  EXPECT_TRUE(Transfer(a, b, "t2", 3).ok());
  EXPECT_EQ(Balance(b), 3);
}

TEST_F(AccountTest, RefusesImpossibleRequests) {
  const Pid a = Open(10);
  const Pid b = Open(0);
  EXPECT_EQ(Transfer(a, b, "t", 11).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Transfer(a, a, "t", 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Transfer(a, b, "t", 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Transfer(a, b, "t", -1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Transfer(a, b, "", 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Transfer(a, b, std::string(101, 'i'), 1).status().code(),
            Code::kInvalidArgument);
  for (const char* order :
       {"", "[]", "no JSON", R"({"id":1,"amount":1})", R"({"id":"x"})",
        R"({"id":"x","amount":1.5})", R"({"id":"x","amount":1})",
        R"({"id":"x","amount":1,"to":"nobody"})"}) {
    EXPECT_EQ(harness_.Call(a, "transfer", order).status().code(),
              Code::kInvalidArgument)
        << order;
  }
  EXPECT_EQ(harness_.Call(a, "steal").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Balance(a), 10);
  for (const char* input : {"{}", R"({"balance":-1})", R"({"balance":"x"})"}) {
    harness_.ExpectRefused(Code::kInvalidArgument, "account", "run", input);
  }
}

TEST_F(AccountTest, AnErrorNamesTheFieldAndTheRightValue) {
  const Pid a = Open(10);
  const std::pair<const char*, const char*> errors[] = {
      {"[]", "the payload is []: it must be an object"},
      {"{}", "id is missing: it must be a text of 1 to 100 bytes"},
      {R"({"id":"x","amount":1e99})",
       "amount is 1e+99: it must be a whole number from 1 to 1000000000000"},
      {R"({"id":"x","amount":18446744073709551615})",
       "amount is 18446744073709551615: it must be a whole number from 1 to "
       "1000000000000"},
      {R"({"id":"x","amount":1,"to":"nobody"})",
       "to is \"nobody\": it must be the PID of another account"}};
  for (const auto& [order, error] : errors) {
    EXPECT_EQ(harness_.Call(a, "transfer", order).status().message(), error);
  }
}

TEST_F(AccountTest, AMistakeOfAMessageIsLogged) {
  const Pid a = Open(10);
  harness_.Deliver(a, "credit", "no JSON");
  harness_.Run();
  ASSERT_EQ(harness_.log().size(), 1u);
  EXPECT_THAT(harness_.log()[0].text, HasSubstr("not valid JSON at byte 2"));
}

TEST_F(AccountTest, RemembersTheLastHundredIds) {
  const Pid a = Open(0);
  const auto credit = [&](int id) {
    harness_.Deliver(a, "credit",
                     json{{"id", std::to_string(id)}, {"amount", 1}}.dump());
    harness_.Run();
  };
  for (int id = 0; id < 101; ++id) credit(id);
  EXPECT_EQ(Balance(a), 101);
  credit(1);
  EXPECT_EQ(Balance(a), 101);
  credit(0);
  EXPECT_EQ(Balance(a), 102);
}

// The bank neither makes nor loses money, no matter which transfers are
// repeated or refused, and when processes crash.
TEST(BankTest, KeepsItsSum) {
  ForEachSeed(kCrashSeeds, [](uint64_t seed) {
    constexpr int kAccounts = 5;
    Crashing harness("account", {.seed = seed});
    std::mt19937_64 random(seed);
    std::vector<Pid> bank;
    for (int i = 0; i < kAccounts; ++i) {
      bank.push_back(harness.Submit("account", "run", R"({"balance":20})"));
    }
    std::vector<std::pair<Pid, std::string>> sent;
    for (int i = 0; i < 40; ++i) {
      const Pid from = bank[random() % kAccounts];
      const Pid to = bank[random() % kAccounts];
      const std::string order = json{
          {"id", std::to_string(i)},
          {"amount", 1 + random() % 10},
          {"to", TextOf(to)}}.dump();
      sent.emplace_back(from, order);
      harness.Deliver(from, "transfer", order);
      // A client that has got no answer repeats itself.
      const auto& [again_from, again] = sent[random() % sent.size()];
      harness.Deliver(again_from, "transfer", again);
      if (random() % 3 == 0) harness.RunOne();
    }
    harness.Run();
    int64_t sum = 0;
    for (const Pid& account : bank) {
      const int64_t balance =
          json::parse(harness.Call(account, "balance").value().bytes)
              .at("balance");
      EXPECT_GE(balance, 0);
      sum += balance;
    }
    EXPECT_EQ(sum, 20 * kAccounts);
  });
}

}  // namespace
