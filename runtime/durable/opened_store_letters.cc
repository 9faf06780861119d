// The dead letters of an open store.
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "runtime/durable/opened_store.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

// Maximum number of letters whose bodies are in memory at the same time.
constexpr size_t kLettersTogether = 256;

}  // namespace

absl::Status OpenedStore::ForEachLetter(
    absl::FunctionRef<void(uint64_t position, Letter&&)> use) {
  pass_.emplace(*journal_);
  const absl::Cleanup end_pass = [this] { pass_.reset(); };
  const std::string end = BehindPrefix(KeyOf(KeyKind::kLetter));
  uint64_t from = 0;
  for (;;) {
    std::vector<std::pair<uint64_t, Letter>> together;
    absl::Status failed;
    absl::Status status =
        state_->Scan(KeyOf(KeyKind::kLetter, from), end,
                     [&](std::string_view key, std::string_view value) {
                       auto& [position, letter] = together.emplace_back();
                       position = NumberIn(key, kKeyKindBytes);
                       failed = DecodeFields(value, letter);
                       return failed.ok() && together.size() < kLettersTogether;
                     });
    if (!failed.ok()) return absl::DataLossError(failed.message());
    if (!status.ok() || together.empty()) return status;
    for (auto& [position, letter] : together) {
      absl::StatusOr<StoredBody> body =
          BodyOf(letter.mail, position, pass_->source, buffers_);
      if (!body.ok()) return body.status();
      letter.mail.body = *std::move(body);
      use(position, std::move(letter));
    }
    from = together.back().first + 1;
  }
}

}  // namespace actord::runtime
