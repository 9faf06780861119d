#include "runtime/durable/step_marks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>

namespace actord::runtime {
namespace {

constexpr Pid kPid{1u << 31 | 7, 3, 5, 1};
constexpr Pid kOther{1u << 31 | 8, 3, 6, 1};
constexpr uint64_t kCode = 42;

// A program that ends is played by an object that goes while its steps run.
class StepMarksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder =
        std::filesystem::temp_directory_path() / "marks.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    Start();
  }
  void TearDown() override {
    marks_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    marks_.reset();
    auto marks = StepMarks::Open({.files = &FileSystem::System(),
                                  .directory = folder_,
                                  .threads = 2,
                                  .max_crashes = 3});
    ASSERT_TRUE(marks.ok()) << marks.status();
    marks_ = *std::move(marks);
    first_ = marks_->Take();
    second_ = marks_->Take();
    ASSERT_NE(first_, nullptr);
    ASSERT_NE(second_, nullptr);
    EXPECT_EQ(marks_->Take(), nullptr);
  }
  // A step that never returns. The last one is that of this thread.
  void Run(StepMarks::Mark* mark, const Pid& pid, uint64_t step,
           uint64_t code = kCode) {
    alignas(StepMarks::Running) static unsigned char place[64];
    new (place) StepMarks::Running(mark, pid, step, code);
  }
  uint32_t Crashes(const Pid& pid, uint64_t code = kCode) const {
    const StepMarks::Suspect* const suspect = marks_->Find(pid, code);
    return suspect == nullptr ? 0 : suspect->crashes;
  }

  std::string folder_;
  std::unique_ptr<StepMarks> marks_;
  StepMarks::Mark* first_ = nullptr;
  StepMarks::Mark* second_ = nullptr;
};

TEST_F(StepMarksTest, StepOfTheThreadThatCrashedIsCounted) {
  for (uint32_t crash = 1; crash <= 3; ++crash) {
    Run(first_, kOther, 9);
    Run(second_, kPid, 5 + crash);
    StepMarks::NoteCrash(SIGSEGV);
    Start();
    EXPECT_EQ(Crashes(kPid), crash);
    EXPECT_EQ(Crashes(kOther), 0u) << "another thread has crashed";
    const StepMarks::Suspect& suspect = *marks_->Find(kPid, kCode);
    EXPECT_EQ(suspect.step, 5 + crash);
    EXPECT_EQ(suspect.signal, SIGSEGV);
    EXPECT_TRUE(suspect.is_new);
    EXPECT_EQ(marks_->IsPoison(suspect), crash == 3);
  }
  EXPECT_EQ(StepMarks::SignalText(SIGSEGV), "SIGSEGV");
}

TEST_F(StepMarksTest, CrashOutsideOfAStepCountsNobody) {
  { const StepMarks::Running running(second_, kPid, 2, kCode); }
  Run(first_, kOther, 9);
  { const StepMarks::Running running(second_, kPid, 2, kCode); }
  StepMarks::NoteCrash(SIGABRT);
  Start();
  EXPECT_TRUE(marks_->suspects().empty());
}

TEST_F(StepMarksTest, KilledProgramCountsEachStepThatDidNotGetOn) {
  for (uint32_t kill = 1; kill <= 3; ++kill) {
    Run(first_, kOther, 9 + kill);
    Run(second_, kPid, 5);
    Start();
    EXPECT_EQ(Crashes(kPid), kill);
    EXPECT_EQ(Crashes(kOther), 1u) << "it has got beyond its step";
  }
  EXPECT_EQ(marks_->Find(kPid, kCode)->signal, 0);
}

TEST_F(StepMarksTest, StepThatHasReturnedIsNotCounted) {
  { const StepMarks::Running running(first_, kPid, 2, kCode); }
  Start();
  EXPECT_TRUE(marks_->suspects().empty());
}

TEST_F(StepMarksTest, ProgramThatEndsItselfCountsNobodyAndForgetsNothing) {
  Run(first_, kPid, 5);
  Start();
  Run(first_, kPid, 5);
  marks_->NoteExit();
  Start();
  EXPECT_EQ(Crashes(kPid), 1u);
  EXPECT_FALSE(marks_->Find(kPid, kCode)->is_new);
}

TEST_F(StepMarksTest, ForgottenProcessIsCountedFromOne) {
  for (int crash = 0; crash < 3; ++crash) {
    Run(second_, kOther, 9);
    Run(first_, kPid, 5);
    Start();
  }
  EXPECT_EQ(Crashes(kPid), 3u);
  marks_->Forget(kPid);
  Run(second_, kOther, 9);
  Run(first_, kPid, 5);
  Start();
  EXPECT_EQ(Crashes(kPid), 1u);
  EXPECT_EQ(Crashes(kOther), 4u) << "nobody has forgotten it";
}

TEST_F(StepMarksTest, CleanEndForgetsAll) {
  Run(first_, kPid, 5);
  Start();
  ASSERT_EQ(Crashes(kPid), 1u);
  marks_->EndCleanly();
  Start();
  EXPECT_TRUE(marks_->suspects().empty());
}

TEST_F(StepMarksTest, OtherCodeIsCountedFromOne) {
  Run(first_, kPid, 5);
  Start();
  EXPECT_EQ(Crashes(kPid, kCode + 1), 0u);
  Run(first_, kPid, 5, kCode + 1);
  Start();
  EXPECT_EQ(Crashes(kPid, kCode + 1), 1u);
}

TEST_F(StepMarksTest, DamagedFileCountsAsNone) {
  Run(first_, kPid, 5);
  Start();
  Run(first_, kPid, 5);
  marks_.reset();
  const std::string path = folder_ + "/running";
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(1 << 20, '\xff')}) {
    std::ofstream(path, std::ios::trunc) << bytes;
    Start();
    EXPECT_TRUE(marks_->suspects().empty());
  }
  // One entry is counted; its step has changed.
  Run(first_, kPid, 5);
  Start();
  std::fstream file(path, std::ios::in | std::ios::out);
  file.seekp(64 + 16);
  file.put('\x17');
  file.close();
  Start();
  EXPECT_TRUE(marks_->suspects().empty());
}

}  // namespace
}  // namespace actord::runtime
