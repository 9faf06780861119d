// Changes the text of a file of tokens.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "identity/identity.h"
#include "identity/token_toml.h"

namespace actord::identity {

// One [[token]] table, with every key that ParseTokens would otherwise fill in.
std::string FormatTokenTable(const StoredToken& token);

// `text` followed by the table of `token`.
std::string TextWithToken(std::string_view text, const StoredToken& token);
// `text` without the lines of `entry`. Comments above and below them stay.
std::string TextWithoutToken(std::string_view text, const TokenEntry& entry);

// "streams=5, processes=100", with `between` instead of the "=".
std::string QuotasText(const TokenQuotas& quotas, std::string_view between);

}  // namespace actord::identity
