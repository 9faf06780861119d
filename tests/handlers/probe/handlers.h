// The handlers of the probe (probe.cc).
#pragma once

#include <actord/plugin.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace probe {

inline uint64_t ToNumber(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text);
}

class EchoHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "probe.echo";
  actord::Reply Handle(const actord::Command& command) {
    return actord::Reply::Text(std::string(command.payload().bytes));
  }
};

class DropHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "probe.drop";
  void Handle(const actord::Command& /*command*/, actord::Completion /*done*/) {
  }
};

// With PROBE_STAYS in the environment it does not go when the daemon does.
class StayingHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "probe.stay";
  ~StayingHandler() {
    while (std::getenv("PROBE_STAYS") != nullptr) {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
  actord::Reply Handle(const actord::Command& /*command*/) { return {}; }
};

class SlowHandler : public actord::Handler {
 public:
  static constexpr const char* kCommand = "probe.slow";
  static constexpr const char* kDoc =
      "Blocks a thread of the pool for its payload in milliseconds.";
  static constexpr actord::HandlerMode kMode = actord::HandlerMode::kPooled;
  actord::Reply Handle(const actord::Command& command) {
    const std::string ms(command.payload().bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(ToNumber(ms)));
    return actord::Reply::Text("slept");
  }
};

}  // namespace probe
