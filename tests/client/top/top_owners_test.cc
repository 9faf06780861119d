// Tests the columns of owners and of names of "actorctl top".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/top/layout.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TopOwners : public testing::Test {
 protected:
  TopOwners() : sample_(MakeSample(absl::Hours(28))) {
    sample_.processes = {MakeProcess("1.f7dcb807.0.1", "counter", 3),
                         MakeProcess("1.f7dcb807.1.1", "order", 2)};
  }
  std::string Drawn(ViewOptions options = {}) {
    Model model;
    model.Add(sample_);
    View view(std::move(options));
    view.Refresh(model);
    return PlainText(Draw(model, view, {.address = "127.0.0.1:7600"},
                          Cells(true), {.width = 120, .height = 12}));
  }
  static ViewOptions SortedBy(const char* name) {
    return {.process_column = *ColumnNamed(ProcessColumns(), name)};
  }

  Sample sample_;
};

TEST_F(TopOwners, AreShownIfAProcessHasOne) {
  EXPECT_THAT(Drawn(), Not(HasSubstr("OWNER")));
  sample_.processes[1].set_owner("billing");
  EXPECT_THAT(Drawn(), HasSubstr("TYPE     OWNER    STATE "));
  EXPECT_THAT(Drawn(), HasSubstr("1.f7dcb807.0.1  counter           IDLE "));
  EXPECT_THAT(Drawn(), HasSubstr("1.f7dcb807.1.1  order    billing  IDLE "));
}

TEST_F(TopOwners, AreShownAlsoIfNoVisibleProcessHasOne) {
  sample_.processes[1].set_owner("billing");
  sample_.processes.insert(sample_.processes.begin(), 40,
                           MakeProcess("1.f7dcb807.2.1", "counter", 9));
  const std::string drawn = Drawn(SortedBy("steps"));
  EXPECT_THAT(drawn, HasSubstr("OWNER"));
  EXPECT_THAT(drawn, Not(HasSubstr("billing")));
}

TEST_F(TopOwners, AreShownIfTheySortTheRows) {
  EXPECT_THAT(Drawn(SortedBy("owner")), HasSubstr("OWNER"));
}

TEST_F(TopOwners, NamesAreShownIfAProcessHasOne) {
  EXPECT_THAT(Drawn(), Not(HasSubstr("NAME")));
  sample_.processes[0].add_names("zebra");
  sample_.processes[1].add_names("apple");
  sample_.processes.push_back(MakeProcess("1.f7dcb807.2.1", "order", 9));
  EXPECT_THAT(Drawn(), HasSubstr("TYPE     NAME   STATE "));
  const std::string drawn = Drawn(SortedBy("name"));
  EXPECT_LT(drawn.find("apple"), drawn.find("zebra"));
  EXPECT_LT(drawn.find("zebra"), drawn.find("1.f7dcb807.2.1"));
}

}  // namespace
}  // namespace actord::client::top
