// A durable process that does what its messages say, and notes what happens to
// it: its notes are its state, and the answer to the call `get`.
#pragma once

#include <actord/process.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/process/pid.h"

namespace actord::runtime {

// Messages, by topic, with the payload's words as arguments:
//   note TEXT             is noted as "m:TEXT"
//   spawn TYPE            starts a child in the step; notes "s:PID". "passing":
//                         the child is volatile
//   tied TYPE             the same with a monitor
//   linked TYPE           the same with a link
//   yield COMMAND JSON    yields a command
//   within MS COMMAND JSON  yields with a timeout
//   call PID TOPIC TEXT   calls
//   send PID TOPIC TEXT   sends
//   publish TOPIC TEXT    publishes
//   log TEXT              writes a line into the log
//   find COUNT            asks COUNT times for a name
//   throw                 throws
//   monitor PID, link PID, unlink PID
//   cancel TAG            gives a yield up
//   block                 blocks until an event other than a message
//   done, fail            ends
//   again TEXT            begins again, with this input; the rest of the step's
//                         events are for the next life
//   hold (a call)         keeps the call; `answer TEXT` answers it
//   get (a call)          answers with the notes
// Events are noted as
//   c<tag>=<payload>, or c<tag>!<code>   a completion
//   x<tag>:<reason>                      an exit
//   cancelled                            a cancel
template <bool kTraps, bool kIsDurable>
class BasicPuppet : public actord::Process {
 public:
  static constexpr const char* kName = kTraps       ? "trapper"
                                       : kIsDurable ? "puppet"
                                                    : "volatile";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr bool kTrapsExits = kTraps;
  static constexpr bool kHandlesCancel = true;
  static constexpr actord::Durability kDurability =
      kIsDurable ? actord::Durability::kImage : actord::Durability::kNone;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    if (input.bytes == "refuse") {
      return {actord::Code::kInvalidArgument, "not this one"};
    }
    constexpr std::string_view kNotes = "notes ";
    if (input.bytes.starts_with(kNotes)) {
      notes_ = input.bytes.substr(kNotes.size());
    }
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (size_t i = 0; i < events.size(); ++i) {
      const actord::Event event = events[i];
      if (event.is_message() && event.topic() == "again") {
        if (before_again) before_again();
        return out.ContinueAs(event.payload(), "", events.From(i + 1));
      }
      if (event.is_message()) {
        Do(event, out);
      } else if (event.is_completion()) {
        const std::string tag = "c" + std::to_string(event.tag());
        const actord::Error error = event.error();
        const std::string holder =
            error.holder.empty() ? "" : "@" + actord::FormatPid(error.holder);
        Note(error ? tag + "!" + std::to_string(static_cast<int>(error.code)) +
                         holder
                   : tag + "=" + std::string(event.payload().bytes));
      } else if (event.is_exit()) {
        Note("x" + std::to_string(event.tag()) + ":" +
             std::to_string(static_cast<int>(event.exit_reason())));
      } else if (event.is_cancel()) {
        Note("cancelled");
      }
    }
  }

  actord::SnapshotResult Snapshot() const {
    return std::to_string(held_) + "\n" + notes_;
  }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    const std::string_view text = from.snapshot.bytes;
    const size_t end = text.find('\n');
    std::from_chars(text.data(), text.data() + end, held_);
    notes_ = text.substr(end + 1);
    return actord::Status::Ok();
  }

  static inline std::function<void()> before_again;

 private:
  static std::string_view Word(std::string_view& text) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  }
  static uint64_t Number(std::string_view text) {
    uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  static actord::Pid PidIn(std::string_view text) {
    return actord::Pid(ToAbi(ParsePid(text).value_or(Pid{})));
  }
  static std::string TextOf(const actord::Pid& pid) {
    return FormatPid(FromAbi(pid));
  }
  void Note(const std::string& note) {
    if (!notes_.empty()) notes_ += ' ';
    notes_ += note;
  }

  void Do(const actord::Event& event, actord::StepOutput& out) {
    const std::string_view topic = event.topic();
    std::string_view text = event.payload().bytes;
    if (topic == "note") {
      Note("m:" + std::string(text));
    } else if (topic == "get") {
      out.Reply(event.call(), notes_);
    } else if (topic == "hold") {
      held_ = event.call();
    } else if (topic == "answer") {
      out.Reply(held_, text);
      held_ = 0;
    } else if (topic == "spawn" || topic == "tied" || topic == "linked" ||
               topic == "passing") {
      actord::Tag monitor = 0;
      actord::ChildOptions options;
      options.link = topic == "linked";
      options.is_volatile = topic == "passing";
      if (topic == "tied") options.monitor = &monitor;
      const std::string_view type = Word(text);
      Note("s:" + TextOf(out.Spawn(type, "", text, options)));
    } else if (topic == "yield") {
      const std::string_view command = Word(text);
      out.Yield(command, text);
    } else if (topic == "within") {
      actord::YieldOptions options;
      options.timeout = std::chrono::milliseconds(Number(Word(text)));
      const std::string_view command = Word(text);
      out.Yield(command, text, options);
    } else if (topic == "find") {
      for (auto left = Number(Word(text)); left > 0; --left) {
        static_cast<void>(out.FindName("nobody"));
      }
    } else if (topic == "call") {
      const std::string_view to = Word(text);
      const std::string_view what = Word(text);
      out.Call(PidIn(to), what, text);
    } else if (topic == "send") {
      const actord::Pid to = PidIn(Word(text));
      const std::string_view what = Word(text);
      out.Send(to, what, text);
    } else if (topic == "publish") {
      const std::string_view what = Word(text);
      out.Publish(what, text);
    } else if (topic == "log") {
      out.Log(actord::LogLevel::kInfo, text);
    } else if (topic == "throw") {
      throw std::runtime_error("thrown");
    } else if (topic == "monitor") {
      out.Monitor(PidIn(text));
    } else if (topic == "link") {
      out.Link(PidIn(text));
    } else if (topic == "unlink") {
      out.Unlink(PidIn(text));
    } else if (topic == "cancel") {
      out.CancelYield(Number(text));
    } else if (topic == "block") {
      out.Block();
    } else if (topic == "done") {
      out.Done(notes_);
    } else if (topic == "fail") {
      out.Fail(actord::Code::kInternal, "told to");
    }
  }

  actord::CallId held_ = 0;
  std::string notes_;
};

using Puppet = BasicPuppet<false, true>;
using TrappingPuppet = BasicPuppet<true, true>;
using VolatilePuppet = BasicPuppet<false, false>;

}  // namespace actord::runtime
