#include "runtime/process/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr actord_method kMethods[] = {{"run", nullptr}, {"other", "does"}};

actord_process_type ValidType(const char* name = "type") {
  actord_process_type type{};
  type.struct_size = sizeof(type);
  type.name = name;
  type.state_size = 100;
  type.methods = kMethods;
  type.method_count = 2;
  type.init = [](void*, const actord_init*, actord_step*) -> int32_t {
    return ACTORD_OK;
  };
  type.step = [](void*, const actord_event* const*, size_t,
                 actord_step*) -> int32_t { return ACTORD_STEP_DONE; };
  type.close = [](void*) {};
  return type;
}

actord_command_handler ValidCommand(const char* name = "command") {
  actord_command_handler command{};
  command.struct_size = sizeof(command);
  command.command = name;
  command.handle = [](void*, actord_call*) -> int32_t {
    return ACTORD_HANDLED;
  };
  return command;
}

TEST(Catalog, FindsWhatWasAdded) {
  Catalog catalog;
  const actord_process_type type = ValidType();
  const actord_command_handler command = ValidCommand();
  int self = 0;
  ASSERT_TRUE(catalog.AddProcessType(&type, "plugin").ok());
  ASSERT_TRUE(catalog.AddCommand(&command, &self, "plugin").ok());
  const ProcessType* found = catalog.FindProcessType("type");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->descriptor, &type);
  EXPECT_EQ(found->plugin, "plugin");
  EXPECT_EQ(found->FindMethod(""), 0u);
  EXPECT_EQ(found->FindMethod("run"), 0u);
  EXPECT_EQ(found->FindMethod("other"), 1u);
  EXPECT_EQ(found->FindMethod("Run"), ProcessType::kNoSuchMethod);
  EXPECT_EQ(catalog.FindProcessType("command"), nullptr);
  EXPECT_EQ(catalog.FindProcessType(""), nullptr);
  const CommandHandler* handler = catalog.FindCommand("command");
  ASSERT_NE(handler, nullptr);
  EXPECT_EQ(handler->descriptor, &command);
  EXPECT_EQ(handler->self, &self);
  EXPECT_EQ(catalog.FindCommand("type"), nullptr);
}

TEST(Catalog, NamesAreTheSameOnlyInAllTheirBytes) {
  for (size_t size = 0; size <= 40; ++size) {
    const std::string name(size, 'n');
    // Where its bytes would be read as words, these are not aligned.
    const std::string same = "x" + name;
    const std::string_view copy = std::string_view(same).substr(1);
    EXPECT_TRUE(IsSameName(name, copy)) << size;
    EXPECT_FALSE(IsSameName(name, name + "n")) << size;
    for (size_t at = 0; at < size; ++at) {
      std::string other(copy);
      other[at] = 'm';
      EXPECT_FALSE(IsSameName(name, other)) << size << " at " << at;
    }
  }
}

TEST(Catalog, SaysWhoHasATakenName) {
  Catalog catalog;
  const actord_process_type type = ValidType();
  const actord_command_handler command = ValidCommand();
  ASSERT_TRUE(catalog.AddProcessType(&type, "first").ok());
  ASSERT_TRUE(catalog.AddCommand(&command, nullptr, "first").ok());
  const absl::Status taken_type = catalog.AddProcessType(&type, "second");
  EXPECT_EQ(taken_type.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken_type.message()), HasSubstr("first"));
  const absl::Status taken_command =
      catalog.AddCommand(&command, nullptr, "second");
  EXPECT_EQ(taken_command.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken_command.message()), HasSubstr("first"));
  EXPECT_EQ(catalog.process_types().size(), 1u);
  EXPECT_EQ(catalog.commands().size(), 1u);
}

TEST(Catalog, RefusesBrokenProcessTypes) {
  using T = actord_process_type;
  static const std::string too_long(129, 'x');
  static constexpr actord_method kTwice[] = {{"a", nullptr}, {"a", nullptr}};
  static constexpr actord_method kNameless[] = {{nullptr, nullptr}};
  static constexpr actord_method kBadName[] = {{"a b", nullptr}};
  struct Case {
    const char* says;
    std::function<void(T&)> spoil;
  };
  const Case cases[] = {
      {"struct_size", [](T& t) { t.struct_size = offsetof(T, snapshot) - 1; }},
      {"no name", [](T& t) { t.name = nullptr; }},
      {"a name is", [](T& t) { t.name = ""; }},
      {"a name is", [](T& t) { t.name = "a/b"; }},
      {"a name is", [](T& t) { t.name = "gr\xc3\xbcn"; }},
      {"a name is", [](T& t) { t.name = too_long.c_str(); }},
      {"lacks init", [](T& t) { t.init = nullptr; }},
      {"lacks init", [](T& t) { t.step = nullptr; }},
      {"lacks init", [](T& t) { t.close = nullptr; }},
      {"1 MiB", [](T& t) { t.state_size = (1 << 20) + 1; }},
      {"alignment", [](T& t) { t.state_align = 128; }},
      {"alignment", [](T& t) { t.state_align = 24; }},
      {"no method", [](T& t) { t.methods = nullptr; }},
      {"no method", [](T& t) { t.method_count = 0; }},
      {"1024 methods", [](T& t) { t.method_count = 1025; }},
      {"twice", [](T& t) { t.methods = kTwice; }},
      {"has no name",
       [](T& t) {
         t.methods = kNameless;
         t.method_count = 1;
       }},
      {"a name is",
       [](T& t) {
         t.methods = kBadName;
         t.method_count = 1;
       }},
  };
  for (const Case& c : cases) {
    Catalog catalog;
    T type = ValidType();
    c.spoil(type);
    const absl::Status status = catalog.AddProcessType(&type, "p");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
    EXPECT_TRUE(catalog.process_types().empty());
  }
  Catalog catalog;
  EXPECT_EQ(catalog.AddProcessType(nullptr, "p").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Catalog, AcceptsTheLimitsThemselves) {
  Catalog catalog;
  static const std::string longest(128, 'x');
  actord_process_type type = ValidType(longest.c_str());
  type.state_size = 1 << 20;
  type.state_align = 64;
  type.struct_size = sizeof(type) + 8;  // of a later version
  EXPECT_TRUE(catalog.AddProcessType(&type, "p").ok());
  actord_process_type empty = ValidType("Az09_.-");
  empty.state_size = 0;
  EXPECT_TRUE(catalog.AddProcessType(&empty, "p").ok());
}

TEST(Catalog, RefusesBrokenCommands) {
  using H = actord_command_handler;
  struct Case {
    const char* says;
    std::function<void(H&)> spoil;
  };
  const Case cases[] = {
      {"struct_size", [](H& h) { h.struct_size = offsetof(H, flags) - 1; }},
      {"no name", [](H& h) { h.command = nullptr; }},
      {"a name is", [](H& h) { h.command = "a*"; }},
      {"lacks handle", [](H& h) { h.handle = nullptr; }},
      {"mode", [](H& h) { h.mode = 2; }},
  };
  for (const Case& c : cases) {
    Catalog catalog;
    H command = ValidCommand();
    c.spoil(command);
    const absl::Status status = catalog.AddCommand(&command, nullptr, "p");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says));
  }
  Catalog catalog;
  EXPECT_EQ(catalog.AddCommand(nullptr, nullptr, "p").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Catalog, TakesATypeOfTheFirstVersionOfTheAbi) {
  Catalog catalog;
  actord_process_type old = ValidType();
  old.struct_size = offsetof(actord_process_type, snapshot);
  // Bytes after the struct are not read.
  old.snapshot = [](const void*, actord_step*) -> int32_t { return 0; };
  old.restore = [](void*, const actord_restore*, actord_step*) -> int32_t {
    return 0;
  };
  ASSERT_TRUE(catalog.AddProcessType(&old, "p").ok());
  EXPECT_EQ(catalog.FindProcessType("type")->snapshot, nullptr);
  EXPECT_EQ(catalog.FindProcessType("type")->restore, nullptr);
}

TEST(Catalog, TakesACommandOfTheFirstVersionOfTheAbi) {
  Catalog catalog;
  actord_command_handler old = ValidCommand();
  old.struct_size = offsetof(actord_command_handler, flags);
  // Bytes after the struct are not read.
  old.flags = ACTORD_HANDLER_FLAG_IDEMPOTENT | ACTORD_HANDLER_FLAG_PURE;
  ASSERT_TRUE(catalog.AddCommand(&old, nullptr, "p").ok());
  const CommandHandler* const handler = catalog.FindCommand(old.command);
  ASSERT_NE(handler, nullptr);
  EXPECT_FALSE(handler->is_idempotent());
  EXPECT_FALSE(handler->is_pure());
}

class CatalogVersions : public ::testing::Test {
 protected:
  CatalogVersions() {
    for (actord_process_type* type : {&a1_, &a2_, &a3_}) {
      type->snapshot = [](const void*, actord_step*) -> int32_t { return 0; };
      type->restore = [](void*, const actord_restore*,
                         actord_step*) -> int32_t { return 0; };
    }
  }
  absl::Status Add(const char* version,
                   std::vector<const actord_process_type*> types,
                   std::vector<CatalogEntries::Command> commands,
                   const char* plugin = "p", bool upgrade = true) {
    return catalog_
        .Add({.plugin = plugin,
              .version = version,
              .process_types = std::move(types),
              .commands = std::move(commands),
              .replace = true,
              .upgrade_processes = upgrade})
        .status();
  }

  actord_process_type a1_ = ValidType("a"), a2_ = a1_, a3_ = a1_;
  actord_process_type b_ = ValidType("b");
  actord_command_handler x1_ = ValidCommand("x"), x2_ = x1_;
  actord_command_handler y_ = ValidCommand("y");
  Catalog catalog_;
};

TEST_F(CatalogVersions, ReplaceWhatTheyHaveAndLeaveTheRest) {
  ASSERT_TRUE(Add("1", {&a1_, &b_}, {{&x1_, nullptr}, {&y_, nullptr}}).ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  const ProcessType* const b = catalog_.FindProcessType("b");
  const CommandHandler* const x = catalog_.FindCommand("x");
  ASSERT_TRUE(Add("2", {&a2_}, {{&x2_, nullptr}}).ok());
  const ProcessType* const second = catalog_.FindProcessType("a");
  EXPECT_EQ(second->descriptor, &a2_);
  EXPECT_EQ(second->version, "2");
  EXPECT_EQ(catalog_.FindProcessType("b"), b);
  EXPECT_EQ(catalog_.FindCommand("x")->descriptor, &x2_);
  EXPECT_EQ(catalog_.process_types().size(), 2u);
  EXPECT_EQ(catalog_.commands().size(), 2u);
  // Processes that have the old version keep it.
  EXPECT_EQ(first->descriptor, &a1_);
  EXPECT_FALSE(first->in_force);
  EXPECT_FALSE(x->in_force);
  EXPECT_TRUE(b->in_force);
  EXPECT_EQ(first->upgrade_to, second);
  EXPECT_EQ(second->upgrade_to, nullptr);
  // All of the former versions go to the newest.
  ASSERT_TRUE(Add("3", {&a3_}, {}).ok());
  EXPECT_EQ(first->upgrade_to, catalog_.FindProcessType("a"));
  EXPECT_EQ(second->upgrade_to, catalog_.FindProcessType("a"));
}

TEST_F(CatalogVersions, AreTakenWholeOrNotAtAll) {
  ASSERT_TRUE(Add("1", {&a1_}, {{&x1_, nullptr}}).ok());
  ASSERT_TRUE(Add("1", {&b_}, {{&y_, nullptr}}, "q").ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  actord_process_type broken = ValidType("c");
  broken.step = nullptr;
  actord_command_handler bad = ValidCommand("z");
  bad.handle = nullptr;
  EXPECT_TRUE(absl::IsAlreadyExists(Add("2", {&a2_, &b_}, {})));
  EXPECT_TRUE(absl::IsAlreadyExists(Add("2", {&a2_}, {{&y_, nullptr}})));
  EXPECT_TRUE(absl::IsAlreadyExists(Add("2", {&a2_, &a3_}, {})));
  EXPECT_TRUE(absl::IsAlreadyExists(
      Add("2", {&a2_}, {{&x2_, nullptr}, {&x2_, nullptr}})));
  EXPECT_TRUE(absl::IsInvalidArgument(Add("2", {&a2_, &broken}, {})));
  EXPECT_TRUE(absl::IsInvalidArgument(Add("2", {&a2_}, {{&bad, nullptr}})));
  EXPECT_EQ(catalog_.FindProcessType("a"), first);
  EXPECT_TRUE(first->in_force);
  EXPECT_EQ(first->upgrade_to, nullptr);
  EXPECT_TRUE(catalog_.FindCommand("x")->in_force);
  EXPECT_EQ(catalog_.process_types().size(), 2u);
}

TEST_F(CatalogVersions, UpgradeOnlyWhatCan) {
  ASSERT_TRUE(Add("1", {&a1_}, {}).ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  ASSERT_TRUE(Add("2", {&a2_}, {}, "p", /*upgrade=*/false).ok());
  EXPECT_EQ(first->upgrade_to, nullptr);
  a3_.restore = nullptr;
  ASSERT_TRUE(Add("3", {&a3_}, {}).ok());
  EXPECT_EQ(first->upgrade_to, nullptr);
  a1_.snapshot = nullptr;
  // The same code needs neither.
  ASSERT_TRUE(Add("1", {&a1_}, {}).ok());
  EXPECT_EQ(first->upgrade_to, catalog_.FindProcessType("a"));
}

TEST_F(CatalogVersions, ForNewProcessesOnlyCallFormerUpgradesOff) {
  ASSERT_TRUE(Add("1", {&a1_, &b_}, {}).ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  ASSERT_TRUE(Add("2", {&a2_}, {}).ok());
  const ProcessType* const second = catalog_.FindProcessType("a");
  ASSERT_EQ(first->upgrade_to, second);
  ASSERT_TRUE(Add("3", {&a3_}, {}, "p", /*upgrade=*/false).ok());
  EXPECT_EQ(first->upgrade_to, nullptr);
  EXPECT_EQ(second->upgrade_to, nullptr);
}

TEST_F(CatalogVersions, VersionThatCannotRestoreCallsFormerUpgradesOff) {
  ASSERT_TRUE(Add("1", {&a1_}, {}).ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  ASSERT_TRUE(Add("2", {&a2_}, {}).ok());
  ASSERT_NE(first->upgrade_to, nullptr);
  a3_.restore = nullptr;
  ASSERT_TRUE(Add("3", {&a3_}, {}).ok());
  EXPECT_EQ(first->upgrade_to, nullptr);
  // A version that can continues them again.
  ASSERT_TRUE(Add("2", {&a2_}, {}).ok());
  EXPECT_EQ(first->upgrade_to, catalog_.FindProcessType("a"));
}

// A process that finds a newer version also finds the commands that came with
// it.
TEST_F(CatalogVersions, AreInForceBeforeAProcessMeetsThem) {
  ASSERT_TRUE(Add("1", {&a1_}, {{&x1_, nullptr}}).ok());
  const ProcessType* const first = catalog_.FindProcessType("a");
  const CommandHandler* const x = catalog_.FindCommand("x");
  std::atomic<bool> begun{false};
  std::thread turn([&] {
    begun = true;
    const ProcessType* newer = nullptr;
    while (newer == nullptr) {
      newer = first->upgrade_to.load(std::memory_order_acquire);
    }
    EXPECT_NE(catalog_.FindCommand("y"), nullptr);
    EXPECT_EQ(catalog_.FindProcessType("a"), newer);
    EXPECT_FALSE(x->in_force);
  });
  while (!begun) std::this_thread::yield();
  // Many, so that there is a while between the first of them and the last.
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("t" + std::to_string(i));
  std::vector<actord_process_type> types;
  for (const std::string& name : names)
    types.push_back(ValidType(name.c_str()));
  std::vector<const actord_process_type*> list = {&a2_};
  for (const actord_process_type& type : types) list.push_back(&type);
  EXPECT_TRUE(Add("2", list, {{&x2_, nullptr}, {&y_, nullptr}}).ok());
  turn.join();
}

}  // namespace
}  // namespace actord::runtime
