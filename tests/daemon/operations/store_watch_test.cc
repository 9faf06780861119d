#include "daemon/operations/store_watch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace actord::daemon {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class StoreWatchTest : public ::testing::Test {
 protected:
  // The log lines of a look when the write has taken `seconds`.
  std::string LookAt(uint64_t seconds) {
    running_ns_ = seconds * kSecond;
    ::testing::internal::CaptureStderr();
    watch_.Look();
    logger_.Flush(LogWriter::kLastPatience);
    return ::testing::internal::GetCapturedStderr();
  }

  uint64_t running_ns_ = 0;
  bool is_full_ = false;
  uint64_t stalls_ = 0;
  std::vector<bool> serving_;
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  StoreWatch watch_{
      {.sync_running_ns = [this] { return running_ns_; },
       .is_full = [this] { return is_full_; },
       .unpublished_stalls = [this] { return stalls_; },
       .set_serving = [this](bool on) { serving_.push_back(on); }},
      logger_};
};

using Told = std::vector<bool>;

TEST_F(StoreWatchTest, HealthIsNotServingWhileASyncHangs) {
  EXPECT_EQ(LookAt(9), "");
  EXPECT_EQ(serving_, Told{});
  EXPECT_NE(LookAt(10).find("has not returned for 10 s"), std::string::npos);
  EXPECT_EQ(serving_, Told{false});
  EXPECT_EQ(LookAt(11), "") << "one line each 10 s";
  EXPECT_EQ(LookAt(19), "");
  EXPECT_NE(LookAt(20).find("has not returned for 20 s"), std::string::npos);
  EXPECT_EQ(serving_, Told{false}) << "it is told once";
  EXPECT_NE(LookAt(0).find("hangs no longer"), std::string::npos);
  EXPECT_EQ(serving_, (Told{false, true}));
  EXPECT_EQ(LookAt(0), "");
  EXPECT_NE(LookAt(12).find("for 12 s"), std::string::npos)
      << "the next hang is told at once";
}

TEST_F(StoreWatchTest, FullStoreIsLoggedOnceAndServesOn) {
  is_full_ = true;
  EXPECT_NE(LookAt(0).find("STORE_FULL"), std::string::npos);
  EXPECT_EQ(LookAt(0), "");
  is_full_ = false;
  EXPECT_NE(LookAt(0).find("has room again"), std::string::npos);
  EXPECT_EQ(serving_, Told{});
}

TEST_F(StoreWatchTest, StallsOfTheJournalAreLoggedAsTheyCome) {
  EXPECT_EQ(LookAt(0), "");
  stalls_ = 1;
  EXPECT_NE(LookAt(0).find("1 time since the last look and 1 since the start"),
            std::string::npos);
  EXPECT_EQ(LookAt(0), "") << "each stall is logged once";
  stalls_ = 4;
  EXPECT_NE(LookAt(0).find("3 times since the last look and 4 since the start"),
            std::string::npos);
  EXPECT_EQ(serving_, Told{}) << "the daemon serves on";
}

}  // namespace
}  // namespace actord::daemon
