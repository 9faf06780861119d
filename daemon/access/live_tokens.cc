#include "daemon/access/live_tokens.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/token_file.h"

namespace actord::daemon {
namespace {

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

bool LiveTokens::Version::operator==(const Version& other) const {
  return exists == other.exists && device == other.device &&
         inode == other.inode && bytes == other.bytes &&
         SameTime(modified, other.modified) && SameTime(changed, other.changed);
}

absl::StatusOr<std::unique_ptr<LiveTokens>> LiveTokens::Open(std::string path,
                                                             Logger& logger) {
  std::unique_ptr<LiveTokens> tokens(new LiveTokens(std::move(path), logger));
  // The version comes first: a change while the file is read is seen by the
  // next Refresh.
  const absl::MutexLock refresh_lock(&tokens->refresh_mutex_);
  tokens->version_ = tokens->Look();
  absl::StatusOr<Table> table = tokens->Read();
  if (!table.ok()) return table.status();
  const absl::MutexLock lock(&tokens->mutex_);
  tokens->table_ = *std::move(table);
  return tokens;
}

std::shared_ptr<const identity::TokenTable> LiveTokens::table() const {
  const absl::ReaderMutexLock lock(&mutex_);
  return table_;
}

LiveTokens::Answer LiveTokens::Find(std::string_view text,
                                    absl::FunctionRef<absl::Time()> now) const {
  const uint64_t known = generation_.load(std::memory_order_acquire);
  VerifiedTokens::Found found = verified_.Find(text, known);
  if (found.token != nullptr) {
    const absl::Time expires = found.token->identity.expires;
    // An expired token is refused by the table.
    if (expires == absl::InfiniteFuture() || now() < expires) {
      return {{std::move(found.token)}, found.holder};
    }
  }
  Table table;
  uint64_t generation = 0;
  {
    const absl::ReaderMutexLock lock(&mutex_);
    table = table_;
    generation = generation_.load(std::memory_order_relaxed);
  }
  Answer answer{table->Find(text, now()), {}};
  if (answer.token != nullptr) verified_.Keep(text, generation, answer.token);
  return answer;
}

LiveTokens::Version LiveTokens::Look() const {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) return {};
  return {.exists = true,
          .device = status.st_dev,
          .inode = status.st_ino,
          .bytes = status.st_size,
          .modified = status.st_mtim,
          .changed = status.st_ctim};
}

absl::StatusOr<LiveTokens::Table> LiveTokens::Read() const {
  absl::StatusOr<std::vector<identity::StoredToken>> tokens =
      identity::ReadTokenFile(path_);
  if (!tokens.ok()) return tokens.status();
  return std::make_shared<const identity::TokenTable>(*std::move(tokens));
}

void LiveTokens::Refresh(When when) {
  const absl::MutexLock refresh_lock(&refresh_mutex_);
  const Version version = Look();
  // An error of the system may pass without a change of the file, so the file
  // is read again after one.
  const bool is_settled =
      last_error_.ok() || absl::IsInvalidArgument(last_error_);
  if (when == When::kIfChanged && version == version_ && is_settled) return;
  version_ = version;
  absl::StatusOr<Table> table = Read();
  if (!table.ok()) {
    const bool is_known =
        when == When::kIfChanged && table.status() == last_error_;
    last_error_ = table.status();
    if (is_known) return;
    logger_.Error(
        absl::StrCat("tokens not reloaded, and the former tokens "
                     "stay in force: ",
                     table.status().message()));
    return;
  }
  last_error_ = absl::OkStatus();
  const size_t size = (*table)->size();
  {
    const absl::MutexLock lock(&mutex_);
    table_ = *std::move(table);
    generation_.fetch_add(1, std::memory_order_release);
  }
  logger_.Info(absl::StrCat("tokens reloaded: ", path_, " has ", size,
                            size == 1 ? " token" : " tokens"));
}

}  // namespace actord::daemon
