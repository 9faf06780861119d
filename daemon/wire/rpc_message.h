// Reads messages from gRPC's byte buffers, and writes messages to them.
//
// The service parses requests itself, because gRPC answers a malformed request
// with UNIMPLEMENTED and does not name the mistake.
//
// Thread-safety: pure functions; a RequestOnStack is for one thread.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/config_protobuf.h>
#include <grpcpp/support/byte_buffer.h>

#include <array>
#include <cstddef>

#include "absl/status/status.h"

namespace actord::daemon {

// A request that lives as long as a function. The messages and texts in it take
// memory on the stack first, and then on the heap.
template <typename Request>
class RequestOnStack {
 public:
  RequestOnStack() = default;
  RequestOnStack(const RequestOnStack&) = delete;
  RequestOnStack& operator=(const RequestOnStack&) = delete;

  Request& operator*() { return *request_; }

 private:
  static constexpr size_t kStackBytes = 1024;

  alignas(std::max_align_t) std::array<char, kStackBytes> first_;
  google::protobuf::Arena arena_{first_.data(), first_.size()};
  Request* const request_ =
      google::protobuf::Arena::CreateMessage<Request>(&arena_);
};

// INVALID_ARGUMENT: `buffer` is malformed. The error names a text field that is
// not UTF-8.
absl::Status ReadMessage(const grpc::ByteBuffer& buffer,
                         google::protobuf::Message* message);
// Counts how many times field `number` occurs in the message, up to the first
// malformed field. Unlike ReadMessage, this takes no memory: an empty item
// takes two bytes on the wire and a hundred in memory.
int CountField(const grpc::ByteBuffer& buffer, int number);
// INTERNAL: the message is larger than the wire allows (2 GiB).
absl::Status WriteMessage(const google::protobuf::Message& message,
                          grpc::ByteBuffer* buffer);

// The answer of a unary call. gRPC takes the bytes when it sends the answer,
// which it does once. (It would copy those of a ByteBuffer: an allocation.)
struct AnswerBytes {
  mutable grpc::ByteBuffer bytes;
};

}  // namespace actord::daemon

namespace grpc {

template <>
class SerializationTraits<actord::daemon::AnswerBytes> {
 public:
  static Status Serialize(const actord::daemon::AnswerBytes& answer,
                          ByteBuffer* buffer, bool* owns_buffer) {
    answer.bytes.Swap(buffer);
    *owns_buffer = true;
    return Status::OK;
  }
};

}  // namespace grpc
