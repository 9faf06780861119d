// Crashes of the newest version of its plugin put a process into quarantine,
// also while the process is of a former version. The store is in a real
// directory, because the steps are marked in a mapped file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/runtime/versions/books.h"

namespace actord::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The parameter: whether idle processes become dormant.
class CrashesOfVersions : public DurableVersions,
                          public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    DurableVersions::SetUp();
    std::string folder =
        std::filesystem::temp_directory_path() / "versions.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    world_.files = &FileSystem::System();
    world_.directory = folder + "/store";
    world_.marked_threads = 16;
    world_.max_crashes = 2;
    passivates_ = GetParam();
  }
  void TearDown() override {
    world_.Stop();
    std::filesystem::remove_all(folder_);
  }

  // Keeps the marks as they are now: the program ends here.
  void KeepMarks() {
    std::filesystem::copy_file(
        folder_ / "store/running", folder_ / "running",
        std::filesystem::copy_options::overwrite_existing);
  }
  // The next start finds the marks that were kept.
  void End() {
    world_.Stop();
    std::filesystem::rename(folder_ / "running", folder_ / "store/running");
  }
  // The program starts, and crashes when version 2 restores the process.
  void CrashInRestoreOfVersion2(const Pid& pid) {
    bool has_crashed = false;
    Image2::script.restoring = [&] {
      if (std::exchange(has_crashed, true)) return;
      StepMarks::NoteCrash(SIGSEGV);
      KeepMarks();
    };
    Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
    world_.NotesOf(pid);
    Image2::script.restoring = nullptr;
    ASSERT_TRUE(has_crashed);
    EXPECT_THAT(InQuarantine(), IsEmpty());
    End();
  }

  std::filesystem::path folder_;
};

TEST_P(CrashesOfVersions,
       NewestVersionPutsAProcessIntoQuarantineUntilItIsMended) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  // The test goes on after the crash, and the process must stay in version 1.
  Image2::script.refuses_restore = true;
  CrashInRestoreOfVersion2(pid);
  log_.clear();
  CrashInRestoreOfVersion2(pid);
  EXPECT_THAT(log_, Contains(HasSubstr("it has ended the daemon 1 times")));
  Image2::script.restored.clear();
  Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
  ASSERT_EQ(InQuarantine().size(), 1u);
  const QuarantineEntry entry = InQuarantine()[0];
  EXPECT_EQ(entry.pid, pid);
  EXPECT_EQ(entry.cause, QuarantineCause::kCrashed);
  EXPECT_EQ(entry.version, "2");
  EXPECT_EQ(entry.crashes, 2u);
  EXPECT_EQ(entry.signal, "SIGSEGV");
  EXPECT_THAT(world_.NotesOf(pid), HasSubstr("by SIGSEGV in plugin books 2"));
  EXPECT_THAT(Image2::script.restored, IsEmpty());
  // A program that is killed forgets no crash.
  KeepMarks();
  End();
  Image2::script.refuses_restore = false;
  Start(Plugin<Image2>(3), {Plugin<Image1>(1)});
  EXPECT_THAT(InQuarantine(), IsEmpty());
  EXPECT_EQ(world_.NotesOf(pid), "v1:a ");
  EXPECT_EQ(VersionOf(pid), "3");
  EXPECT_THAT(Image2::script.restored, ElementsAre("from 1 recovery"));
}

INSTANTIATE_TEST_SUITE_P(All, CrashesOfVersions, ::testing::Bool());

}  // namespace
}  // namespace actord::runtime
