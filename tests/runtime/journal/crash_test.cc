// The script of crash_script.h ends at each call of the system: by a crash, or
// because the call fails. Then the store recovers, or crashes again on the way,
// twice, and all acknowledged records are there.
//
// By default some of the calls are tried. ACTORD_JOURNAL_CRASHES=all tries
// each, which takes some minutes; ACTORD_JOURNAL_SEED=N plays another script.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/system/random.h"
#include "tests/runtime/journal/crash_script.h"

namespace actord::runtime {
namespace {

bool TriesAll() {
  const char* const value = std::getenv("ACTORD_JOURNAL_CRASHES");
  return value != nullptr && std::string_view(value) == "all";
}

uint64_t Seed() {
  uint64_t seed = 1;
  if (const char* const value = std::getenv("ACTORD_JOURNAL_SEED")) {
    EXPECT_TRUE(absl::SimpleAtoi(value, &seed)) << value;
  }
  return seed;
}

// Every how many calls a program ends.
uint64_t Stride(uint64_t some) { return TriesAll() ? 1 : some; }

struct Crash {
  bool keep_cache;
  uint64_t tear_bytes;
};

class JournalCrashTest : public testing::TestWithParam<Crash> {
 protected:
  static uint64_t CallsOfScript() {
    SimulatedDisk disk(Seed());
    CrashScript script(disk, Seed());
    EXPECT_EQ(script.Open(), "");
    EXPECT_EQ(script.Play(), "");
    EXPECT_GT(disk.calls(), 300u);
    RecordProperty("calls", static_cast<int>(disk.calls()));
    return disk.calls();
  }
  // Opens the store, checks it, uses it, loses the power, and checks again.
  static std::string Recover(SimulatedDisk& disk, CrashScript& script) {
    if (std::string wrong = script.Open(); !wrong.empty()) return wrong;
    if (std::string wrong = script.AppendOne(); !wrong.empty()) return wrong;
    script.Drop();
    disk.Restart(false, 4096);
    return script.Open();
  }
  static void Restart(SimulatedDisk& disk, CrashScript& script,
                      const Crash& crash) {
    script.Drop();
    disk.Restart(crash.keep_cache, crash.tear_bytes);
  }
};

TEST_P(JournalCrashTest, AtEachCallAndAgainInRecoveryTwice) {
  const uint64_t calls = CallsOfScript();
  for (uint64_t call = 0; call < calls; call += Stride(37)) {
    SCOPED_TRACE(absl::StrCat("at call ", call, " of ", calls));
    SimulatedDisk disk(Seed() + call);
    CrashScript script(disk, Seed());
    Random random(call);
    disk.CrashAt(call);
    ASSERT_EQ(script.Open(), "");
    if (script.is_open()) {
      ASSERT_EQ(script.Play(), "");
    }
    for (int again = 0; again < 2; ++again) {
      Restart(disk, script, GetParam());
      disk.CrashAt(random.Next() % 40);
      ASSERT_EQ(script.Open(), "");
    }
    Restart(disk, script, GetParam());
    ASSERT_EQ(Recover(disk, script), "");
  }
}

TEST_P(JournalCrashTest, AtEachCallOfRecovery) {
  const uint64_t calls = CallsOfScript();
  // Some ends of the script, and for each of them all calls of the recovery.
  const uint64_t stride = calls / (TriesAll() ? 40 : 2);
  for (uint64_t call = stride / 2; call < calls; call += stride) {
    for (uint64_t second = 0;; second += Stride(7)) {
      SCOPED_TRACE(absl::StrCat("at call ", call, ", then at ", second));
      SimulatedDisk disk(Seed() + call);
      CrashScript script(disk, Seed());
      disk.CrashAt(call);
      ASSERT_EQ(script.Open(), "");
      if (script.is_open()) {
        ASSERT_EQ(script.Play(), "");
      }
      Restart(disk, script, GetParam());
      disk.CrashAt(second);
      ASSERT_EQ(script.Open(), "");
      const bool is_over = !disk.has_crashed();
      Restart(disk, script, GetParam());
      ASSERT_EQ(Recover(disk, script), "");
      if (is_over) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Crashes, JournalCrashTest,
                         testing::Values(Crash{true, 512}, Crash{false, 512},
                                         Crash{false, 4096}));

// EIO ends the program, too, and leaves pages that are clean and not written.
class JournalErrorTest
    : public testing::TestWithParam<SimulatedDisk::FailedSync> {};

TEST_P(JournalErrorTest, AtEachCall) {
  uint64_t calls = 0;
  {
    SimulatedDisk disk(Seed());
    CrashScript script(disk, Seed());
    ASSERT_EQ(script.Open(), "");
    ASSERT_EQ(script.Play(), "");
    calls = disk.calls();
  }
  for (uint64_t call = 0; call < calls; call += Stride(47)) {
    SCOPED_TRACE(absl::StrCat("at call ", call, " of ", calls));
    SimulatedDisk disk(Seed() + call);
    disk.set_failed_sync(GetParam());
    CrashScript script(disk, Seed());
    disk.FailAt(call, EIO);
    ASSERT_EQ(script.Open(), "");
    if (script.is_open()) {
      ASSERT_EQ(script.Play(), "");
    }
    script.Drop();
    // The next program first, then a power failure.
    disk.Restart(true, 512);
    ASSERT_EQ(script.Open(), "");
    ASSERT_EQ(script.AppendOne(), "");
    script.Drop();
    disk.Restart(false, 512);
    ASSERT_EQ(script.Open(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    FailedSyncs, JournalErrorTest,
    testing::Values(SimulatedDisk::FailedSync::kDropsPages,
                    SimulatedDisk::FailedSync::kKeepsPages));

}  // namespace
}  // namespace actord::runtime
