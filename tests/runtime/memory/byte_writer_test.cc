#include "runtime/memory/byte_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "runtime/system/random.h"

namespace actord::runtime {
namespace {

// Writes the bytes through Room, as numbers are written.
void PutInRoom(ByteWriter& writer, std::string_view bytes) {
  char* at = writer.Room(bytes.size());
  for (const char byte : bytes) *at++ = byte;
  writer.Took(at);
}

TEST(ByteWriter, WritesBehindTheBytesThatAreThere) {
  std::string out = "there ";
  ByteWriter writer(out);
  writer.Append("is ");
  writer.Put('a');
  PutInRoom(writer, " room");
  EXPECT_EQ(writer.size(), 15u);
  writer.Finish();
  EXPECT_EQ(out, "there is a room");
}

TEST(ByteWriter, EmptyTextsAddNothing) {
  std::string out;
  ByteWriter writer(out);
  writer.Append({});
  writer.Finish();
  EXPECT_EQ(out, "");
}

// Whatever the lengths are, and wherever the collected bytes go into the
// string.
TEST(ByteWriter, HasTheBytesOfAString) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::string expected(random.Next() % 3, 'x');
    std::string out = expected;
    {
      ByteWriter writer(out);
      for (int i = 0; i < 60; ++i) {
        const char byte = static_cast<char>('a' + random.Next() % 26);
        const size_t position =
            expected.empty() ? 0 : random.Next() % expected.size();
        switch (random.Next() % 7) {
          case 0: {
            // Up to twice what is collected.
            const std::string bytes(random.Next() % 1024, byte);
            writer.Append(bytes);
            expected += bytes;
            break;
          }
          case 1:
            writer.Put(byte);
            expected += byte;
            break;
          case 2:
            if (expected.empty()) break;
            *writer.At(position) = byte;
            expected[position] = byte;
            break;
          case 3:
            writer.Truncate(position);
            expected.resize(position);
            break;
          case 4:
            if (expected.empty()) break;
            writer.Replace(position, std::string(3, byte));
            expected.replace(position, 1, std::string(3, byte));
            break;
          default: {
            const std::string bytes(random.Next() % (ByteWriter::kMaxRoom + 1),
                                    byte);
            PutInRoom(writer, bytes);
            expected += bytes;
          }
        }
        ASSERT_EQ(writer.size(), expected.size()) << "seed " << seed;
      }
      writer.Finish();
    }
    ASSERT_EQ(out, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace actord::runtime
