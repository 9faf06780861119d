// Runs the example plugins, as they are shipped, in the harness for plugin
// authors.
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "tests/handlers/plugins/plugged.h"

namespace {

using namespace std::chrono_literals;
using actord::Code;
using actord::LogLevel;
using actord::OwnedPayload;
using actord::Pid;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using actord::testing::HarnessOptions;
using actord::testing::HeldYield;
using actord::testing::Plugged;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr uint64_t kSeeds = 50;

TEST(EchoTest, GivesItsInputBack) {
  Plugged harness("echo");
  const OwnedPayload input("a,b", "text/csv");
  EXPECT_EQ(harness.ExpectResult(harness.Submit("echo", "run", input)), input);
}

TEST(EchoTest, FailsAndRefusesOnDemand) {
  Plugged harness("echo");
  EXPECT_EQ(harness.ExpectFailed(harness.Submit("echo", "fail", "why"),
                                 Code::kFailedPrecondition),
            "why");
  EXPECT_EQ(
      harness.ExpectRefused(Code::kInvalidArgument, "echo", "refuse", "no"),
      "no");
}

TEST(CounterTest, AddsAnswersAndStops) {
  ForEachSeed(kSeeds, [](uint64_t seed) {
    Plugged harness("counter", {.seed = seed});
    const Pid probe = harness.Probe();
    const Pid counter = harness.Submit("counter", "run", "10");
    harness.Deliver(counter, "add");
    harness.Deliver(counter, "add", "-5");
    harness.Deliver(counter, "get", {}, probe);
    EXPECT_EQ(harness.ExpectMessage(probe, "value").payload.bytes, "6");
    harness.Deliver(counter, "stop");
    EXPECT_EQ(harness.ExpectResult(counter).bytes, "6");
  });
}

TEST(CounterTest, CounterAskedFromOutsideWritesToTheLog) {
  Plugged harness("counter");
  harness.Deliver(harness.Submit("counter"), "get");
  harness.Run();
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_EQ(harness.log()[0].level, LogLevel::kInfo);
  EXPECT_THAT(harness.log()[0].text, HasSubstr("counter: 0"));
}

TEST(CounterTest, AnswersImpossibleRequestsWithAnError) {
  Plugged harness("counter");
  const Pid probe = harness.Probe();
  const Pid counter = harness.Submit("counter", "run", "9223372036854775807");
  const auto answer = [&](std::string_view topic, std::string_view payload) {
    harness.Deliver(counter, topic, payload, probe);
    return harness.ExpectMessage(probe, "error").payload.bytes;
  };
  EXPECT_THAT(answer("add", "1"), HasSubstr("'1'"));
  EXPECT_THAT(answer("add", "one"), HasSubstr("'one'"));
  EXPECT_THAT(answer("addd", "1"), HasSubstr("'addd'"));
  EXPECT_TRUE(harness.IsLive(counter));
}

TEST(CounterTest, AnswersCalls) {
  Plugged harness("counter");
  const Pid counter = harness.Submit("counter", "run", "40");
  EXPECT_EQ(harness.Call(counter, "add", "2").value().bytes, "42");
  EXPECT_EQ(harness.Call(counter, "get").value().bytes, "42");
  EXPECT_EQ(harness.Call(counter, "add", "two").error().code,
            Code::kInvalidArgument);
  EXPECT_THAT(harness.Call(counter, "what").error().message,
              HasSubstr("known are add, get, stop"));
  EXPECT_TRUE(harness.log().empty());
  EXPECT_EQ(harness.Call(counter, "stop").value().bytes, "42");
  EXPECT_EQ(harness.ExpectResult(counter).bytes, "42");
}

TEST(CounterTest, RefusesAnInputThatIsNoInteger) {
  Plugged harness("counter");
  EXPECT_THAT(
      harness.ExpectRefused(Code::kInvalidArgument, "counter", "run", "1.5"),
      HasSubstr("'1.5'"));
}

TEST(CounterTest, CancelledCounterEndsWithItsValue) {
  Plugged harness("counter");
  const Pid counter = harness.Submit("counter", "run", "3");
  harness.Cancel(counter, "enough");
  EXPECT_EQ(harness.ExpectResult(counter).bytes, "3");
}

std::string ReadAll(const char* path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  return bytes.str();
}

// The counts of coreutils: word → count.
std::map<std::string, uint64_t> CountWithCoreutils(const std::string& path) {
  const std::string command = "tr -cs 'A-Za-z' '\\n' <'" + path +
                              "' | tr A-Z a-z | LC_ALL=C sort | uniq -c";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"),
                                             &pclose);
  std::map<std::string, uint64_t> counts;
  char line[256];
  while (pipe != nullptr && fgets(line, sizeof(line), pipe.get()) != nullptr) {
    std::istringstream fields(line);
    uint64_t count = 0;
    std::string word;
    // A text that does not begin with a letter gives one empty line.
    if (fields >> count >> word) counts[word] = count;
  }
  return counts;
}

constexpr char kRealText[] = "/usr/share/common-licenses/GPL-3";

TEST(WordCountTest, AgreesWithCoreutilsOnARealText) {
  const std::string text = ReadAll(kRealText);
  ASSERT_FALSE(text.empty()) << kRealText;
  Plugged harness("wordcount");
  const json input = {
      {"path", kRealText}, {"top", 1'000'000}, {"chunk_bytes", 1024}};
  const Pid parent =
      harness.Submit("wordcount", "run", OwnedPayload::Json(input.dump()));
  harness.CompleteNext("file.read", text);
  const std::string counts = harness.ExpectResult(parent).bytes;

  const auto expected = CountWithCoreutils(kRealText);
  ASSERT_GT(expected.size(), 500u);
  const json result = json::parse(counts);
  std::map<std::string, uint64_t> counted;
  uint64_t total = 0;
  std::optional<std::pair<uint64_t, std::string>> before;
  for (const json& entry : result["top"]) {
    const std::string word = entry["word"];
    const uint64_t count = entry["count"];
    counted[word] = count;
    total += count;
    if (before) {
      EXPECT_TRUE(before->first > count ||
                  (before->first == count && before->second < word))
          << word;
    }
    before = {count, word};
  }
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(result["words"], total);
  EXPECT_EQ(result["distinct"], expected.size());
}

TEST(WordCountTest, KeepsTheTopOfATextWhicheverChildIsFirst) {
  // Chunks of 1,024 bytes, so that there are several children.
  std::string text;
  for (int i = 0; i < 600; ++i) text += i % 3 == 0 ? "a " : "b B,c a-b é @[`{";
  std::string first;
  ForEachSeed(kSeeds, [&](uint64_t seed) {
    Plugged harness("wordcount", {.seed = seed});
    const json input = {{"text", text}, {"top", 2}, {"chunk_bytes", 1024}};
    const Pid parent =
        harness.Submit("wordcount", "run", OwnedPayload::Json(input.dump()));
    const std::string counts = harness.ExpectResult(parent).bytes;
    EXPECT_TRUE(harness.Live().empty());
    if (first.empty()) first = counts;
    EXPECT_EQ(counts, first);
  });
  EXPECT_EQ(first,
            R"({"words":2200,"distinct":3,"top":[{"word":"b","count":1200},)"
            R"({"word":"a","count":600}]})");
}

TEST(WordCountTest, TakesAnInputThatIsNoJsonAsTheText) {
  Plugged harness("wordcount");
  const Pid parent =
      harness.Submit("wordcount", "run", OwnedPayload::Text("a {b} a"));
  EXPECT_EQ(json::parse(harness.ExpectResult(parent).bytes)["words"], 3);
}

TEST(WordCountTest, CountsNoMessageButItsChildren) {
  ForEachSeed(kSeeds, [](uint64_t seed) {
    Plugged harness("wordcount", {.seed = seed});
    const Pid parent = harness.Submit("wordcount", "run",
                                      OwnedPayload::Json(R"({"text":"a"})"));
    harness.Deliver(parent, "counts", R"({"z":9})", harness.Probe());
    harness.Deliver(parent, "counts", R"({"z":9})");
    EXPECT_EQ(json::parse(harness.ExpectResult(parent).bytes)["words"], 1);
  });
}

TEST(WordCountTest, FailsWithTheReasonsOfOthers) {
  Plugged harness("wordcount");
  const Pid unreadable = harness.Submit("wordcount", "run",
                                        OwnedPayload::Json(R"({"path":"/x"})"));
  harness.FailNext("file.read", Code::kNotFound, "there is no file");
  EXPECT_EQ(harness.ExpectFailed(unreadable, Code::kNotFound),
            "there is no file");

  Plugged full("wordcount", {.max_processes = 1});
  full.ExpectFailed(
      full.Submit("wordcount", "run", OwnedPayload::Json(R"({"text":"a"})")),
      Code::kResourceExhausted);
}

TEST(WordCountTest, DoesNotWaitForEverForAChildThatSaysNothing) {
  ForEachSeed(kSeeds, [](uint64_t seed) {
    Plugged harness("wordcount", {.seed = seed});
    const Pid parent = harness.Submit("wordcount", "run",
                                      OwnedPayload::Json(R"({"path":"/x"})"));
    harness.CompleteNext("file.read", std::string(100'000, 'a') + " b");
    // The child is terminated before its turn.
    while (harness.Live("wordcount.chunk").empty() && harness.RunOne()) {
    }
    for (const Pid& child : harness.Live("wordcount.chunk")) {
      harness.Terminate(child);
    }
    harness.Advance(59s);
    EXPECT_TRUE(harness.IsLive(parent));
    harness.Advance(1s);
    harness.ExpectFailed(parent, Code::kDeadlineExceeded);
  });
}

TEST(WordCountTest, RefusesBadInput) {
  Plugged harness("wordcount");
  for (const char* input :
       {"", "[]", "{}", R"({"path":"/x","text":"a"})", R"({"path":1})",
        R"({"text":"a","chunk_bytes":10})", R"({"text":"a","top":"x"})"}) {
    harness.ExpectRefused(Code::kInvalidArgument, "wordcount", "run",
                          OwnedPayload::Json(input));
  }
}

class OrderTest : public ::testing::Test {
 protected:
  Pid Submit() {
    return harness_.Submit("order", "run",
                           R"({"order":"o-1","amount_cents":1999,)"
                           R"("hold_ms":50,"payment_timeout_ms":2000})");
  }
  // Starts an order and runs it until it waits for its payment.
  Pid AtThePayment() {
    const Pid order = Submit();
    harness_.Advance(50ms);
    EXPECT_EQ(harness_.Held("payment.charge").size(), 1u);
    return order;
  }
  void ExpectCompensated(const Pid& order, const std::string& why) {
    EXPECT_EQ(
        json::parse(harness_.ExpectResult(order).bytes),
        json({{"order", "o-1"}, {"status", "compensated"}, {"why", why}}));
    EXPECT_THAT(harness_.log().back().text, HasSubstr("o-1: released"))
        << "gives the reservation back";
    EXPECT_EQ(harness_.log().back().level, LogLevel::kWarning);
  }

  Plugged harness_{"order"};
};

TEST_F(OrderTest, ReservesHoldsAndCharges) {
  const Pid order = Submit();
  harness_.Run();
  ASSERT_EQ(harness_.log().size(), 1u);
  EXPECT_THAT(harness_.log()[0].text, HasSubstr("o-1: reserved"));
  harness_.Advance(49ms);
  EXPECT_TRUE(harness_.Held().empty()) << "it is held for 50 ms";
  harness_.Advance(1ms);
  const HeldYield charge = harness_.ExpectHeld("payment.charge");
  EXPECT_EQ(charge.deadline, harness_.now() + 2s);
  EXPECT_EQ(json::parse(charge.payload.bytes),
            json({{"order", "o-1"}, {"amount_cents", 1999}}));
  EXPECT_TRUE(harness_.Complete(charge, "receipt 7"));
  EXPECT_EQ(
      json::parse(harness_.ExpectResult(order).bytes),
      json(
          {{"order", "o-1"}, {"status", "charged"}, {"payment", "receipt 7"}}));
}

TEST_F(OrderTest, CompensatesARefusedPayment) {
  const Pid order = AtThePayment();
  harness_.FailNext("payment.charge", Code::kFailedPrecondition,
                    "card declined");
  ExpectCompensated(order, "payment refused: card declined");
}

TEST_F(OrderTest, CompensatesAPaymentThatDoesNotCome) {
  const Pid order = AtThePayment();
  harness_.Advance(2s);
  ExpectCompensated(order, "payment timed out");
}

TEST_F(OrderTest, OrderCancelledBeforeThePaymentCompensates) {
  const Pid order = Submit();
  harness_.Run();
  harness_.Cancel(order, "shop closes");
  ExpectCompensated(order, "cancelled: shop closes");
}

TEST_F(OrderTest, OrderCancelledDuringThePaymentWaitsForItsOutcome) {
  const Pid order = AtThePayment();
  harness_.Cancel(order, "shop closes");
  harness_.Run();
  EXPECT_TRUE(harness_.IsLive(order));
  harness_.CompleteNext("payment.charge", "receipt 7");
  EXPECT_EQ(json::parse(harness_.ExpectResult(order).bytes)["status"],
            "charged");
}

TEST_F(OrderTest, OrderIsEitherChargedOrCompensatedInEveryOrderOfEvents) {
  ForEachSeed(kSeeds, [](uint64_t seed) {
    Plugged harness("order", {.seed = seed});
    const Pid order = harness.Submit(
        "order", "run", R"({"order":"o-1","amount_cents":1,"hold_ms":0})");
    harness.Advance(std::chrono::milliseconds(seed % 2));
    if (seed % 3 == 0) harness.Cancel(order);
    bool paid = false;
    for (const HeldYield& charge : harness.Held("payment.charge")) {
      paid = harness.Complete(charge, "receipt");
    }
    if (seed % 3 == 1) harness.Cancel(order);
    harness.Run();
    if (!paid && !harness.Held("payment.charge").empty()) {
      harness.CompleteNext("payment.charge", "receipt");
      paid = true;
    }
    EXPECT_EQ(json::parse(harness.ExpectResult(order).bytes)["status"],
              paid ? "charged" : "compensated");
  });
}

TEST_F(OrderTest, FailsWhenItCannotCompensate) {
  const Pid order = AtThePayment();
  harness_.Hold("log.write");
  harness_.FailNext("payment.charge", Code::kAborted, "no");
  harness_.FailNext("log.write", Code::kUnavailable, "no warehouse");
  EXPECT_EQ(harness_.ExpectFailed(order, Code::kUnavailable), "no warehouse");
}

TEST_F(OrderTest, SurvivesAReceiptThatIsNoUtf8) {
  const Pid order = AtThePayment();
  harness_.CompleteNext("payment.charge", "\xff\xfe");
  EXPECT_TRUE(json::accept(harness_.ExpectResult(order).bytes));
}

}  // namespace
