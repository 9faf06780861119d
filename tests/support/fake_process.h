// One process without a daemon: a test passes events to it step by step and
// checks its effects.
//
// Thread-safety: none. Ownership: owns the process's state and its records.
#pragma once

#include <actord/abi.h>
#include <actord/process.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/recorded.h"

namespace actord::testing {

class FakeProcess {
 public:
  struct Yielded {
    Tag tag;
    std::string command;
    OwnedPayload payload;
    uint64_t timeout_ns;
  };

  struct Called {
    Tag tag;
    Pid to;
    std::string name;
    std::string topic;
    OwnedPayload payload;
    uint64_t timeout_ns;
  };
  struct Replied {
    CallId call;
    Code code;
    OwnedPayload payload;
  };
  struct Monitored {
    Tag tag;
    Pid pid;
  };
  struct Continued {
    std::string method;
    OwnedPayload input;
    // The topic and the payload of each event.
    std::vector<std::string> unseen;
  };

  explicit FakeProcess(const actord_process_type& type, Pid self = MakePid(1),
                       Pid parent = {})
      : type_(type), state_(type.state_size), step_(this) {
    step_.self = self;
    step_.parent = parent;
  }
  ~FakeProcess() {
    if (started_ && !closed_) Close();
  }
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;

  // Returns ACTORD_OK, or the refusal.
  int32_t Init(std::string_view method = {}, Payload input = {}) {
    uint32_t index = 0;
    while (!method.empty() && type_.methods[index].name != method) ++index;
    const actord_init init = {sizeof(actord_init), index, input.ToAbi()};
    const int32_t status = type_.init(state_.get(), &init, &step_);
    started_ = status == ACTORD_OK;
    return status;
  }

  // Called instead of Init. Returns ACTORD_OK, or the refusal.
  int32_t Restore(std::string_view method, Payload snapshot,
                  std::string_view from_version) {
    uint32_t index = 0;
    while (type_.methods[index].name != method) ++index;
    const actord_restore restore = {
        sizeof(actord_restore), index,
        snapshot.ToAbi(),       actord::detail::ToAbi(from_version),
        restore_reason,         restore_flat_version};
    const int32_t status = type_.restore(state_.get(), &restore, &step_);
    started_ = status == ACTORD_OK;
    return status;
  }
  // Stores the snapshot in `result`.
  int32_t Snapshot() { return type_.snapshot(state_.get(), &step_); }
  [[nodiscard]] const void* state() const { return state_.get(); }

  // Queues an event for the next step.
  void Message(std::string_view topic, Payload payload = {}, Pid from = {},
               CallId call = 0) {
    actord_event event = EventOf(ACTORD_EVENT_MESSAGE, payload);
    event.from = from;
    event.topic = actord::detail::ToAbi(topic);
    event.call = call;
    Queue(event);
  }
  void Complete(Tag tag, Payload payload = {}, Code code = Code::kOk) {
    actord_event event = EventOf(ACTORD_EVENT_COMPLETION, payload);
    event.status = static_cast<int32_t>(code);
    event.tag = tag;
    Queue(event);
  }
  void Cancel(std::string_view reason) {
    Queue(EventOf(ACTORD_EVENT_CANCEL, Payload(reason)));
  }
  void Exit(Pid pid, Tag monitor, ExitReason reason, Payload payload = {},
            Code code = Code::kOk) {
    actord_event event = EventOf(ACTORD_EVENT_EXIT, payload);
    event.from = pid;
    event.tag = monitor;
    event.reason = static_cast<uint32_t>(reason);
    event.status = static_cast<int32_t>(code);
    Queue(event);
  }

  // Queues an event of a type that only a later daemon knows.
  void UnknownEvent() {
    actord_event event = EventOf(99, {});
    event.tag = 1;
    Queue(event);
  }

  // Runs one step with the queued events. Clears the effects of the previous
  // step.
  int32_t Step() {
    yields.clear();
    sent.clear();
    spawned.clear();
    calls.clear();
    replies.clear();
    monitored.clear();
    demonitored.clear();
    linked.clear();
    unlinked.clear();
    given_up.clear();
    std::vector<const actord_event*> pointers;
    for (const auto& queued : queue_) pointers.push_back(&queued->event);
    const int32_t verdict =
        type_.step(state_.get(), pointers.data(), pointers.size(), &step_);
    queue_.clear();
    return verdict;
  }

  void Close() {
    closed_ = true;
    type_.close(state_.get());
  }

  // Effects of the last step, and its result or failure.
  std::vector<Yielded> yields;
  std::vector<SentMessage> sent;
  std::vector<SpawnedProcess> spawned;
  std::vector<Called> calls;
  std::vector<Replied> replies;
  std::vector<Continued> continued;
  std::vector<Monitored> monitored;
  std::vector<Tag> demonitored;
  std::vector<Pid> linked;
  std::vector<Pid> unlinked;
  // Tags passed to cancel_yield.
  std::vector<Tag> given_up;
  std::vector<std::string> published;  // TOPIC=BYTES
  std::vector<std::string> logged;     // LEVEL=TEXT
  // Tags that Restore can adopt.
  std::vector<Tag> outstanding;
  // The arguments of Restore.
  uint32_t restore_reason = ACTORD_RESTORE_UPGRADE;
  uint32_t restore_flat_version = 0;
  OwnedPayload result;
  Code failure = Code::kOk;
  std::string failure_text;
  uint64_t now_ns = 1'700'000'000'000'000'000;
  uint64_t random = 42;
  // Beyond it, spawn returns no PID.
  uint32_t spawn_limit = 1'000'000;
  uint64_t monotonic_ns = 5'000'000'000;

 private:
  struct State {
    explicit State(size_t size)
        : bytes(static_cast<std::byte*>(
              ::operator new (size, std::align_val_t{64}))) {
      std::fill_n(bytes, size, std::byte{0});
    }
    ~State() { ::operator delete (bytes, std::align_val_t{64}); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    [[nodiscard]] void* get() const { return bytes; }
    std::byte* bytes;
  };

  struct StepOf : actord_step {
    explicit StepOf(FakeProcess* p) : actord_step{StepApi()}, process(p) {}
    FakeProcess* process;
    Pid self, parent;
  };
  static StepOf* Of(actord_step* step) { return static_cast<StepOf*>(step); }
  static const StepOf* Of(const actord_step* step) {
    return static_cast<const StepOf*>(step);
  }

  static actord_event EventOf(uint32_t type, const Payload& payload) {
    actord_event event{};
    event.type = type;
    event.payload = payload.ToAbi();
    return event;
  }
  // An event that owns its bytes.
  struct Queued {
    std::string topic;
    OwnedPayload payload;
    actord_event event;
  };
  void Queue(const actord_event& event) {
    auto queued = std::make_unique<Queued>(
        Queued{ToString(event.topic), Payload(event.payload), event});
    queued->event.topic = actord::detail::ToAbi(queued->topic);
    queued->event.payload =
        Payload(queued->payload.bytes, queued->payload.content_type).ToAbi();
    queue_.push_back(std::move(queued));
  }

  static const actord_step_api* StepApi() {
    static constexpr actord_step_api kApi = {
        sizeof(actord_step_api),
        0,
        [](const actord_step* step) -> actord_pid { return Of(step)->self; },
        [](const actord_step* step) -> actord_pid { return Of(step)->parent; },
        [](actord_step* step) { return Of(step)->process->now_ns; },
        [](actord_step* step) { return Of(step)->process->random; },
        [](actord_step* step, const actord_yield* what) {
          FakeProcess& process = *Of(step)->process;
          process.yields.push_back({++process.last_tag_,
                                    ToString(what->command),
                                    Payload(what->payload), what->timeout_ns});
          return process.last_tag_;
        },
        [](actord_step* step, const actord_pid* to,
           const actord_message* message) {
          Of(step)->process->sent.push_back({Of(step)->self, *to,
                                             ToString(message->topic),
                                             Payload(message->payload)});
        },
        [](actord_step* step, const actord_spawn* what) -> actord_pid {
          FakeProcess& process = *Of(step)->process;
          if (process.spawned.size() == process.spawn_limit) return Pid();
          const Pid pid = MakePid(++process.last_child_);
          process.spawned.push_back(
              {pid, Of(step)->self, ToString(what->process_type),
               ToString(what->method), Payload(what->input),
               (what->flags & ACTORD_SPAWN_KEEP_RESULT) != 0, what->priority});
          return pid;
        },
        [](actord_step* step, const actord_payload* what) {
          Of(step)->process->result = Payload(*what);
        },
        [](actord_step* step, int32_t status, actord_bytes message) {
          Of(step)->process->failure = ToCode(status);
          Of(step)->process->failure_text = ToString(message);
        },
        [](const actord_step*, const actord_pid* pid, char* text) {
          return FormatFakePid(*pid, text);
        },
        [](const actord_step*, actord_bytes text, actord_pid* pid) {
          return ParseFakePid(text, pid);
        },
        [](actord_step* step, const actord_request* what) {
          FakeProcess& process = *Of(step)->process;
          process.calls.push_back({++process.last_tag_, what->to,
                                   ToString(what->name), ToString(what->topic),
                                   Payload(what->payload), what->timeout_ns});
          return process.last_tag_;
        },
        [](actord_step* step, uint64_t call, int32_t status,
           const actord_payload* payload) {
          Of(step)->process->replies.push_back(
              {call, ToCode(status),
               payload == nullptr ? Payload() : Payload(*payload)});
        },
        [](actord_step* step, const actord_pid* pid) {
          FakeProcess& process = *Of(step)->process;
          process.monitored.push_back({++process.last_tag_, *pid});
          return process.last_tag_;
        },
        [](actord_step* step, uint64_t tag) {
          Of(step)->process->demonitored.push_back(tag);
        },
        [](actord_step* step, const actord_pid* pid) {
          Of(step)->process->linked.emplace_back(*pid);
        },
        [](actord_step* step, const actord_pid* pid) {
          Of(step)->process->unlinked.emplace_back(*pid);
        },
        [](actord_step* step, uint64_t tag) {
          Of(step)->process->given_up.push_back(tag);
        },
        [](actord_step* step) { return Of(step)->process->monotonic_ns; },
        [](const actord_step*) -> size_t { return 1 << 20; },
        [](actord_step* step, uint64_t tag) -> int32_t {
          return std::erase(Of(step)->process->outstanding, tag) != 0
                     ? ACTORD_OK
                     : ACTORD_NOT_FOUND;
        },
        [](actord_step* step, const actord_continuation* next) {
          Continued& last = Of(step)->process->continued.emplace_back();
          last.method = ToString(next->method);
          last.input = Payload(next->input);
          for (uint32_t i = 0; i < next->unseen_count; ++i) {
            const actord_event& event = *next->unseen[i];
            last.unseen.push_back(ToString(event.topic) +
                                  ToString(event.payload.bytes));
          }
        },
        [](actord_step*) -> actord_bytes { return {}; },
        [](actord_step*, actord_bytes) -> actord_pid { return {}; },
        [](actord_step* step, const actord_message* publication) {
          Of(step)->process->published.push_back(
              ToString(publication->topic) + "=" +
              ToString(publication->payload.bytes));
        },
        [](actord_step* step, int32_t level, actord_bytes text) {
          Of(step)->process->logged.push_back(std::to_string(level) + "=" +
                                              ToString(text));
        }};
    return &kApi;
  }

  const actord_process_type& type_;
  State state_;
  StepOf step_;
  std::vector<std::unique_ptr<Queued>> queue_;
  Tag last_tag_ = 0;
  uint32_t last_child_ = 100;
  bool started_ = false;
  bool closed_ = false;
};

}  // namespace actord::testing
