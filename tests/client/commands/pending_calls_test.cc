// Sentences about calls without an answer: chains, cycles and deadlocks.
#include "client/commands/failures/pending_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace actord::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const absl::Time kSeenAt = absl::FromUnixSeconds(1'800'000'000);

class Graph : public ::testing::Test {
 protected:
  static v1::PendingCall Call(
      const std::string& from, const std::string& to, int64_t age_s = 60,
      v1::ProcessState state = v1::PROCESS_STATE_BLOCKED) {
    v1::PendingCall call;
    call.set_pid(from);
    call.set_process_type("type_" + from);
    call.set_state(state);
    call.set_yields_outstanding(1);
    call.set_callee_pid(to);
    call.set_callee_type("type_" + to);
    call.set_callee_state(v1::PROCESS_STATE_BLOCKED);
    call.mutable_create_time()->set_seconds(absl::ToUnixSeconds(kSeenAt) -
                                            age_s);
    return call;
  }
  CallGraph::Chain ChainOf(const v1::PendingCall& call) {
    return graph_.ChainOf(call, kSeenAt);
  }

  CallGraph graph_;
};

TEST_F(Graph, NamesTheCalleeAndTheDeadline) {
  v1::PendingCall call = Call("a", "b", 185);
  call.set_callee_name("desk");
  call.mutable_deadline()->set_seconds(absl::ToUnixSeconds(kSeenAt) + 42);
  call.set_callee_state(v1::PROCESS_STATE_RUNNING);
  graph_.Add(call);
  EXPECT_EQ(ChainOf(call).why,
            "waits 3m5s for the answer of b (type_b @desk), which is RUNNING; "
            "the call fails in 42s");
}

TEST_F(Graph, FollowsTheOldestCallOfEachProcess) {
  const v1::PendingCall call = Call("a", "b");
  for (const auto& one : {call, Call("b", "young", 1), Call("b", "c", 9),
                          Call("c", "d"), Call("x", "a")}) {
    graph_.Add(one);
  }
  graph_.AddCommand("d", "payment.charge");
  const CallGraph::Chain chain = ChainOf(call);
  EXPECT_THAT(chain.pids, ElementsAre("b", "c", "d"));
  EXPECT_FALSE(chain.is_cycle);
  EXPECT_EQ(chain.why,
            "waits 1m for the answer of b (type_b), which waits for the answer "
            "of c (type_c), which waits for the answer of d (type_d), which "
            "waits for payment.charge");
}

TEST_F(Graph, ProcessesThatWaitForEachOtherAreADeadlock) {
  const v1::PendingCall call = Call("a", "b");
  graph_.Add(call);
  graph_.Add(Call("b", "c"));
  graph_.Add(Call("c", "a"));
  const CallGraph::Chain chain = ChainOf(call);
  EXPECT_TRUE(chain.is_deadlock);
  EXPECT_THAT(chain.pids, ElementsAre("b", "c", "a"));
  EXPECT_EQ(chain.why,
            "deadlock: waits 1m for the answer of b (type_b), which waits for "
            "the answer of c (type_c), which waits for the answer of a "
            "(type_a); none of them takes a message before its answer; the "
            "call has no timeout");
}

TEST_F(Graph, CycleIsNoDeadlockIfOneOfThemTakesMessages) {
  const v1::PendingCall call = Call("a", "b");
  graph_.Add(call);
  graph_.Add(Call("b", "a", 60, v1::PROCESS_STATE_IDLE));
  const CallGraph::Chain chain = ChainOf(call);
  EXPECT_TRUE(chain.is_cycle);
  EXPECT_FALSE(chain.is_deadlock);
  EXPECT_THAT(chain.why, HasSubstr("this is a cycle of calls"));
}

TEST_F(Graph, CycleIsNoDeadlockIfAnotherCommandMayWakeOneOfThem) {
  const v1::PendingCall call = Call("a", "b");
  v1::PendingCall back = Call("b", "a");
  back.set_yields_outstanding(2);
  graph_.Add(call);
  graph_.Add(back);
  EXPECT_FALSE(ChainOf(call).is_deadlock);
}

TEST_F(Graph, ProcessMayCallItself) {
  const v1::PendingCall call = Call("a", "a");
  graph_.Add(call);
  const CallGraph::Chain chain = ChainOf(call);
  EXPECT_TRUE(chain.is_deadlock);
  EXPECT_THAT(chain.pids, ElementsAre("a"));
  EXPECT_THAT(chain.why, HasSubstr("which is the process itself"));
}

TEST_F(Graph, CycleBehindTheCallIsNotItsOwn) {
  const v1::PendingCall call = Call("a", "b");
  graph_.Add(call);
  graph_.Add(Call("b", "c"));
  graph_.Add(Call("c", "b"));
  const CallGraph::Chain chain = ChainOf(call);
  EXPECT_FALSE(chain.is_cycle);
  EXPECT_THAT(chain.pids, ElementsAre("b", "c", "b"));
  EXPECT_THAT(chain.why, HasSubstr("of b (type_b), and so on in a circle"));
}

TEST_F(Graph, SaysWhatTheCalleeOfAProgramOutsideWaitsFor) {
  v1::PendingCall outside = Call("", "a");
  outside.set_callee_state(v1::PROCESS_STATE_IDLE);
  EXPECT_EQ(graph_.BehindText(outside),
            ", which is IDLE: it waits for a message, and has not answered");
  graph_.Add(Call("a", "b"));
  graph_.AddCommand("b", "payment.charge");
  EXPECT_EQ(graph_.BehindText(outside),
            ", which waits for the answer of b (type_b), which waits for "
            "payment.charge");
}

TEST_F(Graph, LongChainIsCut) {
  for (int i = 0; i < 1000; ++i) {
    graph_.Add(Call(std::to_string(i), std::to_string(i + 1)));
  }
  const CallGraph::Chain chain = ChainOf(Call("0", "1"));
  EXPECT_THAT(chain.pids, SizeIs(17));
  EXPECT_THAT(chain.why, HasSubstr("and so on"));
}

TEST_F(Graph, NamesTheProgramOutside) {
  v1::PendingCall call = Call("", "b");
  EXPECT_EQ(CallerText(call), "a program outside");
  v1::OutsideCaller& outside = *call.mutable_outside();
  outside.set_connection(17);
  EXPECT_EQ(CallerText(call), "a program outside (connection 17)");
  outside.set_name("bill\x1b[2Jing");
  outside.set_address("192.0.2.1:4711");
  EXPECT_EQ(CallerText(call),
            "a program outside (bill?[2Jing, 192.0.2.1:4711, connection 17)");
}

TEST_F(Graph, TextOfStrangersCannotHarmTheTerminal) {
  v1::PendingCall call = Call("a", "b");
  call.set_callee_type("b\x1b[2J");
  EXPECT_THAT(ChainOf(call).why, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace actord::client
