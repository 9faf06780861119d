// A process can do nothing to the processes of another owner, and
// cannot tell them from processes that do not exist. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using actord::testing::Call;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Owner kAlice{5};
constexpr Owner kBob{6};

class OwnerEffects : public ::testing::Test {
 protected:
  using Act = std::function<void(StepOutput&)>;

  OwnerEffects() : core_(1), host_(core_.core->host.abi()) {
    AddCommand("send", [this](const actord_pid& from, const actord_pid& to) {
      actord_message message{};
      message.struct_size = sizeof(message);
      message.topic = ToAbi(std::string_view("by handler"));
      return host_->send(host_, &from, &to, &message);
    });
    AddCommand("send for nobody",
               [this](const actord_pid&, const actord_pid& to) {
                 actord_message message{};
                 message.struct_size = sizeof(message);
                 return host_->send(host_, nullptr, &to, &message);
               });
    AddCommand("cancel", [this](const actord_pid&, const actord_pid& to) {
      return host_->cancel(host_, &to, {});
    });
    AddCommand("terminate", [this](const actord_pid&, const actord_pid& to) {
      return host_->terminate(host_, &to, {});
    });
    AddCommand("register", [this](const actord_pid& from, const actord_pid&) {
      return host_->register_name(host_, &from, Name(), nullptr);
    });
    AddCommand("look up", [this](const actord_pid&, const actord_pid&) {
      actord_pid holder{};
      const int32_t code = host_->look_up_name(host_, Name(), &holder);
      found_.push_back(FromAbi(holder));
      return code;
    });
    AddCommand("join", [this](const actord_pid& from, const actord_pid&) {
      return host_->join_group(host_, &from, Name());
    });
    AddCommand("members", [this](const actord_pid&, const actord_pid&) {
      return static_cast<int32_t>(
          host_->group_members(host_, Name(), nullptr, 0));
    });
  }

  static actord_bytes Name() { return ToAbi(std::string_view("name")); }
  // A command whose result is the return value of `run(from, to)`. Its payload
  // is the text of `to`.
  void AddCommand(
      const char* name,
      std::function<int32_t(const actord_pid&, const actord_pid&)> run) {
    std::string command = absl::StrReplaceAll(name, {{" ", "_"}});
    core_.AddCommand(std::move(command), ACTORD_HANDLER_INLINE,
                     [run = std::move(run)](Call& call) {
                       actord_pid to{};
                       ReadPidText(ToAbi(call.bytes()), &to);
                       const actord_pid from = call.from();
                       call.Reply(ACTORD_OK, std::to_string(run(from, to)));
                       return ACTORD_HANDLED;
                     });
  }

  // A process that does what a test hands to Do, and notes its events.
  Pid Begin(Owner owner, const std::string& type = "trapping") {
    return core_.Submit(
        actord::testing::Script{.step =
                                    [this](Events events, StepOutput& out) {
                                      for (const Event event : events) {
                                        if (event.is_message() &&
                                            event.topic() == "act") {
                                          std::exchange(act_, nullptr)(out);
                                        } else {
                                          notes_.push_back(TextOf(event));
                                          if (event.call() != 0)
                                            out.Reply(event.call(), "reply");
                                        }
                                      }
                                    }},
        type, owner);
  }
  // The notes of all processes when `pid` does this.
  std::vector<std::string> Do(const Pid& pid, Act act) {
    act_ = std::move(act);
    core_.Send(pid, -1, "act");
    core_.Settle();
    return std::exchange(notes_, {});
  }
  static std::string TextOf(const Event& event) {
    return absl::StrCat(
        static_cast<int>(event.type()), " ", std::string(event.topic()), " ",
        static_cast<int>(event.error().code), " ",
        event.is_exit() ? static_cast<int>(event.exit_reason()) : 0, " ",
        std::string(event.payload().bytes));
  }

  // Does the same to a process of another owner, to an ended process, and to
  // PIDs that were never given out. Returns the notes, which must be equal
  // except for the PID, and expects that the foreign process learns of nothing.
  using ActOn = std::function<void(StepOutput&, const actord_pid&)>;
  std::vector<std::string> DoToForeign(const ActOn& act) {
    const Pid foreign = Begin(kBob);
    const Pid gone = core_.Submit(
        actord::testing::Script{
            .step = [](Events, StepOutput& out) { out.Done(); }},
        "script", kAlice);
    Pid never = foreign;
    never.slot += 1000;
    Pid later = foreign;
    later.generation += 2;
    std::vector<std::string> all;
    for (const Pid& to : {foreign, gone, never, later}) {
      const Pid alice = Begin(kAlice);
      const size_t letters = Letters().size();
      std::vector<std::string> notes =
          Do(alice, [&](StepOutput& out) { act(out, ToAbi(to)); });
      const std::vector<DeadLetter> kept = Letters();
      for (size_t i = letters; i < kept.size(); ++i) {
        EXPECT_EQ(kept[i].owner, kAlice);
        EXPECT_EQ(kept[i].to, to);
        notes.push_back(absl::StrCat("dead letter ",
                                     static_cast<int>(kept[i].reason), " ",
                                     kept[i].call ? "call" : "message"));
      }
      for (std::string& note : notes) {
        note = absl::StrReplaceAll(note, {{FormatPid(to), "PID"}});
      }
      if (all.empty()) all = notes;
      EXPECT_EQ(notes, all) << FormatPid(to);
      EXPECT_NE(core_.core->processes.Find(alice), nullptr);
    }
    EXPECT_NE(core_.core->processes.Find(foreign), nullptr);
    EXPECT_THAT(Do(foreign, [](StepOutput&) {}), IsEmpty());
    return all;
  }
  // The same with a process of the own owner.
  std::vector<std::string> DoToOwn(const ActOn& act) {
    const Pid other = Begin(kAlice);
    return Do(Begin(kAlice), [&](StepOutput& out) { act(out, ToAbi(other)); });
  }
  std::vector<DeadLetter> Letters() {
    return core_.core->dead_letters
        .List({.page_size = 1000, .max_payload_bytes = 0})
        .letters;
  }
  // Yields a command for `to`.
  static ActOn Command(const char* name) {
    return [name](StepOutput& out, const actord_pid& to) {
      out.Yield(name, actord::Payload::Text(out.FormatPid(to)));
    };
  }

  SteppedCore core_;
  const actord_host* host_;
  Act act_;
  std::vector<std::string> notes_;
  std::vector<Pid> found_;
};

TEST_F(OwnerEffects, SendsReachNobodyElse) {
  const auto send = [](StepOutput& out, const actord_pid& to) {
    out.Send(to, "hello");
  };
  EXPECT_THAT(DoToForeign(send), ElementsAre(HasSubstr("dead letter")));
  EXPECT_THAT(DoToOwn(send), ElementsAre(HasSubstr("hello")));
}

TEST_F(OwnerEffects, BurstsReachNobodyElse) {
  const auto burst = [](StepOutput& out, const actord_pid& to) {
    for (int i = 0; i < 20; ++i) out.Send(to, "hello");
  };
  EXPECT_EQ(DoToForeign(burst).size(), 20u);
  EXPECT_EQ(DoToOwn(burst).size(), 20u);
}

TEST_F(OwnerEffects, CallsReachNobodyElse) {
  const auto call = [](StepOutput& out, const actord_pid& to) {
    out.Call(to, "hello");
  };
  EXPECT_THAT(DoToForeign(call),
              ElementsAre(HasSubstr("process PID has ended")));
  EXPECT_THAT(DoToOwn(call),
              ElementsAre(HasSubstr("hello"), HasSubstr("reply")));
}

TEST_F(OwnerEffects, MonitorsTellOfNobodyElse) {
  const auto monitor = [](StepOutput& out, const actord_pid& to) {
    out.Monitor(to);
  };
  EXPECT_THAT(DoToForeign(monitor), ElementsAre(HasSubstr("no process PID")));
  EXPECT_THAT(DoToOwn(monitor), IsEmpty());
  EXPECT_EQ(core_.core->ties.size(), 2u) << "of the two own ones";
}

TEST_F(OwnerEffects, LinksTellOfNobodyElse) {
  const auto link = [](StepOutput& out, const actord_pid& to) { out.Link(to); };
  EXPECT_THAT(DoToForeign(link), ElementsAre(HasSubstr("no process PID")));
  EXPECT_THAT(DoToOwn(link), IsEmpty());
  EXPECT_EQ(core_.core->ties.size(), 2u) << "of the two own ones";
}

TEST_F(OwnerEffects, HandlersActForTheProcessThatYields) {
  const std::string ended = std::to_string(ACTORD_FAILED_PRECONDITION);
  for (const char* command :
       {"send", "send_for_nobody", "cancel", "terminate"}) {
    SCOPED_TRACE(command);
    EXPECT_THAT(DoToForeign(Command(command)),
                ElementsAre(::testing::EndsWith(" " + ended)));
    EXPECT_THAT(DoToOwn(Command(command)), Not(IsEmpty()));
    EXPECT_THAT(DoToOwn(Command(command)),
                ::testing::Contains(::testing::EndsWith(
                    absl::StrCat(" ", static_cast<int>(ACTORD_OK)))));
  }
}

TEST_F(OwnerEffects, NamesAreOfOneOwner) {
  const Pid alice = Begin(kAlice);
  const Pid bob = Begin(kBob);
  const Pid other = Begin(kBob);
  const auto yield = [](const char* command) {
    return [command](StepOutput& out) { out.Yield(command); };
  };
  const auto ends_with = [](int code) {
    return ElementsAre(::testing::EndsWith(absl::StrCat(" ", code)));
  };
  EXPECT_THAT(Do(bob, yield("register")), ends_with(ACTORD_OK));
  EXPECT_THAT(Do(alice, yield("look_up")), ends_with(ACTORD_NOT_FOUND));
  EXPECT_THAT(Do(alice, [](StepOutput& out) { out.Call("name", "hello"); }),
              ElementsAre(HasSubstr("no process holds the name")));
  // The holder that a step finds; it sends a message there, which is noted.
  bool is_sent = false;
  const auto find_and_send = [&](StepOutput& out) {
    found_.push_back(FromAbi(out.FindName("name")));
    is_sent = out.Send("name", "hello");
  };
  found_.clear();
  EXPECT_THAT(Do(alice, find_and_send), IsEmpty());
  EXPECT_FALSE(is_sent);
  EXPECT_THAT(Letters(), IsEmpty());
  EXPECT_THAT(Do(other, find_and_send), ElementsAre(HasSubstr("hello")));
  EXPECT_TRUE(is_sent);
  EXPECT_THAT(found_, ElementsAre(Pid{}, bob));
  EXPECT_THAT(Do(alice, yield("register")), ends_with(ACTORD_OK))
      << "not taken";
  EXPECT_THAT(Do(other, yield("register")), ends_with(ACTORD_ALREADY_EXISTS));
  found_.clear();
  EXPECT_THAT(Do(alice, yield("look_up")), ends_with(ACTORD_OK));
  EXPECT_THAT(Do(other, yield("look_up")), ends_with(ACTORD_OK));
  EXPECT_THAT(found_, ElementsAre(alice, bob));
  Names& names = core_.core->names;
  EXPECT_EQ(names.Find(kAlice, "name").value_or(Pid{}), alice);
  EXPECT_EQ(names.Find(kBob, "name").value_or(Pid{}), bob);
  EXPECT_FALSE(names.Find(Owner::kNobody, "name").ok());
  EXPECT_EQ(names.List(Owner::kAny, "", 0, 10).names.size(), 2u);
  ASSERT_EQ(names.List(kBob, "", 0, 10).names.size(), 1u);
  EXPECT_EQ(names.List(kBob, "", 0, 10).names[0].pid, bob);
  EXPECT_TRUE(names.Release("name", alice).ok());
  EXPECT_FALSE(names.Release("name", alice).ok());
  EXPECT_EQ(names.Find(kBob, "name").value_or(Pid{}), bob) << "still held";
}

TEST_F(OwnerEffects, GroupsAreOfOneOwner) {
  const auto yield = [](const char* command) {
    return [command](StepOutput& out) { out.Yield(command); };
  };
  const auto answer = [](int code) {
    return ElementsAre(::testing::EndsWith(absl::StrCat(" ", code)));
  };
  const Pid alice = Begin(kAlice);
  const Pid bob = Begin(kBob);
  EXPECT_THAT(Do(bob, yield("join")), answer(ACTORD_OK));
  EXPECT_THAT(Do(Begin(kBob), yield("join")), answer(ACTORD_OK));
  EXPECT_THAT(Do(alice, yield("members")), answer(0));
  EXPECT_THAT(Do(alice, yield("join")), answer(ACTORD_OK));
  EXPECT_THAT(Do(alice, yield("members")), answer(1));
  EXPECT_THAT(Do(bob, yield("members")), answer(2));
  Groups& groups = core_.core->groups;
  EXPECT_TRUE(groups.Leave("name", alice).ok());
  EXPECT_FALSE(groups.Leave("name", alice).ok());
  EXPECT_EQ(groups.Members(kBob, "name").size(), 2u);
}

TEST_F(OwnerEffects, ProcessesWithoutAnOwnerAreOfOneOwnerToo) {
  const Pid nobody = Begin(Owner::kNobody);
  const Pid alice = Begin(kAlice);
  EXPECT_THAT(
      Do(nobody, [&](StepOutput& out) { out.Send(ToAbi(alice), "hello"); }),
      IsEmpty());
  EXPECT_THAT(
      Do(alice, [&](StepOutput& out) { out.Send(ToAbi(nobody), "hello"); }),
      IsEmpty());
  EXPECT_EQ(Letters().size(), 2u);
}

}  // namespace
}  // namespace actord::runtime
