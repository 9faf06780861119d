// actord/commands.h: the built-in commands, with their payloads, for
// StepOutput::Yield:
//
//   Tag tag = out.Yield(commands::Sleep(std::chrono::milliseconds(5)));
//
// Thread-safety: plain values. Ownership: each owns its payload.
#pragma once

#include <actord/values.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actord::commands {

namespace detail {

// Appends `text` as a JSON string. `text` is UTF-8.
inline void AppendString(std::string& json, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += "\\u00";
      json += kHex[c >> 4];
      json += kHex[c & 15];
    } else {
      json += c;
    }
  }
  json += '"';
}

inline void AppendField(std::string& json, std::string_view name,
                        std::string_view text) {
  json += json.empty() ? '{' : ',';
  AppendString(json, name);
  json += ':';
  AppendString(json, text);
}

}  // namespace detail

// Completes with an empty result after `duration` (negative: at once; at most
// ten years). Does not allocate.
class Sleep {
 public:
  explicit Sleep(Duration duration) {
    const auto ns =
        duration.count() > 0 ? static_cast<uint64_t>(duration.count()) : 0u;
    char* at = Append(text_, "{\"duration_ms\":");
    at = std::to_chars(at, text_ + sizeof(text_), ns / kNsPerMs).ptr;
    if (ns % kNsPerMs != 0) {
      *at++ = '.';
      for (uint64_t unit = kNsPerMs / 10; unit != 0; unit /= 10) {
        *at++ = static_cast<char>('0' + ns / unit % 10);
      }
    }
    *at++ = '}';
    size_ = static_cast<size_t>(at - text_);
  }

  [[nodiscard]] std::string_view command() const { return "timer.sleep"; }
  [[nodiscard]] Payload payload() const {
    return std::string_view(text_, size_);
  }

 private:
  static constexpr uint64_t kNsPerMs = 1'000'000;

  static char* Append(char* at, std::string_view text) {
    return at + text.copy(at, text.size());
  }

  // {"duration_ms":18446744073709.551615}
  char text_[48];
  size_t size_;
};

// Starts a process; the result is the text of its PID (text/plain) when its
// Init has returned, or the error why there is none: ALREADY_EXISTS if another
// process holds options.name. An empty method is the type's first; `input` is
// passed on as it is (text: UTF-8). options.link and .monitor tie the child
// before its first step, so that no end is missed; the exit of the monitor has
// the tag of this yield, and nothing is written to *options.monitor. With
// either of them a child that begins after the yield has ended (its timeout,
// say) is terminated. RESOURCE_EXHAUSTED: this process has as many watches as
// it may.
class Spawn {
 public:
  Spawn(std::string_view type, std::string_view method, std::string_view input,
        const SpawnOptions& options = {}) {
    detail::AppendField(json_, "type", type);
    detail::AppendField(json_, "method", method);
    detail::AppendField(json_, "input", input);
    if (options.keep_result) json_ += ",\"keep_result\":true";
    if (options.priority != ACTORD_PRIORITY_DEFAULT) {
      json_ += ",\"priority\":" + std::to_string(options.priority);
    }
    if (!options.name.empty()) {
      detail::AppendField(json_, "name", options.name);
    }
    if (options.link) json_ += ",\"link\":true";
    if (options.monitor != nullptr) json_ += ",\"monitor\":true";
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "process.spawn"; }
  [[nodiscard]] Payload payload() const { return json_; }

 private:
  std::string json_;
};

// Sends a message to the PID with the text `to`; the result says that it is in
// the mailbox, the error why it is not.
class Send {
 public:
  Send(std::string_view to, std::string_view topic, std::string_view payload) {
    detail::AppendField(json_, "to", to);
    detail::AppendField(json_, "topic", topic);
    detail::AppendField(json_, "payload", payload);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "process.send"; }
  [[nodiscard]] Payload payload() const { return json_; }

 private:
  std::string json_;
};

// Asks the process with the text `pid` to end (Cancel), or ends it at the end
// of the step that it is in (Terminate). `reason` is for people; 1,024 bytes of
// it are kept. Completes at once, with an empty result, or with NOT_FOUND:
// there never was such a process; FAILED_PRECONDITION: it has ended;
// RESOURCE_EXHAUSTED: 15,000 cancels wait for it. When it has ended is told by
// a monitor or a link.
class EndProcess {
 public:
  [[nodiscard]] Payload payload() const { return json_; }

 protected:
  EndProcess(std::string_view pid, std::string_view reason) {
    detail::AppendField(json_, "pid", pid);
    detail::AppendField(json_, "reason", reason);
    json_ += '}';
  }

 private:
  std::string json_;
};

class Cancel : public EndProcess {
 public:
  explicit Cancel(std::string_view pid, std::string_view reason = {})
      : EndProcess(pid, reason) {}
  [[nodiscard]] std::string_view command() const { return "process.cancel"; }
};

class Terminate : public EndProcess {
 public:
  explicit Terminate(std::string_view pid, std::string_view reason = {})
      : EndProcess(pid, reason) {}
  [[nodiscard]] std::string_view command() const { return "process.terminate"; }
};

// A command with one text.
class OneText {
 public:
  [[nodiscard]] Payload payload() const { return json_; }

 protected:
  OneText(std::string_view field, std::string_view text) {
    detail::AppendField(json_, field, text);
    json_ += '}';
  }

 private:
  std::string json_;
};

// Names: 1 to 128 of [a-zA-Z0-9_.-/:], held by one live process each; a process
// holds at most 64.

// Gives this process the name. ALREADY_EXISTS: another process holds it; the
// text ends with its PID.
class RegisterName : public OneText {
 public:
  explicit RegisterName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.register"; }
};

// Takes it away again. NOT_FOUND: this process does not hold it.
class ReleaseName : public OneText {
 public:
  explicit ReleaseName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.release"; }
};

// The result is the text of the PID that holds the name (text/plain): of a
// process that lived then. NOT_FOUND: nobody.
class LookUpName : public OneText {
 public:
  explicit LookUpName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.lookup"; }
};

// Groups: named like processes, in a space of their own; at most 4,096 members,
// and 64 groups a process.

// Makes this process a member.
class JoinGroup : public OneText {
 public:
  explicit JoinGroup(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.join"; }
};

// NOT_FOUND: this process is no member.
class LeaveGroup : public OneText {
 public:
  explicit LeaveGroup(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.leave"; }
};

// The result is a JSON array of the members' PIDs, in their order.
class GroupMembers : public OneText {
 public:
  explicit GroupMembers(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.members"; }
};

// Sends a message to all members but this process. The result is
// {"delivered":3,"refused":1}: those into whose mailbox it went, and those
// whose mailbox was full.
class SendToGroup {
 public:
  SendToGroup(std::string_view group, std::string_view topic,
              std::string_view payload) {
    detail::AppendField(json_, "group", group);
    detail::AppendField(json_, "topic", topic);
    detail::AppendField(json_, "payload", payload);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "group.send"; }
  [[nodiscard]] Payload payload() const { return json_; }

 private:
  std::string json_;
};

// Writes a line to the daemon's log. `level`: debug, info, warning or error.
class Log {
 public:
  Log(std::string_view level, std::string_view message) {
    detail::AppendField(json_, "level", level);
    detail::AppendField(json_, "message", message);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "log.write"; }
  [[nodiscard]] Payload payload() const { return json_; }

 private:
  std::string json_;
};

// Reads a regular file below a directory that the daemon's configuration
// allows; the result is its bytes (application/octet-stream).
class ReadFile {
 public:
  explicit ReadFile(std::string_view path) {
    detail::AppendField(json_, "path", path);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "file.read"; }
  [[nodiscard]] Payload payload() const { return json_; }

 private:
  std::string json_;
};

}  // namespace actord::commands
