// Results::List: the ended processes whose results are kept.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/actors/results.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {
namespace {

class EndedList : public ::testing::Test {
 protected:
  EndedList() {
    given_.result_ttl = absl::Seconds(10);
    given_.result_max_bytes = size_t{1} << 30;
    limits_.Set(given_);
  }
  struct Made {
    std::string type = "order";
    EndKind kind = EndKind::kResult;
    Owner owner = Owner{1};
    std::string name = {};
    std::string label = {};
  };
  void End(uint32_t slot, const Made& made) {
    Outcome outcome;
    outcome.kind = made.kind;
    if (made.kind == EndKind::kResult) outcome.result.bytes = "result";
    if (made.kind != EndKind::kResult) {
      outcome.code = absl::StatusCode::kAborted;
      outcome.message = std::string(300, 'm');
    }
    outcome.steps = slot;
    outcome.started_unix_ns = 1000;
    outcome.ended_unix_ns = 2000 + slot;
    outcome.owner = made.owner;
    outcome.type = names_.NumberOf(made.type);
    if (!made.name.empty() || !made.label.empty()) {
      EndedTags tags;
      tags.name = made.name;
      if (!made.label.empty()) {
        tags.labels = std::make_shared<const Labels>(
            Labels::OfTexts({made.label}).value());
      }
      outcome.tags = std::make_shared<const EndedTags>(std::move(tags));
    }
    results_.Put({1, 1, slot, 1}, std::move(outcome), /*keep=*/true,
                 [](const Outcome&) {});
  }
  // The slots of all pages.
  std::vector<uint32_t> SlotsOf(const EndedFilter& filter, size_t page_size) {
    std::vector<uint32_t> slots;
    uint64_t before = 0;
    do {
      const EndedPage page = results_.List(filter, before, page_size, names_);
      EXPECT_LE(page.processes.size(), page_size);
      for (const EndedInfo& info : page.processes) {
        slots.push_back(info.pid.slot);
      }
      before = page.next;
    } while (before != 0);
    return slots;
  }
  using Slots = std::vector<uint32_t>;

  ManualClock clock_;
  Limits given_;
  LiveLimits limits_{given_};
  Results results_{limits_, clock_};
  TypeNames names_;
};

TEST_F(EndedList, DescribesAnEnd) {
  End(3, {.type = "job",
          .kind = EndKind::kFailed,
          .name = "nightly",
          .label = "tenant=acme"});
  const EndedPage page = results_.List({}, 0, 10, names_);
  ASSERT_EQ(page.processes.size(), 1u);
  EXPECT_EQ(page.next, 0u);
  const EndedInfo& info = page.processes[0];
  EXPECT_EQ(info.pid, (Pid{1, 1, 3, 1}));
  EXPECT_EQ(info.process_type, "job");
  EXPECT_EQ(info.name, "nightly");
  EXPECT_EQ(info.labels->Texts(), std::vector<std::string>{"tenant=acme"});
  EXPECT_EQ(info.kind, EndKind::kFailed);
  EXPECT_EQ(info.code, absl::StatusCode::kAborted);
  EXPECT_EQ(info.message, std::string(256, 'm'));
  EXPECT_EQ(info.steps, 3u);
  EXPECT_EQ(info.started_unix_ns, 1000u);
  EXPECT_EQ(info.ended_unix_ns, 2003u);
}

TEST_F(EndedList, PagesShowTheNewestEndFirstAndEachOnce) {
  EXPECT_EQ(SlotsOf({}, 10), Slots{});
  constexpr uint32_t kCount = 200;
  Slots expected;
  for (uint32_t slot = 1; slot <= kCount; ++slot) {
    End(slot, {});
    expected.insert(expected.begin(), slot);
  }
  for (const size_t page_size : {1u, 7u, 64u, 100u, 200u, 201u}) {
    EXPECT_EQ(SlotsOf({}, page_size), expected) << page_size;
  }
  // An end between two pages is on neither.
  const EndedPage first = results_.List({}, 0, 50, names_);
  End(kCount + 1, {});
  EXPECT_EQ(results_.List({}, first.next, 1, names_).processes[0].pid.slot,
            kCount - 50);
}

TEST_F(EndedList, FiltersByTypeOutcomeOwnerAndLabel) {
  End(1, {.label = "tenant=acme"});
  End(2, {.type = "job", .label = "tenant=acme"});
  End(3, {.kind = EndKind::kCancelled, .label = "tenant=other"});
  End(4, {.owner = Owner{2}});
  EXPECT_EQ(SlotsOf({.process_type = "order"}, 10), (Slots{4, 3, 1}));
  EXPECT_EQ(SlotsOf({.process_type = "none"}, 10), Slots{});
  EXPECT_EQ(SlotsOf({.kind = EndKind::kCancelled}, 10), Slots{3});
  EXPECT_EQ(SlotsOf({.owner = Owner{2}}, 10), Slots{4});
  EXPECT_EQ(SlotsOf({.labels = {{.key = "tenant", .value = "acme"}}}, 1),
            (Slots{2, 1}));
  EXPECT_EQ(SlotsOf({.labels = {{.key = "tenant", .value = {}}}}, 10),
            (Slots{3, 2, 1}));
  EXPECT_EQ(SlotsOf({.by = Owner{2}}, 10), Slots{4});
  EXPECT_EQ(SlotsOf({.owner = Owner{1}, .by = Owner{2}}, 10), Slots{});
}

TEST_F(EndedList, LeavesOutWhatIsTooOldAndWhatIsDropped) {
  End(1, {});
  clock_.AdvanceNs(9 * kSecond);
  End(2, {});
  EXPECT_EQ(SlotsOf({}, 10), (Slots{2, 1}));
  const EndedPage first = results_.List({}, 0, 1, names_);
  EXPECT_NE(first.next, 0u);
  clock_.AdvanceNs(kSecond);
  EXPECT_EQ(SlotsOf({}, 10), Slots{2}) << "no Trim has run";
  results_.Trim();
  EXPECT_EQ(SlotsOf({}, 10), Slots{2});
  EXPECT_TRUE(results_.List({}, first.next, 1, names_).processes.empty());
  clock_.AdvanceNs(10 * kSecond);
  EXPECT_EQ(SlotsOf({}, 10), Slots{});
}

// A page ends though it has found nothing, so that a rare filter costs a page
// no more than another one.
TEST_F(EndedList, OnePageLooksAtABoundedNumberOfResults) {
  constexpr uint32_t kCount = (1u << 16) + 200;
  End(1, {.type = "rare"});
  for (uint32_t slot = 2; slot <= kCount; ++slot) End(slot, {});
  const EndedFilter rare{.process_type = "rare"};
  const EndedPage page = results_.List(rare, 0, 10, names_);
  EXPECT_TRUE(page.processes.empty());
  EXPECT_NE(page.next, 0u);
  EXPECT_EQ(SlotsOf(rare, 10), Slots{1});
}

TEST(TypeNames, GiveEachNameOneNumber) {
  TypeNames names;
  const uint16_t order = names.NumberOf("order");
  EXPECT_NE(order, 0);
  EXPECT_NE(names.NumberOf("job"), order);
  EXPECT_EQ(names.NumberOf("order"), order);
  EXPECT_EQ(names.NameOf(order), "order");
  EXPECT_EQ(names.Find("none"), 0) << "a look-up gives no number";
  EXPECT_EQ(names.NameOf(0), "");
  EXPECT_EQ(names.NameOf(99), "");
  EXPECT_EQ(names.NumberOf(""), 0);
  for (size_t i = 2; i < TypeNames::kMax; ++i) {
    ASSERT_NE(names.NumberOf("t" + std::to_string(i)), 0) << i;
  }
  EXPECT_EQ(names.NumberOf("one too many"), 0);
  EXPECT_EQ(names.NumberOf("order"), order);
}

}  // namespace
}  // namespace actord::runtime
