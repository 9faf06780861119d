// Durable processes of image types: an account, and a flat tally.
#pragma once

#include <actord/process.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// Two owners of accounts.
inline constexpr Owner kAlice{1};
inline constexpr Owner kBob{2};

// An account with a balance. Its topics:
//   add N          adds to the balance, and answers a call with it
//   refuse         a call: answers with an error
//   set N          replaces the balance
//   pay PID N      sends `add N` to PID, and takes N off
//   get            a call: answers with the balance
//   end            ends with the balance as the result
//   spawn          starts an account
//   throw          the step fails
//   fail TEXT      fails with the text
class Account : public actord::Process {
 public:
  static constexpr const char* kName = "account";
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (input.bytes == "refuse") {
      return {actord::Code::kInvalidArgument, "not this one"};
    }
    balance_ = NumberOf(input.bytes);
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      const std::string_view text = event.payload().bytes;
      if (!event.is_message()) continue;
      if (event.topic() == "add") {
        balance_ += NumberOf(text);
        if (event.call() != 0) {
          out.Reply(event.call(), std::to_string(balance_));
        }
      } else if (event.topic() == "refuse" && event.call() != 0) {
        out.ReplyError(event.call(), actord::Code::kNotFound, "not here");
      } else if (event.topic() == "set") {
        balance_ = NumberOf(text);
      } else if (event.topic() == "pay") {
        const size_t space = text.find(' ');
        const std::string_view amount = text.substr(space + 1);
        balance_ -= NumberOf(amount);
        out.Send(actord::Pid(ToAbi(*ParsePid(text.substr(0, space)))), "add",
                 actord::Payload::Text(amount));
      } else if (event.topic() == "draw" && event.call() != 0) {
        out.Reply(event.call(), std::to_string(out.random()));
      } else if (event.topic() == "get" && event.call() != 0) {
        out.Reply(event.call(), std::to_string(balance_));
      } else if (event.topic() == "end") {
        out.Done(std::to_string(balance_));
      } else if (event.topic() == "spawn") {
        static_cast<void>(out.Spawn("account"));
      } else if (event.topic() == "throw") {
        throw 1;
      } else if (event.topic() == "fail") {
        out.Fail({actord::Code::kAborted, std::string(text)});
      }
    }
  }

  actord::SnapshotResult Snapshot() const { return std::to_string(balance_); }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    if (refuses_restore) return {actord::Code::kInternal, "not today"};
    balance_ = NumberOf(from.snapshot.bytes);
    return actord::Status::Ok();
  }

  static inline bool refuses_restore = false;

 private:
  static int64_t NumberOf(std::string_view text) {
    int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  int64_t balance_ = 0;
};

// Counts its messages, in a flat state; "get" answers with the count.
class Tally : public actord::Process {
 public:
  struct State {
    int64_t messages = 0;
  };
  static constexpr const char* kName = "tally";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 3;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        out.Reply(event.call(), std::to_string(state.messages));
      } else if (event.is_message()) {
        ++state.messages;
      }
    }
  }

  State state;
};

}  // namespace actord::runtime
