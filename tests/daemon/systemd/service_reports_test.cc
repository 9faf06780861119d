#include "daemon/systemd/service_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The service manager's end, under an abstract name.
class Receiver {
 public:
  Receiver()
      : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // The kernel chooses a name.
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address),
                   sizeof address.sun_family),
              0);
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    name_ = "@" + std::string(address.sun_path + 1,
                              size - offsetof(sockaddr_un, sun_path) - 1);
  }
  ~Receiver() { close(socket_); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  std::vector<std::string> Messages() {
    std::vector<std::string> messages;
    char text[500];
    for (ssize_t size; (size = recv(socket_, text, sizeof text, 0)) >= 0;) {
      messages.emplace_back(text, size);
    }
    return messages;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  const int socket_;
  std::string name_;
};

class ServiceReportsTest : public ::testing::Test {
 protected:
  ServiceReports::Offer Offer(absl::Duration watchdog) {
    return {.address = receiver_.name(), .watchdog = watchdog};
  }
  // Begins the watchdog, and ends its thread, so that the test calls Round.
  void StartRounds(ServiceReports& reports) {
    ASSERT_TRUE(reports.StartWatchdog([this] { return beat_; }).ok());
    reports.StopWatchdog();
    receiver_.Messages();
  }
  size_t SignsOfLife(ServiceReports& reports, int rounds) {
    size_t count = 0;
    for (int i = 0; i < rounds; ++i) {
      reports.Round();
      // The kernel holds only some messages that nobody has received.
      for (const std::string& message : receiver_.Messages()) {
        EXPECT_EQ(message, "WATCHDOG=1");
        ++count;
      }
    }
    return count;
  }

  Receiver receiver_;
  Heartbeat::Beat beat_;
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
};

TEST_F(ServiceReportsTest, SaysWhatHappens) {
  ServiceReports reports(Offer(absl::ZeroDuration()), logger_,
                         runtime::Clock::System());
  reports.Serving("serves on 127.0.0.1:7600");
  reports.Reloaded();
  reports.Ending(absl::Seconds(36));
  EXPECT_THAT(receiver_.Messages(),
              ElementsAre("READY=1\nSTATUS=serves on 127.0.0.1:7600", "READY=1",
                          "STOPPING=1\nSTATUS=ending: new processes are refused"
                          "\nEXTEND_TIMEOUT_USEC=36000000"));
  reports.Reloading();
  EXPECT_THAT(receiver_.Messages(),
              ElementsAre(::testing::MatchesRegex(
                  "RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*")));
  reports.Ending(absl::InfiniteDuration());
  EXPECT_THAT(receiver_.Messages(),
              ElementsAre(HasSubstr("EXTEND_TIMEOUT_USEC=31536000000000")));
}

TEST_F(ServiceReportsTest, SignOfLifeIsWithheldWhileTheSchedulerStandsStill) {
  // Four rounds in two seconds: two in a second.
  ServiceReports reports(Offer(absl::Seconds(2)), logger_,
                         runtime::Clock::System());
  StartRounds(reports);
  beat_ = {.turns = 7, .has_ready = true};
  EXPECT_EQ(SignsOfLife(reports, 2), 2u);
  // The turns do not change: after 10 looks the scheduler stands still.
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(SignsOfLife(reports, 30), 18u);
  logger_.Flush(LogWriter::kLastPatience);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("the service manager gets no sign of life"));
  EXPECT_EQ(log.find("no sign of life"), log.rfind("no sign of life"));
  beat_.turns = 8;
  EXPECT_EQ(SignsOfLife(reports, 4), 4u) << "it moves again";
}

TEST_F(ServiceReportsTest, SignsOfLifeContinueOnceTheDaemonEnds) {
  ServiceReports reports(Offer(absl::Seconds(4)), logger_,
                         runtime::Clock::System());
  StartRounds(reports);
  beat_ = {.turns = 7, .has_ready = true};
  reports.Ending(absl::Seconds(1));
  receiver_.Messages();
  EXPECT_EQ(SignsOfLife(reports, 30), 30u);
}

TEST_F(ServiceReportsTest, SignsOfLifeThatNobodyReceivesAreLoggedOnce) {
  ServiceReports reports({.address = receiver_.name() + " that is not there",
                          .watchdog = absl::Seconds(2)},
                         logger_, runtime::Clock::System());
  ::testing::internal::CaptureStderr();
  StartRounds(reports);
  EXPECT_EQ(SignsOfLife(reports, 8), 0u);
  logger_.Flush(LogWriter::kLastPatience);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("cannot tell the service manager"));
  EXPECT_EQ(log.find("cannot tell"), log.rfind("cannot tell"));
}

TEST_F(ServiceReportsTest, WithoutAWatchdogThereIsNoThread) {
  ServiceReports reports(Offer(absl::ZeroDuration()), logger_,
                         runtime::Clock::System());
  bool asked = false;
  ASSERT_TRUE(reports
                  .StartWatchdog([&asked] {
                    asked = true;
                    return Heartbeat::Beat{};
                  })
                  .ok());
  reports.StopWatchdog();
  EXPECT_FALSE(asked);
  EXPECT_THAT(receiver_.Messages(), IsEmpty());
}

TEST_F(ServiceReportsTest, SocketThatIsGoneIsLogged) {
  for (const std::string& address :
       {std::string("/nowhere/notify"), std::string(200, '/')}) {
    ::testing::internal::CaptureStderr();
    ServiceReports({.address = address, .watchdog = absl::ZeroDuration()},
                   logger_, runtime::Clock::System())
        .Serving("x");
    logger_.Flush(LogWriter::kLastPatience);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("cannot tell the service manager"));
  }
}

TEST(ServiceReports, OfferIsTakenFromTheEnvironment) {
  setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  const ServiceReports::Offer offer = ServiceReports::TakeOffer();
  EXPECT_EQ(offer.address, "/run/systemd/notify");
  EXPECT_EQ(offer.watchdog, absl::Seconds(30));
  for (const char* variable :
       {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(variable), nullptr) << variable;
  }
  const ServiceReports::Offer none = ServiceReports::TakeOffer();
  EXPECT_EQ(none.address, "");
  EXPECT_EQ(none.watchdog, absl::ZeroDuration());
}

TEST(ServiceReports, WatchdogOfAnotherProcessIsIgnored) {
  setenv("NOTIFY_SOCKET", "@x", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", absl::StrCat(getpid() + 1).c_str(), 1);
  const ServiceReports::Offer offer = ServiceReports::TakeOffer();
  EXPECT_EQ(offer.address, "@x");
  EXPECT_EQ(offer.watchdog, absl::ZeroDuration());
}

}  // namespace
}  // namespace actord::daemon
