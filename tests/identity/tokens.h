// Tokens for tests. Their secrets are fixed, so a test can look for them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "identity/identity.h"
#include "identity/token_text.h"

namespace actord::identity {

// A well-formed token, another one for each `number`.
inline std::string TokenText(uint8_t number) {
  std::array<uint8_t, kTokenIdBytes> id{};
  id.back() = number;
  std::array<uint8_t, kTokenSecretBytes> secret{};
  for (size_t i = 0; i < secret.size(); ++i) {
    secret[i] = static_cast<uint8_t>(number + 7 * i);
  }
  return FormatToken(id, secret);
}

// The line of TokenText(number) in the file: a client that may do everything
// that the role permits.
inline StoredToken ClientToken(uint8_t number,
                               const std::string& name = "app") {
  const std::string text = TokenText(number);
  StoredToken token;
  token.identity.token_id = std::string(*ParseToken(text));
  token.identity.name = name;
  token.identity.role = Role::kClient;
  token.identity.submit = {"*"};
  token.identity.send = {"*"};
  token.hash = *HashToken(text);
  return token;
}

}  // namespace actord::identity
