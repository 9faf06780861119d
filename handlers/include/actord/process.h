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
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace actord {

enum class EventType : uint32_t {
  kCompletion = ACTORD_EVENT_COMPLETION,  // a yield ended: tag, payload or
                                          // error
  kMessage = ACTORD_EVENT_MESSAGE,        // from, topic, payload
  kCancel = ACTORD_EVENT_CANCEL,          // please end: the payload says why
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

  // Of a completion: what Yield returned. Otherwise 0.
  [[nodiscard]] Tag tag() const { return event_->tag; }
  // Of a message: what kind it is; may be empty.
  [[nodiscard]] std::string_view topic() const {
    return detail::View(event_->topic);
  }
  // Of a message: the sender; empty() when it came from outside.
  [[nodiscard]] Pid from() const { return event_->from; }
  // The command's result, the message, or the reason of a cancel. Of a failed
  // completion: the error's text.
  [[nodiscard]] Payload payload() const { return event_->payload; }
  // Of a failed completion: why. Otherwise false.
  [[nodiscard]] Error error() const {
    if (event_->status == ACTORD_OK) return {};
    return {ToCode(event_->status), detail::View(event_->payload.bytes)};
  }

 private:
  const actord_event* event_;
};

// The events of one step, oldest first. A view; valid until Step returns.
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

// What a process may look at during Init and Step. A process asks no clock and
// no random source but these, so that its steps can be repeated exactly.
class StepContext {
 public:
  explicit StepContext(actord_step* step) : step_(step) {}
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  [[nodiscard]] Pid self() const { return step_->api->self(step_); }
  // Who spawned this process; empty() when it was submitted from outside.
  [[nodiscard]] Pid parent() const { return step_->api->parent(step_); }
  // Stands still during one call.
  [[nodiscard]] Time now() const {
    return Time(
        Duration(static_cast<Duration::rep>(step_->api->unix_time_ns(step_))));
  }
  // The text of a PID, for payloads, and back; nullopt: that is none.
  [[nodiscard]] std::string FormatPid(const Pid& pid) const {
    char text[64];
    return {text, step_->api->format_pid(step_, &pid, text)};
  }
  [[nodiscard]] std::optional<Pid> ParsePid(std::string_view text) const {
    Pid pid;
    const int32_t status =
        step_->api->parse_pid(step_, detail::ToAbi(text), &pid);
    return status == ACTORD_OK ? std::optional<Pid>(pid) : std::nullopt;
  }
  // 64 uniformly random bits; not for secrets.
  [[nodiscard]] uint64_t random() const { return step_->api->random(step_); }

 protected:
  friend class Context;  // context.h

  actord_step* const step_;
};

struct YieldOptions {
  // Until the yield completes with DEADLINE_EXCEEDED. 0: the daemon's default.
  // A negative one has passed already.
  Duration timeout{0};
};

// Something that names a command and has its payload, as commands.h builds
// them.
template <typename T>
concept CommandRequest = requires(const T& request) {
  { request.command() } -> std::convertible_to<std::string_view>;
  { request.payload() } -> std::convertible_to<Payload>;
};

// What a step says and does. A step is a transaction: its effects (Yield, Send,
// Spawn) happen together and in order after Step has returned; if it fails or
// throws, none of them does. The daemon copies every argument before the call
// returns.
//
// The verdict (Done, Fail, Block, Idle, Continue) says how to go on. The last
// one counts; a step that says nothing is idle.
class StepOutput : public StepContext {
 public:
  using StepContext::StepContext;

  // Effects ------------------------------------------------------------------

  // Hands out a command. Exactly one completion event with the returned tag
  // follows, whatever becomes of it: unknown commands, limits and timeouts
  // complete it with an error. A payload above the daemon's limit fails the
  // step, as with Send and Spawn.
  Tag Yield(std::string_view command, const Payload& payload = {},
            const YieldOptions& options = {}) {
    const auto ns = options.timeout.count();
    const actord_yield yield = {
        sizeof(actord_yield), 0,
        ns >= 0 ? static_cast<uint64_t>(ns) : uint64_t{1},
        detail::ToAbi(command), payload.ToAbi()};
    return step_->api->yield(step_, &yield);
  }
  // The same for a command of commands.h: out.Yield(commands::Sleep(5ms)).
  template <CommandRequest Request>
  Tag Yield(const Request& request, const YieldOptions& options = {}) {
    return Yield(std::string_view(request.command()),
                 Payload(request.payload()), options);
  }

  // Sends a message. There is no answer: what cannot be delivered becomes a
  // dead letter. The command process.send (commands::Send) answers.
  void Send(const Pid& to, std::string_view topic,
            const Payload& payload = {}) {
    const actord_message message = detail::MakeMessage(topic, payload);
    step_->api->send(step_, &to, &message);
  }

  // Starts a process and returns its PID, to which can be sent at once. An Init
  // that refuses is the child's own end; the command process.spawn
  // (commands::Spawn) is the variant that answers. empty() only when the
  // daemon's limit of processes is reached. An empty method is the type's
  // first.
  [[nodiscard]] Pid Spawn(std::string_view process_type,
                          std::string_view method = {},
                          const Payload& input = {},
                          const SpawnOptions& options = {}) {
    const actord_spawn spawn =
        detail::MakeSpawn(process_type, method, input, options);
    return step_->api->spawn(step_, &spawn);
  }

  // Verdicts -----------------------------------------------------------------

  // Ended well, with a result.
  void Done(const Payload& result = {}) {
    const actord_payload payload = result.ToAbi();
    step_->api->set_result(step_, &payload);
    verdict_ = ACTORD_STEP_DONE;
  }
  // Failed. kOk is no failure and is read as kUnknown.
  void Fail(Code code, std::string_view message) {
    SetFailure(code, message);
    verdict_ = ACTORD_STEP_FAIL;
  }
  void Fail(const Status& status) { Fail(status.code(), status.message()); }
  // Wait for a completion (or a cancel); messages stay in the mailbox
  // meanwhile. Without an outstanding yield the process fails.
  void Block() { verdict_ = ACTORD_STEP_BLOCK; }
  // Wait for any event.
  void Idle() { verdict_ = ACTORD_STEP_IDLE; }
  // Run again after the others that are ready, also without an event.
  void Continue() { verdict_ = ACTORD_STEP_CONTINUE; }

  // ACTORD_STEP_* as it stands.
  [[nodiscard]] int32_t verdict() const { return verdict_; }

 private:
  template <typename T>
  friend class ProcessThunks;  // thunks.h

  void SetFailure(Code code, std::string_view message) {
    const Code failure = code == Code::kOk ? Code::kUnknown : code;
    step_->api->set_failure(step_, static_cast<int32_t>(failure),
                            detail::ToAbi(message));
  }

  int32_t verdict_ = ACTORD_STEP_IDLE;
};

// The base of process types. A type `T` has a default constructor and
//
//   static constexpr const char* kName;       1 to 128 of [a-zA-Z0-9_.-]
//   static constexpr const char* kDoc;        optional: one line for people
//   static constexpr actord::Method kMethods[];  the first is the default
//   static constexpr bool kHandlesCancel;     optional, see below
//   static constexpr bool kBlocksThread;      optional, see below
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
//
// An exception out of Init refuses the start, one out of Step fails the
// process, with what() as the text; the daemon goes on. One out of Close is
// reported by the daemon. The object is at most 1 MiB and lives in memory of
// the daemon. No function is virtual: nothing is called through this base.
class Process {
 public:
  static constexpr const char* kDoc = nullptr;
  // A cancel arrives as an event and the process decides how it ends. Otherwise
  // a cancel ends it without another step.
  static constexpr bool kHandlesCancel = false;
  // Steps may block their thread: system calls, locks, long computations.
  static constexpr bool kBlocksThread = false;

  Status Init(std::string_view /*method*/, const Payload& /*input*/) {
    return {};
  }
  void Close() {}
};

}  // namespace actord
