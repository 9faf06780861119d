#include "daemon/operations/unread_answers.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr size_t kAnswerBytes = 1 << 20;

// An answer of two slices.
grpc::ByteBuffer Answer(size_t bytes, char content = 'x') {
  std::vector<grpc::Slice> slices;
  slices.emplace_back(std::string(bytes / 2, content));
  slices.emplace_back(std::string(bytes - bytes / 2, content));
  return {slices.data(), slices.size()};
}

std::string Content(const grpc::ByteBuffer& answer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(answer.Dump(&slices).ok());
  std::string content;
  for (const grpc::Slice& slice : slices) {
    content.append(slice.begin(), slice.end());
  }
  return content;
}

TEST(UnreadAnswers, CountUntilTheyAreReleased) {
  UnreadAnswers unread(3 * kAnswerBytes);
  std::vector<grpc::ByteBuffer> held;
  for (const char content : {'a', 'b', 'c'}) {
    held.push_back(Answer(kAnswerBytes, content));
    ASSERT_TRUE(unread.CountLarge("peer", &held.back()).ok());
    EXPECT_EQ(Content(held.back()), std::string(kAnswerBytes, content));
  }
  grpc::ByteBuffer more = Answer(kAnswerBytes);
  const absl::Status refused = unread.CountLarge("peer", &more);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runtime::ReasonOf(refused), "UNREAD_ANSWERS");
  EXPECT_TRUE(runtime::RetryDelayOf(refused).has_value());
  EXPECT_EQ(more.Length(), 0u);
  EXPECT_EQ(unread.refused(), 1u);
  // Each peer has its own room.
  more = Answer(kAnswerBytes);
  EXPECT_TRUE(unread.CountLarge("other", &more).ok());
  held.pop_back();
  more = Answer(kAnswerBytes);
  EXPECT_TRUE(unread.CountLarge("peer", &more).ok());
}

TEST(UnreadAnswers, OneAnswerMayBeLarger) {
  UnreadAnswers unread(kAnswerBytes);
  grpc::ByteBuffer large = Answer(5 * kAnswerBytes);
  EXPECT_TRUE(unread.CountLarge("peer", &large).ok());
  grpc::ByteBuffer second = Answer(20 << 10);
  EXPECT_FALSE(unread.CountLarge("peer", &second).ok());
}

TEST(UnreadAnswers, AnswersMayBeReleasedLater) {
  grpc::ByteBuffer answer = Answer(kAnswerBytes);
  {
    UnreadAnswers unread(kAnswerBytes);
    ASSERT_TRUE(unread.CountLarge("peer", &answer).ok());
  }
  EXPECT_EQ(Content(answer).size(), kAnswerBytes);
}

}  // namespace
}  // namespace actord::daemon
