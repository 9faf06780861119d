// Durable processes in quarantine: what they keep, and how they leave it.
#include "runtime/delivery/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QuarantineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Account::refuses_restore = false;
    ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  }
  void TearDown() override { Account::refuses_restore = false; }

  RuntimeOptions Options() {
    RuntimeOptions options;
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors_.emplace_back(text);
    };
    return options;
  }
  void StopAndStart() {
    world_.Stop();
    ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  }
  // Without the types of the test, and runs everything.
  void StartWithoutTypes() {
    world_.Stop();
    world_.no_account_type = true;
    ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
    world_.Settle();
  }
  void Load(const actord_process_type& type) {
    ASSERT_EQ(world_.core->catalog.AddProcessType(&type, "later"),
              absl::OkStatus());
  }
  std::shared_ptr<std::optional<absl::Status>> Ask(const Pid& pid) {
    auto told = std::make_shared<std::optional<absl::Status>>();
    world_.runtime().RetryQuarantine(
        pid, [told](const absl::Status& status) { *told = status; },
        Owner::kAny);
    return told;
  }
  absl::Status Retry(const Pid& pid) {
    const auto told = Ask(pid);
    world_.Settle();
    return told->value_or(absl::UnknownError("nobody was told"));
  }
  std::vector<QuarantineEntry> Entries() {
    return world_.runtime()
        .durable->quarantine()
        .List(QuarantineFilter(), 0, 100)
        .entries;
  }
  bool IsListed(const Pid& pid) {
    return world_.runtime().durable->quarantine().Has(pid);
  }

  DurableWorld world_;
  std::vector<std::string> errors_;
};

TEST_F(QuarantineTest, TypeThatNoPluginHasKeepsItsProcesses) {
  const Pid first = world_.NewAccount(5, "first");
  const Pid second = world_.NewAccount(6);
  StartWithoutTypes();
  EXPECT_THAT(errors_,
              ElementsAre(HasSubstr("2 processes of the store are in "
                                    "quarantine: no plugin has process type "
                                    "account")));
  EXPECT_TRUE(world_.Send(first, "add", "2").status.ok());
  EXPECT_THAT(world_.BalanceOf(first), HasSubstr("no plugin has process type"));
  const std::vector<QuarantineEntry> entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].cause, QuarantineCause::kNoType);
  EXPECT_EQ(entries[0].process_type, "account");
  EXPECT_EQ(world_.runtime().Stats().processes_quarantined, 2u);
  // A name is held meanwhile.
  const auto taken = world_.runtime().names.Find(Owner::kNobody, "first");
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(*taken, first);

  EXPECT_EQ(ReasonOf(Retry(first)), reason::kProcessQuarantined);
  EXPECT_TRUE(IsListed(first));
  Load(actord::kProcessType<Account>);
  EXPECT_EQ(Retry(first), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(first), "7");
  EXPECT_FALSE(IsListed(first));
  EXPECT_TRUE(IsListed(second));
  EXPECT_EQ(ReasonOf(Retry(first)), reason::kNotQuarantined);
  EXPECT_EQ(Retry(second), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(second), "6");
  // It is durable as before.
  EXPECT_TRUE(world_.Send(first, "add", "1").status.ok());
  world_.Settle();
  world_.no_account_type = false;
  StopAndStart();
  EXPECT_EQ(world_.BalanceOf(first), "8");
}

TEST_F(QuarantineTest, ProcessThatHasNotBegunBeginsWhenItsTypeIsThere) {
  const auto told = world_.Submit("5");
  while (world_.store->Work()) {
  }
  world_.Stop();
  world_.no_account_type = true;
  ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 1u);
  Load(actord::kProcessType<Account>);
  EXPECT_EQ(Retry(entries[0].pid), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(entries[0].pid), "5");
}

TEST_F(QuarantineTest, ProcessOfAnAbsentTypeCanBeTerminated) {
  const Pid pid = world_.NewAccount(5);
  StartWithoutTypes();
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, kEventTerminate, "now")
                  .status.ok());
  const auto told = Ask(pid);
  world_.Settle();
  EXPECT_EQ(ReasonOf(told->value_or(absl::OkStatus())), reason::kProcessEnded);
  EXPECT_TRUE(Entries().empty());
  const auto outcome = world_.Await(pid);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kTerminated);
}

TEST_F(QuarantineTest, NewTryThatFailsKeepsEverything) {
  const Pid pid = world_.NewAccount(5);
  const Pid other = world_.NewAccount(1);
  Account::refuses_restore = true;
  StopAndStart();
  // A process is restored when there is something to do for it.
  EXPECT_TRUE(Entries().empty());
  EXPECT_TRUE(world_.Send(pid, "add", "2").status.ok());
  world_.Settle();
  EXPECT_TRUE(world_.Send(other, "add", "2").status.ok());
  world_.Settle();
  ASSERT_EQ(Entries().size(), 2u);
  const uint64_t since = Entries().at(0).since_unix_ns;
  world_.Elapse(1'000'000'000);
  const absl::Status again = Retry(pid);
  EXPECT_EQ(ReasonOf(again), reason::kProcessQuarantined);
  EXPECT_THAT(std::string(again.message()), HasSubstr("not today"));
  // It keeps its place in the list.
  const auto entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].pid, pid);
  EXPECT_EQ(entries[1].pid, other);
  EXPECT_EQ(entries[0].since_unix_ns, since);
  EXPECT_EQ(entries[0].plugin, "test");
  Account::refuses_restore = false;
  EXPECT_EQ(Retry(pid), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(pid), "7");
}

TEST_F(QuarantineTest, CallThatCameBeforeFails) {
  const Pid pid = world_.NewAccount(5);
  Account::refuses_restore = true;
  StopAndStart();
  // The process has had no turn yet, so the mailbox takes the call.
  const auto answer = world_.Ask(pid);
  EXPECT_TRUE(world_.Send(pid, "add", "2").status.ok());
  EXPECT_FALSE(answer->has_value());
  world_.Settle();
  EXPECT_THAT(answer->value_or("none"), HasSubstr("in quarantine"));
  const FoundProcess process = world_.runtime().processes.Find(pid);
  EXPECT_EQ(Activity::Messages(process->activity.load()), 1u)
      << "the message alone is kept";
  Account::refuses_restore = false;
  EXPECT_EQ(Retry(pid), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(pid), "7");
}

TEST_F(QuarantineTest, CallsOfProcessesFail) {
  world_.more_types = {&actord::kProcessType<Puppet>,
                       &actord::kProcessType<VolatilePuppet>};
  world_.no_account_type = true;
  world_.Stop();
  ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  Load(actord::kProcessType<Account>);
  const Pid account = world_.NewAccount(5);
  const Pid durable = world_.NewPuppet();
  StopAndStart();
  world_.Settle();
  ASSERT_TRUE(IsListed(account));
  const Pid passing = world_.NewPuppet("volatile", /*durable=*/false);
  for (const Pid& caller : {durable, passing}) {
    world_.Tell(caller, "call", FormatPid(account) + " get");
    EXPECT_EQ(world_.NotesOf(caller), "c1!9") << "FAILED_PRECONDITION";
  }
  // The journal knows that the call has failed.
  Load(actord::kProcessType<Account>);
  EXPECT_EQ(Retry(account), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(account), "5");
  world_.Stop();
  world_.more_types.push_back(&actord::kProcessType<Account>);
  ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  EXPECT_EQ(world_.NotesOf(durable), "c1!9");
}

TEST_F(QuarantineTest, EventsThatComeMeanwhileAreSeenAfterwards) {
  const Pid puppet = world_.NewPuppet();
  const Pid child = world_.NewAccount(1);
  world_.Tell(puppet, "monitor", FormatPid(child));
  world_.Tell(puppet, "yield", "timer.sleep {\"duration_ms\":1000}");
  world_.Tell(puppet, "block");
  world_.Stop();
  world_.no_account_type = true;
  world_.more_types = {&actord::kProcessType<Account>};
  ASSERT_EQ(world_.Start(Options()), absl::OkStatus());
  world_.Settle();
  ASSERT_TRUE(IsListed(puppet));
  world_.Tell(puppet, "note", "hello");
  world_.Tell(child, "end");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world_.runtime()
                    .Control(Owner::kAny, puppet, ACTORD_EVENT_CANCEL, "end")
                    .status.ok());
    world_.Settle();
  }
  Load(actord::kProcessType<Puppet>);
  EXPECT_EQ(Retry(puppet), absl::OkStatus());
  // A cancel ends the block, so the call below is taken.
  EXPECT_EQ(world_.NotesOf(puppet), "cancelled m:hello x1:1");
  world_.Elapse(2'000'000'000);
  EXPECT_EQ(world_.NotesOf(puppet), "cancelled m:hello x1:1 c2=");
}

TEST_F(QuarantineTest, BlockedProcessStaysBlocked) {
  const Pid puppet = world_.NewPuppet();
  world_.Tell(puppet, "yield", "timer.sleep {\"duration_ms\":1000}");
  world_.Tell(puppet, "block");
  StartWithoutTypes();
  world_.Tell(puppet, "note", "hello");
  Load(actord::kProcessType<Puppet>);
  EXPECT_EQ(Retry(puppet), absl::OkStatus());
  EXPECT_EQ(world_.NotesOf(puppet), "no answer");
  world_.Elapse(2'000'000'000);
  EXPECT_EQ(world_.NotesOf(puppet), "c1= m:hello");
}

// A version without the method that the processes were started with.
class Walker : public Account {
 public:
  static constexpr actord::Method kMethods[] = {{"walk", nullptr}};
};

TEST_F(QuarantineTest, DormantProcessWhoseTypeDoesNotFitComesBackInQuarantine) {
  const Pid pid = world_.NewAccount(5);
  StopAndStart();
  ASSERT_TRUE(world_.runtime().processes.IsDormant(pid));
  const auto replace = [&](const actord_process_type& type,
                           std::string version) {
    ASSERT_TRUE(world_.core->catalog
                    .Add({.plugin = "test",
                          .version = std::move(version),
                          .process_types = {&type},
                          .replace = true})
                    .ok());
  };
  replace(actord::kProcessType<Walker>, "2");
  EXPECT_TRUE(world_.Send(pid, "add", "2").status.ok());
  world_.Settle();
  EXPECT_TRUE(world_.failed.ok()) << world_.failed;
  EXPECT_THAT(world_.BalanceOf(pid), HasSubstr("has no method run"));
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("is in quarantine")));
  EXPECT_EQ(world_.runtime().Describe(pid, Owner::kAny)->state,
            ProcessState::kQuarantined);
  replace(actord::kProcessType<Account>, "3");
  EXPECT_EQ(Retry(pid), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(pid), "7");
}

TEST_F(QuarantineTest, StopAnswersWaitingCallers) {
  const Pid pid = world_.NewAccount(5);
  StartWithoutTypes();
  const auto told = Ask(pid);
  world_.Stop();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(ReasonOf(**told), reason::kDraining);
}

TEST_F(QuarantineTest, ListHasPagesAndFilters) {
  std::vector<Pid> pids;
  for (int i = 0; i < 5; ++i) pids.push_back(world_.NewAccount(i));
  world_.NewPuppet();
  StartWithoutTypes();
  const Quarantine& quarantine = world_.runtime().durable->quarantine();
  const QuarantineFilter accounts{.process_type = "account", .by = Owner::kAny};
  std::vector<Pid> listed;
  uint64_t next = 0;
  int pages = 0;
  do {
    const QuarantinePage page = quarantine.List(accounts, next, 2);
    EXPECT_LE(page.entries.size(), 2u);
    for (const QuarantineEntry& entry : page.entries) {
      listed.push_back(entry.pid);
    }
    next = page.next_sequence;
    ++pages;
  } while (next != 0);
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(pids));
  EXPECT_GE(pages, 3);
  EXPECT_TRUE(
      quarantine.List({.process_type = "", .by = static_cast<Owner>(7)}, 0, 10)
          .entries.empty());
}

}  // namespace
}  // namespace actord::runtime
