// Messages to and from gRPC's byte buffers.
//
// The service parses requests itself: gRPC answers a request that does not
// parse with UNIMPLEMENTED and no word about what is wrong.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/config_protobuf.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace actord::daemon {

// INVALID_ARGUMENT; names the field if it is a text that is no UTF-8.
absl::Status ReadMessage(const grpc::ByteBuffer& buffer,
                         google::protobuf::Message* message);
// How many times field `number` stands in a message of these bytes, as far as
// they are one. Takes no memory, unlike reading it: an empty item has two bytes
// on the wire and a hundred in memory.
int CountField(const grpc::ByteBuffer& buffer, int number);
// INTERNAL: the message is larger than the wire allows (2 GiB).
absl::Status WriteMessage(const google::protobuf::Message& message,
                          grpc::ByteBuffer* buffer);

}  // namespace actord::daemon
