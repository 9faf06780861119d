// counter: a process that is driven by messages. Its topics:
//
//   add   an integer (empty: 1)   adds it to the value
//   get                           sends the value back as the message "value";
//                                 if sent from outside, logs it instead
//   stop                          ends the process with the value as the result
//
// A call of any topic is answered with the value. Errors are the answer of a
// call; otherwise they are sent back as the message "error", or logged if the
// message came from outside.
#include <actord/excerpt.h>
#include <actord/plugin.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

std::optional<int64_t> ParseInteger(std::string_view text, int64_t if_empty) {
  if (text.empty()) return if_empty;
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

class Counter : public actord::Process {
 public:
  static constexpr const char* kName = "counter";
  static constexpr const char* kDoc = "Counts: add, get, stop.";
  static constexpr actord::Method kMethods[] = {
      {"run", "Counts from its input on (an integer; empty: 0)."},
  };
  // A cancelled counter still returns its value.
  static constexpr bool kHandlesCancel = true;
  // The type can be durable: its image is `state`.
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    int64_t value = 0;
    bool done = false;
  };
  State state;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    const std::optional<int64_t> start = ParseInteger(input.bytes, 0);
    if (!start) {
      return {actord::Code::kInvalidArgument,
              "the input is not an integer of 64 bits: '" +
                  actord::Excerpt(input.bytes) + "'"};
    }
    state.value = *start;
    return actord::Status::Ok();
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_message()) OnMessage(event, out);
      if (event.is_cancel()) state.done = true;
    }
    // Without a verdict the process is idle: it waits for the next event.
    if (state.done) out.Done(std::to_string(state.value));
  }

 private:
  void OnMessage(const actord::Event& event, actord::StepOutput& out) {
    if (event.topic() == "add") {
      Add(event, out);
    } else if (event.topic() == "get") {
      Answer(event, "value", std::to_string(state.value), out);
    } else if (event.topic() == "stop") {
      state.done = true;
      if (event.call() != 0)
        Answer(event, "value", std::to_string(state.value), out);
    } else {
      Answer(event, "error",
             "unknown topic '" + actord::Excerpt(event.topic()) +
                 "'; known are add, get, stop",
             out);
    }
  }

  void Add(const actord::Event& event, actord::StepOutput& out) {
    const std::optional<int64_t> n = ParseInteger(event.payload().bytes, 1);
    int64_t sum = 0;
    if (!n || __builtin_add_overflow(state.value, *n, &sum)) {
      // No more than a part: the whole payload may be as long as any may be.
      Answer(event, "error",
             "cannot add '" + actord::Excerpt(event.payload().bytes) + "'",
             out);
      return;
    }
    state.value = sum;
    if (event.call() != 0)
      Answer(event, "value", std::to_string(state.value), out);
  }

  static void Answer(const actord::Event& event, std::string_view topic,
                     const std::string& text, actord::StepOutput& out) {
    if (event.call() != 0) {
      if (topic == "error") {
        out.ReplyError(event.call(), actord::Code::kInvalidArgument, text);
      } else {
        out.Reply(event.call(), text);
      }
    } else if (event.from().empty()) {
      out.Log(topic == "error" ? actord::LogLevel::kWarning
                               : actord::LogLevel::kInfo,
              "counter: " + text);
    } else {
      out.Send(event.from(), topic, actord::Payload::Text(text));
    }
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("counter", "1.0.0", actord::ProcessTypes<Counter>);
