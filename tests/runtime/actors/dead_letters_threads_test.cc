// The store of dead letters under many threads.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/actors/dead_letters_fixture.h"

namespace actord::runtime {
namespace {

using DeadLettersOfThreads = DeadLettersTest;

TEST_F(DeadLettersOfThreads, OneOfSeveralThreadsResendsALetter) {
  const Pid to = Receiver();
  constexpr int kLetters = 500;
  constexpr int kThreads = 3;
  for (int i = 0; i < kLetters; ++i) Add("x", to);
  std::atomic<int> sent{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t id = 1; id <= kLetters; ++id) {
        const absl::StatusOr<Pid> pid = letters_->Resend(id, {});
        if (pid.ok()) {
          ++sent;
        } else {
          EXPECT_EQ(ReasonOf(pid.status()), reason::kDeadLetterNotFound);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sent, kLetters);
  EXPECT_EQ(Take(*receivers_[0]).size(), size_t{kLetters});
}

// Workers that add meet clients that look, send again and drop, while the
// bounds hold and nothing is counted twice.
TEST_F(DeadLettersOfThreads, ManyThreadsAtOnce) {
  constexpr int kAdders = 3;
  constexpr int kLetters = 4000;
  SetLimits(200, 200 * (256 + DeadLetters::kOverheadBytes));
  const Pid to = Receiver();
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::thread> adders;
  std::atomic<int> adding{kAdders};
  for (int t = 0; t < kAdders; ++t) {
    Lane* const lane =
        lanes.emplace_back(std::make_unique<Lane>(pool_, Lane::Use::kOneThread))
            .get();
    adders.emplace_back([&, lane, t] {
      for (int i = 0; i < kLetters; ++i) {
        const std::string bytes(static_cast<size_t>(i * (t + 1)) % 700, 'x');
        letters_->Add(Message("x", bytes, *lane), to, DeadLetterReason::kEnded,
                      Owner::kNobody, *lane);
      }
      --adding;
    });
  }
  for (bool again = true; again;) {
    again = adding != 0;
    const DeadLetterPage page =
        letters_->List({.newest_first = true, .page_size = 20});
    EXPECT_LE(Stats().dead_letters_kept, given_.dead_letter_max_count);
    EXPECT_LE(Stats().dead_letters_bytes, given_.dead_letter_max_bytes);
    uint64_t before = UINT64_MAX;
    for (const DeadLetter& letter : page.letters) {
      ASSERT_LT(letter.id, before);
      before = letter.id;
      const auto whole = letters_->Get(letter.id);
      if (whole.ok()) {
        ASSERT_EQ(whole->payload_bytes, whole->message.payload.bytes.size());
      }
      if (letter.id % 2 == 0) {
        letters_->Resend(letter.id, {}).IgnoreError();
      } else if (letter.id % 3 == 0) {
        letters_->Drop(letter.id).IgnoreError();
      }
    }
  }
  for (std::thread& adder : adders) adder.join();
  uint64_t counted = 0;
  uint64_t forgotten = 0;
  for (const auto& lane : lanes) {
    counted += lane->counters().dead_letters.Get();
    forgotten += lane->counters().dead_letters_forgotten.Get();
  }
  EXPECT_EQ(counted, uint64_t{kAdders * kLetters});
  const uint64_t resent = Count(&Counters::dead_letters_resent);
  EXPECT_EQ(counted, Stats().dead_letters_kept + forgotten + resent +
                         Count(&Counters::dead_letters_dropped));
  EXPECT_EQ(Take(*receivers_[0]).size(), resent);
  for (const DeadLetter& letter : letters_->List({.page_size = 1000}).letters) {
    EXPECT_TRUE(letters_->Drop(letter.id).ok());
  }
  EXPECT_EQ(Stats().dead_letters_bytes, 0u);
}

}  // namespace
}  // namespace actord::runtime
