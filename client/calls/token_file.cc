#include "client/calls/token_file.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "identity/token_file.h"
#include "identity/token_text.h"

namespace actord::client {

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const auto file = identity::OpenTokenFile(path);
  if (!file.ok()) return file.status();
  auto text = identity::ReadCheckedText(*file, path, identity::kTokenFile);
  if (!text.ok()) return text.status();
  if (text->find("[[token]]") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": is the file of tokens of a daemon (auth.tokens), which has hashes "
        "alone; a token file has one token, as actorctl token new prints it"));
  }
  absl::StripTrailingAsciiWhitespace(&*text);
  const auto id = identity::ParseToken(*text);
  if (!id.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": a token file must hold one token, as actorctl token new prints it: ",
        id.status().message()));
  }
  return *std::move(text);
}

}  // namespace actord::client
