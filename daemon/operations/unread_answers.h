// Bounds the answers that one client has not read. gRPC keeps an answer until
// the client's flow-control window has room for it, so a client that reads
// nothing would make the daemon keep an answer for each of its open calls.
//
// An answer is counted for the peer of its call from Count on, until gRPC has
// written or dropped its bytes. Small answers are not counted, and cost
// nothing: all open calls of one connection together hold little of them.
//
// Thread-safety: any thread. Ownership: gRPC may release an answer after the
// object is gone.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace actord::daemon {

class UnreadAnswers {
 public:
  // Answers up to this size are not counted.
  static constexpr size_t kSmallBytes = 16 << 10;

  // A single answer may be larger than `max_bytes`.
  explicit UnreadAnswers(size_t max_bytes);
  ~UnreadAnswers();
  UnreadAnswers(const UnreadAnswers&) = delete;
  UnreadAnswers& operator=(const UnreadAnswers&) = delete;

  // To be called with each answer before gRPC has it. RESOURCE_EXHAUSTED,
  // reason UNREAD_ANSWERS: the peer has not read enough of its earlier answers;
  // `answer` is empty then.
  absl::Status Count(const grpc::ServerContextBase& context,
                     grpc::ByteBuffer* answer) {
    if (answer->Length() <= kSmallBytes) return absl::OkStatus();
    return CountLarge(context.peer(), answer);
  }
  absl::Status CountLarge(const std::string& peer, grpc::ByteBuffer* answer);

  // Number of answers that were refused.
  [[nodiscard]] uint64_t refused() const {
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  class Peers;
  class Lease;
  struct Part;

  const size_t max_bytes_;
  // Shared with the answers.
  const std::shared_ptr<Peers> peers_;
  std::atomic<uint64_t> refused_{0};
};

}  // namespace actord::daemon
