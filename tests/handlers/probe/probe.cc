// probe: a plugin for tests. A method that yields ends with the completion as
// JSON: {"code": "OK", "payload": text}, or {"code": …, "message": text}.
#include <actord/commands.h>
#include <actord/coroutine.h>
#include <actord/plugin.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "tests/handlers/probe/handlers.h"
#include "tests/handlers/probe/herald.h"

namespace {

using nlohmann::json;
using probe::ToNumber;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void WaitForFile(const std::string& path) {
  while (!std::filesystem::exists(path)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string Describe(const actord::Event& completion) {
  if (const actord::Error error = completion.error()) {
    return Dump({{"code", CodeName(error.code)}, {"message", error.message}});
  }
  return Dump({{"code", "OK"}, {"payload", completion.payload().bytes}});
}

class Probe : public actord::Process {
 public:
  static constexpr const char* kName = "probe";
  static constexpr const char* kDoc = "Does what its methods say.";
  static constexpr actord::Method kMethods[] = {
      {"idle", "Waits for ever."},
      {"collect", "Joins the group of its input; 'stop': its messages."},
      {"answer",
       "Answers calls: 'echo', 'error', 'never', 'end', 'fail', 'call'."},
      {"yield",
       "{command, payload, timeout_ms, policy, count}: yields, count times."},
      {"yield_and_end", "Yields like 'yield' and ends in the same step."},
      {"sleep", "Sleeps for its input in milliseconds."},
      {"send", "{to, topic, payload}: by process.send."},
      {"spawn", "{type, method, input, keep_result}: by process.spawn."},
      {"spawn_step", "Spawns itself with its input as method, by a step."},
      {"children", "Starts as many children as its input, and waits."},
      {"child", "Sends 'hello' to its parent and ends."},
      {"late_child", "The same, when it has got a message."},
      {"big", "Ends with a result of as many bytes as its input says."},
      {"continue", "Continues as often as its input says, then ends."},
      {"block", "Blocks without a yield, which is a mistake."},
      {"fail", "Fails with its input."},
      {"abort", "Logs as many lines as its input says, and aborts."},
      {"refuse", "Refuses to start, with its input."},
      {"hang", "Does not return from its Init."},
      {"throw", "Throws its input."},
      {"throw_after_effects", "Spawns 'idle', yields, and throws its input."},
  };

  actord::Status Init(std::string_view method, actord::Payload input) {
    method_ = method;
    input_ = input.bytes;
    if (method == "refuse") return {actord::Code::kInvalidArgument, input_};
    while (method == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    if (!begun_) {
      begun_ = true;
      Begin(out);
    }
    for (const actord::Event event : events) {
      if (event.is_message()) OnMessage(event, out);
      if (event.is_completion()) OnCompletion(event, out);
    }
    if (method_ == "continue") Continue(out);
  }

 private:
  void Begin(actord::StepOutput& out) {
    if (method_ == "yield" || method_ == "yield_and_end") {
      YieldAsTold(out);
      if (method_ == "yield_and_end") out.Done("ended");
    } else if (method_ == "sleep") {
      out.Yield(
          actord::commands::Sleep(std::chrono::milliseconds(ToNumber(input_))));
    } else if (method_ == "send") {
      out.Yield("process.send", input_);
    } else if (method_ == "spawn") {
      out.Yield("process.spawn", input_);
    } else if (method_ == "spawn_step") {
      const actord::Pid child = out.Spawn(kName, input_);
      out.Done(child.empty() ? "none" : "spawned");
    } else if (method_ == "children") {
      waiting_ = ToNumber(input_);
      for (uint64_t i = 0; i < waiting_; ++i) {
        if (out.Spawn(kName, "child").empty()) {
          return out.Fail(actord::Code::kResourceExhausted, "no more PIDs");
        }
      }
      if (waiting_ == 0) out.Done("0");
    } else if (method_ == "child") {
      GreetParent(out);
    } else if (method_ == "big") {
      out.Done(actord::Payload::Text(std::string(ToNumber(input_), 'x')));
    } else {
      BeginToEnd(out);
    }
  }

  void GreetParent(actord::StepOutput& out) {
    out.Send(out.parent(), "hello", input_);
    out.Done();
  }

  void BeginToEnd(actord::StepOutput& out) {
    if (method_ == "collect" && !input_.empty()) {
      out.Yield("group.join", Dump({{"group", input_}}));
    }
    if (method_ == "block") out.Block();
    if (method_ == "fail") out.Fail(actord::Code::kFailedPrecondition, input_);
    if (method_ == "abort") LogAndAbort(out);
    if (method_ == "throw") throw std::runtime_error(input_);
    if (method_ == "throw_after_effects") {
      if (out.Spawn(kName, "idle").empty()) throw std::runtime_error("no PID");
      out.Yield("probe.echo", input_);
      out.Done("never seen");
      throw std::runtime_error(input_);
    }
  }

  // The lines of one step are written when it has returned.
  void LogAndAbort(actord::StepOutput& out) {
    waiting_ = ToNumber(input_);
    for (uint64_t i = 0; i < waiting_; ++i) {
      out.Yield(actord::commands::Log("info", "line " + std::to_string(i)));
    }
  }

  void YieldAsTold(actord::StepOutput& out) {
    const json order = json::parse(input_);
    const json payload = order.value("payload", json(""));
    const auto told = payload.is_string()
                          ? actord::OwnedPayload(payload.get<std::string>())
                          : actord::OwnedPayload::Json(Dump(payload));
    const auto timeout =
        std::chrono::milliseconds(order.value("timeout_ms", int64_t{0}));
    waiting_ = order.value("count", uint64_t{1});
    for (uint64_t i = 0; i < waiting_; ++i) {
      out.Yield(order.at("command").get<std::string>(), told,
                {.timeout = timeout, .policy = PolicyOf(order)});
    }
  }

  static actord::WorkPolicy PolicyOf(const json& order) {
    const json told = order.value("policy", json::object());
    const auto time = [&told](const char* field) {
      return std::chrono::milliseconds(told.value(field, int64_t{0}));
    };
    return {.max_attempts = told.value("max_attempts", uint32_t{0}),
            .lease = time("lease_ms"),
            .attempt_timeout = time("attempt_timeout_ms"),
            .start_timeout = time("start_timeout_ms"),
            .backoff = time("backoff_ms"),
            .max_backoff = time("max_backoff_ms")};
  }

  void OnMessage(const actord::Event& event, actord::StepOutput& out) {
    if (method_ == "answer") return Answer(event, out);
    if (method_ == "late_child") return GreetParent(out);
    if (method_ == "children" && --waiting_ == 0) out.Done(input_);
    if (method_ != "collect") return;
    if (event.topic() == "stop") return out.Done(Dump(collected_));
    // Its step lasts, and no other step takes its messages meanwhile.
    if (event.topic() == "hold")
      return WaitForFile(std::string(event.payload().bytes));
    collected_.push_back({{"topic", event.topic()},
                          {"payload", event.payload().bytes},
                          {"content_type", event.payload().content_type},
                          {"outside", event.from().empty()}});
  }

  void Answer(const actord::Event& event, actord::StepOutput& out) {
    const std::string_view topic = event.topic();
    if (topic == "echo") out.Reply(event.call(), event.payload());
    if (topic == "error") {
      out.ReplyError(event.call(), actord::Code::kOutOfRange,
                     event.payload().bytes);
    }
    if (topic == "busy") {
      out.ReplyError(event.call(), actord::Code::kUnavailable, "not today");
    }
    if (topic == "end") out.Done();
    if (topic == "fail") out.Fail(actord::Code::kAborted, "told to fail");
    if (topic == "late") out.Reply(kept_);
    // Calls the holder of the name and passes the answer on.
    if (topic == "call") {
      out.Call(event.payload().bytes, "echo", "from a process");
    }
    kept_ = event.call();
  }

  void OnCompletion(const actord::Event& event, actord::StepOutput& out) {
    if (method_ == "answer") {
      return out.Reply(kept_, actord::Payload(Describe(event)));
    }
    if (method_ == "abort" && --waiting_ == 0) std::abort();
    if (method_ == "abort" || method_ == "collect") return;
    if (method_ != "yield") return out.Done(Describe(event));
    collected_.push_back(json::parse(Describe(event)));
    if (--waiting_ != 0) return;
    out.Done(Dump(collected_.size() == 1 ? collected_[0] : collected_));
  }

  void Continue(actord::StepOutput& out) {
    if (steps_++ == ToNumber(input_)) return out.Done(std::to_string(steps_));
    out.Continue();
  }

  actord::CallId kept_ = 0;
  std::string method_;
  std::string input_;
  bool begun_ = false;
  uint64_t waiting_ = 0;
  uint64_t steps_ = 0;
  json collected_ = json::array();
};

class ProbeCancel : public actord::Process {
 public:
  static constexpr const char* kName = "probe.cancel";
  static constexpr const char* kDoc = "Decides itself what a cancel does.";
  static constexpr actord::Method kMethods[] = {
      {"graceful", "Ends with the reason of the cancel as its result."},
      {"stubborn", "Ignores every cancel."},
      {"fail", "Fails with the reason of the cancel."},
  };
  static constexpr bool kHandlesCancel = true;

  void Init(std::string_view method, actord::Payload /*input*/) {
    method_ = method;
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (!event.is_cancel()) continue;
      if (method_ == "graceful") out.Done(event.payload().bytes);
      if (method_ == "fail") {
        out.Fail(actord::Code::kCancelled, event.payload().bytes);
      }
    }
  }

 private:
  std::string method_;
};

class ProbeBlocking : public actord::Process {
 public:
  static constexpr const char* kName = "probe.blocking";
  static constexpr const char* kDoc = "Blocks its thread.";
  static constexpr actord::Method kMethods[] = {
      {"run", "Blocks its thread for its input in milliseconds."},
      {"until", "Blocks its thread until the file is there that it names."}};
  static constexpr bool kBlocksThread = true;
  // A cancel that arrives before its step does not keep it from blocking.
  static constexpr bool kHandlesCancel = true;

  void Init(std::string_view method, actord::Payload input) {
    method_ = method;
    input_ = input.bytes;
  }
  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    if (method_ == "until") {
      WaitForFile(input_);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(ToNumber(input_)));
    }
    out.Done();
  }

 private:
  std::string method_;
  std::string input_;
};

// After a cancel, takes its time to end and logs that.
class Mourner : public actord::Process {
 public:
  static constexpr const char* kName = "mourner";
  static constexpr actord::Method kMethods[] = {
      {"run", "{name, ms}: ends so long after a cancel, and logs its name."}};
  static constexpr bool kHandlesCancel = true;

  void Init(std::string_view /*method*/, actord::Payload input) {
    input_ = json::parse(input.bytes);
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_cancel()) {
        sleep_ = out.Yield(actord::commands::Sleep(
            std::chrono::milliseconds(input_["ms"].get<int>())));
      } else if (event.is_completion() && event.tag() == sleep_) {
        out.Yield(actord::commands::Log(
            "info", "mourner " + input_["name"].get<std::string>() + " ends"));
      } else if (event.is_completion()) {
        out.Done();
      }
    }
  }

 private:
  json input_;
  actord::Tag sleep_ = 0;
};

// Has names of the maximum length.
class Verbose : public actord::Process {
 public:
  static constexpr auto kLongest = [] {
    std::array<char, 129> name{};
    std::fill_n(name.begin(), 128, 'v');
    return name;
  }();
  static constexpr const char* kName = kLongest.data();
  static constexpr actord::Method kMethods[] = {{kLongest.data(), nullptr}};
  void Step(actord::Events /*events*/, actord::StepOutput& /*out*/) {}
};

// Adds up its numbers, and begins again with the sum after every fifth one.
// "join" joins a group. "tell" sends to the holder of a name, and adds 1000 if
// there is one.
class Rounds : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "probe.rounds";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Task<> Main(actord::Context& ctx, actord::OwnedPayload input) {
    uint64_t sum = ToNumber(input.bytes);
    for (int i = 0; i < 5;) {
      const actord::Message message = co_await ctx.Receive();
      if (message.topic() == "join") {
        static_cast<void>(co_await ctx.Run(
            actord::commands::JoinGroup(message.payload().bytes)));
        continue;
      }
      if (message.topic() == "tell") {
        sum += ctx.Send(message.payload().bytes, "told") ? 1000 : 1;
        continue;
      }
      sum += ToNumber(std::string(message.payload().bytes));
      if (message.call() == 0) {
        ++i;
      } else {
        ctx.Reply(message, std::to_string(sum));
      }
    }
    co_return ctx.ContinueAs(std::to_string(sum));
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN(
    "probe", "1.0.0",
    actord::ProcessTypes<Probe, ProbeCancel, ProbeBlocking, Mourner, Verbose,
                         Rounds, probe::Herald, probe::Diarist>,
    actord::Handlers<probe::EchoHandler, probe::DropHandler,
                     probe::StayingHandler, probe::SlowHandler>);
