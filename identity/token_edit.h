// Adds tokens to a file and removes them. Edits by several programs at a time
// come one after the other, and none is lost. A reader sees the file before an
// edit or after it, never in between.
//
// Thread-safety: any thread.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "identity/file_replacement.h"
#include "identity/identity.h"

namespace actord::identity {

struct EditOptions {
  // Called while another program edits the file, before each new attempt. Waits
  // for a moment, or returns an error, which ends the edit.
  std::function<absl::Status()> wait;
  FileCalls calls = {};
};

struct Added {
  // There was no file, and now there is one with mode 0640.
  bool created = false;
};
// Appends `token` to the file at `path`; the rest of the file stays as it is,
// with its comments. If `path` is a symbolic link, the file behind it is
// edited.
//
// Errors are those of ReadTokenFile and ReplaceFile, and:
//   ALREADY_EXISTS       the file has a token of this ID
//   RESOURCE_EXHAUSTED   the file would be larger than kMaxTokenFileBytes, or
//                        have more than kMaxTokens tokens
absl::StatusOr<Added> AddToken(const std::string& path,
                               const StoredToken& token,
                               const EditOptions& options);

// Removes the token `id`, and returns it. Comments stay.
//
// Errors are those of ReadTokenFile and ReplaceFile, and NOT_FOUND for an ID
// that the file does not have. The message then names a likely ID.
absl::StatusOr<StoredToken> RevokeToken(const std::string& path,
                                        const std::string& id,
                                        const EditOptions& options);

}  // namespace actord::identity
