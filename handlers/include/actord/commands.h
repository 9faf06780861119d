// actord/commands.h: the built-in commands with their payloads, for
// StepOutput::Yield:
//
//   Tag tag = out.Yield(commands::Sleep(std::chrono::milliseconds(5)));
//
// Each class names the result and the errors that complete its yield.
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

// Appends `text`, which must be UTF-8, as a JSON string.
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

// Completes with an empty result after `duration`: at once if it is negative,
// at most ten years. Does not allocate.
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
  [[nodiscard]] Payload payload() const { return {{text_, size_}, {}}; }

 private:
  static constexpr uint64_t kNsPerMs = 1'000'000;

  static char* Append(char* at, std::string_view text) {
    return at + text.copy(at, text.size());
  }

  // {"duration_ms":18446744073709.551615}
  char text_[48];
  size_t size_;
};

// Starts a process. When its Init has returned, the result is the text of its
// PID (text/plain). Otherwise the error says why the process did not start:
// ALREADY_EXISTS if another process, Error::holder, holds options.name.
//
// An empty method means the type's first one. `input` (UTF-8 text) is passed on
// unchanged. options.link and options.monitor take effect before the child's
// first step, so that no exit is missed. The monitor's exit has the tag of this
// yield. With either option, a child that starts after the yield has ended (by
// its timeout, for example) is terminated.
//
// RESOURCE_EXHAUSTED: this process has reached its limit of watches.
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
    if (options.monitor) json_ += ",\"monitor\":true";
    if (options.is_volatile) json_ += ",\"volatile\":true";
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "process.spawn"; }
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

 private:
  std::string json_;
};

// Sends a message to the process whose PID has the text `to`. The result,
// {"delivered":true}, means that the message is in the mailbox; an error says
// why it is not.
class Send {
 public:
  Send(std::string_view to, std::string_view topic, std::string_view payload) {
    detail::AppendField(json_, "to", to);
    detail::AppendField(json_, "topic", topic);
    detail::AppendField(json_, "payload", payload);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "process.send"; }
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

 private:
  std::string json_;
};

// Cancel asks the process whose PID has the text `pid` to end. Terminate ends
// it, after its current step if it is in one. `reason` is for people; at most
// 1,024 bytes are kept. Completes at once, with an empty result or an error.
// NOT_FOUND: there never was such a process. FAILED_PRECONDITION: it has ended.
// RESOURCE_EXHAUSTED: 15,000 cancels are already queued for it. To learn when
// the process has ended, use a monitor or a link.
class EndProcess {
 public:
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

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

// A command with a single text field.
class OneText {
 public:
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

 protected:
  OneText(std::string_view field, std::string_view text) {
    detail::AppendField(json_, field, text);
    json_ += '}';
  }

 private:
  std::string json_;
};

// Names: 1 to 128 of [a-zA-Z0-9_.-/:]. Only one live process at a time can hold
// a name. A process holds at most 64 names.

// Gives this process the name. ALREADY_EXISTS: another process holds it,
// Error::holder.
class RegisterName : public OneText {
 public:
  explicit RegisterName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.register"; }
};

// Releases the name. NOT_FOUND: this process does not hold it.
class ReleaseName : public OneText {
 public:
  explicit ReleaseName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.release"; }
};

// The result is the PID, as text (text/plain), of the process that held the
// name at that moment. NOT_FOUND: no process held it.
class LookUpName : public OneText {
 public:
  explicit LookUpName(std::string_view name) : OneText("name", name) {}
  [[nodiscard]] std::string_view command() const { return "name.lookup"; }
};

// Groups: their names have the same form as process names, in a separate
// namespace. A group has at most 4,096 members; a process is in at most 64
// groups.

// Adds this process to the group.
class JoinGroup : public OneText {
 public:
  explicit JoinGroup(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.join"; }
};

// Removes this process from the group. NOT_FOUND: it is not a member.
class LeaveGroup : public OneText {
 public:
  explicit LeaveGroup(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.leave"; }
};

// The result is a JSON array of the members' PIDs, ordered by PID.
class GroupMembers : public OneText {
 public:
  explicit GroupMembers(std::string_view group) : OneText("group", group) {}
  [[nodiscard]] std::string_view command() const { return "group.members"; }
};

// Sends a message to every member except this process. The result is
// {"delivered":3,"refused":1}: the number of members whose mailbox took the
// message, and the number whose mailbox was full.
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
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

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
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

 private:
  std::string json_;
};

// Reads a regular file below a directory that the daemon's configuration
// allows. The result is the file's bytes (application/octet-stream).
class ReadFile {
 public:
  explicit ReadFile(std::string_view path) {
    detail::AppendField(json_, "path", path);
    json_ += '}';
  }

  [[nodiscard]] std::string_view command() const { return "file.read"; }
  [[nodiscard]] Payload payload() const { return {json_, {}}; }

 private:
  std::string json_;
};

}  // namespace actord::commands
