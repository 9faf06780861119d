// The tokens in force: the content of the file of tokens, which is read again
// when the file changes. A file with an error changes nothing.
//
// Thread-safety: any thread. Ownership: borrows the logger.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/access/verified_tokens.h"
#include "daemon/log/logging.h"
#include "identity/token_table.h"

namespace actord::daemon {

class LiveTokens {
 public:
  // Reads the file at `path`. Errors are those of identity::ReadTokenFile.
  static absl::StatusOr<std::unique_ptr<LiveTokens>> Open(std::string path,
                                                          Logger& logger);

  [[nodiscard]] std::shared_ptr<const identity::TokenTable> table() const;

  // The answer of TokenTable::Find, and the holder of the token, if KeepHolder
  // has kept it.
  struct Answer : identity::TokenTable::Answer {
    VerifiedTokens::Holder holder;
  };
  // Same as TokenTable::Find of the table in force. A token that was found
  // lately costs no SHA-256, and asks for the time only if it expires.
  [[nodiscard]] Answer Find(std::string_view text,
                            absl::FunctionRef<absl::Time()> now) const;
  // Keeps the holder of a token that Find has found for `text`.
  void KeepHolder(std::string_view text, const VerifiedTokens::Token& token,
                  const VerifiedTokens::Holder& holder) {
    verified_.KeepHolder(text, token, holder);
  }

  // Reads the file again: always, or if the file has changed since it was read.
  // Logs the outcome. An error is logged once, and the former tokens stay in
  // force.
  enum class When { kAlways, kIfChanged };
  void Refresh(When when);

 private:
  using Table = std::shared_ptr<const identity::TokenTable>;
  // The facts that show a change of the file.
  struct Version {
    bool exists = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t bytes = 0;
    struct timespec modified = {};
    struct timespec changed = {};

    bool operator==(const Version& other) const;
  };

  LiveTokens(std::string path, Logger& logger)
      : path_(std::move(path)), logger_(logger) {}
  [[nodiscard]] Version Look() const;
  [[nodiscard]] absl::StatusOr<Table> Read() const;

  const std::string path_;
  Logger& logger_;

  // Held while the file is read; no call waits for it.
  absl::Mutex refresh_mutex_;
  // The file before it was last read.
  Version version_ ABSL_GUARDED_BY(refresh_mutex_);
  // OK: the tokens in force are those of `version_`.
  absl::Status last_error_ ABSL_GUARDED_BY(refresh_mutex_);

  mutable absl::Mutex mutex_;
  Table table_ ABSL_GUARDED_BY(mutex_);
  // Counts the tables. Written with the mutex, after table_; a reader without
  // it may find the former number, and then uses the former table.
  std::atomic<uint64_t> generation_{1};
  mutable VerifiedTokens verified_;
};

}  // namespace actord::daemon
