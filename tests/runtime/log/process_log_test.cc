// Lines that steps and handlers write into the log for a process.
#include "runtime/log/process_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/actors/process_failure.h"
#include "runtime/process/listed/failed_step.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kMaxTextBytes = size_t{15} << 10;

class ProcessLogTest : public ::testing::Test {
 protected:
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.log = [this](LogLevel level, std::string_view message,
                         const LogSubject& about) {
      lines_.push_back(
          absl::StrCat(static_cast<int>(level), " ", std::string(message)));
      subjects_.push_back(absl::StrCat(
          about.pid.empty() ? std::string() : FormatPid(about.pid), "|",
          std::string(about.type), "|", std::string(about.name)));
    };
    options.has_level = [this](LogLevel level) { return level >= least_; };
    options.failed = [this](const ProcessFailure& failure,
                            const StepLines& lines) {
      failed_message_ = failure.message;
      failed_ = lines;
    };
    return options;
  }
  std::string Line(int level, const Pid& pid, std::string_view rest) {
    return absl::StrCat(level, " process ", FormatPid(pid), std::string(rest));
  }

  std::vector<std::string> FailedTexts() const {
    std::vector<std::string> texts;
    for (const auto& [level, text] : failed_.list) {
      texts.push_back(absl::StrCat(level, " ", text));
    }
    return texts;
  }

  // Of the newest failure.
  std::string failed_message_;
  StepLines failed_;
  std::vector<std::string> lines_;
  std::vector<std::string> subjects_;  // of the lines
  LogLevel least_ = LogLevel::kDebug;
  SteppedCore core_{1, Options()};
};

TEST_F(ProcessLogTest, LineNamesTheProcess) {
  const Pid pid = core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kInfo, "one");
    out.Log(actord::LogLevel::kError, "two");
  });
  EXPECT_THAT(lines_, ElementsAre(Line(2, pid, " (script): one"),
                                  Line(4, pid, " (script): two")));
  const std::string subject = FormatPid(pid) + "|script|";
  EXPECT_THAT(subjects_, ElementsAre(subject, subject));
}

TEST_F(ProcessLogTest, LineHasTheOldestName) {
  const Pid pid =
      core_.Submit([](actord::Events events, actord::StepOutput& out) {
        if (!events.empty()) out.Log(actord::LogLevel::kWarning, "told");
      });
  for (const char* name : {"orders/17", "other"}) {
    Pid holder;
    ASSERT_TRUE(core_.core->names.Register(name, pid, holder).ok());
  }
  core_.Send(pid, -1);
  core_.Settle();
  EXPECT_THAT(lines_, ElementsAre(Line(3, pid, " (script @orders/17): told")));
}

TEST_F(ProcessLogTest, LineBelowTheLevelIsDropped) {
  least_ = LogLevel::kWarning;
  const Pid pid = core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kInfo, "info");
    out.Log(actord::LogLevel::kWarning, "warning");
  });
  EXPECT_THAT(lines_, ElementsAre(Line(3, pid, " (script): warning")));
}

TEST_F(ProcessLogTest, LinesOfAStepThatFailsComeWithItsFailure) {
  least_ = LogLevel::kInfo;
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kInfo, "one");
    out.Log(actord::LogLevel::kDebug, "below the level");
    out.Log(actord::LogLevel::kError, "two");
    out.Fail(actord::Code::kAborted, "why");
  });
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_EQ(failed_message_, "why");
  EXPECT_THAT(FailedTexts(), ElementsAre("2 one", "4 two"));
  EXPECT_EQ(failed_.left_out, 0u);
}

TEST_F(ProcessLogTest, LinesOfAStepThatThrowsComeWithItsFailure) {
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kWarning, "line");
    throw std::runtime_error("why");
  });
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_THAT(FailedTexts(), ElementsAre("3 line"));
}

TEST_F(ProcessLogTest, FailureHasTheNewestLinesOfItsStep) {
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    for (int i = 1; i <= 130; ++i) {
      out.Log(actord::LogLevel::kInfo, std::to_string(i));
    }
    out.Fail(actord::Code::kAborted, "why");
  });
  EXPECT_EQ(failed_.left_out, 30u);
  ASSERT_THAT(failed_.list, SizeIs(100));
  EXPECT_EQ(failed_.list.front().text, "31");
  EXPECT_EQ(failed_.list.back().text, "130");
}

TEST_F(ProcessLogTest, FailureDoesNotHaveTheLinesOfAnEarlierOne) {
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kInfo, "line");
    out.Fail(actord::Code::kAborted, "why");
  });
  const Pid pid =
      core_.Submit([](actord::Events events, actord::StepOutput& out) {
        if (events.empty()) return;
        out.Fail(actord::Code::kAborted, "without lines");
      });
  core_.Send(pid, -1);
  core_.Settle();
  EXPECT_EQ(failed_message_, "without lines");
  EXPECT_THAT(FailedTexts(), IsEmpty());
}

TEST_F(ProcessLogTest, LastStepLogs) {
  const Pid pid = core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kDebug, "line");
    out.Done();
  });
  EXPECT_THAT(lines_, ElementsAre(Line(1, pid, " (script): line")));
}

TEST_F(ProcessLogTest, LongTextIsCutBetweenCharacters) {
  const std::string text =
      std::string(kMaxTextBytes - 1, 'x') + "\xc3\xa9" + std::string(8, 'y');
  const Pid pid = core_.Submit([&](actord::Events, actord::StepOutput& out) {
    out.Log(actord::LogLevel::kInfo, text);
    out.Log(actord::LogLevel::kInfo, text.substr(0, kMaxTextBytes - 1));
  });
  const std::string whole(kMaxTextBytes - 1, 'x');
  EXPECT_THAT(
      lines_,
      ElementsAre(Line(2, pid, " (script): " + whole + "... (10 more bytes)"),
                  Line(2, pid, " (script): " + whole)));
}

TEST_F(ProcessLogTest, LevelOutOfRangeIsTheNearest) {
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    for (const int level : {-5, 0, 5, 99}) {
      out.Log(static_cast<actord::LogLevel>(level), "m");
    }
  });
  ASSERT_THAT(lines_, SizeIs(4));
  EXPECT_EQ(lines_[0][0], '1');
  EXPECT_EQ(lines_[1][0], '1');
  EXPECT_EQ(lines_[2][0], '4');
  EXPECT_EQ(lines_[3][0], '4');
}

TEST_F(ProcessLogTest, HandlerLogsForAProcess) {
  const Pid pid = core_.Submit([](actord::Events, actord::StepOutput&) {});
  const actord_host* const host = core_.core->host.abi();
  const auto log = [&](const Pid& of, int32_t level) {
    const actord_pid abi = ToAbi(of);
    host->log_for(host, level, &abi, ToAbi(std::string_view("text")));
  };
  Pid holder;
  log(pid, ACTORD_LOG_INFO);
  ASSERT_TRUE(core_.core->names.Register("a", pid, holder).ok());
  log(pid, ACTORD_LOG_INFO);
  least_ = LogLevel::kWarning;
  log(pid, ACTORD_LOG_INFO);
  const Pid gone{core_.core->options.node, core_.core->options.incarnation,
                 0xfffff, 1};
  log(gone, ACTORD_LOG_ERROR);
  EXPECT_THAT(lines_, ElementsAre(Line(2, pid, " (script): text"),
                                  Line(2, pid, " (script @a): text"),
                                  Line(4, gone, ": text")));
}

}  // namespace
}  // namespace actord::runtime
