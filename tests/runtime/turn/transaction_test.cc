// A step is a transaction: what it did takes effect together, or not at all.
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

class Transaction : public RuntimeTest {
 protected:
  void StartWith(int workers, RuntimeOptions options = {}) {
    options.workers = workers;
    options.external_commands = {"ext"};
    ASSERT_TRUE(catalog_.AddCommand(count_.descriptor(), &count_, "t").ok());
    Start(options);
  }

  std::atomic<int> handled_{0};
  actord::testing::ScriptHandler count_{"count", ACTORD_HANDLER_INLINE,
                                        [this](actord::testing::Call&) {
                                          ++handled_;
                                          return ACTORD_HANDLED;
                                        }};
};

INSTANTIATE_TEST_SUITE_P(Workers, Transaction, ::testing::Values(1, 2, 3, 8));

TEST_P(Transaction, AFailingStepLeavesNothing) {
  struct Case {
    const char* what;
    std::function<void(StepOutput&)> end;
    EndKind kind;
  };
  const Case cases[] = {
      {"throws", [](StepOutput&) { throw std::runtime_error("x"); },
       EndKind::kThrew},
      {"fails", [](StepOutput& out) { out.Fail(Code::kAborted, "x"); },
       EndKind::kFailed},
      {"sends too much",
       [](StepOutput& out) {
         out.Send(out.self(), "", std::string((1 << 20) + 1, 'x'));
       },
       EndKind::kThrew},
      {"yields too much",
       [](StepOutput& out) {
         out.Yield("count", std::string((1 << 20) + 1, 'x'));
       },
       EndKind::kThrew},
      {"has too large a result",
       [](StepOutput& out) { out.Done(std::string((1 << 20) + 1, 'x')); },
       EndKind::kThrew},
  };
  StartWith(GetParam());
  std::atomic<int> arrived{0};
  const Script listening{.step = [&](Events events, StepOutput&) {
    arrived += static_cast<int>(events.size());
  }};
  const Pid listener = MustSubmit(listening);
  std::atomic<int> started{0};
  const Script child{.init = [&](std::string_view) {
    ++started;
    return Status();
  }};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Script script{.step = [&](Events, StepOutput& out) {
      out.Send(ToAbi(listener), "x");
      out.Yield("count");
      out.Yield("ext");
      const actord::Pid pid = out.Spawn("script", "", InputOf(child));
      out.Send(pid, "x");
      c.end(out);
    }};
    EXPECT_EQ(MustAwait(MustSubmit(script)).kind, c.kind);
  }
  // Earlier messages come before this one.
  EXPECT_TRUE(Send(listener, "mark").ok());
  ASSERT_TRUE(Eventually([&] { return arrived != 0; }));
  EXPECT_EQ(arrived, 1);
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(started, 0);
  const RuntimeStats stats = runtime_->Stats();
  EXPECT_EQ(stats.processes_started, 1 + std::size(cases));
  EXPECT_EQ(stats.yields, 0u);
  EXPECT_EQ(stats.external_yields_waiting, 0u);
  EXPECT_EQ(stats.processes_live, 1u);
}

TEST_P(Transaction, ReservedChildrenOfFailedStepsGiveTheirPlacesBack) {
  RuntimeOptions options;
  options.max_processes = 4;
  StartWith(GetParam(), options);
  const Script child{};
  // The process before may still be on its way out. Then there is no room for
  // one of the first three, and there may be room for the fourth.
  const auto spawn_three = [&] {
    int spawned = 0;
    bool has_three = false;
    const Script script{.step = [&](Events, StepOutput& out) {
      for (int k = 0; k < 4; ++k) {
        if (!out.Spawn("script", "", InputOf(child)).empty()) ++spawned;
        if (k == 2) has_three = spawned == 3;
      }
      out.Fail(Code::kAborted, "x");
    }};
    const auto pid = Submit(script);
    if (!pid.ok()) return false;
    EXPECT_EQ(MustAwait(*pid).kind, EndKind::kFailed);
    EXPECT_LE(spawned, 3) << "the limit is 4 with the parent";
    return has_three;
  };
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Eventually(spawn_three));
}

TEST_P(Transaction, EffectsTakePlaceInTheirOrder) {
  StartWith(GetParam());
  std::vector<std::string> got;
  const Script child{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) got.emplace_back(event.topic());
    if (got.size() == 3) out.Done("all");
  }};
  std::atomic<bool> waiting{true};
  Pid pid;
  const Script parent{.step = [&](Events, StepOutput& out) {
    const actord::Pid spawned =
        out.Spawn("script", "", InputOf(child), {.keep_result = true});
    pid = FromAbi(spawned);
    out.Send(spawned, "1");
    out.Send(spawned, "2");
    out.Yield("count");
    out.Send(spawned, "3");
    out.Done();
    waiting = false;
  }};
  EXPECT_EQ(MustAwait(MustSubmit(parent)).kind, EndKind::kResult);
  EXPECT_EQ(MustAwait(pid).result.bytes, "all");
  EXPECT_EQ(got, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(handled_, 1);
}

TEST_P(Transaction, AChildOfAnUnknownTypeEndsAsRefused) {
  StartWith(GetParam());
  Pid unknown_type;
  Pid unknown_method;
  const Script parent{.step = [&](Events, StepOutput& out) {
    unknown_type = FromAbi(out.Spawn("nothing", "", {}, {.keep_result = true}));
    unknown_method =
        FromAbi(out.Spawn("script", "nothing", {}, {.keep_result = true}));
    out.Done();
  }};
  MustAwait(MustSubmit(parent));
  for (const Pid& pid : {unknown_type, unknown_method}) {
    const Outcome outcome = MustAwait(pid);
    EXPECT_EQ(outcome.kind, EndKind::kInitRefused);
    EXPECT_EQ(outcome.code, kNotFound);
    EXPECT_EQ(outcome.steps, 0u);
  }
}

TEST_P(Transaction, AChildKnowsItsParentAndIsSeenWithIt) {
  StartWith(GetParam());
  std::promise<actord_pid> known;
  const Script child{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) known.set_value(out.parent());
  }};
  const Script parent{.step = [&](Events events, StepOutput& out) {
    if (!events.empty()) return;
    EXPECT_TRUE(out.parent().empty());
    EXPECT_FALSE(out.Spawn("script", "other", InputOf(child)).empty());
  }};
  const Pid pid = MustSubmit(parent);
  auto future = known.get_future();
  EXPECT_EQ(FromAbi(Get(future)), pid);
  const ProcessPage page = runtime_->ListProcesses(
      {.process_type = "", .state = {}, .parent = pid}, 0, 10);
  ASSERT_EQ(page.processes.size(), 1u);
  EXPECT_EQ(page.processes[0].method, "other");
}

TEST_P(Transaction, ATreeOfProcessesGathersItsLeaves) {
  StartWith(GetParam());
  // Each node spawns two children until the depth is reached; each leaf tells
  // the root.
  constexpr int kDepth = 8;
  std::atomic<int> nodes{0};
  actord::Pid root;
  std::vector<Script> levels(kDepth + 1);
  for (int depth = 0; depth <= kDepth; ++depth) {
    levels[static_cast<size_t>(depth)].step =
        [&, depth, leaves = 0](Events events, StepOutput& out) mutable {
          if (events.empty()) {
            ++nodes;
            if (depth == 0) root = out.self();
            if (depth == kDepth) {
              out.Send(root, "leaf");
              out.Done();
              return;
            }
            for (int i = 0; i < 2; ++i) {
              EXPECT_FALSE(
                  out.Spawn("script", "",
                            InputOf(levels[static_cast<size_t>(depth) + 1]))
                      .empty());
            }
            if (depth != 0) out.Done();
          }
          leaves += static_cast<int>(events.size());
          if (leaves == 1 << kDepth) out.Done(std::to_string(leaves));
        };
  }
  EXPECT_EQ(MustAwait(MustSubmit(levels[0])).result.bytes, "256");
  EXPECT_EQ(nodes, (1 << (kDepth + 1)) - 1);
  EXPECT_TRUE(
      Eventually([&] { return runtime_->Stats().processes_live == 0; }));
}

TEST_P(Transaction, MessagesToItselfComeInLaterSteps) {
  StartWith(GetParam());
  std::vector<std::string> got;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      EXPECT_EQ(FromAbi(event.from()), FromAbi(out.self()));
      got.emplace_back(event.topic());
    }
    if (events.empty()) {
      out.Send(out.self(), "1");
      out.Send(out.self(), "2");
    } else if (got.size() == 2) {
      out.Send(out.self(), "3");
    } else {
      out.Done();
    }
  }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).steps, 3u);
  EXPECT_EQ(got, (std::vector<std::string>{"1", "2", "3"}));
}

TEST_P(Transaction, UndeliverableMessagesAreCounted) {
  StartWith(GetParam());
  const Script ending{.step = [](Events, StepOutput& out) { out.Done(); }};
  const Pid gone = MustSubmit(ending);
  MustAwait(gone);
  const uint64_t before = runtime_->Stats().dead_letters;
  const Script script{.step = [&](Events, StepOutput& out) {
    out.Send(ToAbi(gone), "x");
    out.Send(actord::Pid(), "x");
    // In its own mailbox when it ends, and large enough to have memory of its
    // own.
    out.Send(out.self(), "x", std::string(5000, 'x'));
    out.Done();
  }};
  MustAwait(MustSubmit(script));
  EXPECT_TRUE(Eventually([&] {
    return runtime_->Stats().dead_letters == before + 3;
  })) << runtime_->Stats().dead_letters - before;
}

TEST_F(Transaction, AFullMailboxTurnsAStepsSendIntoADeadLetter) {
  RuntimeOptions options;
  options.max_mailbox_messages = 3;
  StartWith(2, options);
  std::promise<void> entered;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future();
  std::atomic<int> got{0};
  const Script slow{.step = [&](Events events, StepOutput&) {
    if (events.empty()) {
      entered.set_value();
      may_go_on.wait();
    }
    got += static_cast<int>(events.size());
  }};
  const Pid target = MustSubmit(slow);
  entered.get_future().wait();
  const Script script{.step = [&](Events, StepOutput& out) {
    for (int i = 0; i < 5; ++i) out.Send(ToAbi(target), "x");
    out.Done();
  }};
  MustAwait(MustSubmit(script));
  go_on.set_value();
  EXPECT_TRUE(Eventually([&] { return got == 3; }));
  EXPECT_EQ(runtime_->Stats().dead_letters, 2u);
}

// docs/plugins.md says so.
TEST_F(Transaction, AStepHas65536EffectsAtMost) {
  StartWith(2);
  for (const bool one_more : {false, true}) {
    const uint64_t sent_before = runtime_->Stats().messages_sent;
    const Pid pid =
        MustSubmit(Script{.step = [one_more](Events, StepOutput& out) {
          for (int i = 0; i < 65'536; ++i) out.Send(out.parent(), "");
          if (one_more) out.Unlink(out.parent());
          out.Done();
        }});
    const Outcome outcome = MustAwait(pid);
    const RuntimeStats stats = runtime_->Stats();
    if (one_more) {
      EXPECT_EQ(outcome.kind, EndKind::kThrew);
      EXPECT_EQ(outcome.code, kResourceExhausted);
      EXPECT_THAT(outcome.message, HasSubstr("continue in pieces"));
      EXPECT_EQ(stats.dead_letters, 65'536u) << "none of it has happened";
    } else {
      EXPECT_EQ(outcome.kind, EndKind::kResult) << outcome.message;
      EXPECT_EQ(stats.dead_letters, 65'536u);
    }
    EXPECT_EQ(stats.messages_sent, sent_before);
  }
}

}  // namespace
}  // namespace actord::runtime
