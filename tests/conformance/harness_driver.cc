// The driver over actord::testing::Harness.
#include <actord/testing.h>

#include <chrono>
#include <map>

#include "tests/conformance/driver.h"
#include "tests/conformance/puppet.h"

namespace actord::conformance {
namespace {

std::string KindName(testing::EndKind kind) {
  switch (kind) {
    case testing::EndKind::kResult:
      return "done";
    case testing::EndKind::kFailed:
      return "failed";
    case testing::EndKind::kThrew:
      return "threw";
    case testing::EndKind::kInitRefused:
      return "refused";
    case testing::EndKind::kCancelled:
      return "cancelled";
    case testing::EndKind::kTerminated:
      return "terminated";
  }
  return "?";
}

Driver::Answer AnswerOf(const Status& status) {
  return {status.code(), std::string(status.message())};
}

class HarnessDriver final : public Driver {
 public:
  explicit HarnessDriver(uint64_t seed)
      : harness_(kPuppets, {.seed = seed,
                            .max_payload_bytes = kMaxPayloadBytes,
                            .max_processes = kMaxProcesses}) {}

  Pid Nobody() override { return actord_pid{1, 1, 0xfffff, 1}; }
  Submission Submit(const std::string& type, const std::string& method,
                    const std::string& input) override {
    // A refusal throws, and says which code to expect.
    for (const Code code : {Code::kOutOfRange, Code::kInternal}) {
      if (input.find(code == Code::kInternal ? " throw " : " refuse ") ==
          std::string::npos) {
        continue;
      }
      return {{}, {code, harness_.ExpectRefused(code, type, method, {input})}};
    }
    return {harness_.Submit(type, method, {input}), {}};
  }
  bool Send(const Pid& to, const std::string& topic,
            const std::string& text) override {
    if (!harness_.IsLive(to)) return false;
    harness_.Deliver(to, topic, OwnedPayload::Text(text));
    return true;
  }
  bool Cancel(const Pid& pid, const std::string& reason) override {
    if (!harness_.IsLive(pid)) return false;
    harness_.Cancel(pid, reason);
    return true;
  }
  bool Terminate(const Pid& pid, const std::string& reason) override {
    if (!harness_.IsLive(pid)) return false;
    harness_.Terminate(pid, reason);
    return true;
  }
  std::optional<Answer> Call(const Pid& to, const std::string& topic,
                             const std::string& text) override {
    try {
      const Result<> answer =
          harness_.Call(to, topic, OwnedPayload::Text(text));
      return answer.ok() ? Answer{Code::kOk, answer->bytes}
                         : AnswerOf(answer.status());
    } catch (const testing::ExpectationFailed&) {
      return std::nullopt;
    }
  }
  void Advance(uint64_t ms) override {
    harness_.Advance(std::chrono::milliseconds(ms));
  }

  std::vector<Held> AllHeld() override {
    std::vector<Held> all;
    for (const testing::HeldYield& held : harness_.Held()) {
      all.push_back({held.pid, held.command, held.payload.bytes});
    }
    return all;
  }
  bool Complete(const std::string& command, const std::string& text) override {
    const auto held = harness_.Held(command);
    return !held.empty() &&
           harness_.Complete(held.front(), OwnedPayload::Text(text));
  }
  bool Fail(const std::string& command, Code code,
            const std::string& text) override {
    const auto held = harness_.Held(command);
    return !held.empty() && harness_.Fail(held.front(), code, text);
  }

  Upgraded Upgrade(int version) override {
    Upgraded all;
    for (const Pid& pid : harness_.Live("puppet")) {
      int& now = versions_.try_emplace(pid, 1).first->second;
      const std::string from = std::to_string(now);
      const Status status = version == 2
                                ? harness_.Upgrade<Version<2>>(pid, from)
                                : harness_.Upgrade<Version<3>>(pid, from);
      if (status.code() == Code::kUnavailable) continue;  // not now
      if (status.ok()) now = version;
      ++(status.ok() ? all.upgraded : all.declined);
    }
    harness_.Run();
    return all;
  }

  std::optional<std::pair<std::string, Answer>> OutcomeOf(
      const Pid& pid) override {
    const std::optional<testing::Outcome> outcome = harness_.OutcomeOf(pid);
    if (!outcome) return std::nullopt;
    return std::pair(KindName(outcome->kind),
                     outcome->kind == testing::EndKind::kResult
                         ? Answer{Code::kOk, outcome->result.bytes}
                         : AnswerOf(outcome->status));
  }
  Pid HolderOf(const std::string& name) override {
    return harness_.HolderOf(name);
  }
  uint64_t DeadLetters() override { return harness_.dead_letters(); }
  std::vector<Publication> TakePublished() override {
    std::vector<Publication> all;
    for (testing::Published& one : harness_.TakePublished()) {
      all.push_back(
          {one.from, std::move(one.topic), std::move(one.payload.bytes)});
    }
    return all;
  }
  std::vector<Line> TakeLogged() override {
    std::vector<Line> all;
    for (; logged_ < harness_.log().size(); ++logged_) {
      const testing::LogLine& line = harness_.log()[logged_];
      all.push_back({line.from, static_cast<int>(line.level), line.text,
                     line.step_failed});
    }
    return all;
  }
  void Settle() override { harness_.Run(); }

 private:
  testing::Harness harness_;
  std::map<Pid, int> versions_;
  size_t logged_ = 0;  // lines of the log that were taken
};

}  // namespace

std::unique_ptr<Driver> MakeHarnessDriver(uint64_t seed) {
  return std::make_unique<HarnessDriver>(seed);
}

}  // namespace actord::conformance
