#include "runtime/journal/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/journal/crc32c.h"
#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

namespace fs = std::filesystem;

TEST(Crc32c, IsCastagnoli) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
}

TEST(JournalFormat, NamesOfSegments) {
  EXPECT_EQ(SegmentName(0x4000000), "0000000004000000.seg");
  EXPECT_EQ(PlaceOfName("0000000004000000.seg"), 0x4000000u);
  for (const char* name : {"", ".seg", "4000000.seg", "0000000004000000.new",
                           "0000000004000000.seg.new", "000000000400000G.seg",
                           "+000000004000000.seg", "000000000400000A.seg"}) {
    EXPECT_EQ(PlaceOfName(name), std::nullopt) << name;
  }
}

// A header with one number changed, and the checksum made right again.
std::string WithNumber(std::string bytes, size_t at, uint16_t number,
                       size_t crc_at) {
  bytes.replace(at, sizeof number, reinterpret_cast<const char*>(&number),
                sizeof number);
  const uint32_t crc = Crc32c(std::string_view(bytes).substr(0, crc_at));
  return bytes.replace(crc_at, sizeof crc, reinterpret_cast<const char*>(&crc),
                       sizeof crc);
}

TEST(JournalFormat, HeadersOfNewerFormatsAreTold) {
  const StoreId store = {1, 2};
  GroupHeader group;
  group.place = kBlockBytes;
  std::string bytes(kGroupHeaderBytes, '\0');
  EncodeGroupHeader(store, group, bytes.data());
  GroupHeader read;
  EXPECT_EQ(DecodeGroupHeader(store, bytes, read), Judgement::kGood);
  EXPECT_EQ(read.place, kBlockBytes);
  EXPECT_EQ(DecodeGroupHeader({3, 2}, bytes, read), Judgement::kBad);
  const auto group_with = [&](size_t at) {
    return DecodeGroupHeader(store, WithNumber(bytes, at, 3, 80), read);
  };
  EXPECT_EQ(group_with(4), Judgement::kNewer) << "the format";
  EXPECT_EQ(group_with(6), Judgement::kNewer) << "an unknown flag";
  EXPECT_EQ(group_with(0), Judgement::kBad) << "the magic number";

  const std::string segment = EncodeSegmentHeader({store, 0, 1 << 20});
  SegmentHeader header;
  EXPECT_EQ(DecodeSegmentHeader(segment, header), Judgement::kGood);
  EXPECT_EQ(DecodeSegmentHeader(WithNumber(segment, 8, 3, 48), header),
            Judgement::kNewer);
  EXPECT_EQ(DecodeSegmentHeader(WithNumber(segment, 0, 2, 48), header),
            Judgement::kBad);
}

TEST(JournalFormat, RecordsAreTakenWholeOrNotAtAll) {
  std::string bytes;
  const uint64_t word = RecordWord(3, 5, kSkippable);
  bytes.append(reinterpret_cast<const char*>(&word), 8);
  bytes += "abc";
  bytes.resize(16);
  std::string_view rest = bytes;
  const std::optional<RecordView> record = TakeRecord(rest, 40);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->lsn, 40u);
  EXPECT_EQ(record->kind, 5);
  EXPECT_EQ(record->flags, kSkippable);
  EXPECT_EQ(record->payload, "abc");
  EXPECT_TRUE(rest.empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    rest = std::string_view(bytes).substr(0, size);
    EXPECT_FALSE(TakeRecord(rest, 40)) << size;
  }
  bytes[0] = 7;  // shorter than its own header
  rest = bytes;
  EXPECT_FALSE(TakeRecord(rest, 40));
}

// ---- The golden store ------------------------------------------------------
//
// Files of a store without their zeros at the end. ACTORD_JOURNAL_GOLDEN=write
// writes a new one, for a new format; the old ones stay.

const std::string kGolden = ACTORD_JOURNAL_GOLDEN_DIR;

std::vector<std::string> GoldenPayloads() {
  return {"one", "", std::string(70000, 'l'), "sealed", "after a restart"};
}

class GoldenStore : public JournalFixture {};

TEST_F(GoldenStore, IsWrittenInTheSameBytes) {
  Open();
  const std::vector<std::string> payloads = GoldenPayloads();
  (void)Append(payloads[0]);
  (void)Append(payloads[1], kSkippable);
  (void)journal_->Work();
  (void)Append(payloads[2]);
  (void)Append(payloads[3]);
  journal_->Close();
  clock_.AdvanceNs(kSecond);
  Open();
  AppendDurably(payloads[4]);
  const bool writes = std::getenv("ACTORD_JOURNAL_GOLDEN") != nullptr;
  for (const std::string& path : disk_.Files()) {
    const fs::path file = kGolden + "/format_" +
                          std::to_string(kJournalFormat) +
                          path.substr(std::string(kStore).size());
    std::string contents = disk_.Contents(path);
    contents.resize(contents.find_last_not_of('\0') + 1);
    if (writes) {
      fs::create_directories(file.parent_path());
      std::ofstream(file, std::ios::binary) << contents;
    }
    std::ifstream stream(file, std::ios::binary);
    const std::string golden{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_EQ(golden.size(), contents.size()) << file;
    const auto [here, there] =
        std::mismatch(golden.begin(), golden.end(), contents.begin());
    EXPECT_TRUE(here == golden.end())
        << file << " differs at offset " << here - golden.begin();
  }
}

TEST_F(GoldenStore, IsOpened) {
  for (const fs::directory_entry& format : fs::directory_iterator(kGolden)) {
    SCOPED_TRACE(format.path());
    SimulatedDisk disk(1);
    ASSERT_TRUE(disk.MakeDirectory(kStore).ok());
    ASSERT_TRUE(disk.MakeDirectory(kStore + std::string("/journal")).ok());
    ASSERT_TRUE(disk.SyncDirectory("/").ok());
    ASSERT_TRUE(disk.SyncDirectory(kStore).ok());
    for (const auto& entry : fs::recursive_directory_iterator(format)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      std::string contents{std::istreambuf_iterator<char>(stream), {}};
      const bool is_segment = entry.path().extension() == kSegmentSuffix;
      contents.resize(is_segment ? 1 << 20 : kBlockBytes);
      disk.SetContents(kStore + std::string("/") +
                           fs::relative(entry.path(), format).string(),
                       contents);
    }
    options_.files = &disk;
    Open();
    EXPECT_EQ(Payloads(), GoldenPayloads());
    EXPECT_EQ(journal_->report().incarnation, 3u);
    EXPECT_EQ(journal_->report().cut, "");
    EXPECT_EQ(journal_->report().repaired, "");
    journal_.reset();
  }
}

// ---- Flipped bytes ---------------------------------------------------------

// One byte in each 4 KiB of every file is changed, at an offset that differs
// from block to block, and the first 128 bytes of each header and group. The
// store is refused, or what it holds is right.
// ACTORD_JOURNAL_FLIPS=all tries the first 256 bytes of each block, and 16
// more.
class FlipTest : public JournalFixture {
 protected:
  // Returns the verdict: refused, repaired, cut or harmless.
  std::string Flip(const std::string& path, uint64_t offset,
                   const std::vector<std::string>& payloads) {
    disk_.Restart(true, 512);
    for (const auto& [file, contents] : saved_) {
      if (disk_.Contents(file) != contents) disk_.SetContents(file, contents);
    }
    disk_.Flip(path, offset, static_cast<unsigned char>(1u << offset % 8));
    const absl::Status status = TryOpen();
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr(kStore));
      return "refused";
    }
    EXPECT_EQ(Payloads(), payloads);
    const RecoveryReport report = journal_->report();
    journal_.reset();
    if (!report.cut.empty()) return "cut";
    return report.repaired.empty() ? "harmless" : "repaired";
  }

  std::vector<std::pair<std::string, std::string>> saved_;
};

TEST_F(FlipTest, NoByteMakesTheStoreWrong) {
  Open();
  for (int i = 0; i < 30; ++i)
    AppendDurably(std::string(static_cast<size_t>(i) * 400,
                              static_cast<char>('a' + i % 26)));
  const std::vector<std::string> payloads = Payloads();
  journal_->Close();
  journal_.reset();
  for (const std::string& path : disk_.Files()) {
    saved_.emplace_back(path, disk_.Contents(path));
  }
  const bool all = std::getenv("ACTORD_JOURNAL_FLIPS") != nullptr;
  std::map<std::string, int> verdicts;
  uint64_t block = 0;
  for (const auto& [path, contents] : saved_) {
    const uint64_t used = contents.find_last_not_of('\0') + 1;
    for (uint64_t at = 0; at < contents.size(); at += kBlockBytes, ++block) {
      std::vector<uint64_t> offsets = {block * 1031 % kBlockBytes};
      // In a block that is in use, also in its header.
      if (at < used) offsets.push_back(block * 7 % 128);
      if (at >= used && !all && block % 40 != 0) continue;
      if (all && at < used) {
        for (uint64_t i = 0; i < 256; ++i) offsets.push_back(i);
        for (uint64_t i = 0; i < 16; ++i) offsets.push_back(i * 251);
      }
      for (const uint64_t offset : offsets) {
        SCOPED_TRACE(path + " " + std::to_string(at + offset));
        ++verdicts[Flip(path, at + offset, payloads)];
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(verdicts["refused"], 20);
  EXPECT_GE(verdicts["repaired"], 1);
  EXPECT_GT(verdicts["harmless"], 10);
  EXPECT_EQ(verdicts["cut"], 0) << "the end was sealed";
}

}  // namespace
}  // namespace actord::runtime
