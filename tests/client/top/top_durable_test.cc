// Tests how "actorctl top" shows durable processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/top/layout.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client::top {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class TopDurable : public testing::Test {
 protected:
  TopDurable() : sample_(MakeSample(absl::Hours(28))) {
    sample_.processes = {MakeProcess("1.f7dcb807.0.1", "counter", 3),
                         MakeProcess("1.f7dcb807.1.1", "order", 2)};
  }
  std::string Drawn(ViewOptions options = {}) {
    Model model;
    model.Add(sample_);
    View view(std::move(options));
    view.Refresh(model);
    return PlainText(Draw(model, view, {.address = "127.0.0.1:7600"},
                          Cells(true), {.width = 140, .height = 14}));
  }

  Sample sample_;
};

TEST_F(TopDurable, ColumnIsShownIfAProcessIsDurable) {
  EXPECT_THAT(Drawn(), Not(HasSubstr("DURABILITY")));
  sample_.processes[0].set_durability(v1::DURABILITY_VOLATILE);
  EXPECT_THAT(Drawn(), Not(HasSubstr("DURABILITY")));
  sample_.processes[1].set_durability(v1::DURABILITY_DURABLE);
  EXPECT_THAT(Drawn(), HasSubstr("AGE  DURABILITY"));
  EXPECT_THAT(Drawn(), ContainsRegex("f7dcb807.0.1 .*IDLE .* VOLATILE\n"));
  EXPECT_THAT(Drawn(), ContainsRegex("f7dcb807.1.1 .*IDLE .* DURABLE\n"));
}

TEST_F(TopDurable, TypesCountDurableProcesses) {
  EXPECT_THAT(Drawn({.types = true}), Not(HasSubstr("DURABLE")));
  sample_.processes[1].set_durability(v1::DURABILITY_DURABLE);
  EXPECT_THAT(Drawn({.types = true}), HasSubstr("DURABLE"));
}

TEST_F(TopDurable, HeaderCountsDormantAndQuarantinedProcesses) {
  EXPECT_THAT(Drawn(), Not(HasSubstr("dormant")));
  EXPECT_THAT(Drawn(), Not(HasSubstr("quarantine")));
  sample_.status.mutable_counters()->set_processes_dormant(1234);
  sample_.status.mutable_counters()->set_processes_quarantined(2);
  EXPECT_THAT(Drawn(), HasSubstr("1,234 of them dormant"));
  EXPECT_THAT(Drawn(), HasSubstr("2 in quarantine"));
}

TEST_F(TopDurable, QuarantineIsSortedBeforeAllOtherStates) {
  sample_.processes[0].set_state(v1::PROCESS_STATE_RUNNING);
  sample_.processes[1].set_state(v1::PROCESS_STATE_QUARANTINED);
  const std::string drawn =
      Drawn({.process_column = *ColumnNamed(ProcessColumns(), "state")});
  // The column is too narrow for the whole word.
  ASSERT_THAT(drawn, HasSubstr(" QUARAN"));
  EXPECT_LT(drawn.find(" QUARAN"), drawn.find(" RUNNING"));
}

}  // namespace
}  // namespace actord::client::top
