// Processes that are upgraded back and forth while they are flooded: each
// message is taken once and in order, each yield that was taken over completes
// once, and none that was not.
#include <actord/plugin.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/system/random.h"
#include "tests/support/script_handler.h"

namespace actord::runtime::upgrade_stress {
namespace {

using actord::testing::Call;
using actord::testing::ScriptHandler;

constexpr std::chrono::seconds kDuration{3};
constexpr std::chrono::seconds kPatience{60};
constexpr int kProcesses = 40;
constexpr int kSenders = 2;

// Anything but the same twice. Any thread.
uint64_t Dice() {
  static std::atomic<uint64_t> next{1};
  uint64_t x = next.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
bool OneIn(uint64_t n) { return Dice() % n == 0; }

// Messages: "s" with the number of a sender and a count. Ends, with its errors
// as the result, at "stop" and when all that it waits for has come.
template <int V>
class Hopper : public actord::Process {
 public:
  static constexpr const char* kName = "hopper";
  // In another order in each version.
  static constexpr actord::Method kMethods[] = {
      {V == 1 ? "run" : "other", nullptr}, {V == 1 ? "other" : "run", nullptr}};

  actord::SnapshotResult Snapshot() const {
    if (OneIn(4)) return actord::SnapshotResult::NotNow();
    if (OneIn(16)) return actord::Status(actord::Code::kAborted, "as told");
    std::ostringstream text;
    text << errors_ << ' ' << stopping_ << ' ' << last_[0] << ' ' << last_[1];
    for (const actord::Tag tag : waiting_) text << ' ' << tag;
    return text.str();
  }
  actord::Status Restore(std::string_view, const actord::RestoreFrom& from,
                         actord::RestoreContext& context) {
    std::istringstream text{std::string(from.snapshot.bytes)};
    text >> errors_ >> stopping_ >> last_[0] >> last_[1];
    const bool adopts = OneIn(2);
    for (actord::Tag tag = 0; text >> tag;) {
      if (!adopts && OneIn(2)) continue;
      if (context.AdoptYield(tag)) {
        waiting_.insert(tag);
      } else {
        ++errors_;  // it was outstanding
      }
    }
    if (OneIn(16)) throw std::runtime_error("as told");
    return {};
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_completion()) {
        errors_ += 1 - static_cast<int>(waiting_.erase(event.tag()));
      } else if (event.topic() == "s") {
        Take(std::string(event.payload().bytes), out);
      } else if (event.topic() == "ask") {
        out.Reply(event.call(), "answer");
      } else {
        stopping_ = true;
      }
    }
    if (stopping_ && waiting_.empty()) {
      out.Done(std::to_string(errors_) + " " +
               std::to_string(last_[0] + last_[1]));
    } else if (!waiting_.empty() && OneIn(8)) {
      out.Block();
    }
  }

 private:
  void Take(const std::string& message, actord::StepOutput& out) {
    std::istringstream text(message);
    int sender = 0;
    int64_t number = 0;
    text >> sender >> number;
    if (number != last_[sender] + 1) ++errors_;
    last_[sender] = number;
    if (waiting_.size() > 20) return;
    switch (Dice() % 16) {
      case 0:
        waiting_.insert(out.Yield("inline", std::string(Dice() % 9000, 'x')));
        break;
      case 1:
        waiting_.insert(out.Yield("pooled", std::string(Dice() % 9000, 'x')));
        break;
      case 2:
        waiting_.insert(out.Yield("sleep", std::to_string(Dice() % 2000000)));
        break;
      case 3:
        waiting_.insert(out.Yield("ext"));
        break;
      case 4:
        // The helper may block, so this call may time out.
        waiting_.insert(out.Call("helper", "ask", {},
                                 {.timeout = std::chrono::milliseconds(5)}));
        break;
      default:
        break;
    }
  }

  std::array<char, 50 * V> padding_{};
  std::set<actord::Tag> waiting_;
  int64_t last_[kSenders] = {};
  int errors_ = 0;
  bool stopping_ = false;
};

class UpgradeStress : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    Add("inline", ACTORD_HANDLER_INLINE, Echo);
    Add("pooled", ACTORD_HANDLER_POOLED, Echo);
    Add("sleep", ACTORD_HANDLER_INLINE, [this](Call& call) {
      runtime_->host()->complete_after(runtime_->host(), call.Defer(),
                                       std::stoull(std::string(call.bytes())));
      return ACTORD_DEFERRED;
    });
    Load(&actord::kProcessType<Hopper<1>>, 1);
    RuntimeOptions options;
    options.workers = GetParam();
    options.external_commands = {"ext"};
    auto runtime = Runtime::Create(options, catalog_);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
    ASSERT_TRUE(runtime_->Start().ok());
  }
  static int32_t Echo(Call& call) {
    call.Reply(ACTORD_OK, call.bytes());
    return ACTORD_HANDLED;
  }
  void Add(std::string command, uint32_t mode, ScriptHandler::Function handle) {
    handlers_.push_back(std::make_unique<ScriptHandler>(
        std::move(command), mode, std::move(handle)));
    ASSERT_TRUE(catalog_
                    .AddCommand(handlers_.back()->descriptor(),
                                handlers_.back().get(), "t")
                    .ok());
  }
  const ProcessType* Load(const actord_process_type* type, int version) {
    return catalog_
        .Add({.plugin = "hoppers",
              .version = std::to_string(version),
              .process_types = {type},
              .replace = true,
              .upgrade_processes = true})
        .value()
        .front();
  }
  Pid Begin(const std::string& name) {
    std::promise<Pid> begun;
    runtime_->Submit(
        SubmitRequest{"hopper", "run", {}, {}, kDefaultPriority, name},
        [&](const absl::StatusOr<Pid>& pid) { begun.set_value(pid.value()); });
    return begun.get_future().get();
  }
  void Send(const Pid& to, const std::string& topic, const std::string& text) {
    while (true) {
      const absl::Status sent = runtime_->Send(to, {topic, {text, ""}});
      if (sent.ok()) return;
      ASSERT_TRUE(absl::IsResourceExhausted(sent)) << sent;
      std::this_thread::yield();
    }
  }
  // Until `over_`.
  void Flood(int sender, const std::vector<Pid>& pids) {
    for (int64_t number = 1; !over_; ++number) {
      for (const Pid& pid : pids) {
        Send(pid, "s", std::to_string(sender) + " " + std::to_string(number));
      }
      sent_[sender] = number;
    }
  }
  void UpgradeAll() {
    for (int version = 2; !over_; ++version) {
      const ProcessType* const type =
          Load(version % 2 == 0 ? &actord::kProcessType<Hopper<2>>
                                : &actord::kProcessType<Hopper<1>>,
               version);
      uint32_t next = 0;
      do {
        next = runtime_->TellOfUpgrade({type}, next).next_slot;
      } while (next != 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void CompleteAndLook() {
    while (!done_) {
      for (const ExternalYield& yield :
           runtime_->ListYields({}, 0, 1000).yields) {
        runtime_->CompleteYield(yield.token, {{}, {"done", ""}});
      }
      // A type and a method that belong together, and nobody left out.
      size_t listed = 0;
      for (const ProcessInfo& info :
           runtime_->ListProcesses({}, 0, 1000).processes) {
        EXPECT_EQ(info.method, "run");
        ++listed;
      }
      if (!over_) {
        EXPECT_EQ(listed, kProcesses + 1u);
      }
      std::this_thread::yield();
    }
  }

  std::vector<std::unique_ptr<ScriptHandler>> handlers_;
  Catalog catalog_;
  std::unique_ptr<Runtime> runtime_;
  std::atomic<bool> over_{false};
  std::atomic<bool> done_{false};
  std::array<int64_t, kSenders> sent_{};
};

INSTANTIATE_TEST_SUITE_P(Workers, UpgradeStress, ::testing::Values(1, 2, 3));

TEST_P(UpgradeStress, LosesNothingAndTakesNothingTwice) {
  std::vector<Pid> pids;
  const Pid helper = Begin("helper");
  for (int i = 0; i < kProcesses; ++i) pids.push_back(Begin(""));
  std::thread completer([this] { CompleteAndLook(); });
  std::vector<std::thread> threads;
  for (int i = 0; i < kSenders; ++i) {
    threads.emplace_back([this, i, &pids] { Flood(i, pids); });
  }
  threads.emplace_back([this] { UpgradeAll(); });
  std::this_thread::sleep_for(kDuration);
  over_ = true;
  for (std::thread& thread : threads) thread.join();

  const std::string expected = "0 " + std::to_string(sent_[0] + sent_[1]);
  std::vector<std::future<absl::StatusOr<Outcome>>> ends;
  for (const Pid& pid : pids) {
    Send(pid, "stop", "");
    auto end = std::make_shared<std::promise<absl::StatusOr<Outcome>>>();
    ends.push_back(end->get_future());
    runtime_->Await(pid, [end](absl::StatusOr<Outcome> outcome) {
      end->set_value(std::move(outcome));
    });
  }
  for (auto& end : ends) {
    ASSERT_EQ(end.wait_for(kPatience), std::future_status::ready)
        << "it waits for something that does not come";
    const absl::StatusOr<Outcome> outcome = end.get();
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->result.bytes, expected) << outcome->message;
  }
  done_ = true;
  completer.join();
  const RuntimeStats stats = runtime_->Stats();
  EXPECT_GT(stats.upgrades, 100u);
  EXPECT_GT(stats.upgrades_declined, 10u);
  RecordProperty("upgrades", std::to_string(stats.upgrades));
  EXPECT_TRUE(runtime_->Terminate(helper, "over").ok());
}

}  // namespace
}  // namespace actord::runtime::upgrade_stress
