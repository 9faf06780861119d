#include "handlers/builtin_handlers.h"

#include <actord/commands.h>
#include <actord/process.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/fake_host.h"

namespace actord::handlers {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::FakeHost;
using ::testing::HasSubstr;
using testing::MakePid;

class BuiltinHandlersTest : public ::testing::Test {
 protected:
  BuiltinHandlersTest() : handlers_(&host_) {
    auto handlers = CreateBuiltinHandlers({}, &host_);
    EXPECT_TRUE(handlers.ok()) << handlers.status();
    handlers_ = *std::move(handlers);
  }

  Answer& Run(std::string_view command, Payload payload) {
    for (const HandlerInstance& handler : handlers_.instances()) {
      if (command == handler.descriptor->command) {
        return host_.Run(*handler.descriptor, handler.self, payload);
      }
    }
    ADD_FAILURE() << "no handler for " << command;
    static Answer none;
    return none;
  }
  template <CommandRequest Request>
  Answer& Run(const Request& request) {
    return Run(request.command(), request.payload());
  }

  FakeHost host_;
  HandlerSet handlers_;
};

TEST_F(BuiltinHandlersTest, HandlersAreTheListedOnes) {
  std::vector<std::string> commands;
  for (const HandlerInstance& handler : handlers_.instances()) {
    commands.emplace_back(handler.descriptor->command);
  }
  EXPECT_THAT(commands,
              ::testing::UnorderedElementsAre(
                  "timer.sleep", "process.spawn", "process.send",
                  "process.cancel", "process.terminate", "name.register",
                  "name.release", "name.lookup", "group.join", "group.leave",
                  "group.members", "group.send", "log.write", "file.read"));
}

TEST_F(BuiltinHandlersTest, SleepReadsEveryWayToWriteANumber) {
  struct Case {
    std::string_view json;
    uint64_t delay_ns;
  };
  const Case cases[] = {
      {R"({"duration_ms":0})", 0},
      {R"({"duration_ms":5})", 5'000'000},
      {R"({"duration_ms":0.25})", 250'000},
      {R"({"duration_ms":12.000001})", 12'000'001},
      {R"( { "duration_ms" : 5 } )", 5'000'000},
      {R"({"duration_ms":1e3})", 1'000'000'000},
      {R"({"duration_ms":1.5e1})", 15'000'000},
      {R"({"duration_ms":315360000000})", 315'360'000'000'000'000},
  };
  for (const Case& c : cases) {
    const Answer& answer = Run("timer.sleep", c.json);
    EXPECT_EQ(answer.code, Code::kOk) << c.json << answer.payload.bytes;
    EXPECT_EQ(answer.delay_ns, c.delay_ns) << c.json;
    EXPECT_EQ(answer.completions, 1);
  }
}

TEST_F(BuiltinHandlersTest, SleepBuilderAndHandlerAgree) {
  for (const Duration duration :
       {Duration(0), Duration(1), Duration(999'999), Duration(1'000'001),
        Duration(5ms), Duration(1h), Duration(24h * 365)}) {
    EXPECT_EQ(Run(commands::Sleep(duration)).delay_ns,
              static_cast<uint64_t>(duration.count()));
  }
  EXPECT_EQ(Run(commands::Sleep(-1ms)).delay_ns, 0u);
}

struct BadPayload {
  std::string_view command;
  std::string payload;
  std::string_view says;
};

TEST_F(BuiltinHandlersTest, BadPayloadsAreRefusedWithWhatWouldBeRight) {
  const std::string deep(100'000, '[');
  const BadPayload cases[] = {
      {"timer.sleep", "", "not JSON"},
      {"timer.sleep", "{", "not JSON"},
      {"timer.sleep", R"({"duration_ms":05})", "not JSON"},
      {"timer.sleep", R"({"duration_ms":1.})", "not JSON"},
      {"timer.sleep", R"({"duration_ms":.5})", "not JSON"},
      {"timer.sleep", deep, "nested deeper than 64"},
      {"timer.sleep", "[]",
       "is a JSON array; wanted is {\"duration_ms\": number}"},
      {"timer.sleep", "{}", "\"duration_ms\" is missing"},
      {"timer.sleep", R"({"duration_ms":"5"})", "is a JSON string"},
      {"timer.sleep", R"({"duration_ms":-1})", "not between 0 and"},
      {"timer.sleep", R"({"duration_ms":315360000001})", "not between 0 and"},
      {"timer.sleep", R"({"duration_ms":99999999999999999999})",
       "not between 0 and"},
      {"timer.sleep", R"({"duration_ms":1,"more":2})", "\"more\" is not known"},
      {"process.spawn", "{}", "\"type\" is missing"},
      {"process.spawn", R"({"type":1})", "\"type\" is a JSON number"},
      {"process.spawn", R"({"type":"t","keep_result":1})", "\"keep_result\""},
      {"process.spawn", R"({"type":"t","args":1})", "\"args\" is not known"},
      {"process.spawn", R"({"type":"t","priority":32})", "\"priority\" is 32"},
      {"process.spawn", R"({"type":"t","priority":-1})", "\"priority\" is -1"},
      {"process.spawn", R"({"type":"t","priority":1.5})", "\"priority\" is 1"},
      {"process.spawn", R"({"type":"t","priority":"9"})",
       "\"priority\" is a JSON string; wanted"},
      {"process.send", "{}", "\"to\" is missing"},
      {"process.send", R"({"to":"nobody"})", "not the text of a PID"},
      {"process.send", R"({"to":"pid-1","topic":{}})", "\"topic\""},
      {"process.spawn", R"({"type":"t","link":1})", "\"link\" is a JSON num"},
      {"process.spawn", R"({"type":"t","monitor":0})", "\"monitor\" is a JSO"},
      {"process.cancel", "{}", "\"pid\" is missing"},
      {"process.cancel", R"({"pid":"nobody"})", "not the text of a PID"},
      {"process.cancel", R"({"pid":"pid-1","why":"x"})", "\"why\" is not"},
      {"process.terminate", R"({"pid":"pid-1","reason":1})", "\"reason\" is"},
      {"log.write", "{}", "\"message\" is missing"},
      {"log.write", R"({"level":"loud","message":"m"})", "\"loud\""},
      {"log.write", "{\"message\":\"\xff\"}", "not JSON"},
      {"file.read", "{}", "\"path\" is missing"},
  };
  for (const BadPayload& c : cases) {
    const Answer& answer = Run(c.command, c.payload);
    SCOPED_TRACE(std::string(c.command) + " " + c.payload.substr(0, 80));
    EXPECT_EQ(answer.code, Code::kInvalidArgument);
    EXPECT_EQ(answer.completions, 1);
    EXPECT_THAT(answer.payload.bytes, HasSubstr(std::string(c.says)));
    EXPECT_THAT(answer.payload.bytes, HasSubstr("; wanted is {"));
  }
  EXPECT_TRUE(host_.spawned.empty());
  EXPECT_TRUE(host_.sent.empty());
  EXPECT_TRUE(host_.logs.empty());
}

// A command's payload may be as large as any; its error would be larger.
TEST_F(BuiltinHandlersTest, NoErrorRepeatsAWholePayload) {
  // As the daemon answers to a name that is none.
  host_.register_name = [](const actord_host*, const actord_pid*, actord_bytes,
                           actord_pid*) -> int32_t {
    return ACTORD_INVALID_ARGUMENT;
  };
  host_.release_name = host_.leave_group =
      [](const actord_host*, const actord_pid*, actord_bytes) -> int32_t {
    return ACTORD_NOT_FOUND;
  };
  host_.look_up_name = [](const actord_host*, actord_bytes,
                          actord_pid*) -> int32_t { return ACTORD_NOT_FOUND; };
  host_.join_group = [](const actord_host*, const actord_pid*,
                        actord_bytes) -> int32_t {
    return ACTORD_INVALID_ARGUMENT;
  };
  host_.group_members = [](const actord_host*, actord_bytes, actord_pid*,
                           size_t) -> size_t { return 0; };
  const std::string large(size_t{1} << 16, 'x');
  std::vector<std::string> payloads = {large, '"' + large,
                                       R"({")" + large + R"(":1})"};
  for (const char* field : {"name", "group", "to", "pid", "topic", "level",
                            "path", "type", "method", "reason", "message"}) {
    for (const char* begin : {"", "/"}) {
      payloads.push_back(std::string("{\"") + field + "\":\"" + begin + large +
                         "\"}");
    }
  }
  payloads.push_back(R"({"level":")" + large + R"(","message":"m"})");
  payloads.push_back(R"({"duration_ms":)" + std::string(1 << 16, '1') + '}');
  payloads.push_back(R"({"type":"t","priority":)" + std::string(1 << 16, '1') +
                     '}');
  int refused = 0;
  for (const HandlerInstance& handler : handlers_.instances()) {
    for (const std::string& payload : payloads) {
      const Answer& answer = Run(handler.descriptor->command, payload);
      if (answer.code == Code::kOk) continue;
      ++refused;
      EXPECT_LT(answer.payload.bytes.size(), 600u)
          << handler.descriptor->command << " of " << payload.substr(0, 20)
          << " says " << answer.payload.bytes.substr(0, 100);
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(BuiltinHandlersTest, SpawnStartsForTheProcessThatYielded) {
  const Answer& answer = Run(
      "process.spawn",
      R"({"type":"t","method":"m","input":{"a":[1,"x"]},"keep_result":true,)"
      R"("priority":31})");
  EXPECT_TRUE(answer.spawned);
  ASSERT_EQ(host_.spawned.size(), 1u);
  EXPECT_EQ(host_.spawned[0].parent, MakePid(1));
  EXPECT_EQ(host_.spawned[0].type, "t");
  EXPECT_EQ(host_.spawned[0].method, "m");
  EXPECT_EQ(host_.spawned[0].input.bytes, R"({"a":[1,"x"]})");
  EXPECT_TRUE(host_.spawned[0].keep_result);
  EXPECT_EQ(host_.spawned[0].priority, 31u);
}

TEST_F(BuiltinHandlersTest, SpawnBuilderAndHandlerAgree) {
  const std::string input = "line\n\"quoted\" \\ \x01 é";
  EXPECT_TRUE(Run(commands::Spawn("t", "m", input)).spawned);
  EXPECT_TRUE(Run(commands::Spawn("t", "", "", {.keep_result = true})).spawned);
  EXPECT_TRUE(Run(commands::Spawn("t", "", "", {.priority = 0})).spawned);
  ASSERT_EQ(host_.spawned.size(), 3u);
  EXPECT_EQ(host_.spawned[1].priority, 16u);
  EXPECT_EQ(host_.spawned[2].priority, 0u);
  EXPECT_EQ(host_.spawned[0].input.bytes, input);
  EXPECT_FALSE(host_.spawned[0].keep_result);
  EXPECT_TRUE(host_.spawned[1].keep_result);
}

TEST_F(BuiltinHandlersTest, SpawnSaysThatTheChildIsVolatile) {
  EXPECT_TRUE(Run(commands::Spawn("t", "", "", {.is_volatile = true})).spawned);
  EXPECT_TRUE(Run(commands::Spawn("t", "", "")).spawned);
  ASSERT_EQ(host_.spawned.size(), 2u);
  EXPECT_NE(host_.spawned[0].flags & ACTORD_SPAWN_VOLATILE, 0u);
  EXPECT_EQ(host_.spawned[1].flags & ACTORD_SPAWN_VOLATILE, 0u);
}

TEST_F(BuiltinHandlersTest, SpawnTiesTheChild) {
  EXPECT_TRUE(Run(commands::Spawn("t", "", "", {.link = true})).spawned);
  EXPECT_TRUE(Run(commands::Spawn("t", "", "", {.monitor = true})).spawned);
  EXPECT_TRUE(Run(commands::Spawn("t", "", "")).spawned);
  ASSERT_EQ(host_.spawned.size(), 3u);
  constexpr uint32_t kTies = ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR;
  EXPECT_EQ(host_.spawned[0].flags & kTies, uint32_t{ACTORD_SPAWN_LINK});
  EXPECT_EQ(host_.spawned[1].flags & kTies, uint32_t{ACTORD_SPAWN_MONITOR});
  EXPECT_EQ(host_.spawned[2].flags & kTies, 0u);
}

TEST_F(BuiltinHandlersTest, CancelAndTerminateSayWhatBecomesOfThem) {
  EXPECT_EQ(Run(commands::Cancel("pid-8", "enough")).code, Code::kOk);
  EXPECT_EQ(Run(commands::Terminate("pid-9")).code, Code::kOk);
  ASSERT_EQ(host_.ended.size(), 2u);
  EXPECT_EQ(host_.ended[0].pid, MakePid(8));
  EXPECT_EQ(host_.ended[0].reason, "enough");
  EXPECT_FALSE(host_.ended[0].terminated);
  EXPECT_EQ(host_.ended[1].pid, MakePid(9));
  EXPECT_TRUE(host_.ended[1].terminated);
  const std::pair<Code, const char*> cases[] = {
      {Code::kNotFound, "there is no process pid-8"},
      {Code::kFailedPrecondition, "process pid-8 has ended"},
      {Code::kResourceExhausted, "too many cancels wait for process pid-8"}};
  for (const auto& [code, text] : cases) {
    host_.end_answer = code;
    EXPECT_EQ(Run(commands::Cancel("pid-8")).code, code);
    EXPECT_EQ(Run(commands::Terminate("pid-8")).payload.bytes, text);
  }
}

TEST_F(BuiltinHandlersTest, SendSaysThatItIsDelivered) {
  const Answer& answer = Run(commands::Send("pid-8", "topic", "body"));
  EXPECT_EQ(answer.code, Code::kOk);
  EXPECT_EQ(answer.payload.bytes, R"({"delivered":true})");
  ASSERT_EQ(host_.sent.size(), 1u);
  EXPECT_EQ(host_.sent[0].from, MakePid(1));
  EXPECT_EQ(host_.sent[0].to, MakePid(8));
  EXPECT_EQ(host_.sent[0].topic, "topic");
  EXPECT_EQ(host_.sent[0].payload.bytes, "body");
}

TEST_F(BuiltinHandlersTest, SendSaysWhyItIsNotDelivered) {
  struct Case {
    Code code;
    std::string_view says;
  };
  for (const Case& c :
       {Case{Code::kNotFound, "there is no process pid-8"},
        Case{Code::kFailedPrecondition, "process pid-8 has ended"},
        Case{Code::kResourceExhausted, "mailbox of process pid-8 is full"},
        Case{Code::kInvalidArgument, "larger than the daemon's limit"}}) {
    host_.send_answer = c.code;
    const Answer& answer = Run(commands::Send("pid-8", "", ""));
    EXPECT_EQ(answer.code, c.code);
    EXPECT_THAT(answer.payload.bytes, HasSubstr(std::string(c.says)));
  }
}

TEST_F(BuiltinHandlersTest, LogNamesTheProcess) {
  EXPECT_EQ(Run(commands::Log("warning", "look out")).code, Code::kOk);
  EXPECT_EQ(Run("log.write", R"({"message":"hm"})").code, Code::kOk);
  ASSERT_EQ(host_.logs.size(), 2u);
  EXPECT_EQ(host_.logs[0].level, LogLevel::kWarning);
  EXPECT_EQ(host_.logs[0].message, "process pid-1: look out");
  EXPECT_EQ(host_.logs[1].level, LogLevel::kInfo);
}

TEST(BuiltinOptions, DirectoriesMustBeThere) {
  FakeHost host;
  for (const char* directory :
       {"relative", "/no/such/directory", "/etc/passwd"}) {
    const auto handlers =
        CreateBuiltinHandlers({.file_read_directories = {directory}}, &host);
    EXPECT_EQ(handlers.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(handlers.status().message()), HasSubstr(directory));
  }
}

}  // namespace
}  // namespace actord::handlers
