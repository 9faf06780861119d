// Tests what "actorctl top" computes from samples, and the order of its rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/top/model.h"
#include "client/top/table.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client::top {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

std::vector<std::string> Pids(const std::vector<const ProcessRow*>& rows) {
  std::vector<std::string> pids;
  for (const ProcessRow* row : rows) pids.push_back(row->process.pid());
  return pids;
}

// The PIDs in the order of a table that is sorted by that column.
std::vector<std::string> Ordered(const Model& model, const char* column,
                                 bool reversed = false) {
  std::vector<const ProcessRow*> rows;
  for (const ProcessRow& row : model.processes()) rows.push_back(&row);
  const auto& columns = ProcessColumns();
  SortRows(rows, columns[ColumnNamed(columns, column).value()], reversed);
  return Pids(rows);
}

TEST(TopModel, OneSampleHasNoRates) {
  Model model;
  EXPECT_FALSE(model.known());
  model.Add(MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 100)}));
  EXPECT_TRUE(model.known());
  EXPECT_EQ(model.rates().steps, std::nullopt);
  EXPECT_EQ(model.processes().front().steps_rate, std::nullopt);
  EXPECT_EQ(model.processes().front().age, absl::Seconds(60));
}

TEST(TopModel, RatesUseTheUptimeOfTheDaemon) {
  Model model;
  Sample sample = MakeSample(absl::Seconds(60));
  sample.status.mutable_counters()->set_steps_total(1000);
  sample.status.mutable_counters()->set_step_limit_total(1);
  sample.status.mutable_counters()->set_mailbox_limit_total(10);
  model.Add(sample);
  *sample.status.mutable_uptime() = FromDuration(absl::Milliseconds(60'500));
  sample.status.mutable_counters()->set_steps_total(1600);
  sample.status.mutable_counters()->set_step_limit_total(2);
  sample.status.mutable_counters()->set_mailbox_limit_total(14);
  model.Add(sample);
  EXPECT_EQ(model.interval(), absl::Milliseconds(500));
  EXPECT_THAT(model.rates().steps, Optional(DoubleEq(1200)));
  EXPECT_THAT(model.rates().refusals, Optional(DoubleEq(10)));
  EXPECT_THAT(model.rates().messages, Optional(DoubleEq(0)));
}

TEST(TopModel, CountsHitsOfEveryLimit) {
  v1::Counters counters;
  uint64_t expected = 0;
  const auto* const type = v1::Counters::descriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* const field = type->field(i);
    // Only counters whose name ends in _limit_total are added up.
    const uint64_t value = uint64_t{1} << (i % 60);
    counters.GetReflection()->SetUInt64(&counters, field, value);
    if (field->name().ends_with("_limit_total")) expected += value;
  }
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(RefusalsOf(counters), expected);
}

TEST(TopModel, TwoSamplesOfTheSameMomentHaveNoRates) {
  Model model;
  model.Add(MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 1)}));
  model.Add(MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 2)}));
  EXPECT_EQ(model.rates().steps, std::nullopt);
  EXPECT_EQ(model.processes().front().steps_rate, std::nullopt);
  EXPECT_EQ(model.restarts(), 0u);
}

// A key press, for example, asks for a sample at once.
TEST(TopModel, RatesSpanALeastInterval) {
  constexpr absl::Duration kLeast = absl::Milliseconds(500);
  Model model;
  const auto add = [&](int64_t ms, uint64_t steps) {
    Sample sample = MakeSample(absl::Seconds(60) + absl::Milliseconds(ms),
                               {MakeProcess("p1", "order", steps)});
    sample.status.mutable_counters()->set_steps_total(steps);
    model.Add(sample, kLeast);
  };
  add(0, 0);
  add(5, 100);
  EXPECT_EQ(model.rates().steps, std::nullopt);
  EXPECT_EQ(model.processes().front().steps_rate, std::nullopt);
  add(2000, 200);
  EXPECT_THAT(model.rates().steps, Optional(DoubleEq(100)));
  add(2010, 201);
  EXPECT_EQ(model.interval(), absl::Milliseconds(2010));
  EXPECT_THAT(model.processes().front().steps_rate, Optional(DoubleEq(100)));
  // An endless series of key presses does not keep the compared sample for
  // ever.
  for (int64_t ms = 2020; ms <= 4000; ms += 10) add(ms, 201);
  EXPECT_LE(model.interval(), 3 * kLeast);
  EXPECT_THAT(model.rates().steps, Optional(DoubleEq(0)));
}

// A process that an incomplete or filtered sample did not contain may have
// existed before.
TEST(TopModel, ProcessIsNewIfACompleteSampleOfTheSameTypeLacksIt) {
  const Sample whole = MakeSample(absl::Seconds(60));
  Sample part = whole;
  part.complete = false;
  Sample other = whole;
  other.request.process_type = "counter";
  for (const Sample& before : {whole, part, other}) {
    Model model;
    model.Add(before);
    model.Add(MakeSample(absl::Seconds(62),
                         {MakeProcess("new", "order", 10, absl::Seconds(61))}));
    EXPECT_EQ(model.processes().front().steps_rate.has_value(),
              before.complete && before.request.process_type.empty());
  }
}

TEST(TopModel, EachProcessHasItsOwnRates) {
  Model model;
  model.Add(MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 100),
                                           MakeProcess("p2", "order", 7)}));
  model.Add(MakeSample(
      absl::Seconds(62),
      {MakeProcess("p2", "order", 7), MakeProcess("p1", "order", 150),
       MakeProcess("new", "order", 10, absl::Seconds(61)),
       // This old process was not in the first sample.
       MakeProcess("unseen", "order", 1000)}));
  const auto& rows = model.processes();
  EXPECT_THAT(rows[0].steps_rate, Optional(DoubleEq(0)));
  EXPECT_THAT(rows[1].steps_rate, Optional(DoubleEq(25)));
  EXPECT_THAT(rows[2].steps_rate, Optional(DoubleEq(5)));
  EXPECT_EQ(rows[2].age, absl::Seconds(1));
  EXPECT_EQ(rows[3].steps_rate, std::nullopt);
}

TEST(TopModel, RestartDropsTheEarlierSamples) {
  for (const bool told_by_incarnation : {true, false}) {
    Model model;
    Sample sample =
        MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 100)});
    sample.status.mutable_counters()->set_steps_total(1000);
    model.Add(sample);
    if (told_by_incarnation) {
      sample.status.set_incarnation("run2");
    } else {
      *sample.status.mutable_uptime() = FromDuration(absl::Seconds(1));
    }
    sample.processes = {MakeProcess("p1", "order", 3)};
    sample.status.mutable_counters()->set_steps_total(5000);
    model.Add(sample);
    EXPECT_EQ(model.restarts(), 1u);
    EXPECT_EQ(model.rates().steps, std::nullopt);
    EXPECT_EQ(model.processes().front().steps_rate, std::nullopt);
    *sample.status.mutable_uptime() = FromDuration(absl::Seconds(61));
    sample.status.mutable_counters()->set_steps_total(5060);
    model.Add(sample);
    EXPECT_EQ(model.restarts(), 1u);
    EXPECT_THAT(model.rates().steps,
                Optional(DoubleEq(told_by_incarnation ? 60 : 1)));
  }
}

// The process began after the status was read and before the list was.
TEST(TopModel, AgesAreNotNegative) {
  Model model;
  model.Add(MakeSample(absl::Seconds(1),
                       {MakeProcess("p1", "order", 1, absl::Seconds(2))}));
  EXPECT_EQ(model.processes().front().age, absl::ZeroDuration());
}

TEST(TopModel, TypeRowsSumTheirProcesses) {
  v1::Process busy = MakeProcess("p2", "order", 30, absl::Seconds(10));
  busy.set_state(v1::PROCESS_STATE_RUNNING);
  busy.set_mailbox_messages(5);
  busy.set_mailbox_bytes(640);
  busy.set_yields_outstanding(2);
  busy.set_durability(v1::DURABILITY_DURABLE);
  Model model;
  model.Add(
      MakeSample(absl::Seconds(60), {MakeProcess("p1", "order", 10), busy}));
  busy.set_steps(40);
  model.Add(MakeSample(absl::Seconds(62), {MakeProcess("p1", "order", 12), busy,
                                           MakeProcess("p3", "counter", 1)}));
  const std::vector<TypeRow> types = TypesOf(model.processes());
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0].type, "order");
  EXPECT_EQ(types[0].processes, 2u);
  EXPECT_EQ(types[0].running, 1u);
  EXPECT_EQ(types[0].idle, 1u);
  EXPECT_EQ(types[0].durable, 1u);
  EXPECT_EQ(types[1].durable, 0u);
  EXPECT_EQ(types[0].steps, 52u);
  EXPECT_THAT(types[0].steps_rate, Optional(DoubleEq(6)));
  EXPECT_EQ(types[0].mailbox_messages, 5u);
  EXPECT_EQ(types[0].mailbox_bytes, 640u);
  EXPECT_EQ(types[0].yields, 2u);
  EXPECT_EQ(types[0].oldest, absl::Seconds(62));
  EXPECT_EQ(types[1].steps_rate, std::nullopt);
}

TEST(TopTable, EqualRowsKeepTheirOrder) {
  Model model;
  model.Add(MakeSample(
      absl::Seconds(60),
      {MakeProcess("c", "order", 5), MakeProcess("a", "order", 9),
       MakeProcess("b", "counter", 5), MakeProcess("d", "order", 5)}));
  EXPECT_THAT(Ordered(model, "steps"), ElementsAre("a", "c", "b", "d"));
  EXPECT_THAT(Ordered(model, "steps", true), ElementsAre("c", "b", "d", "a"));
  EXPECT_THAT(Ordered(model, "type"), ElementsAre("b", "c", "a", "d"));
  EXPECT_THAT(Ordered(model, "pid"), ElementsAre("a", "b", "c", "d"));
}

// A few rows may keep their order by chance.
TEST(TopTable, ManyEqualRowsKeepTheirOrder) {
  Model model;
  std::vector<v1::Process> processes;
  std::vector<std::string> pids;
  for (int i = 0; i < 200; ++i) {
    pids.push_back(std::to_string(i));
    processes.push_back(MakeProcess(pids.back(), "order", 5));
  }
  model.Add(MakeSample(absl::Seconds(60), processes));
  EXPECT_EQ(Ordered(model, "steps"), pids);
  EXPECT_EQ(Ordered(model, "steps", true), pids);
}

TEST(TopTable, RowsWithoutARateComeLast) {
  Model model;
  model.Add(MakeSample(absl::Seconds(60), {MakeProcess("slow", "order", 5),
                                           MakeProcess("fast", "order", 5)}));
  model.Add(MakeSample(absl::Seconds(61), {MakeProcess("unseen", "order", 99),
                                           MakeProcess("slow", "order", 5),
                                           MakeProcess("fast", "order", 8)}));
  EXPECT_THAT(Ordered(model, "rate"), ElementsAre("fast", "slow", "unseen"));
}

TEST(TopTable, EveryColumnCanBeSortedBy) {
  v1::Process process = MakeProcess("a", "order", 5);
  process.set_owner("billing");
  process.add_names("orders/17");
  Model model;
  model.Add(MakeSample(absl::Seconds(60), {process, process}));
  for (const auto& column : ProcessColumns()) {
    // A strict weak order puts neither of two equal rows above the other.
    EXPECT_FALSE(column.above(model.processes()[0], model.processes()[1]))
        << column.name;
    EXPECT_FALSE(column.text(model.processes()[0]).empty()) << column.name;
  }
  const std::vector<TypeRow> types = TypesOf(model.processes());
  for (const auto& column : TypeColumns()) {
    EXPECT_FALSE(column.above(types[0], types[0])) << column.name;
    EXPECT_FALSE(column.text(types[0]).empty()) << column.name;
  }
  EXPECT_EQ(ColumnNamed(ProcessColumns(), "nonsense"), std::nullopt);
}

TEST(TopTable, NumbersFitTheirColumns) {
  EXPECT_EQ(ShortCount(0, 7), "0");
  EXPECT_EQ(ShortCount(999'999, 7), "999,999");
  EXPECT_EQ(ShortCount(1'000'000, 7), "1.00M");
  EXPECT_EQ(ShortCount(999'999'999, 9), "1.00G");
  for (uint64_t number = 1; number < uint64_t{1} << 63U; number *= 3) {
    EXPECT_LE(ShortCount(number, 6).size(), 6u) << number;
  }
  EXPECT_EQ(ShortRate(std::nullopt), "-");
  EXPECT_EQ(ShortRate(0), "0");
  EXPECT_EQ(ShortRate(0.04), "0.0");
  EXPECT_EQ(ShortRate(9.94), "9.9");
  EXPECT_EQ(ShortRate(9.96), "10");
  EXPECT_EQ(ShortRate(1234.4), "1,234");
  EXPECT_EQ(ShortRate(12'345), "12.3k");
  EXPECT_EQ(ShortRate(4'600'000), "4.60M");
}

}  // namespace
}  // namespace actord::client::top
