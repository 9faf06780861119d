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
// Init has returned, or the error why there is none. An empty method is the
// type's first; `input` is passed on as it is (text: UTF-8).
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
