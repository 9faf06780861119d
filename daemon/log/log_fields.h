// The facts of a log line, for programs that read the log as JSON. The text of
// the line tells them to people.
//
// Thread-safety: plain values. Ownership: borrow their texts, for the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actord::daemon {

// A fact that is empty, or 0, is left out of the line.
struct LogFields {
  // A longer text is cut.
  static constexpr size_t kMaxFieldBytes = 256;

  // The process that the line is about.
  std::string_view pid = {};
  std::string_view type = {};
  std::string_view name = {};
  // The call that the line is about. `client`: the name that the client has
  // proved; `peer`: its address.
  std::string_view client = {};
  std::string_view method = {};
  std::string_view peer = {};
  // A status code, or the reason of a refusal.
  std::string_view code = {};
  std::string_view trace_id = {};
  // Lines of this kind that were left out since the last one.
  uint64_t repeated = 0;
};

}  // namespace actord::daemon
