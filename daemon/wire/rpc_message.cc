#include "daemon/wire/rpc_message.h"

#include <actord/text.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;

// Returns the path of the first text in `message` that is not UTF-8; "" if
// there is none. The recursion ends, because the messages of the contract are
// nested at most three deep.
std::string FindBadText(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::string path = field->is_repeated()
                             ? absl::StrCat(field->name(), "[", i, "]")
                             : field->name();
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const std::string below =
            FindBadText(field->is_repeated()
                            ? reflection.GetRepeatedMessage(message, field, i)
                            : reflection.GetMessage(message, field));
        if (!below.empty()) return absl::StrCat(path, ".", below);
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text =
            field->is_repeated()
                ? reflection.GetRepeatedString(message, field, i)
                : reflection.GetString(message, field);
        if (!IsUtf8(text)) return path;
      }
    }
  }
  return "";
}

absl::Status Unreadable(const Message& message) {
  const std::string field = FindBadText(message);
  if (!field.empty()) {
    return runtime::InvalidField(field, runtime::reason::kInvalidField,
                                 absl::StrCat(field, " is not UTF-8"));
  }
  return runtime::InvalidField(
      "", runtime::reason::kInvalidField,
      absl::StrCat("the request is not a ", message.GetTypeName()));
}

}  // namespace

absl::Status ReadMessage(const grpc::ByteBuffer& buffer, Message* message) {
  // Most requests are one slice. Then there is no need for a stream.
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) {
    if (message->ParseFromArray(slice.begin(),
                                static_cast<int>(slice.size()))) {
      return absl::OkStatus();
    }
    return Unreadable(*message);
  }
  // The reader takes a pointer to non-const, but does not change the buffer.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&buffer));
  if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) {
    return absl::OkStatus();
  }
  return Unreadable(*message);
}

int CountField(const grpc::ByteBuffer& buffer, int number) {
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&buffer));
  if (!reader.status().ok()) return 0;
  google::protobuf::io::CodedInputStream input(&reader);
  int count = 0;
  while (const uint32_t tag = input.ReadTag()) {
    if (!WireFormatLite::SkipField(&input, tag)) break;
    if (WireFormatLite::GetTagFieldNumber(tag) == number) ++count;
  }
  return count;
}

absl::Status WriteMessage(const Message& message, grpc::ByteBuffer* buffer) {
  bool owns_buffer = false;
  const grpc::Status status = grpc::SerializationTraits<Message>::Serialize(
      message, buffer, &owns_buffer);
  if (status.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the answer cannot be sent: ", status.error_message()));
}

}  // namespace actord::daemon
