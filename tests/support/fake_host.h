// A fake daemon for the tests of command handlers. It records their calls and
// returns the answers that the test sets. Its clock stands still.
//
// Thread-safety: none. Ownership: owns its records.
#pragma once

#include <actord/abi.h>
#include <actord/handler.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/recorded.h"

namespace actord::testing {

// How a command was answered.
struct Answer {
  Code code = Code::kUnknown;
  OwnedPayload payload;
  // Set by complete_after.
  uint64_t delay_ns = 0;
  // `handle` returned ACTORD_DEFERRED.
  bool deferred = false;
  // Passed to host->spawn.
  bool spawned = false;
  // Number of successful completions.
  int completions = 0;
};

class FakeHost : public actord_host {
 public:
  struct LogLine {
    LogLevel level;
    std::string message;
  };

  // A recorded cancel or terminate.
  struct Ended {
    Pid pid;
    std::string reason;
    bool terminated;
  };

  FakeHost() : actord_host{} {
    struct_size = sizeof(actord_host);
    log = [](const actord_host* host, int32_t level, actord_bytes message) {
      Of(host)->logs.push_back(
          {static_cast<LogLevel>(level), ToString(message)});
    };
    log_for = [](const actord_host* host, int32_t level, const actord_pid* pid,
                 actord_bytes message) {
      char text[64];
      const std::string name(text, FormatFakePid(*pid, text));
      Of(host)->logs.push_back({static_cast<LogLevel>(level),
                                "process " + name + ": " + ToString(message)});
    };
    monotonic_ns = [](const actord_host* host) { return Of(host)->now_ns; };
    unix_time_ns = [](const actord_host* host) { return Of(host)->now_ns; };
    complete = [](const actord_host* host, actord_completion id, int32_t status,
                  const actord_payload* payload) {
      Answer* answer = Of(host)->Outstanding(id);
      if (answer == nullptr) return int32_t{ACTORD_FAILED_PRECONDITION};
      answer->code = ToCode(status);
      if (payload != nullptr) answer->payload = Payload(*payload);
      ++answer->completions;
      return int32_t{ACTORD_OK};
    };
    complete_after = [](const actord_host* host, actord_completion id,
                        uint64_t delay_ns) {
      Answer* answer = Of(host)->Outstanding(id);
      if (answer == nullptr) return int32_t{ACTORD_FAILED_PRECONDITION};
      answer->code = Code::kOk;
      answer->delay_ns = delay_ns;
      ++answer->completions;
      return int32_t{ACTORD_OK};
    };
    send = [](const actord_host* host, const actord_pid* from,
              const actord_pid* to, const actord_message* message) {
      Of(host)->sent.push_back(
          {*from, *to, ToString(message->topic), Payload(message->payload)});
      return static_cast<int32_t>(Of(host)->send_answer);
    };
    spawn = [](const actord_host* host, const actord_pid* parent,
               const actord_spawn* what, actord_completion id) {
      Of(host)->spawned.push_back(
          {Pid(), *parent, ToString(what->process_type), ToString(what->method),
           Payload(what->input), (what->flags & ACTORD_SPAWN_KEEP_RESULT) != 0,
           what->priority, what->flags});
      Answer* answer = Of(host)->Outstanding(id);
      if (answer == nullptr) return;
      answer->spawned = true;
      ++answer->completions;
    };
    cancel = [](const actord_host* host, const actord_pid* pid,
                actord_bytes reason) {
      Of(host)->ended.push_back({*pid, ToString(reason), false});
      return static_cast<int32_t>(Of(host)->end_answer);
    };
    terminate = [](const actord_host* host, const actord_pid* pid,
                   actord_bytes reason) {
      Of(host)->ended.push_back({*pid, ToString(reason), true});
      return static_cast<int32_t>(Of(host)->end_answer);
    };
    format_pid = [](const actord_host*, const actord_pid* pid, char* text) {
      return FormatFakePid(*pid, text);
    };
    parse_pid = [](const actord_host*, actord_bytes text, actord_pid* pid) {
      return ParseFakePid(text, pid);
    };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  // Runs one command through a handler. The reference stays valid; a later
  // completion changes the answer.
  Answer& Run(const actord_command_handler& handler, void* self,
              Payload payload, Pid from = MakePid(1)) {
    Call call;
    call.host = this;
    call.id = answers_.size() + 1;
    answers_.emplace_back();
    call.api = CallApi();
    call.from = from;
    call.tag = 5;
    call.command = actord::detail::ToAbi(handler.command);
    call.payload = payload.ToAbi();
    const int32_t returned = handler.handle(self, &call);
    Answer& answer = answers_[call.id - 1];
    answer.deferred = returned == ACTORD_DEFERRED;
    if (!answer.deferred) {
      answer.code = call.replied ? answer.code : Code::kOk;
      ++answer.completions;
    }
    return answer;
  }

  std::vector<LogLine> logs;
  std::vector<SentMessage> sent;
  std::vector<SpawnedProcess> spawned;
  std::vector<Ended> ended;
  Code end_answer = Code::kOk;
  uint64_t now_ns = 1'700'000'000'000'000'000;
  Code send_answer = Code::kOk;

 private:
  struct Call : actord_call {
    FakeHost* host = nullptr;
    uint64_t id = 0;
    bool replied = false;
  };

  static FakeHost* Of(const actord_host* host) {
    return const_cast<FakeHost*>(static_cast<const FakeHost*>(host));
  }

  // nullptr: the completion does not exist, or has been completed.
  Answer* Outstanding(actord_completion id) {
    if (id == 0 || id > answers_.size()) return nullptr;
    Answer& answer = answers_[id - 1];
    return answer.completions == 0 ? &answer : nullptr;
  }

  static const actord_call_api* CallApi() {
    static constexpr actord_call_api kApi = {
        sizeof(actord_call_api), 0,
        [](actord_call* call, int32_t status, const actord_payload* payload) {
          auto* fake = static_cast<Call*>(call);
          Answer& answer = fake->host->answers_[fake->id - 1];
          answer.code = ToCode(status);
          if (payload != nullptr) answer.payload = Payload(*payload);
          fake->replied = true;
        },
        [](actord_call* call) { return static_cast<Call*>(call)->id; }};
    return &kApi;
  }

  // A deque, so that references stay valid.
  std::deque<Answer> answers_;
};

}  // namespace actord::testing
