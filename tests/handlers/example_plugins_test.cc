// The example plugins as they are shipped, loaded and driven without a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "handlers/plugin_loader.h"
#include "tests/support/fake_process.h"

namespace actord::handlers {
namespace {

using nlohmann::json;
using testing::FakeProcess;
using ::testing::HasSubstr;
using testing::MakePid;

class ExamplePluginTest : public ::testing::Test {
 protected:
  const actord_process_type& Type(const std::string& plugin,
                                  std::string_view type) {
    auto loaded = Plugin::Load(std::string(ACTORD_TEST_PLUGIN_DIR) + "/" +
                               plugin + ".so");
    if (!loaded.ok()) throw std::runtime_error(loaded.status().ToString());
    plugins_.push_back(*std::move(loaded));
    for (const actord_process_type* found : plugins_.back()->process_types()) {
      if (type == found->name) return *found;
    }
    throw std::runtime_error("no such type");
  }

  std::vector<std::unique_ptr<Plugin>> plugins_;
};

using EchoTest = ExamplePluginTest;

TEST_F(EchoTest, GivesItsInputBack) {
  FakeProcess echo(Type("echo", "echo"));
  ASSERT_EQ(echo.Init("run", Payload("a,b", "text/csv")), ACTORD_OK);
  EXPECT_EQ(echo.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(echo.result, (testing::OwnedPayload{"a,b", "text/csv"}));
}

TEST_F(EchoTest, FailsAndRefusesOnDemand) {
  FakeProcess fails(Type("echo", "echo"));
  ASSERT_EQ(fails.Init("fail", "why"), ACTORD_OK);
  EXPECT_EQ(fails.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(fails.failure, Code::kFailedPrecondition);
  EXPECT_EQ(fails.failure_text, "why");
  FakeProcess refuses(Type("echo", "echo"));
  EXPECT_EQ(refuses.Init("refuse", "no"), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(refuses.failure_text, "no");
}

using CounterTest = ExamplePluginTest;

TEST_F(CounterTest, AddsAnswersAndStops) {
  FakeProcess counter(Type("counter", "counter"));
  ASSERT_EQ(counter.Init("run", "10"), ACTORD_OK);
  EXPECT_EQ(counter.Step(), ACTORD_STEP_IDLE);
  counter.Message("add");
  counter.Message("add", "-5");
  counter.Message("get", {}, MakePid(9));
  EXPECT_EQ(counter.Step(), ACTORD_STEP_IDLE);
  ASSERT_EQ(counter.sent.size(), 1u);
  EXPECT_EQ(counter.sent[0].to, MakePid(9));
  EXPECT_EQ(counter.sent[0].topic, "value");
  EXPECT_EQ(counter.sent[0].payload.bytes, "6");
  counter.Message("stop");
  EXPECT_EQ(counter.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(counter.result.bytes, "6");
}

TEST_F(CounterTest, AskedFromOutsideItWritesToTheLog) {
  FakeProcess counter(Type("counter", "counter"));
  ASSERT_EQ(counter.Init(), ACTORD_OK);
  counter.Message("get");
  counter.Step();
  ASSERT_EQ(counter.yields.size(), 1u);
  EXPECT_EQ(counter.yields[0].command, "log.write");
  EXPECT_THAT(counter.yields[0].payload.bytes, HasSubstr("counter: 0"));
}

TEST_F(CounterTest, AnswersWhatItCannotDo) {
  FakeProcess counter(Type("counter", "counter"));
  ASSERT_EQ(counter.Init("run", "9223372036854775807"), ACTORD_OK);
  counter.Message("add", "1", MakePid(9));
  counter.Message("add", "one", MakePid(9));
  counter.Message("addd", "1", MakePid(9));
  EXPECT_EQ(counter.Step(), ACTORD_STEP_IDLE);
  ASSERT_EQ(counter.sent.size(), 3u);
  for (const auto& sent : counter.sent) EXPECT_EQ(sent.topic, "error");
  EXPECT_THAT(counter.sent[1].payload.bytes, HasSubstr("'one'"));
  EXPECT_THAT(counter.sent[2].payload.bytes, HasSubstr("'addd'"));
}

TEST_F(CounterTest, RefusesAnInputThatIsNoInteger) {
  FakeProcess counter(Type("counter", "counter"));
  EXPECT_EQ(counter.Init("run", "1.5"), ACTORD_INVALID_ARGUMENT);
  EXPECT_THAT(counter.failure_text, HasSubstr("'1.5'"));
}

TEST_F(CounterTest, CancelledItEndsWithItsValue) {
  FakeProcess counter(Type("counter", "counter"));
  ASSERT_EQ(counter.Init("run", "3"), ACTORD_OK);
  counter.Cancel("enough");
  EXPECT_EQ(counter.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(counter.result.bytes, "3");
}

class WordCountTest : public ExamplePluginTest {
 protected:
  // Runs what the parent spawned, and hands it their messages.
  void RunChildren(FakeProcess& parent, const actord_process_type& type) {
    const auto spawned = parent.spawned;
    for (const auto& child : spawned) {
      EXPECT_EQ(child.type, "wordcount.chunk");
      FakeProcess process(type, child.pid, MakePid(1));
      ASSERT_EQ(process.Init(child.method, child.input.bytes), ACTORD_OK);
      ASSERT_EQ(process.Step(), ACTORD_STEP_DONE);
      ASSERT_EQ(process.sent.size(), 1u);
      EXPECT_EQ(process.sent[0].to, MakePid(1));
      parent.Message(process.sent[0].topic, process.sent[0].payload.bytes,
                     child.pid);
    }
  }
};

std::string ReadAll(const char* path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  return bytes.str();
}

// What coreutils count: word → count.
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
    // A text that begins with no letter gives one empty line.
    if (fields >> count >> word) counts[word] = count;
  }
  return counts;
}

constexpr char kRealText[] = "/usr/share/common-licenses/GPL-3";

TEST_F(WordCountTest, AgreesWithCoreutilsOnARealText) {
  const std::string text = ReadAll(kRealText);
  ASSERT_FALSE(text.empty()) << kRealText;
  const actord_process_type& type = Type("wordcount", "wordcount");
  const actord_process_type& chunk = Type("wordcount", "wordcount.chunk");
  FakeProcess parent(type);
  const json input = {
      {"path", kRealText}, {"top", 1'000'000}, {"chunk_bytes", 1024}};
  ASSERT_EQ(parent.Init("run", input.dump()), ACTORD_OK);
  EXPECT_EQ(parent.Step(), ACTORD_STEP_BLOCK);
  ASSERT_EQ(parent.yields.size(), 1u);
  EXPECT_EQ(parent.yields[0].command, "file.read");
  parent.Complete(parent.yields[0].tag, text);
  EXPECT_EQ(parent.Step(), ACTORD_STEP_IDLE);
  EXPECT_GT(parent.spawned.size(), 20u);
  RunChildren(parent, chunk);
  ASSERT_EQ(parent.Step(), ACTORD_STEP_DONE);

  const auto expected = CountWithCoreutils(kRealText);
  ASSERT_GT(expected.size(), 500u);
  const json result = json::parse(parent.result.bytes);
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

TEST_F(WordCountTest, KeepsTheTopOfATextInItsInput) {
  const actord_process_type& chunk = Type("wordcount", "wordcount.chunk");
  FakeProcess parent(Type("wordcount", "wordcount"));
  ASSERT_EQ(parent.Init("run", R"({"text":"b a B,c a-b é @[`{","top":2})"),
            ACTORD_OK);
  EXPECT_EQ(parent.Step(), ACTORD_STEP_IDLE);
  RunChildren(parent, chunk);
  ASSERT_EQ(parent.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(parent.result.bytes,
            R"({"words":6,"distinct":3,"top":[{"word":"b","count":3},)"
            R"({"word":"a","count":2}]})");
}

TEST_F(WordCountTest, TakesAnInputThatIsNoJsonAsTheText) {
  const actord_process_type& chunk = Type("wordcount", "wordcount.chunk");
  FakeProcess parent(Type("wordcount", "wordcount"));
  ASSERT_EQ(parent.Init("run", Payload::Text("a {b} a")), ACTORD_OK);
  EXPECT_EQ(parent.Step(), ACTORD_STEP_IDLE);
  RunChildren(parent, chunk);
  ASSERT_EQ(parent.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(json::parse(parent.result.bytes)["words"], 3);
}

TEST_F(WordCountTest, CountsNoMessageButItsChildren) {
  FakeProcess parent(Type("wordcount", "wordcount"));
  ASSERT_EQ(parent.Init("run", R"({"text":"a"})"), ACTORD_OK);
  parent.Step();
  const Pid child = parent.spawned.at(0).pid;
  parent.Message("counts", R"({"z":9})", MakePid(77));
  parent.Message("counts", R"({"z":9})");
  EXPECT_EQ(parent.Step(), ACTORD_STEP_IDLE);
  parent.Message("counts", R"({"a":1})", child);
  EXPECT_EQ(parent.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(json::parse(parent.result.bytes)["words"], 1);
}

TEST_F(WordCountTest, FailsWithTheReasonsOfOthers) {
  const actord_process_type& type = Type("wordcount", "wordcount");
  FakeProcess unreadable(type);
  ASSERT_EQ(unreadable.Init("run", R"({"path":"/x"})"), ACTORD_OK);
  unreadable.Step();
  unreadable.Complete(1, "there is no file", Code::kNotFound);
  EXPECT_EQ(unreadable.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(unreadable.failure, Code::kNotFound);

  FakeProcess no_room(type);
  no_room.spawn_limit = 0;
  ASSERT_EQ(no_room.Init("run", R"({"text":"a"})"), ACTORD_OK);
  EXPECT_EQ(no_room.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(no_room.failure, Code::kResourceExhausted);

  FakeProcess late(type);
  ASSERT_EQ(late.Init("run", R"({"text":"a"})"), ACTORD_OK);
  late.Step();
  ASSERT_EQ(late.yields.size(), 1u);
  EXPECT_EQ(late.yields[0].command, "timer.sleep");
  late.Complete(late.yields[0].tag);
  EXPECT_EQ(late.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(late.failure, Code::kDeadlineExceeded);
}

TEST_F(WordCountTest, RefusesBadInput) {
  for (const char* input :
       {"", "[]", "{}", R"({"path":"/x","text":"a"})", R"({"path":1})",
        R"({"text":"a","chunk_bytes":10})", R"({"text":"a","top":"x"})"}) {
    FakeProcess parent(Type("wordcount", "wordcount"));
    EXPECT_EQ(parent.Init("run", input), ACTORD_INVALID_ARGUMENT) << input;
  }
}

class OrderTest : public ExamplePluginTest {
 protected:
  // Takes an order to the point where `command` has been yielded.
  std::unique_ptr<FakeProcess> Until(std::string_view command) {
    auto order = std::make_unique<FakeProcess>(Type("order", "order"));
    EXPECT_EQ(order->Init("run", R"({"order":"o-1","amount_cents":1999,)"
                                 R"("hold_ms":50,"payment_timeout_ms":2000})"),
              ACTORD_OK);
    EXPECT_EQ(order->Step(), ACTORD_STEP_BLOCK);
    while (order->yields.at(0).command != command) {
      order->Complete(order->yields[0].tag);
      EXPECT_EQ(order->Step(), ACTORD_STEP_BLOCK);
    }
    return order;
  }

  static void ExpectCompensated(FakeProcess& order, const std::string& why) {
    ASSERT_EQ(order.yields.size(), 1u) << "gives the reservation back";
    EXPECT_THAT(order.yields[0].payload.bytes, HasSubstr("o-1: released"));
    order.Complete(order.yields[0].tag);
    ASSERT_EQ(order.Step(), ACTORD_STEP_DONE);
    EXPECT_EQ(
        json::parse(order.result.bytes),
        json({{"order", "o-1"}, {"status", "compensated"}, {"why", why}}));
  }
};

TEST_F(OrderTest, ReservesHoldsAndCharges) {
  const auto order = Until("timer.sleep");
  EXPECT_EQ(order->yields[0].payload.bytes, R"({"duration_ms":50})");
  order->Complete(order->yields[0].tag);
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  EXPECT_EQ(order->yields[0].command, "payment.charge");
  EXPECT_EQ(order->yields[0].timeout_ns, 2'000'000'000u);
  EXPECT_EQ(json::parse(order->yields[0].payload.bytes),
            json({{"order", "o-1"}, {"amount_cents", 1999}}));
  order->Complete(order->yields[0].tag, "receipt 7");
  ASSERT_EQ(order->Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(json::parse(order->result.bytes), json({{"order", "o-1"},
                                                    {"status", "charged"},
                                                    {"payment", "receipt 7"}}));
}

TEST_F(OrderTest, CompensatesARefusedPayment) {
  const auto order = Until("payment.charge");
  order->Complete(order->yields[0].tag, "card declined",
                  Code::kFailedPrecondition);
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  ExpectCompensated(*order, "payment refused: card declined");
}

TEST_F(OrderTest, CompensatesAPaymentThatDoesNotCome) {
  const auto order = Until("payment.charge");
  order->Complete(order->yields[0].tag, "deadline", Code::kDeadlineExceeded);
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  ExpectCompensated(*order, "payment timed out");
}

TEST_F(OrderTest, CancelledBeforeThePaymentItCompensates) {
  const auto order = Until("timer.sleep");
  order->Cancel("shop closes");
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  ExpectCompensated(*order, "cancelled: shop closes");
}

TEST_F(OrderTest, CancelledDuringThePaymentItWaitsForItsOutcome) {
  const auto order = Until("payment.charge");
  const Tag payment = order->yields[0].tag;
  order->Cancel("shop closes");
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  EXPECT_TRUE(order->yields.empty());
  order->Complete(payment, "receipt 7");
  ASSERT_EQ(order->Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(json::parse(order->result.bytes)["status"], "charged");
}

TEST_F(OrderTest, FailsWhenItCannotCompensate) {
  const auto order = Until("payment.charge");
  order->Complete(order->yields[0].tag, "no", Code::kAborted);
  ASSERT_EQ(order->Step(), ACTORD_STEP_BLOCK);
  order->Complete(order->yields.at(0).tag, "no warehouse", Code::kUnavailable);
  EXPECT_EQ(order->Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(order->failure, Code::kUnavailable);
}

TEST_F(OrderTest, SurvivesAReceiptThatIsNoUtf8) {
  const auto order = Until("payment.charge");
  order->Complete(order->yields[0].tag, "\xff\xfe");
  ASSERT_EQ(order->Step(), ACTORD_STEP_DONE);
  EXPECT_TRUE(json::accept(order->result.bytes));
}

TEST_F(OrderTest, RefusesBadInput) {
  for (const char* input :
       {"", "{}", R"({"order":"o"})", R"({"order":1,"amount_cents":1})",
        R"({"order":"o","amount_cents":0})",
        R"({"order":"o","amount_cents":1,"hold_ms":-1})",
        R"({"order":"o","amount_cents":1,"payment_timeout_ms":1e12})"}) {
    FakeProcess order(Type("order", "order"));
    EXPECT_EQ(order.Init("run", input), ACTORD_INVALID_ARGUMENT) << input;
  }
}

}  // namespace
}  // namespace actord::handlers
