// The store of dead letters, alone.
#include "runtime/actors/dead_letters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/actors/dead_letters_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Reason = DeadLetterReason;

TEST_F(DeadLettersTest, SayWhatTheyAre) {
  Add("hello", kReceiver, Reason::kMailboxFull, "world");
  const DeadLetter letter = First();
  EXPECT_EQ(letter.id, 1u);
  EXPECT_EQ(letter.unix_ns, clock_.UnixNs());
  EXPECT_EQ(letter.from, kSender);
  EXPECT_EQ(letter.to, kReceiver);
  EXPECT_EQ(letter.message.topic, "hello");
  EXPECT_EQ(letter.message.payload, (Payload{"world", "text/plain"}));
  EXPECT_EQ(letter.payload_bytes, 5u);
  EXPECT_EQ(letter.reason, Reason::kMailboxFull);
  EXPECT_FALSE(letter.call);
  EXPECT_EQ(Count(&Counters::dead_letters), 1u);
  EXPECT_EQ(Stats().dead_letters_kept, 1u);
}

TEST_F(DeadLettersTest, TheOldestGoFirstWhenThereAreTooMany) {
  SetLimits(3, 1 << 20);
  for (const char* topic : {"a", "b", "c", "d", "e"}) Add(topic);
  EXPECT_THAT(Topics(), ElementsAre("c", "d", "e"));
  EXPECT_EQ(First().id, 3u) << "numbers are not used again";
  EXPECT_EQ(Count(&Counters::dead_letters), 5u);
  EXPECT_EQ(Forgotten(), 2u);
  EXPECT_EQ(Stats().dead_letters_kept, 3u);
}

TEST_F(DeadLettersTest, TheOldestGoFirstWhenTheyTakeTooMuch) {
  constexpr size_t kSmall = 128 + DeadLetters::kOverheadBytes;
  SetLimits(1000, 10 * kSmall);
  for (int i = 0; i < 10; ++i) {
    Add(std::to_string(i), kReceiver, Reason::kEnded, std::string(50, 'x'));
  }
  EXPECT_EQ(Stats().dead_letters_bytes, 10 * kSmall);
  Add("large", kReceiver, Reason::kEnded, std::string(3 * kSmall, 'x'));
  EXPECT_LE(Stats().dead_letters_bytes, 10 * kSmall);
  EXPECT_GT(Stats().dead_letters_bytes, 9 * kSmall) << "no more than needed";
  EXPECT_THAT(Topics(), ElementsAre("4", "5", "6", "7", "8", "9", "large"));
  EXPECT_EQ(Forgotten(), 4u);
}

TEST_F(DeadLettersTest, LetterLargerThanAllTheRoomDisplacesNoOther) {
  SetLimits(1000, 1000);
  Add("a");
  Add("huge", kReceiver, Reason::kEnded, std::string(1000, 'x'));
  EXPECT_THAT(Topics(), ElementsAre("a"));
  EXPECT_EQ(Count(&Counters::dead_letters), 2u);
  EXPECT_EQ(Forgotten(), 1u);
}

TEST_F(DeadLettersTest, ZeroOfEitherKeepsNone) {
  for (const bool by_count : {true, false}) {
    letters_ = MakeStore();
    SetLimits(by_count ? 0 : 10, by_count ? 10'000 : 0);
    const uint64_t before = Forgotten();
    Add("a");
    EXPECT_THAT(Topics(), IsEmpty());
    EXPECT_EQ(Forgotten(), before + 1);
  }
  EXPECT_EQ(Count(&Counters::dead_letters), 2u);
}

TEST_F(DeadLettersTest, LoweredLimitsHoldAtOnce) {
  for (const char* topic : {"a", "b", "c"}) Add(topic);
  SetLimits(2, 1 << 20);
  letters_->Trim();
  EXPECT_THAT(Topics(), ElementsAre("b", "c"));
  SetLimits(2, 0);
  letters_->Trim();
  EXPECT_THAT(Topics(), IsEmpty());
  EXPECT_EQ(Stats().dead_letters_bytes, 0u);
  EXPECT_EQ(Forgotten(), 3u);
}

TEST_F(DeadLettersTest, AreListedInBothOrdersAndByFilters) {
  Add("a", kReceiver, Reason::kEnded);
  Add("b", kOther, Reason::kEnded);
  Add("c", kReceiver, Reason::kMailboxFull);
  Add("d", kReceiver, Reason::kEnded);
  EXPECT_THAT(Topics({.newest_first = true}), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(Topics({.to = kReceiver}), ElementsAre("a", "c", "d"));
  EXPECT_THAT(Topics({.reason = Reason::kEnded}), ElementsAre("a", "b", "d"));
  EXPECT_THAT(Topics({.to = kReceiver, .reason = Reason::kEnded}),
              ElementsAre("a", "d"));
  EXPECT_THAT(Topics({.to = kSender}), IsEmpty());
}

TEST_F(DeadLettersTest, PagesHaveEachExactlyOnce) {
  constexpr int kCount = 500;
  for (int i = 0; i < kCount; ++i) {
    Add(std::to_string(i), i % 3 == 0 ? kOther : kReceiver);
  }
  for (const bool newest_first : {false, true}) {
    for (const size_t page_size : {1, 7, 64, 65, 500, 501}) {
      SCOPED_TRACE(page_size);
      std::vector<std::string> all =
          Topics({.newest_first = newest_first, .page_size = page_size});
      ASSERT_EQ(all.size(), size_t{kCount});
      if (newest_first) std::reverse(all.begin(), all.end());
      for (int i = 0; i < kCount; ++i) {
        ASSERT_EQ(all[static_cast<size_t>(i)], std::to_string(i));
      }
      EXPECT_EQ(Topics({.to = kOther,
                        .newest_first = newest_first,
                        .page_size = page_size})
                    .size(),
                size_t{167});
    }
  }
}

TEST_F(DeadLettersTest, APageIsCompleteWhenTheLastLetterIsOnIt) {
  for (const char* topic : {"a", "b"}) Add(topic);
  EXPECT_EQ(letters_->List({.page_size = 2}).next, 0u);
  EXPECT_NE(letters_->List({.page_size = 1}).next, 0u);
  EXPECT_EQ(letters_->List({.newest_first = true, .page_size = 2}).next, 0u);
}

TEST_F(DeadLettersTest, OneCallLooksAtABoundedNumber) {
  SetLimits(1'000'000, 1 << 30);
  for (size_t i = 0; i < DeadLetters::kMaxLookedAt; ++i) Add("x");
  Add("found", kOther);
  for (const bool newest_first : {false, true}) {
    DeadLetterQuery query{.to = newest_first ? kSender : kOther,
                          .page_size = 10};
    query.newest_first = newest_first;
    const DeadLetterPage page = letters_->List(query);
    EXPECT_THAT(page.letters, IsEmpty());
    EXPECT_NE(page.next, 0u);
    EXPECT_EQ(Topics(query).size(), newest_first ? 0u : 1u);
  }
}

TEST_F(DeadLettersTest, ForgottenLettersDoNotDisturbPaging) {
  SetLimits(10, 1 << 20);
  for (int i = 0; i < 10; ++i) Add(std::to_string(i));
  DeadLetterQuery query{.page_size = 3};
  query.first = letters_->List(query).next;
  for (int i = 10; i < 16; ++i) Add(std::to_string(i));
  const DeadLetterPage page = letters_->List(query);
  EXPECT_EQ(page.letters.front().message.topic, "6");
}

TEST_F(DeadLettersTest, AListCutsPayloadsAndGetDoesNot) {
  std::string bytes;
  for (int i = 0; bytes.size() < 300'000; ++i) bytes += std::to_string(i) + " ";
  Add("x", kReceiver, Reason::kEnded, bytes);
  const DeadLetter listed = First();
  EXPECT_EQ(listed.message.payload.bytes, bytes.substr(0, 1000));
  EXPECT_EQ(listed.payload_bytes, bytes.size());
  const auto whole = letters_->Get(listed.id);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->message.payload.bytes, bytes);
  EXPECT_EQ(whole->message.topic, "x");
  Add("empty");
  EXPECT_EQ(letters_->Get(2)->message.payload.bytes, "");
  for (const uint64_t id : {uint64_t{0}, uint64_t{3}, UINT64_MAX}) {
    EXPECT_EQ(ReasonOf(letters_->Get(id).status()),
              reason::kDeadLetterNotFound);
  }
}

TEST_F(DeadLettersTest, AreSentAgain) {
  const Pid to = Receiver();
  const Pid another = Receiver();
  Add("a", to);
  Add("b", to);
  EXPECT_EQ(letters_->Resend(1, {}).value(), to);
  EXPECT_EQ(letters_->Resend(2, another).value(), another);
  EXPECT_THAT(Take(*receivers_[0]), ElementsAre("a"));
  EXPECT_THAT(Take(*receivers_[1]), ElementsAre("b"));
  EXPECT_THAT(Topics(), IsEmpty());
  EXPECT_EQ(Stats().dead_letters_bytes, 0u);
  EXPECT_EQ(Count(&Counters::dead_letters_resent), 2u);
  EXPECT_EQ(ReasonOf(letters_->Resend(1, to).status()),
            reason::kDeadLetterNotFound);
}

TEST_F(DeadLettersTest, RefusedLetterStays) {
  const Pid to = Receiver();
  Add("a", kReceiver);
  EXPECT_EQ(ReasonOf(letters_->Resend(1, {}).status()),
            reason::kProcessNotFound);
  given_.max_mailbox_messages = 1;
  limits_.Set(given_);
  Add("b", to);
  EXPECT_TRUE(letters_->Resend(2, {}).ok());
  EXPECT_EQ(ReasonOf(letters_->Resend(1, to).status()), reason::kMailboxFull);
  EXPECT_THAT(Topics(), ElementsAre("a"));
  EXPECT_EQ(Count(&Counters::dead_letters_resent), 1u);
  EXPECT_EQ(Count(&Counters::refused_mailbox), 1u);
}

TEST_F(DeadLettersTest, ACallBecomesAMessage) {
  const Pid to = Receiver();
  std::string text(sizeof(CallHeader), '\1');
  text += "ask";
  Envelope* const call =
      lane_.NewEnvelope(kEventCall, text, TextPayload("question"));
  call->from = ToAbi(kSender);
  letters_->Add(call, to, Reason::kDroppedAtEnd, Owner::kNobody, lane_);
  const DeadLetter letter = First();
  EXPECT_TRUE(letter.call);
  EXPECT_EQ(letter.message.topic, "ask");
  EXPECT_EQ(letter.message.payload.bytes, "question");
  EXPECT_TRUE(letters_->Resend(letter.id, {}).ok());
  EXPECT_THAT(Take(*receivers_[0]), ElementsAre("ask"));
  EXPECT_EQ(Stats().dead_letters_bytes, 0u);
}

TEST_F(DeadLettersTest, AreDroppedOnRequest) {
  Add("a");
  Add("b");
  EXPECT_TRUE(letters_->Drop(1).ok());
  EXPECT_EQ(ReasonOf(letters_->Drop(1)), reason::kDeadLetterNotFound);
  EXPECT_THAT(Topics(), ElementsAre("b"));
  EXPECT_EQ(Count(&Counters::dead_letters_dropped), 1u);
  EXPECT_EQ(Forgotten(), 0u);
}

}  // namespace
}  // namespace actord::runtime
