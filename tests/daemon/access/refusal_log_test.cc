#include "daemon/access/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

class RefusalLogTest : public ::testing::Test {
 protected:
  // The lines that are logged while `act` runs.
  template <typename Act>
  std::string Logged(Act act) {
    ::testing::internal::CaptureStderr();
    act();
    logger_.Flush(absl::Seconds(30));
    return ::testing::internal::GetCapturedStderr();
  }
  static auto Lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  FakeClock clock_;
  RefusalLog log_{logger_, clock_};
};

TEST_F(RefusalLogTest, SaysEachKindOnceInAMinute) {
  const std::string first = Logged([this] {
    for (int i = 0; i < 100; ++i) {
      log_.Say({"k1", "ROLE_NOT_ALLOWED", "Send"}, "one");
      log_.Say({"k1", "ROLE_NOT_ALLOWED", "Submit"}, "two");
      log_.Say({"k1", "ROLE_NOT_ALLOWED", "Submit", true}, "observed");
      log_.Say({"k1", "TOKEN_EXPIRED", "Send"}, "three");
      log_.Say({"k2", "ROLE_NOT_ALLOWED", "Send"}, "four");
      log_.Say({"", "TOKEN_INVALID", "Send"}, "five");
    }
  });
  EXPECT_EQ(Lines(first), 6) << first;
  for (const char* text : {"one", "two", "observed", "three", "four", "five"}) {
    EXPECT_THAT(first, HasSubstr(text));
  }
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(Logged([this] {
              log_.Say({"k1", "ROLE_NOT_ALLOWED", "Send"}, "one");
            }),
            "");
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Logged([this] {
                log_.Say({"k1", "ROLE_NOT_ALLOWED", "Send"}, "one");
              }),
              HasSubstr("one (and 100 more of this kind since the last such "
                        "line)"));
}

TEST_F(RefusalLogTest, MoreKindsThanItRemembersShareALine) {
  const auto say = [this](const std::string& prefix) {
    for (size_t i = 0; i < 2 * RefusalLog::kMaxKinds; ++i) {
      log_.Say({absl::StrCat(prefix, i), "TOKEN_EXPIRED", "Send"}, "refused");
    }
  };
  const std::string first = Logged([&] { say("a"); });
  EXPECT_EQ(Lines(first), static_cast<long>(RefusalLog::kMaxKinds) + 1);
  // The kinds of a past minute make room for new ones.
  clock_.Advance(absl::Minutes(1));
  const std::string second = Logged([&] { say("b"); });
  EXPECT_GE(Lines(second), static_cast<long>(RefusalLog::kMaxKinds));
  EXPECT_LE(Lines(second), static_cast<long>(RefusalLog::kMaxKinds) + 1);
}

}  // namespace
}  // namespace actord::daemon
