// Durable processes that begin again and again.
#pragma once

#include <actord/coroutine.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace actord::runtime {

// Adds up what its messages say, and begins again with the sum after each third
// one. In each life it waits for a payment, and for a timer that is far away.
class Sum : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "sum";
  static constexpr actord::Method kMethods[] = {{"run", nullptr},
                                                {"twice", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (input.bytes == refused) return {actord::Code::kOutOfRange, "refused"};
    return actord::Status::Ok();
  }
  actord::Task<> Main(actord::Context& ctx, std::string_view method,
                      actord::OwnedPayload input) {
    ++lives;
    uint64_t sum = input.empty() ? 0 : std::stoull(input.bytes);
    ctx.SendAfter(std::chrono::hours(1), ctx.self(), "late");
    for (int i = 0; i < 3;) {
      const actord::Message message = co_await ctx.Receive();
      if (message.call() != 0) {
        ctx.Reply(message, std::to_string(sum));
      } else if (message.topic() == "add") {
        sum += std::stoull(std::string(message.payload().bytes)) *
               (method == "twice" ? 2 : 1);
        ++i;
      } else if (message.topic() == "switch") {
        co_return ctx.ContinueAs(std::to_string(sum), "twice");
      } else if (message.topic() == "late") {
        sum = 666;
      }
    }
    ctx.ContinueAs(std::to_string(sum));
  }

  static inline std::string refused = "no input";
  static inline int lives = 0;
};

// The same as an image type, without commands.
class Tab : public actord::Process {
 public:
  static constexpr const char* kName = "tab";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;

  void Init(std::string_view /*method*/, const actord::Payload& input) {
    sum_ = std::stoull(std::string(input.bytes));
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (size_t i = 0; i < events.size(); ++i) {
      const actord::Event event = events[i];
      if (event.call() != 0) {
        out.Reply(event.call(), std::to_string(sum_));
      } else if (event.is_message()) {
        sum_ += std::stoull(std::string(event.payload().bytes));
        if (++count_ < 3) continue;
        out.ContinueAs(std::to_string(sum_), "", events.From(i + 1));
        return;
      }
    }
  }
  actord::SnapshotResult Snapshot() const {
    return std::to_string(count_) + " " + std::to_string(sum_);
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    const std::string text(from.snapshot.bytes);
    count_ = std::stoi(text);
    sum_ = std::stoull(text.substr(text.find(' ')));
    return actord::Status::Ok();
  }

 private:
  uint64_t sum_ = 0;
  int count_ = 0;
};

}  // namespace actord::runtime
