// The format of a file of tokens: a TOML table for each token.
//
//   [[token]]
//   id = "k3v9x0ab"
//   name = "billing"
//   role = "client"
//   hash = "sha256:9f86d0...08"
//   expires = 2027-01-31T00:00:00Z
//   submit = ["order", "invoice.*"]
//   send = ["*"]
//   see = "own"
//   quotas = {streams = 5, bytes_per_second = 1048576}
//
// `id`, `name`, `role` and `hash` are required. Without `expires` the token
// never expires. Without `submit`, `send` or `work` the holder may do what the
// role permits with every name. Without `see`: DefaultSees. `quotas` is a table
// in one line of whole numbers (quotas.h); bytes have no unit. An unknown key
// is an error, and so is a list that the role does not permit.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "identity/identity.h"

namespace actord::identity {

inline constexpr size_t kMaxTokenFileBytes = size_t{4} << 20;
inline constexpr size_t kMaxTokens = 10'000;
// Maximum number of patterns in one list of one token.
inline constexpr size_t kMaxPatterns = 100;
// Bounds how deep the dotted keys of a line can nest.
inline constexpr size_t kMaxTokenFileLineBytes = 1024;

// A token with its place in the file: from its header to its last key. The
// first line of a file is 1.
struct TokenEntry {
  StoredToken token;
  uint32_t first_line = 0;
  uint32_t last_line = 0;
};

// The tokens in the text of a file, in its order. INVALID_ARGUMENT names `file`
// and a line, the mistake and the remedy. The message repeats no hash, and
// nothing that looks like the text of a token.
absl::StatusOr<std::vector<TokenEntry>> ParseTokens(std::string_view text,
                                                    std::string_view file);

}  // namespace actord::identity
