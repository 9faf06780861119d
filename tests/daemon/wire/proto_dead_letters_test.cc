#include "daemon/wire/proto_dead_letters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/wire/page_token.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using Reason = runtime::DeadLetterReason;

constexpr uint32_t kRun = 0x5f;

TEST(DeadLetterId, ReadsBackToItsNumber) {
  EXPECT_EQ(FormatDeadLetterId(kRun, 17), "5f.17");
  for (const uint64_t number : {uint64_t{1}, uint64_t{17}, UINT64_MAX}) {
    const auto read =
        ReadDeadLetterId("id", FormatDeadLetterId(kRun, number), kRun);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, number);
  }
  EXPECT_LE(FormatDeadLetterId(UINT32_MAX, UINT64_MAX).size(), 64u);
}

TEST(DeadLetterId, RefusesOtherTexts) {
  for (const char* text :
       {"", ".", "5f", "5f.", ".17", "5f.0", "5f.017", "05f.17", "5F.17",
        "5f.17 ", " 5f.17", "5f.+17", "5f.-17", "5f.17.1", "5f.1f",
        "1000000000.1", "5f.18446744073709551616", "0x5f.17"}) {
    const auto read = ReadDeadLetterId("id", text, kRun);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(runtime::FieldOf(read.status()), "id");
  }
}

TEST(DeadLetterId, IdOfAnotherRunIsNotFound) {
  const auto read = ReadDeadLetterId("id", "60.17", kRun);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(runtime::ReasonOf(read.status()),
            runtime::reason::kDeadLetterNotFound);
}

TEST(ReadListDeadLetters, TakesEveryField) {
  v1::ListDeadLettersRequest request;
  runtime::DeadLetterQuery query;
  uint64_t scope = 0;
  ASSERT_TRUE(ReadListDeadLetters(request, kRun, query, scope).ok());
  EXPECT_TRUE(query.to.empty());
  EXPECT_FALSE(query.reason.has_value());
  EXPECT_FALSE(query.newest_first);
  EXPECT_EQ(query.page_size, 100u);
  EXPECT_EQ(query.first, 0u);

  request.set_to_pid("1.5.2a.1");
  request.set_reason(v1::DEAD_LETTER_REASON_MAILBOX_FULL);
  request.set_newest_first(true);
  request.set_page_size(5000);
  ASSERT_TRUE(ReadListDeadLetters(request, kRun, query, scope).ok());
  EXPECT_EQ(query.to, (runtime::Pid{1, 5, 42, 1}));
  EXPECT_EQ(query.reason, Reason::kMailboxFull);
  EXPECT_TRUE(query.newest_first);
  EXPECT_EQ(query.page_size, 1000u);
  request.set_page_token(MakePageToken(7, scope));
  ASSERT_TRUE(ReadListDeadLetters(request, kRun, query, scope).ok());
  EXPECT_EQ(query.first, 7u);
}

TEST(ReadListDeadLetters, TokenIsValidForOneListOnly) {
  v1::ListDeadLettersRequest request;
  runtime::DeadLetterQuery query;
  uint64_t scope = 0;
  ASSERT_TRUE(ReadListDeadLetters(request, kRun, query, scope).ok());
  request.set_page_token(MakePageToken(7, scope));
  const auto refused = [&](auto change) {
    v1::ListDeadLettersRequest other = request;
    change(other);
    const absl::Status status = ReadListDeadLetters(other, kRun, query, scope);
    EXPECT_EQ(runtime::ReasonOf(status), runtime::reason::kInvalidPageToken);
  };
  refused([](auto& other) { other.set_newest_first(true); });
  refused([](auto& other) { other.set_to_pid("1.5.2a.1"); });
  refused([](auto& other) { other.set_reason(v1::DEAD_LETTER_REASON_ENDED); });
}

TEST(ReadListDeadLetters, RefusesInvalidRequests) {
  const auto refused = [](auto change, const std::string& field) {
    v1::ListDeadLettersRequest request;
    change(request);
    runtime::DeadLetterQuery query;
    uint64_t scope = 0;
    const absl::Status status =
        ReadListDeadLetters(request, kRun, query, scope);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(runtime::FieldOf(status), field);
  };
  refused([](auto& r) { r.set_page_size(-1); }, "page_size");
  refused([](auto& r) { r.set_page_token("7"); }, "page_token");
  refused([](auto& r) { r.set_to_pid("nobody"); }, "to_pid");
  refused([](auto& r) { r.set_reason(static_cast<v1::DeadLetterReason>(99)); },
          "reason");
}

TEST(ReadDropDeadLetters, TakesIdsOfThisRun) {
  v1::DropDeadLettersRequest request;
  for (const char* id : {"5f.3", "60.4", "5f.3", "5f.5"}) request.add_ids(id);
  const auto numbers = ReadDropDeadLetters(request, kRun);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(3u, 3u, 5u));
  request.add_ids("5f");
  EXPECT_EQ(runtime::FieldOf(ReadDropDeadLetters(request, kRun).status()),
            "ids[4]");
  request.Clear();
  EXPECT_EQ(runtime::FieldOf(ReadDropDeadLetters(request, kRun).status()),
            "ids");
  for (int i = 0; i < 1001; ++i) request.add_ids("5f.3");
  EXPECT_EQ(runtime::FieldOf(ReadDropDeadLetters(request, kRun).status()),
            "ids");
}

TEST(WriteDeadLetter, WritesEveryField) {
  runtime::DeadLetter letter;
  letter.id = 17;
  letter.unix_ns = 1'700'000'000'000'000'005;
  letter.from = {1, 5, 3, 1};
  letter.to = {1, 5, 4, 1};
  letter.message = {.topic = "bad \xff",
                    .payload = {.bytes = "\xff", .content_type = "a/b"}};
  letter.payload_bytes = 9;
  letter.reason = Reason::kDroppedAtEnd;
  letter.call = true;
  v1::DeadLetter proto;
  WriteDeadLetter(letter, kRun, &proto);
  EXPECT_EQ(proto.id(), "5f.17");
  EXPECT_EQ(proto.create_time().seconds(), 1'700'000'000);
  EXPECT_EQ(proto.create_time().nanos(), 5);
  EXPECT_EQ(proto.from_pid(), "1.5.3.1");
  EXPECT_EQ(proto.to_pid(), "1.5.4.1");
  EXPECT_NE(proto.topic(), "bad \xff") << "is made valid UTF-8";
  EXPECT_EQ(proto.payload().data(), "\xff");
  EXPECT_EQ(proto.payload().content_type(), "a/b");
  EXPECT_EQ(proto.payload_bytes(), 9u);
  EXPECT_EQ(proto.reason(), v1::DEAD_LETTER_REASON_DROPPED_AT_END);
  EXPECT_TRUE(proto.is_call());
  letter.from = {};
  proto.Clear();
  WriteDeadLetter(letter, kRun, &proto);
  EXPECT_EQ(proto.from_pid(), "");
  const std::vector<std::pair<Reason, v1::DeadLetterReason>> reasons = {
      {Reason::kUnknownProcess, v1::DEAD_LETTER_REASON_UNKNOWN_PROCESS},
      {Reason::kEnded, v1::DEAD_LETTER_REASON_ENDED},
      {Reason::kMailboxFull, v1::DEAD_LETTER_REASON_MAILBOX_FULL}};
  for (const auto& [reason, expected] : reasons) {
    letter.reason = reason;
    WriteDeadLetter(letter, kRun, &proto);
    EXPECT_EQ(proto.reason(), expected);
  }
}

}  // namespace
}  // namespace actord::daemon
