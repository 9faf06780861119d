// The keys of a token in a file of tokens.
//
// Thread-safety: pure functions.
#pragma once

#include <toml++/toml.h>

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "identity/identity.h"

namespace actord::identity {

struct TokenKey {
  std::string_view name;
  // Reads the value into `token`. INVALID_ARGUMENT states the mistake and the
  // remedy, to be written after the name of the key.
  absl::Status (*read)(const toml::node& value, StoredToken& token);
  // The rule for the value; empty: the key is not required.
  std::string_view required_rule;
};

std::span<const TokenKey> TokenKeys();

// A text of the file as part of a message: quoted, escaped, cut after 40 bytes,
// and without tokens.
std::string Quoted(std::string_view text);

}  // namespace actord::identity
