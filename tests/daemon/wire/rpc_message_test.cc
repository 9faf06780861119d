#include "daemon/wire/rpc_message.h"

#include <gtest/gtest.h>

#include <string>

#include "actord/v1/actor_service.pb.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

TEST(RpcMessage, ReadsWhatWasWritten) {
  v1::SendRequest request;
  request.set_pid("1.2.3.4");
  request.mutable_payload()->set_data(std::string(100'000, 'x'));
  grpc::ByteBuffer buffer;
  ASSERT_TRUE(WriteMessage(request, &buffer).ok());
  v1::SendRequest read;
  ASSERT_TRUE(ReadMessage(buffer, &read).ok());
  EXPECT_EQ(read.SerializeAsString(), request.SerializeAsString());
}

TEST(RpcMessage, AcceptsAnEmptyMessage) {
  grpc::ByteBuffer buffer;
  ASSERT_TRUE(WriteMessage(v1::SendResponse(), &buffer).ok());
  EXPECT_TRUE(buffer.Valid());
  v1::SendResponse read;
  EXPECT_TRUE(ReadMessage(buffer, &read).ok());
}

TEST(RpcMessage, RefusesInvalidBytes) {
  for (const std::string& bytes :
       {std::string("\xff\xff\xff"), std::string("\x0a\x7fshort"),
        std::string("\x07")}) {
    v1::SendRequest request;
    const absl::Status status = ReadMessage(BufferOf(bytes), &request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(runtime::ReasonOf(status), runtime::reason::kInvalidField);
    EXPECT_EQ(std::string(status.message()),
              "the request is not a actord.v1.SendRequest");
  }
}

// Field `number` of wire type 2.
std::string Field(int number, const std::string& value) {
  return std::string(1, static_cast<char>(number << 3 | 2)) +
         static_cast<char>(value.size()) + value;
}

TEST(RpcMessage, NamesAFieldThatIsNotUtf8) {
  const struct {
    std::string bytes;
    const char* field;
  } cases[] = {
      {Field(1, "ok") + Field(2, "\xff"), "method"},
      {Field(3, Field(2, "\xc3")), "input.content_type"},
      {Field(5, Field(1, "ok")) + Field(5, Field(1, "\xff")),
       "messages[1].topic"},
  };
  for (const auto& c : cases) {
    v1::SubmitRequest request;
    const absl::Status status = ReadMessage(BufferOf(c.bytes), &request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.field;
    EXPECT_EQ(runtime::FieldOf(status), c.field);
  }
}

TEST(CountField, CountsItemsOfEveryWireTypeWithoutReadingThem) {
  const std::string items = Field(1, "") + Field(1, "\xff") +
                            std::string("\x10\x01", 2) +  // field 2, a varint
                            Field(2, Field(1, "")) +
                            std::string("\x0b\x08\x01\x0c", 4);  // a group
  EXPECT_EQ(CountField(BufferOf(items), 1), 3);
  EXPECT_EQ(CountField(BufferOf(items), 2), 2);
  EXPECT_EQ(CountField(BufferOf(items), 3), 0);
  EXPECT_EQ(CountField(BufferOf(""), 1), 0);
  EXPECT_EQ(CountField(BufferOf(items + "\x0a\x7fshort"), 1), 3);
  EXPECT_EQ(CountField(BufferOf(items + std::string(1, '\0') + items), 1), 3);
}

TEST(RpcMessage, BytesNeedNotBeUtf8) {
  v1::SubmitRequest request;
  EXPECT_TRUE(
      ReadMessage(BufferOf(Field(3, Field(1, "\xff\xfe"))), &request).ok());
  EXPECT_EQ(request.input().data(), "\xff\xfe");
}

}  // namespace
}  // namespace actord::daemon
