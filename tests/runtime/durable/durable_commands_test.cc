// The daemon's own commands, yielded by durable processes, over restarts.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableCommands : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world.Start().ok()); }
  std::string HolderOf(const std::string& name) {
    const auto pid = world.runtime().names.Find(Owner::kNobody, name);
    return pid.ok() ? FormatPid(*pid) : "nobody";
  }
  std::vector<Pid> Members(const std::string& group) {
    return world.runtime().groups.Members(Owner::kNobody, group);
  }
  static std::string SendJson(const Pid& to, const std::string& text) {
    return R"(process.send {"to":")" + FormatPid(to) +
           R"(","topic":"note","payload":")" + text + R"("})";
  }
  static std::string EndJson(const std::string& command, const Pid& pid) {
    return command + R"( {"pid":")" + FormatPid(pid) +
           R"(","reason":"enough"})";
  }

  DurableWorld world;
};

TEST_F(DurableCommands, NameIsHeldUntilItIsReleased) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", R"(name.register {"name":"till"})");
  EXPECT_EQ(HolderOf("till"), FormatPid(puppet));
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(HolderOf("till"), FormatPid(puppet));
  EXPECT_EQ(world.NotesOf(puppet), "c1=");
  const Pid other = world.NewPuppet();
  world.Tell(other, "yield", R"(name.register {"name":"till"})");
  const std::string taken = "!6@" + FormatPid(puppet);
  EXPECT_EQ(world.NotesOf(other), "c1" + taken);
  for (const char* type : {"puppet", "volatile"}) {
    world.Tell(other, "yield",
               std::string(R"(process.spawn {"name":"till","type":")") + type +
                   R"("})");
  }
  EXPECT_EQ(world.NotesOf(other), "c1" + taken + " c2" + taken + " c3" + taken);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(other), "c1" + taken + " c2" + taken + " c3" + taken);
  world.Tell(puppet, "yield", R"(name.release {"name":"till"})");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(HolderOf("till"), "nobody");
  EXPECT_EQ(world.NotesOf(puppet), "c1= c2=");
  world.Tell(puppet, "yield", R"(name.release {"name":"till"})");
  EXPECT_EQ(world.NotesOf(puppet), "c1= c2= c3!5");
}

TEST_F(DurableCommands, NameOfAProcessThatBeginsIsTakenForOneOfBoth) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", R"(name.register {"name":"till"})");
  auto refused = world.Submit("", "till", true, "puppet");
  world.Settle();
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->status().code(), absl::StatusCode::kAlreadyExists);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(HolderOf("till"), FormatPid(puppet));
}

TEST_F(DurableCommands, LookupsRunAgainUntilAStepHasSeenThem) {
  const Pid puppet = world.NewPuppet();
  world.Tell(puppet, "yield", R"(name.lookup {"name":"till"})");
  EXPECT_EQ(world.NotesOf(puppet), "c1!5");
  world.Tell(puppet, "yield", R"(log.write {"message":"hello"})");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(puppet), "c1!5 c2=");
}

TEST_F(DurableCommands, MembershipLasts) {
  const Pid a = world.NewPuppet();
  const Pid b = world.NewPuppet();
  for (const Pid& pid : {a, b}) {
    world.Tell(pid, "yield", R"(group.join {"group":"tills"})");
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(Members("tills").size(), 2u);
  world.Tell(a, "yield", R"(group.leave {"group":"tills"})");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(Members("tills"), std::vector<Pid>{b});
  world.Tell(b, "done");
  world.Restart(/*keep_cache=*/false);
  EXPECT_TRUE(Members("tills").empty());
}

TEST_F(DurableCommands, SendArrivesOnce) {
  const Pid from = world.NewPuppet();
  const Pid to = world.NewPuppet();
  world.Tell(from, "yield", SendJson(to, "hello"));
  EXPECT_EQ(world.NotesOf(to), "m:hello");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(from), R"(c1={"delivered":true})");
  EXPECT_EQ(world.NotesOf(to), "m:hello");
}

TEST_F(DurableCommands, SendOfTheLastStepArrivesOnce) {
  const Pid from = world.NewPuppet();
  const Pid to = world.NewPuppet();
  EXPECT_TRUE(world.Send(from, "yield", SendJson(to, "hello")).status.ok());
  EXPECT_TRUE(world.Send(from, "done", "").status.ok());
  world.Settle();
  EXPECT_FALSE(world.runtime().processes.Find(from));
  EXPECT_EQ(world.NotesOf(to), "m:hello");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(to), "m:hello");
}

TEST_F(DurableCommands, SendOfTheLastStepWaitsInTheMailboxOverARestart) {
  const Pid from = world.NewPuppet();
  const Pid to = world.NewPuppet();
  world.Tell(to, "yield", R"(timer.sleep {"duration_ms":1000})");
  world.Tell(to, "block");
  EXPECT_TRUE(world.Send(from, "yield", SendJson(to, "hello")).status.ok());
  EXPECT_TRUE(world.Send(from, "done", "").status.ok());
  world.Settle();
  world.Restart(/*keep_cache=*/false);
  world.Elapse(1001 * kMs);
  EXPECT_EQ(world.NotesOf(to), "c1= m:hello");
}

TEST_F(DurableCommands, SendToAVolatileProcessWaitsForTheDisk) {
  const Pid from = world.NewPuppet();
  const Pid to = world.NewPuppet("volatile", /*durable=*/false);
  EXPECT_TRUE(world.Send(from, "yield", SendJson(to, "hello")).status.ok());
  world.Turn();
  EXPECT_EQ(world.runtime().processes.Find(to)->steps.load(), 1u);
  world.Settle();
  EXPECT_EQ(world.NotesOf(to), "m:hello");
}

TEST_F(DurableCommands, SendToNobodyFails) {
  const Pid from = world.NewPuppet();
  const Pid to = world.NewPuppet();
  world.Tell(to, "done");
  world.Tell(from, "yield", SendJson(to, "hello"));
  EXPECT_EQ(world.NotesOf(from), "c1!9");
}

TEST_F(DurableCommands, SendToAGroupReachesEachMemberOnce) {
  const Pid from = world.NewPuppet();
  std::vector<Pid> members;
  for (int i = 0; i < 3; ++i) members.push_back(world.NewPuppet());
  for (const Pid& member : members) {
    world.Tell(member, "yield", R"(group.join {"group":"tills"})");
  }
  world.Tell(from, "yield",
             R"(group.send {"group":"tills","topic":"note","payload":"open"})");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(from), R"(c1={"delivered":3,"refused":0})");
  for (const Pid& member : members) {
    EXPECT_EQ(world.NotesOf(member), "c1= m:open");
  }
}

TEST_F(DurableCommands, MessagesOfAGroupSendWaitInMailboxesOverARestart) {
  const Pid from = world.NewPuppet();
  std::vector<Pid> members;
  for (int i = 0; i < 2; ++i) members.push_back(world.NewPuppet());
  for (const Pid& member : members) {
    world.Tell(member, "yield", R"(group.join {"group":"tills"})");
    world.Tell(member, "yield", R"(timer.sleep {"duration_ms":1000})");
    world.Tell(member, "block");
  }
  world.Tell(from, "yield",
             R"(group.send {"group":"tills","topic":"note","payload":"open"})");
  world.Restart(/*keep_cache=*/false);
  world.Elapse(1001 * kMs);
  for (const Pid& member : members) {
    EXPECT_EQ(world.NotesOf(member), "c1= c2= m:open");
  }
}

TEST_F(DurableCommands, CancelAndTerminateLast) {
  const Pid from = world.NewPuppet();
  const Pid cancelled = world.NewPuppet();
  const Pid terminated = world.NewPuppet();
  world.Tell(from, "yield", EndJson("process.cancel", cancelled));
  world.Tell(from, "yield", EndJson("process.terminate", terminated));
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(from), "c1= c2=");
  EXPECT_EQ(world.NotesOf(cancelled), "cancelled");
  EXPECT_FALSE(world.runtime().processes.Find(terminated));
}

TEST_F(DurableCommands, CancelThatNoStepHasSeenIsThereAfterARestart) {
  const Pid from = world.NewPuppet();
  const Pid cancelled = world.NewPuppet();
  EXPECT_TRUE(world.Send(from, "yield", EndJson("process.cancel", cancelled))
                  .status.ok());
  world.Turns(1);
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(cancelled), "cancelled");
  EXPECT_EQ(world.NotesOf(from), "c1=");
}

TEST_F(DurableCommands, SpawnOfADurableTypeIsDurable) {
  const Pid parent = world.NewPuppet();
  world.Tell(
      parent, "yield",
      R"(process.spawn {"type":"puppet","name":"child","monitor":true})");
  const std::string child = HolderOf("child");
  EXPECT_EQ(world.NotesOf(parent), "c1=" + child);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(HolderOf("child"), child);
  EXPECT_EQ(world.NotesOf(parent), "c1=" + child);
  world.Tell(*ParsePid(child), "done");
  EXPECT_EQ(world.NotesOf(parent), "c1=" + child + " x1:1");
}

TEST_F(DurableCommands, SpawnThatInitRefusesFails) {
  const Pid parent = world.NewPuppet();
  world.Tell(parent, "yield",
             R"(process.spawn {"type":"puppet","input":"refuse"})");
  EXPECT_EQ(world.NotesOf(parent), "c1!3");
  world.Tell(parent, "yield", R"(process.spawn {"type":"nothing"})");
  EXPECT_EQ(world.NotesOf(parent), "c1!3 c2!5");
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.NotesOf(parent), "c1!3 c2!5");
}

TEST_F(DurableCommands, SpawnOfAVolatileTypeWaitsForTheDisk) {
  const Pid parent = world.NewPuppet();
  const uint64_t before = world.runtime().LiveVolatile();
  EXPECT_TRUE(
      world.Send(parent, "yield", R"(process.spawn {"type":"volatile"})")
          .status.ok());
  world.Turn();
  EXPECT_EQ(world.runtime().LiveVolatile(), before);
  world.Settle();
  EXPECT_EQ(world.runtime().LiveVolatile(), before + 1);
  EXPECT_TRUE(world.NotesOf(parent).starts_with("c1=1.1."))
      << world.NotesOf(parent);
}

TEST_F(DurableCommands, SpawnThatSaysVolatileIsNotDurable) {
  const Pid parent = world.NewPuppet();
  const uint64_t before = world.runtime().LiveVolatile();
  const char* const spawn =
      R"(process.spawn {"type":"puppet","name":"child","volatile":true})";
  EXPECT_TRUE(world.Send(parent, "yield", spawn).status.ok());
  world.Turn();
  EXPECT_EQ(world.runtime().LiveVolatile(), before) << "waits for the disk";
  world.Settle();
  EXPECT_EQ(world.runtime().LiveVolatile(), before + 1);
  const std::string child = HolderOf("child");
  EXPECT_EQ(world.NotesOf(parent), "c1=" + child);
  EXPECT_FALSE(IsHomePid(*ParsePid(child)));
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(HolderOf("child"), "nobody");
  EXPECT_EQ(world.NotesOf(parent), "c1=" + child);
}

TEST_F(DurableCommands, HandlersOfPluginsCannotChangeNames) {
  const Pid puppet = world.NewPuppet();
  const actord_pid pid = ToAbi(puppet);
  const actord_host* const host = world.runtime().host.abi();
  EXPECT_EQ(
      host->register_name(host, &pid, ToAbi(std::string_view("till")), nullptr),
      ACTORD_UNIMPLEMENTED);
  EXPECT_EQ(host->join_group(host, &pid, ToAbi(std::string_view("tills"))),
            ACTORD_UNIMPLEMENTED);
  EXPECT_EQ(HolderOf("till"), "nobody");
}

// ---- A crash at each call of the disk

constexpr const char* kScript[] = {
    R"(name.register {"name":"till"})",
    R"(group.join {"group":"tills"})",
    "send",
    R"(process.spawn {"type":"puppet","name":"child"})",
    R"(timer.sleep {"duration_ms":10})",
    R"(name.release {"name":"till"})",
    "send",
};

class Sweep {
 public:
  // Prepares the processes.
  Sweep() {
    EXPECT_TRUE(world.Start().ok());
    actor = world.NewPuppet();
    receiver = world.NewPuppet();
  }
  void Run(uint64_t crash_after) {
    world.disk.CrashAt(crash_after == SimulatedDisk::kNever
                           ? SimulatedDisk::kNever
                           : world.disk.calls() + crash_after);
    for (const char* line : kScript) {
      if (world.disk.has_crashed()) return;
      const std::string command =
          std::string_view(line) == "send"
              ? R"(process.send {"to":")" + FormatPid(receiver) +
                    R"(","topic":"note","payload":"hello"})"
              : line;
      if (!world.Send(actor, "yield", command).status.ok()) return;
      world.Turn();
      world.store->Work();
    }
    if (!world.disk.has_crashed()) world.Settle();
  }
  void Restart(bool keep_cache) {
    world.Reboot(keep_cache);
    const absl::Status status = world.Start();
    ASSERT_TRUE(status.ok()) << status;
    world.Settle();
    world.Elapse(kSecond);
  }
  // Everything that a command says it has done is done, once, and nothing else
  // is.
  void Check() {
    std::vector<std::string> done(std::size(kScript) + 1);
    std::string notes = world.NotesOf(actor) + " ";
    std::string left = notes;
    while (!left.empty()) {
      const size_t end = left.find(' ');
      const std::string note = left.substr(0, end);
      left.erase(0, end + 1);
      if (note.empty()) continue;
      const size_t tag = std::stoul(note.substr(1));
      ASSERT_TRUE(done.at(tag).empty()) << "completed twice: " << notes;
      done[tag] = note.substr(note.find_first_of("=!"));
    }
    const std::string delivered = R"(={"delivered":true})";
    const auto sent =
        static_cast<size_t>(std::count(done.begin(), done.end(), delivered));
    std::string expected;
    for (size_t i = 0; i < sent; ++i)
      expected += i == 0 ? "m:hello" : " m:hello";
    EXPECT_EQ(world.NotesOf(receiver), expected) << notes;
    const auto holder = world.runtime().names.Find(Owner::kNobody, "till");
    EXPECT_EQ(holder.ok(), done[1] == "=" && done[6] != "=") << notes;
    EXPECT_EQ(world.runtime().groups.Members(Owner::kNobody, "tills").size(),
              done[2] == "=" ? 1u : 0u)
        << notes;
    const auto child = world.runtime().names.Find(Owner::kNobody, "child");
    EXPECT_EQ(child.ok() ? "=" + FormatPid(*child) : "", done[4]) << notes;
    // No command is left without a completion: each tag below the last
    // completed tag is completed.
    size_t last = 0;
    for (size_t tag = 1; tag < done.size(); ++tag) {
      if (!done[tag].empty()) last = tag;
    }
    for (size_t tag = 1; tag <= last; ++tag) {
      EXPECT_FALSE(done[tag].empty()) << tag << ": " << notes;
    }
  }

  DurableWorld world;
  Pid actor;
  Pid receiver;
};

TEST(DurableCommandsSweep, EachCommandIsCarriedOutOnceWhereverTheProgramEnds) {
  uint64_t calls = 0;
  {
    Sweep whole;
    const uint64_t before = whole.world.disk.calls();
    whole.Run(SimulatedDisk::kNever);
    calls = whole.world.disk.calls() - before;
    whole.Restart(true);
    whole.Check();
  }
  EXPECT_GT(calls, 10u);
  for (uint64_t at = 0; at < calls; ++at) {
    for (const bool keep_cache : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(at) + (keep_cache ? ", kept" : ""));
      Sweep sweep;
      sweep.Run(at);
      sweep.Restart(keep_cache);
      sweep.Check();
      sweep.Restart(false);
      sweep.Check();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace actord::runtime
