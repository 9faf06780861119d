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
// its members need no locks; one after the other they may run on different
// threads, so thread-local storage is no place for its state. Ownership: events
// and payloads are views that end with the call that received them.
#pragma once

#include <actord/abi.h>
#include <actord/step.h>
#include <actord/upgrade.h>
#include <actord/values.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace actord {

enum class EventType : uint32_t {
  kCompletion = ACTORD_EVENT_COMPLETION,  // a yield ended: tag, payload or
                                          // error
  kMessage = ACTORD_EVENT_MESSAGE,        // from, topic, payload
  kCancel = ACTORD_EVENT_CANCEL,          // please end: the payload says why
  kExit = ACTORD_EVENT_EXIT,              // a watched process ended: from, tag,
                                          // exit_reason, payload or error
};

// One event: a view of something that the daemon owns, valid until Step
// returns. A later daemon may know more types; ignore what you do not know.
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

  // Of a completion: what Yield or Call returned. Of an exit: what Monitor
  // returned, or 0 if it comes of a link. Otherwise 0.
  [[nodiscard]] Tag tag() const { return event_->tag; }
  // Of a message: what kind it is; may be empty.
  [[nodiscard]] std::string_view topic() const {
    return detail::View(event_->topic);
  }
  // Of a message: the sender; empty() when it came from outside. Of an exit:
  // who has ended.
  [[nodiscard]] Pid from() const { return event_->from; }
  // Of a message: what to answer with StepOutput::Reply. 0: no answer is
  // expected.
  [[nodiscard]] CallId call() const { return event_->call; }
  // Of an exit.
  [[nodiscard]] ExitReason exit_reason() const {
    return static_cast<ExitReason>(event_->reason);
  }
  // The command's result, the message, the reason of a cancel, or the result of
  // the process that has ended. Of a failed completion or exit: the error's
  // text.
  [[nodiscard]] Payload payload() const { return event_->payload; }
  // Of a failed completion or exit: why. Otherwise false.
  [[nodiscard]] Error error() const {
    if (event_->status == ACTORD_OK) return {};
    return {ToCode(event_->status), detail::View(event_->payload.bytes)};
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

 private:
  friend class Context;  // context.h

  const actord_event* const* events_;
  size_t count_;
};

// The base of process types. A type `T` has a default constructor and
//
//   static constexpr const char* kName;       1 to 128 of [a-zA-Z0-9_.-]
//   static constexpr const char* kDoc;        optional: one line for people
//   static constexpr actord::Method kMethods[];  the first is the default
//   static constexpr bool kHandlesCancel;     optional, see below
//   static constexpr bool kBlocksThread;      optional, see below
//   static constexpr bool kTrapsExits;        optional, see below
//   static constexpr bool kStopsChildren;     optional, see below
//
//   Status Init(std::string_view method, Payload input);
//       or with a third parameter `const StepContext&`; may return void.
//       Called once and first. An error refuses to start; then neither Step nor
//       Close is called. `method` is one of kMethods.
//   void Step(Events events, StepOutput& out);
//       Called first right after Init, often without events; afterwards only
//       with events or after Continue. More than a millisecond of work belongs
//       into pieces (Continue) or behind kBlocksThread.
//   void Close();
//       Optional. Called once and last, also after a failure, before the
//       destructor. Must not throw.
//   SnapshotResult Snapshot() const;
//       Optional: what a new version of the type, loaded while this process
//       lives, goes on with (upgrade.h). Called between two steps; this object
//       may go on afterwards. NotNow() puts it off until after the next step.
//   Status Restore(std::string_view method, const RestoreFrom& from,
//                  RestoreContext& context);
//       Optional, may return void. Called instead of Init on a new object, with
//       what the former version's Snapshot has said. An error leaves the
//       process with the former version; then neither Step nor Close of this
//       object is called. Otherwise Close of the former object follows, and
//       then Step of this one, as after Init.
//
// An exception out of Init refuses the start, one out of Step fails the
// process, with what() as the text; the daemon goes on. One out of Close is
// reported by the daemon; one out of Snapshot or Restore leaves the process
// with the version that it has. The object is at most 1 MiB and lives in memory
// of the daemon. No function is virtual: nothing is called through this base.
class Process {
 public:
  static constexpr const char* kDoc = nullptr;
  // A cancel arrives as an event and the process decides how it ends. Otherwise
  // a cancel ends it without another step.
  static constexpr bool kHandlesCancel = false;
  // Steps may block their thread: system calls, locks, long computations.
  static constexpr bool kBlocksThread = false;
  // The end of a linked process arrives as an event. Otherwise its failure ends
  // this one, too.
  static constexpr bool kTrapsExits = false;
  // It ends the processes that it has spawned itself: when the daemon drains,
  // this one is asked to end, and they are not as long as it lives.
  static constexpr bool kStopsChildren = false;

  Status Init(std::string_view /*method*/, const Payload& /*input*/) {
    return {};
  }
  void Close() {}
};

}  // namespace actord
