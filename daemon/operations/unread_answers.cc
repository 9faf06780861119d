#include "daemon/operations/unread_answers.h"

#include <grpcpp/support/slice.h>

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

class UnreadAnswers::Peers {
 public:
  // False: the peer has no room for `bytes` more.
  bool Take(const std::string& peer, size_t bytes, size_t max_bytes) {
    const absl::MutexLock lock(&mutex_);
    size_t& held = held_[peer];
    if (held != 0 && held + bytes > max_bytes) return false;
    held += bytes;
    return true;
  }
  void Give(const std::string& peer, size_t bytes) {
    const absl::MutexLock lock(&mutex_);
    const auto it = held_.find(peer);
    if ((it->second -= bytes) == 0) held_.erase(it);
  }

 private:
  absl::Mutex mutex_;
  // Bytes that are not written, for peers that have some.
  absl::flat_hash_map<std::string, size_t> held_ ABSL_GUARDED_BY(mutex_);
};

// The bytes of one answer; gives them back at its end.
class UnreadAnswers::Lease {
 public:
  Lease(std::shared_ptr<Peers> peers, std::string peer, size_t bytes)
      : peers_(std::move(peers)), peer_(std::move(peer)), bytes_(bytes) {}
  ~Lease() { peers_->Give(peer_, bytes_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  const std::shared_ptr<Peers> peers_;
  const std::string peer_;
  const size_t bytes_;
};

// A slice of an answer, and its share of the answer's lease.
struct UnreadAnswers::Part {
  grpc::Slice slice;
  std::shared_ptr<const Lease> lease;
};

UnreadAnswers::UnreadAnswers(size_t max_bytes)
    : max_bytes_(max_bytes), peers_(std::make_shared<Peers>()) {}

UnreadAnswers::~UnreadAnswers() = default;

absl::Status UnreadAnswers::CountLarge(const std::string& peer,
                                       grpc::ByteBuffer* answer) {
  const size_t bytes = answer->Length();
  if (!peers_->Take(peer, bytes, max_bytes_)) {
    answer->Clear();
    refused_.fetch_add(1, std::memory_order_relaxed);
    return runtime::Retryable(
        absl::StatusCode::kResourceExhausted, runtime::reason::kUnreadAnswers,
        absl::StrCat("the answer has ", bytes,
                     " bytes, and the client has not read its earlier answers: "
                     "the limit is ",
                     max_bytes_, " bytes for each connection"),
        absl::Seconds(1));
  }
  const auto lease = std::make_shared<Lease>(peers_, peer, bytes);
  std::vector<grpc::Slice> slices;
  static_cast<void>(answer->Dump(&slices));
  for (grpc::Slice& slice : slices) {
    auto* const part = new Part{slice, lease};
    slice = grpc::Slice(
        const_cast<uint8_t*>(part->slice.begin()), part->slice.size(),
        [](void* data) { delete static_cast<Part*>(data); }, part);
  }
  *answer = grpc::ByteBuffer(slices.data(), slices.size());
  return absl::OkStatus();
}

}  // namespace actord::daemon
