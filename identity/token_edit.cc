#include "identity/token_edit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "identity/descriptor.h"
#include "identity/token_file.h"
#include "identity/token_layout.h"
#include "identity/token_text.h"
#include "identity/token_toml.h"

namespace actord::identity {
namespace {

constexpr char kNewFileText[] =
    "# The tokens of actord. \"actorctl token new\" adds one, and \"actorctl "
    "token revoke\"\n# removes one. This file holds hashes, not the secrets "
    "themselves.\n";

// Another program replaced the file this often while it was opened.
constexpr int kMaxOpenings = 100;

// A file whose lock this program holds. The lock belongs to the file, not to
// its path, and ends with the descriptor.
struct LockedFile {
  Descriptor file;
  // Without symbolic links.
  std::string path;
  struct stat status = {};
  bool created = false;
};

absl::StatusOr<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(
      realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return FileError(errno, path, "cannot be found");
  return std::string(real.get());
}

// Creates an empty file. ALREADY_EXISTS: another program was faster.
absl::StatusOr<Descriptor> CreateFile(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       kTokenFileMode));
  if (file.is_open()) {
    // Regardless of the umask.
    if (fchmod(file.get(), kTokenFileMode) == 0) return file;
    const int error = errno;
    unlink(path.c_str());
    return FileError(error, path, "cannot be given its mode");
  }
  if (errno != EEXIST) return FileError(errno, path, "cannot be created");
  struct stat link {};
  if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
      access(path.c_str(), F_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a symbolic link to a file that is missing"));
  }
  return absl::AlreadyExistsError("");
}

absl::Status Lock(const Descriptor& file, const std::string& path,
                  const EditOptions& options) {
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FileError(errno, path, "cannot be locked");
    absl::Status status = options.wait();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Whether the path still leads to the file that was locked.
bool IsAt(const std::string& path, const struct stat& status) {
  struct stat now {};
  return stat(path.c_str(), &now) == 0 && now.st_dev == status.st_dev &&
         now.st_ino == status.st_ino;
}

absl::StatusOr<LockedFile> OpenLocked(const std::string& path, bool may_create,
                                      const EditOptions& options) {
  for (int opening = 0; opening < kMaxOpenings; ++opening) {
    LockedFile locked;
    auto file = OpenTokenFile(path);
    if (may_create && absl::IsNotFound(file.status())) {
      file = CreateFile(path);
      locked.created = file.ok();
      if (absl::IsAlreadyExists(file.status())) continue;
    }
    if (!file.ok()) return file.status();
    locked.file = *std::move(file);
    absl::Status status = Lock(locked.file, path, options);
    if (!status.ok()) return status;
    if (fstat(locked.file.get(), &locked.status) != 0) {
      return FileError(errno, path, "cannot be examined");
    }
    auto real = RealPath(path);
    if (!real.ok() && !absl::IsNotFound(real.status())) return real.status();
    if (real.ok() && IsAt(*real, locked.status)) {
      locked.path = *std::move(real);
      return locked;
    }
  }
  return absl::AbortedError(absl::StrCat(
      path, ": other programs keep replacing the file; try again"));
}

// The text and the tokens of a file that is to be edited.
struct Content {
  std::string text;
  std::vector<TokenEntry> entries;
};

absl::StatusOr<Content> ReadContent(const LockedFile& locked) {
  auto text = ReadCheckedText(locked.file, locked.path);
  if (!text.ok()) return text.status();
  auto entries = ParseTokens(*text, locked.path);
  if (!entries.ok()) return entries.status();
  return Content{*std::move(text), *std::move(entries)};
}

// Writes the text of a file, if it has exactly these tokens.
absl::Status Store(const LockedFile& locked, const std::string& text,
                   const std::vector<StoredToken>& tokens,
                   const EditOptions& options) {
  const auto entries = ParseTokens(text, locked.path);
  const bool is_right =
      entries.ok() &&
      std::equal(entries->begin(), entries->end(), tokens.begin(), tokens.end(),
                 [](const TokenEntry& entry, const StoredToken& token) {
                   return entry.token == token;
                 });
  if (!is_right) {
    return absl::InternalError(absl::StrCat(
        locked.path,
        ": the layout of the file cannot be edited by a program: remove or add "
        "the token in an editor; the file is unchanged"));
  }
  return ReplaceFile(locked.path, text, locked.status, options.calls);
}

std::vector<StoredToken> TokensOf(const std::vector<TokenEntry>& entries) {
  std::vector<StoredToken> tokens;
  for (const TokenEntry& entry : entries) tokens.push_back(entry.token);
  return tokens;
}

absl::Status Append(const LockedFile& locked, const StoredToken& token,
                    const EditOptions& options) {
  auto content = ReadContent(locked);
  if (!content.ok()) return content.status();
  for (const TokenEntry& entry : content->entries) {
    if (entry.token.identity.token_id == token.identity.token_id) {
      return absl::AlreadyExistsError(absl::StrCat(
          locked.path, ": has a token with the ID ", token.identity.token_id));
    }
  }
  if (locked.created) content->text = kNewFileText;
  const std::string text = TextWithToken(content->text, token);
  if (text.size() > kMaxTokenFileBytes ||
      content->entries.size() == kMaxTokens) {
    return absl::ResourceExhaustedError(absl::StrCat(
        locked.path, ": a file of tokens may have ", kMaxTokens, " tokens and ",
        kMaxTokenFileBytes,
        " bytes: revoke tokens that are not used; the file is unchanged"));
  }
  std::vector<StoredToken> tokens = TokensOf(content->entries);
  tokens.push_back(token);
  return Store(locked, text, tokens, options);
}

size_t DifferentCharacters(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

// A hint about the meaning of an ID that the file does not have.
std::string Suggestion(const std::string& id,
                       const std::vector<TokenEntry>& entries) {
  if (const auto in_token = ParseToken(id); in_token.ok()) {
    return absl::StrCat("; this is the secret of a token, whose ID is ",
                        std::string(*in_token));
  }
  std::vector<std::string> of_name;
  for (const TokenEntry& entry : entries) {
    const Identity& identity = entry.token.identity;
    if (identity.name == id) of_name.push_back(identity.token_id);
  }
  if (!of_name.empty()) {
    return absl::StrCat("; this is a name, whose tokens have the IDs ",
                        absl::StrJoin(of_name, ", "));
  }
  for (const TokenEntry& entry : entries) {
    const std::string& other = entry.token.identity.token_id;
    if (DifferentCharacters(other, id) <= 2) {
      return absl::StrCat("; there is ", other);
    }
  }
  return "; \"actorctl token list\" shows the IDs";
}

}  // namespace

absl::StatusOr<Added> AddToken(const std::string& path,
                               const StoredToken& token,
                               const EditOptions& options) {
  const auto locked = OpenLocked(path, true, options);
  if (!locked.ok()) return locked.status();
  absl::Status status = Append(*locked, token, options);
  if (status.ok()) return Added{locked->created};
  // A program that waits for the lock sees that the file is gone, and creates
  // a new one.
  if (locked->created && !absl::IsDataLoss(status)) {
    unlink(locked->path.c_str());
  }
  return status;
}

absl::StatusOr<StoredToken> RevokeToken(const std::string& path,
                                        const std::string& id,
                                        const EditOptions& options) {
  const auto locked = OpenLocked(path, false, options);
  if (!locked.ok()) return locked.status();
  const auto content = ReadContent(*locked);
  if (!content.ok()) return content.status();
  const auto entry =
      std::find_if(content->entries.begin(), content->entries.end(),
                   [&id](const TokenEntry& one) {
                     return one.token.identity.token_id == id;
                   });
  if (entry == content->entries.end()) {
    return absl::NotFoundError(absl::StrCat(path, ": no token ",
                                            RedactTokens(id),
                                            Suggestion(id, content->entries)));
  }
  std::vector<StoredToken> tokens = TokensOf(content->entries);
  tokens.erase(tokens.begin() + (entry - content->entries.begin()));
  absl::Status status =
      Store(*locked, TextWithoutToken(content->text, *entry), tokens, options);
  if (!status.ok()) return status;
  return entry->token;
}

}  // namespace actord::identity
