// The bytes of the journal's records, which are fixed for ever.
#include "runtime/records/record_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/journal/format.h"
#include "runtime/process/fingerprint.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/record_fields.h"
#include "tests/runtime/records/sample_records.h"

namespace actord::runtime {
namespace {

using records::Any;
using ::testing::EndsWith;

std::string BytesOf(const Any& record) {
  std::string bytes;
  records::Encode(record, bytes);
  return bytes;
}

uint16_t KindOf(const Any& record) {
  return std::visit(
      [](const auto& one) { return static_cast<uint16_t>(one.kKind); }, record);
}

std::string HexLine(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string Unhex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

// The golden file has a line for each record: kind, name and bytes.
std::string GoldenText() {
  std::string text;
  for (const Any& record : SampleRecords()) {
    const auto kind = static_cast<records::Kind>(KindOf(record));
    text += std::to_string(KindOf(record)) + " " +
            std::string(records::NameOf(kind)) + " " +
            HexLine(BytesOf(record)) + "\n";
  }
  std::string image;
  EncodeFields(SampleImage(), image);
  return text + "0 IMAGE " + HexLine(image) + "\n";
}

std::string Refusal(uint16_t kind, std::string_view payload) {
  std::optional<Any> record;
  const absl::Status status = records::Decode(kind, 0, payload, record);
  EXPECT_NE(status.ok(), !record.has_value());
  return std::string(status.message());
}

TEST(RecordBytes, AreTheBytesOfTheGoldenFile) {
  std::ifstream file(ACTORD_RECORDS_GOLDEN);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(GoldenText(), golden.str());
}

TEST(RecordBytes, GoldenFileIsReadAsTheSameValues) {
  std::ifstream file(ACTORD_RECORDS_GOLDEN);
  const std::vector<Any> samples = SampleRecords();
  size_t next = 0;
  int kind = 0;
  std::string name;
  std::string hex;
  while (file >> kind >> name >> hex) {
    const std::string bytes = Unhex(hex);
    if (kind == 0) {
      records::RuntimeImage image;
      ASSERT_TRUE(DecodeFields(bytes, image).ok());
      EXPECT_EQ(image, SampleImage());
      continue;
    }
    std::optional<Any> record;
    const absl::Status status =
        records::Decode(static_cast<uint16_t>(kind), 0, bytes, record);
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_TRUE(*record == samples.at(next++)) << name;
  }
  EXPECT_EQ(next, samples.size());
}

// Counts the fields of a type.
struct FieldCount {
  template <typename T>
  void operator()(uint32_t number, const T& /*value*/,
                  FieldUse /*use*/ = FieldUse::kOptional) {
    EXPECT_EQ(number, ++fields) << "the numbers have no gaps";
  }
  uint32_t fields = 0;
};

std::set<uint64_t> NumbersIn(std::string_view bytes) {
  std::set<uint64_t> numbers;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!bytes.empty()) {
    const uint64_t key = varint();
    numbers.insert(key >> 2);
    const uint64_t value = varint();
    if ((key & 1) != 0) bytes.remove_prefix(value);
  }
  return numbers;
}

TEST(RecordSamples, SetEachField) {
  std::map<uint16_t, std::set<uint64_t>> found;
  std::map<uint16_t, uint32_t> fields;
  for (const Any& record : SampleRecords()) {
    found[KindOf(record)].merge(NumbersIn(BytesOf(record)));
    FieldCount count;
    std::visit([&](const auto& one) { VisitFields(one, count); }, record);
    fields[KindOf(record)] = count.fields;
  }
  EXPECT_EQ(found.size(), std::variant_size_v<Any>);
  for (const auto& [kind, numbers] : found) {
    EXPECT_EQ(numbers.size(), fields[kind]) << "kind " << kind;
  }
}

TEST(RecordDecoder, RefusesEachRecordThatIsCutShortOrReadsLess) {
  for (const Any& record : SampleRecords()) {
    const std::string bytes = BytesOf(record);
    for (size_t size = 0; size < bytes.size(); ++size) {
      std::optional<Any> read;
      const std::string_view cut = std::string_view(bytes).substr(0, size);
      if (records::Decode(KindOf(record), 0, cut, read).ok()) {
        EXPECT_EQ(BytesOf(*read), cut);
      }
    }
  }
}

TEST(RecordDecoder, KeepsOptionalFieldsOfLaterVersions) {
  const std::string later = BytesOf(records::Time{.unix_ns = 5}) +
                            std::string("\xc8\x01\x07", 3) +   // 50: 7
                            std::string("\xcd\x01\x02hi", 5);  // 51: "hi"
  std::optional<Any> record;
  const auto kind = static_cast<uint16_t>(records::Kind::kTime);
  ASSERT_TRUE(records::Decode(kind, 0, later, record).ok());
  EXPECT_EQ(std::get<records::Time>(*record).unix_ns, 5u);
  EXPECT_EQ(BytesOf(*record), later);
}

TEST(RecordDecoder, RefusesCriticalFieldsOfLaterVersions) {
  const std::string later =
      BytesOf(records::Time{.unix_ns = 5}) + std::string("\xca\x01\x07", 3);
  EXPECT_EQ(Refusal(15, later),
            "TIME: field 50: this version does not know it, and may not go on "
            "without");
}

TEST(RecordDecoder, SkipsUnknownKindsThatMayBeSkippedAndNoOthers) {
  std::optional<Any> record;
  EXPECT_TRUE(records::Decode(900, kSkippable, "?", record).ok());
  EXPECT_FALSE(record.has_value());
  EXPECT_EQ(Refusal(900, "?"),
            "a record of kind 900, which this version does not know and may "
            "not skip");
}

TEST(RecordDecoder, RefusesASecondEncodingOfTheSameValue) {
  const auto time = [](std::string_view bytes) { return Refusal(15, bytes); };
  EXPECT_EQ(time(std::string("\x04\x05", 2)), "");
  EXPECT_EQ(time(std::string("\x04\x85\x00", 3)),
            "TIME: field 1: a number is cut short, too large or too long");
  EXPECT_EQ(time(std::string("\x04\x00", 2)),
            "TIME: field 1: an initial value is not written");
  EXPECT_EQ(time(std::string("\x08\x05\x04\x05", 4)),
            "TIME: field 1: it is out of order, or comes twice");
  EXPECT_EQ(time(std::string("\x04\x05\x04\x05", 4)),
            "TIME: field 1: it is out of order, or comes twice");
  EXPECT_EQ(time(std::string("\x06\x05", 2)),
            "TIME: field 1: it is optional or critical against its kind");
  EXPECT_EQ(time(std::string("\x05\x05", 2)),
            "TIME: field 1: it has the form of bytes");
}

TEST(RecordDecoder, ChecksTheRulesOfARecord) {
  EXPECT_EQ(Refusal(4, ""),
            "INPUT: the rule: it has messages, an event or a request id");
  EXPECT_EQ(Refusal(4, BytesOf(records::Input{.request = {.id = "id"}})), "");
  records::Input many;
  many.messages.resize(65);
  EXPECT_EQ(Refusal(4, BytesOf(many)),
            "INPUT: the rule: it has up to 64 messages");
  records::Input call{.kind = records::InputKind::kCall,
                      .request = {.id = "id"}};
  const char* const rule = "INPUT: the rule: a call has one message and an id";
  EXPECT_EQ(Refusal(4, BytesOf(call)), rule);
  call.messages.resize(1);
  call.messages[0].topic = "topic";
  EXPECT_EQ(Refusal(4, BytesOf(call)), "");
  call.request.id.clear();
  EXPECT_EQ(Refusal(4, BytesOf(call)), rule);
  EXPECT_EQ(Refusal(17, BytesOf(records::OwnerName{.name = "alice"})),
            "OWNER: the rule: an owner has a number and a name");
  EXPECT_EQ(Refusal(14, BytesOf(records::Plugin{.sha256 = "short"})),
            "PLUGIN: the rule: a plugin has a number");
  EXPECT_EQ(
      Refusal(14, BytesOf(records::Plugin{.number = 1, .sha256 = "short"})),
      "PLUGIN: the rule: a digest has 32 bytes");
}

// A length that the bytes do not hold allocates nothing.
TEST(RecordDecoder, BelievesNoLength) {
  EXPECT_EQ(Refusal(14, std::string("\x09\xff\xff\xff\xff\x0f", 6)),
            "PLUGIN: field 2: it ends 4294967295 bytes too early");
}

// The whole turn `items` in a frame.
std::string TurnOf(const std::string& items) {
  std::string turn("\x03\0\0\0\0\0\0\0", 8);
  turn[4] = static_cast<char>(items.size());
  turn[5] = static_cast<char>(items.size() >> 8);
  return turn + items;
}

std::string RefusalOfTurn(const std::string& turn) {
  BufferPool pool;
  BufferCache buffers(pool);
  DecodedRecord decoded;
  const absl::Status status = DecodeTurn(turn, buffers, decoded);
  if (status.ok()) {
    EXPECT_EQ(decoded.events.size(), 1u);
    EXPECT_EQ(decoded.record.effects.size(), 1u);
    FreeContents(decoded, buffers);
  }
  return std::string(status.message());
}

TEST(RecordTurn, HasItsItemsInOneOrder) {
  constexpr std::string_view kRule =
      "a turn has events, answers and effects without flags, in this order, "
      "and no other items";
  const std::string turn = SampleTurn();
  const size_t frame = 8;
  // The effect is the last item.
  const size_t effect_at = turn.find(std::string("\x20\x00\x00\x00", 4));
  ASSERT_NE(effect_at, std::string::npos);
  const std::string before = turn.substr(frame, effect_at - frame);
  const std::string effect = turn.substr(effect_at);
  const std::string verdict("\x30\0\0\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  const std::string unknown("\x31\x31\x01\0\0\0\0\0", 8);
  // A time that the World gave.
  const std::string answer("\x10\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0", 16);
  std::string with_flags = effect;
  with_flags[2] = 1;
  std::string flagged_answer = answer;
  flagged_answer[2] = 1;

  EXPECT_EQ(RefusalOfTurn(turn), "");
  EXPECT_EQ(RefusalOfTurn(TurnOf(before + effect)), "");
  EXPECT_EQ(RefusalOfTurn(TurnOf(before + effect + unknown)), "");
  EXPECT_THAT(RefusalOfTurn(TurnOf(effect + before)), EndsWith(kRule));
  EXPECT_THAT(RefusalOfTurn(TurnOf(before + unknown + effect)),
              EndsWith(kRule));
  for (const std::string& items :
       {before + with_flags, flagged_answer + effect, before + effect + answer,
        answer + before + effect}) {
    EXPECT_THAT(RefusalOfTurn(TurnOf(items)), EndsWith(kRule));
  }
  EXPECT_THAT(RefusalOfTurn(TurnOf(before + effect + verdict)),
              EndsWith(kRule));
  std::string frame_with_flags = turn;
  frame_with_flags[2] = 1;
  for (const std::string& bytes : {turn + turn, TurnOf(""), frame_with_flags}) {
    EXPECT_EQ(RefusalOfTurn(bytes), "the bytes are not one turn");
  }
}

TEST(Fingerprints, AreFixedForEverAndTellPartsApart) {
  const SipKey key{1, 2};
  const auto of = [&](std::vector<std::string_view> parts) {
    return FingerprintOf(key, parts);
  };
  const Fingerprint golden = of({"Send", "order-1", std::string_view()});
  EXPECT_EQ(golden, (Fingerprint{0x603abb2043cfbbb7, 0xf8f8d2e93ee469f5}));
  EXPECT_FALSE(of({"Send", "order-1"}) == golden);
  EXPECT_FALSE(of({"Sen", "dorder-1", ""}) == golden);
  EXPECT_FALSE(of({"Send", std::string_view("order-1\0", 8), ""}) == golden);
  EXPECT_NE(golden.high, golden.low);
}

TEST(HomePids, TakeOneByteForTheNode) {
  const Pid pid = HomePid(5, 2, 7, 1);
  EXPECT_TRUE(IsHomePid(pid));
  EXPECT_FALSE(IsHomePid({1, 2, 7, 1}));
  EXPECT_EQ(HomeOf(pid), 5u);
  const std::string bytes = BytesOf(records::Attempt{.pid = pid});
  EXPECT_EQ(HexLine(bytes), "05040b020701");
}

}  // namespace
}  // namespace actord::runtime
