// The reloader over real files, with a clock of the test's own.
#include "daemon/tls/tls_reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/daemon/operations/fake_clock.h"
#include "tests/daemon/tls/tls_directory.h"
#include "tests/identity/certificates/issued.h"

namespace actord::daemon {
namespace {

using identity::Authority;
using identity::FingerprintOf;
using identity::Issued;
using identity::kTestNow;
using ::testing::HasSubstr;

class TlsReloaderTest : public ::testing::Test {
 protected:
  TlsReloaderTest() {
    clock_.Advance(kTestNow - absl::FromUnixSeconds(1));
    Put(authority_.Issue({.common_name = "first"}));
  }

  void Put(const Issued& issued) {
    settings_.certificate = directory_.Write("a.pem", issued.certificate);
    settings_.key = directory_.Write("a.key", issued.key);
  }
  std::unique_ptr<TlsReloader> Open() {
    auto opened = TlsReloader::Open(settings_, logger_, clock_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  // The log lines of `action`.
  template <typename Action>
  std::string LogOf(Action action) {
    logger_.Flush(absl::Seconds(10));
    ::testing::internal::CaptureStderr();
    action();
    logger_.Flush(absl::Seconds(10));
    return ::testing::internal::GetCapturedStderr();
  }

  TlsDirectory directory_;
  FakeClock clock_;
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
  Authority authority_;
  TlsSettings settings_;
};

TEST_F(TlsReloaderTest, WithoutFilesThereIsNone) {
  const auto none = TlsReloader::Open({}, logger_, clock_);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
}

TEST_F(TlsReloaderTest, RefusesToOpenWithWrongFiles) {
  settings_.key = directory_.Write("a.key", authority_.Issue().key);
  const auto refused = TlsReloader::Open(settings_, logger_, clock_);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("the key does not belong to the certificate"));
  EXPECT_EQ(TlsReloader::Open({.key = "a"}, logger_, clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TlsReloaderTest, PutsChangedFilesInForceAndLogsThem) {
  const auto reloader = Open();
  const auto former = reloader->current();
  EXPECT_EQ(LogOf([&] { reloader->Reload(); }), "");
  EXPECT_EQ(reloader->current(), former);
  const Issued second = authority_.Issue({.common_name = "second"});
  Put(second);
  EXPECT_THAT(LogOf([&] { reloader->Reload(); }),
              HasSubstr(absl::StrCat(
                  "TLS reloaded: tls.certificate is of CN=second, valid until "
                  "2027-04-15T08:00:00Z, SHA-256 ",
                  FingerprintOf(second.parsed()))));
  EXPECT_EQ(reloader->current()->texts().certificate, second.certificate);
}

TEST_F(TlsReloaderTest, KeepsTheFormerFilesIfTheNewAreWrong) {
  const auto reloader = Open();
  const auto former = reloader->current();
  directory_.Write("a.key", "rubbish");
  const std::string log = LogOf([&] { reloader->Reload(); });
  EXPECT_THAT(log, HasSubstr("TLS not reloaded, the former files stay in "
                             "force: tls.key: "));
  EXPECT_THAT(log, HasSubstr("error"));
  EXPECT_EQ(reloader->current(), former);
  // A person who asks again is told again.
  EXPECT_THAT(LogOf([&] { reloader->Reload(); }), HasSubstr("not reloaded"));
  directory_.Write("a.key", former->texts().key);
  EXPECT_THAT(LogOf([&] { reloader->Reload(); }),
              ::testing::Not(HasSubstr("not")));
  EXPECT_EQ(reloader->current(), former);
}

TEST_F(TlsReloaderTest, ReadsTheFilesAfterTheInterval) {
  settings_.reload_interval = absl::Seconds(5);
  const auto reloader = Open();
  const Issued second = authority_.Issue({.common_name = "second"});
  Put(second);
  absl::Notification changed;
  ASSERT_TRUE(reloader
                  ->Start([&](bool has_changed) {
                    if (has_changed) changed.Notify();
                  })
                  .ok());
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(changed.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_EQ(reloader->current()->texts().certificate, second.certificate);
  reloader->Stop();
}

TEST_F(TlsReloaderTest, WarnsOfACertificateThatEndsSoon) {
  clock_.Advance(absl::Hours(24 * 80));
  std::unique_ptr<TlsReloader> reloader;
  EXPECT_THAT(LogOf([&] { reloader = Open(); }),
              HasSubstr("the certificate of CN=first expires at "));
}

}  // namespace
}  // namespace actord::daemon
