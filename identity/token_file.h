// Reads a file of tokens, if only its owner can have written it.
//
// Thread-safety: pure functions, apart from reading the file.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "identity/descriptor.h"
#include "identity/identity.h"

namespace actord::identity {

// The most permissive mode of a file of tokens: its owner may write, and its
// group may read.
inline constexpr mode_t kTokenFileMode = 0640;

// The tokens of the file at `path`. The file must pass CheckTokenFile and
// ParseTokens. Errors name the file: NOT_FOUND, PERMISSION_DENIED (the system
// refuses to open it), INVALID_ARGUMENT.
absl::StatusOr<std::vector<StoredToken>> ReadTokenFile(const std::string& path);

// What an error calls the two kinds of files that hold tokens: the daemon's,
// with hashes, and a client's, with the text of one token.
inline constexpr std::string_view kFileOfTokens = "a file of tokens";
inline constexpr std::string_view kTokenFile = "a token file";

// Opens the file for reading. Does not wait for the writer of a pipe.
absl::StatusOr<Descriptor> OpenTokenFile(const std::string& path);

// OK if the file is a regular file, has no permission beyond kTokenFileMode,
// and belongs to root or to `reader`. `status` must come from the descriptor
// that is read: the file at a path may change in between. INVALID_ARGUMENT
// names `path` and `kind`.
absl::Status CheckTokenFile(const struct stat& status, uid_t reader,
                            const std::string& path,
                            std::string_view kind = kFileOfTokens);

// Checks the open file, and reads the whole of it, up to kMaxTokenFileBytes.
absl::StatusOr<std::string> ReadCheckedText(
    const Descriptor& file, const std::string& path,
    std::string_view kind = kFileOfTokens);

// An error of the system about the file at `path`: "path: what: reason". The
// code is NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED or UNKNOWN.
absl::Status FileError(int error, const std::string& path,
                       const std::string& what);

}  // namespace actord::identity
