// Reads that wait for the thread that applies the journal to the state store.
#include "runtime/durable/state_reads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/status/status.h"
#include "tests/runtime/store/memory_state_store.h"

namespace actord::runtime {
namespace {

// A thread that reads at a position, and what it has seen.
class Reader {
 public:
  explicit Reader(uint64_t position)
      : reads_(StateReads::Ask{.now = [this] { ++asks_; }, .soon = [] {}}),
        thread_([this, position] {
          status_ =
              reads_.Read(position, [this](StateStore&, uint64_t applied) {
                seen_ = applied;
                return absl::OkStatus();
              });
        }) {
    while (asks_ == 0) std::this_thread::yield();
  }

  // One round of the writer. It carries reads out on this thread.
  void Round(uint64_t applied, uint64_t caught_up) {
    reads_.Serve(state_, applied, caught_up);
  }
  [[nodiscard]] uint64_t seen() const { return seen_; }
  void Stop() { reads_.Stop(); }
  absl::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  MemoryStateStore state_;
  std::atomic<int> asks_ = 0;
  std::atomic<uint64_t> seen_ = 0;
  absl::Status status_;
  StateReads reads_;
  std::thread thread_;
};

TEST(StateReads, AReadThatComesAfterTheEndOfARoundWaitsForTheNextOne) {
  Reader reader(10);
  reader.Round(/*applied=*/9, /*caught_up=*/9);
  EXPECT_EQ(reader.seen(), 0);
  reader.Round(/*applied=*/12, /*caught_up=*/10);
  EXPECT_EQ(reader.seen(), 12);
  EXPECT_TRUE(reader.Join().ok());
}

TEST(StateReads, AReadThatWaitsForAnotherRoundIsAnsweredAtTheEnd) {
  Reader reader(10);
  reader.Round(/*applied=*/9, /*caught_up=*/9);
  reader.Stop();
  EXPECT_TRUE(absl::IsUnavailable(reader.Join()));
  EXPECT_EQ(reader.seen(), 0);
}

}  // namespace
}  // namespace actord::runtime
