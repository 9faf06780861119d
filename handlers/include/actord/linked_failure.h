// The text of a failure that has passed along links: which process failed
// first, why, and how many links away. Its length does not depend on how many
// links the failure has passed.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/excerpt.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actord::detail {

// Limit on the text of the first failure within the text of each process that
// it ends. The first process keeps its own text whole.
inline constexpr std::size_t kMaxCauseBytes = 512;

// Why the first process failed. It is passed on unchanged from link to link.
struct FirstFailure {
  std::string pid;
  uint32_t links = 1;  // from the first process to the process that ends
  std::string what;    // "has failed: …", "could not be: …"
};

inline std::string CutCause(std::string_view what) {
  return Excerpt(what, kMaxCauseBytes);
}

// The failure text of a process that ends because the linked process `linked`
// has failed.
inline std::string LinkedFailureText(std::string_view linked,
                                     const FirstFailure& first) {
  std::string text = "process " + std::string(linked);
  text += ", to which it is linked, ";
  if (first.links > 1) {
    text += "has failed; the cause is " + std::to_string(first.links);
    text += " links away: process " + first.pid + " ";
  }
  return text + first.what;
}

}  // namespace actord::detail
