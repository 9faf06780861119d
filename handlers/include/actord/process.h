// actord/process.h: write a process type as a class.
//
//   class Echo : public actord::Process {
//    public:
//     static constexpr const char* kName = "echo";
//     static constexpr actord::Method kMethods[] = {
//         {"run", "Ends with its input as the result."}};
//
//     void Init(std::string_view method, actord::Payload input) {
//       input_ = input.bytes;
//     }
//     void Step(actord::Events events, actord::StepOutput& out) {
//       out.Done(input_);
//     }
//
//    private:
//     std::string input_;
//   };
//
// List it in the plugin with plugin.h. All calls are resolved when the plugin
// is compiled; nothing here allocates.
//
// Thread-safety: the functions of one process never run at the same time, so
// its members need no locks. They may run on different threads one after the
// other, so do not keep state in thread-local storage. Ownership: events and
// payloads are views that end with the call that received them.
#pragma once

#include <actord/abi.h>
#include <actord/durable.h>
#include <actord/pid_text.h>
#include <actord/step.h>
#include <actord/upgrade.h>
#include <actord/values.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace actord {

enum class EventType : uint32_t {
  // A yield or call ended: tag, payload or error.
  kCompletion = ACTORD_EVENT_COMPLETION,
  // from, topic, payload, call.
  kMessage = ACTORD_EVENT_MESSAGE,
  // A request to end: the payload is the reason.
  kCancel = ACTORD_EVENT_CANCEL,
  // A monitored or linked process ended: from, tag, exit_reason, payload or
  // error.
  kExit = ACTORD_EVENT_EXIT,
};

// One event. A view of the daemon's data, valid until Step returns. Later
// daemons may send more types; ignore unknown types.
class Event {
 public:
  explicit Event(const actord_event* event) : event_(event) {}

  [[nodiscard]] EventType type() const {
    return static_cast<EventType>(event_->type);
  }
  [[nodiscard]] bool is_completion() const {
    return event_->type == ACTORD_EVENT_COMPLETION;
  }
  [[nodiscard]] bool is_message() const {
    return event_->type == ACTORD_EVENT_MESSAGE;
  }
  [[nodiscard]] bool is_cancel() const {
    return event_->type == ACTORD_EVENT_CANCEL;
  }

  [[nodiscard]] bool is_exit() const {
    return event_->type == ACTORD_EVENT_EXIT;
  }

  // Completion: the tag that Yield or Call returned. Exit: the tag that Monitor
  // returned, or 0 for a link. Otherwise 0.
  [[nodiscard]] Tag tag() const { return event_->tag; }
  // Message: the kind of the message; may be empty.
  [[nodiscard]] std::string_view topic() const {
    return detail::View(event_->topic);
  }
  // Message: the sender; empty() if it was sent from outside. Exit: the process
  // that has ended.
  [[nodiscard]] Pid from() const { return event_->from; }
  // Message: the value for StepOutput::Reply; 0: no answer is expected.
  [[nodiscard]] CallId call() const { return event_->call; }
  // Exit: how the process ended.
  [[nodiscard]] ExitReason exit_reason() const {
    return static_cast<ExitReason>(event_->reason);
  }
  // Completion: the command's result. Message: its payload. Cancel: the reason.
  // Exit: the result of the process. For a failed completion or exit: the
  // error's text.
  [[nodiscard]] Payload payload() const { return event_->payload; }
  // Failed completion or exit: the reason. Otherwise false.
  [[nodiscard]] Error error() const {
    if (event_->status == ACTORD_OK) return {};
    return {ToCode(event_->status), detail::View(event_->payload.bytes),
            detail::HolderIn(detail::View(event_->payload.content_type))};
  }

 private:
  const actord_event* event_;
};

// The events of one step, at most 319, oldest first. A view; valid until Step
// returns.
class Events {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Event;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Event;

    Iterator() = default;
    explicit Iterator(const actord_event* const* at) : at_(at) {}
    Event operator*() const { return Event(*at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(Iterator a, Iterator b) = default;

   private:
    const actord_event* const* at_ = nullptr;
  };

  Events(const actord_event* const* events, size_t count)
      : events_(events), count_(count) {}

  [[nodiscard]] Iterator begin() const { return Iterator(events_); }
  [[nodiscard]] Iterator end() const { return Iterator(events_ + count_); }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // `index` < size().
  Event operator[](size_t index) const { return Event(events_[index]); }
  // The events from `index` on, which is at most size().
  [[nodiscard]] Events From(size_t index) const {
    return {events_ + index, count_ - index};
  }

 private:
  friend class Context;     // context.h
  friend class StepOutput;  // step.h

  const actord_event* const* events_;
  size_t count_;
};

inline void StepOutput::ContinueAs(const Payload& input,
                                   std::string_view method,
                                   const Events& unseen) {
  ContinueAs(input, method, unseen.events_, unseen.count_);
}

// The base of process types. A type `T` has a default constructor and
//
//   static constexpr const char* kName;       1 to 128 of [a-zA-Z0-9_.-]
//   static constexpr const char* kDoc;        optional: one line for people
//   static constexpr actord::Method kMethods[];  the first is the default
//   static constexpr bool kHandlesCancel;     optional, see below
//   static constexpr bool kBlocksThread;      optional, see below
//   static constexpr bool kTrapsExits;        optional, see below
//   static constexpr bool kStopsChildren;     optional, see below
//   static constexpr Durability kDurability;  optional, see durable.h
//   static constexpr uint32_t kStateVersion;  optional, see durable.h
//
//   Status Init(std::string_view method, Payload input);
//       May have a third parameter `const StepContext&`, and may return void.
//       Called once, before all other functions. An error refuses to start;
//       neither Step nor Close is then called. `method` is one of kMethods.
//   void Step(Events events, StepOutput& out);
//       First called right after Init, often without events. Later calls have
//       events, or follow a Continue. If a step needs more than a millisecond,
//       split its work with Continue or set kBlocksThread.
//   void Close();
//       Optional. Called once, after all other functions and before the
//       destructor, also after a failure. Must not throw.
//   SnapshotResult Snapshot() const;
//       Optional: returns the state for a new version of the type that was
//       loaded while this process is alive (upgrade.h). Called between two
//       steps. This object may continue afterwards. NotNow() postpones the
//       upgrade until after the next step.
//   Status Restore(std::string_view method, const RestoreFrom& from,
//                  RestoreContext& context);
//       Optional; may return void. Called instead of Init on a new object, with
//       the result of the former version's Snapshot. On an error the process
//       keeps the former version, and neither Step nor Close of this object is
//       called. Otherwise Close of the former object is called, then Step of
//       this one, as after Init.
//
// An exception out of Init refuses the start; one out of Step fails the
// process. Both use what() as the text, and the daemon keeps running. The
// daemon reports an exception out of Close. After an exception out of Snapshot
// or Restore the process keeps its version. For a durable process, Snapshot and
// Restore are called at other times too (durable.h). The object is at most 1
// MiB and lives in the daemon's memory. No function is virtual: nothing is
// called through this base.
class Process {
 public:
  static constexpr const char* kDoc = nullptr;
  // A cancel arrives as an event, and the process decides how it ends. Without
  // this flag a cancel ends the process without another step.
  static constexpr bool kHandlesCancel = false;
  // Steps may block their thread: system calls, locks, long computations.
  static constexpr bool kBlocksThread = false;
  // The end of a linked process arrives as an event. Without this flag the
  // failure of a linked process ends this process, too.
  static constexpr bool kTrapsExits = false;
  // The process ends the processes it has spawned itself. When the daemon
  // drains, it asks only this process to end, not its children, for as long as
  // this process is alive.
  static constexpr bool kStopsChildren = false;
  // How processes of the type can survive the daemon (durable.h).
  static constexpr Durability kDurability = Durability::kNone;

  Status Init(std::string_view /*method*/, const Payload& /*input*/) {
    return {};
  }
  void Close() {}
};

}  // namespace actord
