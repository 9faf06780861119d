// A store of dead letters with processes that they can be sent to again.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/actors/dead_letters.h"
#include "runtime/delivery/delivery.h"
#include "runtime/runtime.h"
#include "runtime/scheduler/lane.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {

inline constexpr Pid kSender{1, 7, 500, 3};
inline constexpr Pid kReceiver{1, 7, 600, 5};
inline constexpr Pid kOther{1, 7, 601, 1};

class DeadLettersTest : public ::testing::Test {
 protected:
  DeadLettersTest() { letters_ = MakeStore(); }
  ~DeadLettersTest() override {
    letters_.reset();
    for (Process* process : receivers_) Take(*process);
  }

  std::unique_ptr<DeadLetters> MakeStore() {
    return std::make_unique<DeadLetters>(limits_, clock_, delivery_, shared_);
  }
  void SetLimits(size_t max_count, size_t max_bytes) {
    given_.dead_letter_max_count = max_count;
    given_.dead_letter_max_bytes = max_bytes;
    limits_.Set(given_);
  }

  Envelope* Message(std::string_view topic, const std::string& bytes,
                    Lane& lane) {
    const Payload payload{bytes, "text/plain"};
    Envelope* const envelope =
        lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, ToAbi(payload));
    envelope->from = ToAbi(kSender);
    return envelope;
  }
  void Add(std::string_view topic, const Pid& to = kReceiver,
           DeadLetterReason reason = DeadLetterReason::kEnded,
           const std::string& bytes = "") {
    letters_->Add(Message(topic, bytes, lane_), to, reason, Owner::kNobody,
                  lane_);
  }

  // A process that takes messages and does not run.
  Pid Receiver() {
    auto why = ProcessTable::NoRoom::kInTable;
    Process* const process =
        processes_.Reserve(shared_.processes(), nullptr, 0, kDefaultPriority,
                           Owner::kNobody, {}, 0, why);
    receivers_.push_back(process);
    return processes_.PidOf(*process, process->generation);
  }
  // The topics of what it has got.
  std::vector<std::string> Take(Process& process) {
    std::vector<std::string> topics;
    while (Envelope* envelope = process.messages.Pop()) {
      EXPECT_EQ(envelope->type, ACTORD_EVENT_MESSAGE);
      EXPECT_EQ(FromAbi(envelope->from), kSender);
      topics.emplace_back(envelope->topic());
      shared_.Free(envelope);
    }
    return topics;
  }

  // The topics of all pages of so many.
  std::vector<std::string> Topics(DeadLetterQuery query = {}) {
    if (query.page_size == 0) query.page_size = 1000;
    std::vector<std::string> topics;
    do {
      const DeadLetterPage page = letters_->List(query);
      EXPECT_LE(page.letters.size(), query.page_size);
      for (const DeadLetter& letter : page.letters) {
        topics.push_back(letter.message.topic);
      }
      query.first = page.next;
    } while (query.first != 0);
    return topics;
  }
  DeadLetter First() {
    DeadLetterPage page =
        letters_->List({.page_size = 1, .max_payload_bytes = 1000});
    EXPECT_EQ(page.letters.size(), 1u);
    return page.letters.empty() ? DeadLetter{} : page.letters.front();
  }

  RuntimeStats Stats() {
    RuntimeStats stats;
    letters_->AddTo(stats);
    return stats;
  }
  [[nodiscard]] uint64_t Count(Counter Counters::*counter) const {
    return (shared_.counters().*counter).Get() +
           (lane_.counters().*counter).Get();
  }
  [[nodiscard]] uint64_t Forgotten() const {
    return Count(&Counters::dead_letters_forgotten);
  }

  ManualClock clock_;
  Limits given_;
  LiveLimits limits_{given_};
  BufferPool pool_;
  ProcessTable processes_{1, 7, 1000, 8};
  Scheduler scheduler_{1, clock_};
  Delivery delivery_{processes_, scheduler_, limits_};
  Lane shared_{pool_, Lane::Use::kShared};
  Lane lane_{pool_, Lane::Use::kOneThread};
  std::vector<Process*> receivers_;
  std::unique_ptr<DeadLetters> letters_;
};

}  // namespace actord::runtime
