// log.write: writes a line to the daemon's log.
//
//   {"level": "debug" | "info" | "warning" | "error", "message": text}
//
// "message" is required; "level" is "info" by default. The line begins with the
// PID of the process and its name, if it has one. Completes with an empty
// result.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace actord::handlers {

class LogWrite : public Handler {
 public:
  static constexpr const char* kCommand = "log.write";
  static constexpr const char* kDoc = "Writes a line to the daemon's log.";

  // The name that a live process holds; nullopt: none.
  using NameOf = std::function<std::optional<std::string>(const actord_pid&)>;

  // `name_of` may be empty.
  explicit LogWrite(Host host, NameOf name_of = {})
      : host_(host), name_of_(std::move(name_of)) {}
  Reply Handle(const Command& command) const;

 private:
  const Host host_;
  const NameOf name_of_;
};

}  // namespace actord::handlers
