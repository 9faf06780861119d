// Any bytes that a journal holds in place of a record are refused with a
// reason, or they are a record that is written again as the same bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fuzz/mutator.h"
#include "tests/runtime/step/record_fixture.h"

namespace actord::runtime {
namespace {

constexpr int kRecords = 50'000;

class RecordFuzz : public Records {};

TEST_F(RecordFuzz, IsRefusedOrKept) {
  const std::vector<std::string> corpus = {OneOfEachKind(), OfInit()};
  const std::vector<std::string> words = {
      std::string("\x01\x00", 2), std::string("\xff\xff\xff\xff", 4),
      std::string("\x00\x00\x00\x00", 4), std::string("\x20\x00\x01\x00", 4)};
  int read = 0;
  fuzz::Fuzz(corpus, words, 3, kRecords, [&](const std::string& input) {
    const std::string once = Again(input);
    if (once.rfind("refused: ", 0) == 0) {
      EXPECT_GT(once.size(), std::string("refused: ").size());
      return;
    }
    ++read;
    EXPECT_EQ(Again(once), once);
  });
  EXPECT_GT(read, kRecords / 100) << "hardly any record is read";
}

}  // namespace
}  // namespace actord::runtime
