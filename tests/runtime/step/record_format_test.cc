// The bytes of a record, which are fixed for ever.
#include "runtime/step/record_format.h"

#include <array>
#include <fstream>
#include <sstream>

#include "runtime/step/record_bytes.h"
#include "runtime/system/sip_hash.h"
#include "tests/runtime/step/record_fixture.h"

namespace actord::runtime {
namespace {

// The example of the paper's Appendix A, and its bytes 0 to 7.
constexpr SipKey kPaperKey{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
constexpr uint64_t kEightBytes[] = {0x0706050403020100u};
static_assert(SipHash(kPaperKey, kEightBytes) == 0x93f5f5799a932462u);
static_assert(SipHash(kPaperKey, {}) == 0x726fdb47dd0e0e31u);
// The values of `openssl mac -macopt size:16 SIPHASH` for no bytes, and for the
// bytes 0 to 23.
constexpr uint64_t kManyBytes[] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u,
                                   0x1716151413121110u};
static_assert(SipHash128(kPaperKey, {}) ==
              std::array{0xe6a825ba047f81a3u, 0x930255c71472f66du});
static_assert(SipHash128(kPaperKey, kManyBytes) ==
              std::array{0xd850bd78ae79b42du, 0xad32618a178a2a88u});

// Sixteen bytes a line, in hexadecimal digits.
std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
    if (i % 16 == 15 || i + 1 == bytes.size()) hex += '\n';
  }
  return hex;
}

std::string ItemOf(uint16_t kind, uint16_t flags, std::string_view body) {
  std::string item;
  RecordWriter writer(item);
  writer.Begin(kind);
  writer.Finish();
  item.append(body);
  writer.End(0);
  item[2] = static_cast<char>(flags);
  return item;
}

// `record` with one more item at its end.
std::string With(std::string record, const std::string& item) {
  record += item;
  RecordWriter(record).End(0);
  return record;
}

class RecordCodec : public Records {};

TEST_F(RecordCodec, WritesTheBytesOfTheGoldenFile) {
  std::ifstream file(ACTORD_STEP_RECORD_GOLDEN);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(HexOf(OneOfEachKind()) + "\n" + HexOf(OfInit()) + "\n" +
                HexOf(OfNextLife()),
            golden.str());
}

TEST_F(RecordCodec, WritesAgainWhatItHasRead) {
  EXPECT_EQ(Again(OneOfEachKind()), OneOfEachKind());
  EXPECT_EQ(Again(OfInit()), OfInit());
  EXPECT_EQ(Again(OfNextLife()), OfNextLife());
}

TEST_F(RecordCodec, ReadsOneRecordBehindTheOther) {
  const std::string both = OfInit() + OneOfEachKind();
  std::string_view left = both;
  DecodedRecord decoded;
  ASSERT_TRUE(DecodeRecord(left, buffers_, decoded).ok());
  EXPECT_EQ(View(decoded.input.init.input.bytes), "input");
  ASSERT_TRUE(DecodeRecord(left, buffers_, decoded).ok());
  EXPECT_EQ(decoded.input.step, 17u);
  EXPECT_EQ(decoded.record.effects.size(), 10u);
  EXPECT_EQ(left, "");
  FreeContents(decoded, buffers_);
}

TEST_F(RecordCodec, KeepsAnUnknownItemThatMayBeSkipped) {
  const std::string record =
      With(OneOfEachKind(), ItemOf(1000, RecordReader::kSkippable, "later"));
  EXPECT_EQ(Again(record), record);
}

TEST_F(RecordCodec, RefusesUnknownItemsAndKinds) {
  EXPECT_EQ(
      Again(With(OneOfEachKind(), ItemOf(1000, 0, "later"))),
      "refused: the item of kind 1000: this version does not know it, and "
      "may not skip it");
  EXPECT_EQ(Again(ItemOf(9, 0, "")),
            "refused: a record of kind 9; the kinds that this version knows "
            "are 1, of Init, and 2, of a step");
}

TEST_F(RecordCodec, RefusesARecordThatIsCut) {
  const std::string record = OneOfEachKind();
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_EQ(Again(record.substr(0, size)).rfind("refused: it ends ", 0), 0u)
        << size;
  }
}

TEST_F(RecordCodec, RefusesMalformedItems) {
  EXPECT_EQ(Again(ItemOf(2, 0, "")).rfind("refused: a record has one input", 0),
            0u);
  const std::string cancel = ItemOf(38, 0, std::string(9, '\0'));
  EXPECT_EQ(Again(With(OneOfEachKind(), cancel)),
            "refused: the item of kind 38: it is longer than its kind");
  // No content, and a PID.
  const std::string send = ItemOf(32, 0, std::string(17, '\0'));
  EXPECT_EQ(Again(With(OneOfEachKind(), send)),
            "refused: the item of kind 32: its content is of another kind");
  const std::string verdict = ItemOf(48, 0, std::string(12, '\0'));
  EXPECT_EQ(Again(With(OneOfEachKind(), verdict)),
            "refused: the item of kind 48: it comes twice");
  // A tie of kind 4.
  const std::string tie = ItemOf(37, 0, "\4" + std::string(24, '\0'));
  EXPECT_EQ(Again(With(OneOfEachKind(), tie)),
            "refused: the item of kind 37: a value is none of its kind's");
  // A line of the log of level 5, with a content that is a message.
  std::string line;
  RecordWriter writer(line);
  writer.Write(int32_t{5});
  writer.Write(NewContent(ACTORD_EVENT_MESSAGE, "", "line", ""));
  writer.Finish();
  EXPECT_EQ(Again(With(OneOfEachKind(), ItemOf(40, 0, line))),
            "refused: the item of kind 40: its content is of another kind");
}

}  // namespace
}  // namespace actord::runtime
