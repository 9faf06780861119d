// Process types that tell what they are sent: to subscribers, and to the log.
//
// Thread-safety: as any process type.
#pragma once

#include <actord/process.h>

#include <string>
#include <string_view>

#include "tests/handlers/probe/handlers.h"

namespace probe {

// Publishes each message under its topic; a call is answered with the number of
// publications so far. "burst", with "COUNT BYTES" as payload, publishes COUNT
// times under "burst", BYTES bytes that begin with the number.
class Herald : public actord::Process {
 public:
  static constexpr const char* kName = "probe.herald";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (!event.is_message()) continue;
      if (event.topic() == "burst") {
        Burst(std::string(event.payload().bytes), out);
      } else {
        out.Publish(event.topic(), event.payload());
        ++published_;
      }
      if (event.call() != 0)
        out.Reply(event.call(), std::to_string(published_));
    }
  }
  actord::SnapshotResult Snapshot() const { return std::to_string(published_); }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    published_ = ToNumber(std::string(from.snapshot.bytes));
    return actord::Status::Ok();
  }

 private:
  void Burst(const std::string& words, actord::StepOutput& out) {
    const size_t space = words.find(' ');
    const uint64_t count = ToNumber(words.substr(0, space));
    const uint64_t bytes = ToNumber(words.substr(space + 1));
    for (uint64_t i = 0; i < count; ++i) {
      std::string text = std::to_string(++published_);
      if (text.size() < bytes) text.resize(bytes, ' ');
      out.Publish("burst", actord::Payload::Text(text));
    }
  }

  uint64_t published_ = 0;
};

// Logs each message at the level that its topic names, and counts the lines.
// The topic "fail" then fails the step.
class Diarist : public actord::Process {
 public:
  static constexpr const char* kName = "probe.diarist";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (!event.is_message()) continue;
      out.Log(LevelOf(event.topic()), event.payload().bytes);
      ++lines_;
      if (event.topic() == "fail") {
        return out.Fail(actord::Code::kAborted, "as told");
      }
      if (event.call() != 0) out.Reply(event.call(), std::to_string(lines_));
    }
  }
  actord::SnapshotResult Snapshot() const { return std::to_string(lines_); }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    lines_ = ToNumber(std::string(from.snapshot.bytes));
    return actord::Status::Ok();
  }

 private:
  static actord::LogLevel LevelOf(std::string_view topic) {
    if (topic == "debug") return actord::LogLevel::kDebug;
    if (topic == "warning") return actord::LogLevel::kWarning;
    if (topic == "error") return actord::LogLevel::kError;
    return actord::LogLevel::kInfo;
  }

  uint64_t lines_ = 0;
};

}  // namespace probe
