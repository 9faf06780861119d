// Random histories make the state that they must make, no matter how the
// records are divided into batches and how much a crash loses.
//
// ACTORD_STORE_SEEDS: the number of seeds, 300 unless set, and 60 with
// AddressSanitizer. ACTORD_STORE_FIRST_SEED: the first, 1 unless set.
#include "tests/runtime/store/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "runtime/store/journal_applier.h"
#include "runtime/system/random.h"
#include "tests/runtime/store/expected_state.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/store_text.h"
#include "tests/support/sanitizers.h"

namespace actord::runtime {
namespace {

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
uint64_t FirstSeed() { return Setting("ACTORD_STORE_FIRST_SEED", 1); }
// Sanitizers take five times as long.
constexpr uint64_t kSeeds = ACTORD_ADDRESS_SANITIZER ? 60 : 300;
uint64_t Seeds() { return Setting("ACTORD_STORE_SEEDS", kSeeds); }

using Lines = std::vector<std::string>;

// The lines that are only in one of the two.
std::string Difference(const Lines& is, const Lines& expected) {
  Lines more;
  Lines less;
  std::set_difference(is.begin(), is.end(), expected.begin(), expected.end(),
                      std::back_inserter(more));
  std::set_difference(expected.begin(), expected.end(), is.begin(), is.end(),
                      std::back_inserter(less));
  std::string text;
  for (const std::string& line : more) text += "is:       " + line + "\n";
  for (const std::string& line : less) text += "expected: " + line + "\n";
  return text;
}

// A store and its applier, which can crash.
class Program {
 public:
  explicit Program(History& history) : history_(history) { Open(); }

  void Open() {
    absl::StatusOr<std::unique_ptr<JournalApplier>> applier =
        JournalApplier::Open(store_, history_, {});
    ASSERT_TRUE(applier.ok()) << applier.status();
    applier_ = *std::move(applier);
  }
  // Applies the first `count` acts. The journal is read from somewhat before
  // the place where the store ends, as its reader may begin with a group.
  void ApplyTo(size_t count) {
    const size_t done = history_.CountBefore(applier_->applied());
    for (size_t i = done - std::min<size_t>(done, 3); i < count; ++i) {
      const absl::Status status = applier_->Apply(history_.acts()[i].view());
      ASSERT_TRUE(status.ok()) << "act " << i << ": " << status;
    }
  }
  void Commit() { ASSERT_TRUE(applier_->Commit().ok()); }
  void EndRound() {
    const absl::Status status = applier_->EndRound();
    ASSERT_TRUE(status.ok()) << status;
    history_.Trim(applier_->trim());
  }
  void Crash(size_t kept_batches) {
    applier_.reset();
    store_.Crash(kept_batches);
    Open();
  }
  Lines Text() { return TextOf(store_, history_); }
  // How many acts the store stands for.
  size_t Stands() { return history_.CountBefore(applier_->applied()); }
  size_t unflushed() const { return store_.unflushed(); }

 private:
  History& history_;
  MemoryStateStore store_;
  std::unique_ptr<JournalApplier> applier_;
};

Lines ExpectedAfter(const History& history, size_t count) {
  ExpectedState state;
  for (size_t i = 0; i < count; ++i) state.Apply(history.acts()[i]);
  return state.Text();
}

class RandomHistory : public testing::Test {
 protected:
  template <typename Check>
  void ForEachSeed(uint64_t divisor, Check check) {
    for (uint64_t seed = FirstSeed(); seed < FirstSeed() + Seeds() / divisor;
         ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      check(seed);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
};

TEST_F(RandomHistory, MakesTheExpectedStateOfEachPrefixThatIsLeft) {
  ForEachSeed(1, [](uint64_t seed) {
    History history = History::Random(seed, 150);
    Random random(seed);
    Program program(history);
    ExpectedState expected;
    size_t count = 0;
    while (count < history.acts().size()) {
      const size_t before = count;
      count = std::min(history.acts().size(), count + 1 + random.Next() % 40);
      program.ApplyTo(count);
      if (testing::Test::HasFatalFailure()) return;
      if (random.Next() % 3 == 0) {
        program.EndRound();
      } else {
        program.Commit();
      }
      for (size_t i = before; i < count; ++i) {
        expected.Apply(history.acts()[i]);
      }
      ASSERT_EQ(Difference(program.Text(), expected.Text()), "")
          << "after act " << count;
    }
  });
}

TEST_F(RandomHistory, MakesTheSameStateWhereverTheStoreHasCrashed) {
  ForEachSeed(1, [](uint64_t seed) {
    History history = History::Random(seed, 150);
    const Lines expected = ExpectedAfter(history, history.acts().size());
    Random random(seed ^ 0x5eed);
    Program program(history);
    size_t reached = 0;
    for (int crashes = 0; crashes < 5; ++crashes) {
      reached += random.Next() % 50;
      reached = std::min(reached, history.acts().size());
      for (size_t count = program.Stands(); count < reached; ++count) {
        program.ApplyTo(count + 1);
        if (testing::Test::HasFatalFailure()) return;
        if (random.Next() % 4 == 0) program.Commit();
        if (random.Next() % 24 == 0) program.EndRound();
      }
      program.Crash(random.Next() % (program.unflushed() + 1));
      ASSERT_EQ(
          Difference(program.Text(), ExpectedAfter(history, program.Stands())),
          "")
          << "the store stands for " << program.Stands() << " acts";
      reached = std::max(reached, program.Stands());
    }
    program.ApplyTo(history.acts().size());
    program.EndRound();
    ASSERT_EQ(Difference(program.Text(), expected), "");
  });
}

// Each batch in turn is the last batch that a crash has left.
TEST_F(RandomHistory, SurvivesACrashAfterEachBatch) {
  ForEachSeed(30, [](uint64_t seed) {
    History history = History::Random(seed, 80);
    const Lines expected = ExpectedAfter(history, history.acts().size());
    for (size_t kept = 0; kept <= history.acts().size(); ++kept) {
      history.Trim(0);
      Program program(history);
      for (size_t i = 1; i <= history.acts().size(); ++i) {
        program.ApplyTo(i);
        program.Commit();
      }
      program.Crash(kept);
      ASSERT_EQ(program.Stands(), kept);
      program.ApplyTo(history.acts().size());
      program.EndRound();
      program.EndRound();
      ASSERT_EQ(Difference(program.Text(), expected), "") << kept << " batches";
    }
  });
}

TEST_F(RandomHistory, KeepsBodiesThatTheJournalHasGivenUp) {
  ForEachSeed(3, [](uint64_t seed) {
    History history = History::Random(seed, 150);
    const size_t count = history.acts().size();
    Program program(history);
    program.ApplyTo(count);
    for (int round = 0; round < 3; ++round) program.EndRound();
    history.Trim(UINT64_MAX);
    ASSERT_EQ(Difference(program.Text(), ExpectedAfter(history, count)), "");
  });
}

// Otherwise the tests above would show nothing.
TEST_F(RandomHistory, HasEachKindOfFact) {
  std::set<std::string> kinds;
  std::set<uint16_t> records;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const History history = History::Random(seed, 150);
    for (size_t count : {size_t{75}, history.acts().size()}) {
      for (const std::string& line : ExpectedAfter(history, count)) {
        kinds.insert(line.substr(0, line.find(' ')));
      }
    }
    for (const Act& act : history.acts()) records.insert(act.kind);
  }
  EXPECT_EQ(kinds,
            (std::set<std::string>{
                "clock", "consumed", "exit", "group", "history", "incarnation",
                "letter", "mail", "name", "outcome", "owed", "owner", "plugin",
                "process", "request", "timer", "watch", "watcher", "yield"}));
  // And OPENED, which is the journal's own.
  EXPECT_EQ(records.size(), std::variant_size_v<records::Any> + 1);
}

}  // namespace
}  // namespace actord::runtime
